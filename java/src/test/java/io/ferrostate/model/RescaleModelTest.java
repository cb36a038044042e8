package io.ferrostate.model;

import static org.assertj.core.api.Assertions.assertThat;

import io.ferrostate.checkpoint.CheckpointFiles;
import io.ferrostate.jni.Native;
import io.ferrostate.jni.NativeLibrary;

import org.apache.flink.runtime.checkpoint.CheckpointOptions;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.ttl.MockTtlTimeProvider;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;

/**
 * Random operations on several subtasks that are restored at one parallelism after the other give the
 * same answers on Ferrostate as on Flink's hashmap backend. Some subtasks are left alone, some
 * compacted; each checkpoint subsumes the one before, whose files go unless they are used again.
 *
 * <p>{@code -Dferrostate.model.rescales=n} does so many in all, {@code -Dferrostate.model.seed=s}
 * repeats what a failure named.
 */
class RescaleModelTest {

    private static final int RESCALES = Integer.getInteger("ferrostate.model.rescales", 16);
    private static final int A_SEED = 8;
    private static final int OPERATIONS = 400;
    private static final int[] PARALLELISMS = {1, 1, 2, 2, 3, 4, 7, 13};
    private static final List<CheckpointOptions> KINDS =
            List.of(
                    CheckpointFiles.CHECKPOINT,
                    CheckpointFiles.CHECKPOINT,
                    CheckpointFiles.CHECKPOINT,
                    CheckpointFiles.FULL_CHECKPOINT,
                    CheckpointFiles.NATIVE_SAVEPOINT);

    @TempDir Path directory;

    private long seed;
    private int parallelism;
    private String history;
    private final MockTtlTimeProvider time = new MockTtlTimeProvider();

    @Test
    @Timeout(1800)
    void answersAreThoseOfTheHeap() throws Exception {
        NativeLibrary.load();
        long handles = Native.liveHandles();
        Long only = Long.getLong("ferrostate.model.seed");
        long first = only == null ? System.nanoTime() : only;
        int seeds = only == null ? (RESCALES + A_SEED - 1) / A_SEED : 1;
        for (int i = 0; i < seeds; i++) {
            run(first + i);
        }
        assertThat(Native.liveHandles()).isEqualTo(handles);
    }

    private void run(long seed) throws Exception {
        System.out.println("rescale model: seed " + seed);
        this.seed = seed;
        history = "";
        time.time = 0;
        Random random = new Random(seed);
        Layout layout = Layout.values()[random.nextInt(Layout.values().length)];
        Path local = Files.createTempDirectory(directory, "seed");
        try (Subtasks subject = new Subtasks(Engine.FERROSTATE_TIMERS, layout, time, seed, local);
                Subtasks oracle = new Subtasks(Engine.HASHMAP, layout, time, seed, local)) {
            parallelism = 2;
            subject.restart(parallelism, List.of());
            oracle.restart(parallelism, List.of());
            for (int rescale = 0; rescale < A_SEED; rescale++) {
                work(subject, oracle, random);
                rescale(subject, oracle, random);
            }
            compareAll(subject, oracle);
        }
    }

    private void work(Subtasks subject, Subtasks oracle, Random random) throws Exception {
        boolean compared = random.nextInt(3) != 0;
        if (compared && random.nextBoolean()) {
            compareAll(subject, oracle);
        }
        int last = 1 + random.nextInt(parallelism);
        for (int i = random.nextInt(OPERATIONS); i > 0; i--) {
            int subtask = random.nextInt(last);
            long operation = random.nextLong();
            if (!subject.hasKeys(subtask)) {
                continue;
            }
            compare(
                    "answer of subtask " + subtask,
                    subject.operate(subtask, new Random(operation)),
                    oracle.operate(subtask, new Random(operation)));
            time.time += random.nextInt(40) == 0 ? random.nextInt(Ttl.MILLIS / 4) : 0;
            if (random.nextInt(OPERATIONS / 2) == 0) {
                subject.compact(random.nextInt(parallelism));
            } else if (random.nextInt(OPERATIONS / 2) == 0) {
                subject.checkpoint(CheckpointFiles.CHECKPOINT);
            }
        }
        if (compared) {
            compareAll(subject, oracle);
        }
    }

    private void rescale(Subtasks subject, Subtasks oracle, Random random) throws Exception {
        int kind = random.nextInt(KINDS.size() + 1);
        List<KeyedStateHandle> handles =
                kind < KINDS.size() ? subject.checkpoint(KINDS.get(kind)) : subject.savepoint();
        int next = PARALLELISMS[random.nextInt(PARALLELISMS.length)];
        history += "\nkind " + kind + ", " + parallelism + " to " + next;
        parallelism = next;
        subject.restart(parallelism, handles);
        oracle.restart(parallelism, oracle.checkpoint(CheckpointFiles.CHECKPOINT));
    }

    private void compareAll(Subtasks subject, Subtasks oracle) throws Exception {
        for (int i = 0; i < parallelism; i++) {
            compare("content of subtask " + i, subject.content(i), oracle.content(i));
        }
    }

    private void compare(String what, Object ours, Object theirs) {
        assertThat(ours)
                .as(
                        "%s; repeat it with -Dferrostate.model.seed=%d; so far:%s",
                        what, seed, history)
                .isEqualTo(theirs);
    }
}
