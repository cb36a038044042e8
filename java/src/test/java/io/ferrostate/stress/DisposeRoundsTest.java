package io.ferrostate.stress;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

/**
 * Opens, snapshots and disposes a backend 200 times in one JVM of a fixed heap: no handle, no thread,
 * no local directory stays, and native memory is where it was when the JVM had warmed up.
 */
@Timeout(600)
class DisposeRoundsTest {

    private static final int ROUNDS = 200;
    private static final int WARM_UP = 50;

    /** KiB. A single leaked block cache, database or page a round is far more. */
    private static final long TOLERATED_GROWTH = 24 * 1024;

    @TempDir private Path directory;

    @Test
    void nothingStays() throws Exception {
        long seed = Long.getLong("ferrostate.seed", System.nanoTime());
        System.out.println("DisposeRoundsTest: -Dferrostate.seed=" + seed);
        List<long[]> rounds = rounds(seed);
        assertEquals(ROUNDS, rounds.size());
        long[] warm = rounds.get(WARM_UP);
        long[] last = rounds.get(ROUNDS - 1);
        System.out.println(
                "DisposeRoundsTest: after round " + WARM_UP + " handles, threads, KiB, directories "
                        + Arrays.toString(warm) + ", after round " + ROUNDS + " "
                        + Arrays.toString(last));
        rounds.forEach(round -> assertEquals(0, round[0], "live handles"));
        rounds.forEach(round -> assertEquals(0, round[3], "local directories"));
        assertTrue(last[1] <= warm[1], "threads: " + warm[1] + ", then " + last[1]);
        assertTrue(
                last[2] - warm[2] < TOLERATED_GROWTH,
                "resident KiB: " + warm[2] + ", then " + last[2]);
    }

    private List<long[]> rounds(long seed) throws Exception {
        List<long[]> rounds = new ArrayList<>();
        try (ChildJvm child =
                ChildJvm.start(
                        DisposeRounds.class,
                        directory,
                        directory.toString(),
                        Long.toString(seed),
                        Integer.toString(ROUNDS))) {
            for (String line = child.line(); line != null; line = child.line()) {
                rounds.add(Arrays.stream(line.split(" ")).mapToLong(Long::parseLong).toArray());
            }
            assertEquals(0, child.exitCode());
        }
        return rounds;
    }
}
