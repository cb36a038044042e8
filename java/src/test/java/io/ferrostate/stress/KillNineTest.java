package io.ferrostate.stress;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Random;
import java.util.concurrent.locks.LockSupport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

/**
 * Kills a process that checkpoints all the time, at random moments, until it was hit in the async
 * part of a checkpoint twenty times. Each time the next process must find the last completed
 * checkpoint whole: not an older one, and with every row that the model has.
 */
@Timeout(900)
class KillNineTest {

    private static final int HITS = Integer.getInteger("ferrostate.kills", 20);
    private static final int MOST_KILLS = 6 * HITS;
    private static final int ENDLESS = Integer.MAX_VALUE;

    private final long seed = Long.getLong("ferrostate.seed", System.nanoTime());
    private final Random random = new Random(seed);

    @TempDir private Path directory;

    /** The last checkpoint that a process said was complete. */
    private long completed;

    /** Mean of the async parts seen so far: how late a kill may come and still hit one. */
    private long asyncNanos = 5_000_000;

    private int hits;

    @Test
    void theLastCompletedCheckpointAlwaysRestores() throws Exception {
        System.out.println("KillNineTest: -Dferrostate.seed=" + seed);
        int kills = 0;
        while (hits < HITS) {
            assertTrue(kills++ < MOST_KILLS, hits + " hits of " + kills + " kills");
            runAndKill();
        }
        runToTheEnd();
        System.out.println(
                "KillNineTest: " + kills + " kills, " + hits + " of them in an async part, "
                        + completed + " checkpoints");
    }

    private void runAndKill() throws Exception {
        try (ChildJvm child = child(ENDLESS)) {
            readStart(child);
            long before = 1 + random.nextInt(5);
            for (long seen = 0; seen < before; seen++) {
                long id = expect(child, "async");
                long started = System.nanoTime();
                if (seen == before - 1) {
                    killSoon(child);
                } else {
                    assertEquals(id, expect(child, "completed"));
                    completed = id;
                    asyncNanos = (asyncNanos * 3 + System.nanoTime() - started) / 4;
                }
            }
        }
    }

    /** A random moment within the time that async parts take, then SIGKILL and what was said last. */
    private void killSoon(ChildJvm child) throws Exception {
        LockSupport.parkNanos((long) (random.nextDouble() * asyncNanos));
        child.kill();
        boolean isInAsyncPart = true;
        for (String line = child.line(); line != null; line = child.line()) {
            isInAsyncPart = line.startsWith("async");
            completed = line.startsWith("completed") ? number(line) : completed;
        }
        assertEquals(128 + 9, child.exitCode(), "exit code of the killed process");
        hits += isInAsyncPart ? 1 : 0;
    }

    private void runToTheEnd() throws Exception {
        try (ChildJvm child = child(5)) {
            readStart(child);
            String last = "";
            for (String line = child.line(); line != null; line = child.line()) {
                last = line;
                completed = line.startsWith("completed") ? number(line) : completed;
            }
            assertEquals("ended", last);
            assertEquals(0, child.exitCode());
        }
    }

    /** A checkpoint may have become complete in the moment between doing so and saying so. */
    private void readStart(ChildJvm child) throws IOException {
        long restored = expect(child, "restored");
        assertTrue(
                restored == completed || restored == completed + 1,
                "restored " + restored + " after " + completed);
        completed = restored;
        assertEquals(1, expect(child, "local"), "local directories, swept of dead ones");
    }

    private ChildJvm child(int checkpoints) throws IOException {
        return ChildJvm.start(
                CheckpointingProcess.class,
                directory,
                directory.toString(),
                Long.toString(seed),
                Integer.toString(checkpoints));
    }

    private static long expect(ChildJvm child, String what) throws IOException {
        String line = child.line();
        assertTrue(
                line != null && line.startsWith(what + ' '),
                "expected '" + what + "', the process said " + line + " (its reason is on stderr)");
        return number(line);
    }

    private static long number(String line) {
        return Long.parseLong(line.substring(line.indexOf(' ') + 1));
    }
}
