package io.ferrostate.model;

import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.ttl.MockTtlTimeProvider;

import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.Objects;
import java.util.Random;

/**
 * Random operations on Ferrostate and on Flink's hashmap backend side by side, with snapshots and
 * restores between them. All is decided by the seed; a difference names seed and step.
 */
final class Comparison implements AutoCloseable {

    /** On average so many operations lie between two restarts. */
    private static final int RESTARTS = 2000;

    private final long seed;
    private final Layout layout;
    private final MockTtlTimeProvider time = new MockTtlTimeProvider();

    /** Then both sides leave expired values out, but each in snapshots of its own kind only. */
    private final boolean cleanSnapshots;

    private final Side subject;
    private final Side oracle;

    /** How often what was done, over all comparisons of a test. */
    private final Map<String, Long> figures;

    private int step;

    Comparison(long seed, Path directory, Map<String, Long> figures) throws Exception {
        this.seed = seed;
        this.figures = figures;
        Random random = new Random(seed);
        layout = Layout.values()[random.nextInt(Layout.values().length)];
        cleanSnapshots = random.nextBoolean();
        subject = side(Engine.FERROSTATE, directory);
        oracle = side(Engine.HASHMAP, directory);
    }

    private Side side(Engine engine, Path directory) throws Exception {
        return new Side(engine, layout, time, seed, cleanSnapshots, directory);
    }

    void run(int operations) throws Exception {
        for (int i = 0; i < operations; i++) {
            step++;
            Random random = draw();
            if (random.nextInt(20) == 0) {
                time.time += random.nextInt(Ttl.MILLIS / 4);
            }
            if (random.nextInt(RESTARTS) == 0) {
                restart(random);
                verify();
            }
            long operation = random.nextLong();
            compare(
                    "answer",
                    subject.operate(new Random(operation)),
                    oracle.operate(new Random(operation)));
        }
        verify();
    }

    private Random draw() {
        Random random = new Random(seed * 1_000_003 + step);
        random.nextLong();
        return random;
    }

    private void restart(Random random) throws Exception {
        switch (random.nextInt(cleanSnapshots ? 4 : 5)) {
            case 0:
                count("checkpoints without a restore");
                subject.checkpoint();
                break;
            case 1:
                count("restores");
                restore(subject.checkpoint());
                break;
            case 2:
                count("restores through two halves");
                restore(subject.throughHalves(subject.checkpoint()));
                break;
            case 3:
                count("canonical savepoints exchanged");
                crossOver();
                break;
            default:
                count("returns to an earlier checkpoint");
                goBack(random.nextInt(300));
        }
    }

    private void restore(KeyedStateHandle... handles) throws Exception {
        boolean apart = subject.keepsTimersApart();
        subject.restart(handles);
        if (apart) {
            subject.timers().replaceBy(oracle.timers().all());
        }
    }

    /** Each goes on with the other one's savepoint. */
    private void crossOver() throws Exception {
        KeyedStateHandle ours = subject.savepoint();
        KeyedStateHandle theirs = oracle.savepoint();
        subject.restart(theirs);
        oracle.restart(ours);
    }

    /** Both forget what they did since a checkpoint. */
    private void goBack(int operations) throws Exception {
        KeyedStateHandle ours = subject.checkpoint();
        KeyedStateHandle theirs = oracle.checkpoint();
        Random random = draw();
        for (int i = 0; i < operations; i++) {
            long operation = random.nextLong();
            compare(
                    "answer",
                    subject.operate(new Random(operation)),
                    oracle.operate(new Random(operation)));
        }
        subject.checkpoint();
        oracle.restart(theirs);
        restore(ours);
    }

    private void verify() throws Exception {
        compare("whole content", subject.states().content(), oracle.states().content());
        compare("whole timer queue", subject.timers().content(), oracle.timers().content());
    }

    private void count(String what) {
        figures.merge(what, 1L, Long::sum);
    }

    private void compare(String what, Object ours, Object theirs) {
        count(what + (ours == null ? " (nothing)" : "s"));
        if (!Objects.equals(ours, theirs)) {
            throw new AssertionError(
                    "seed " + seed + ", step " + step + " (" + layout + "): the " + what
                            + " is\n" + text(ours) + "\ninstead of\n" + text(theirs)
                            + "\nRepeat it with -Dferrostate.model.seed=" + seed);
        }
    }

    private static String text(Object answer) {
        String text = String.valueOf(answer);
        return text.length() > 5000 ? text.substring(0, 5000) + "..." : text;
    }

    @Override
    public void close() {
        for (Side side : Arrays.asList(subject, oracle)) {
            if (side != null) {
                side.close();
            }
        }
    }
}
