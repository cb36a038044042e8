package io.ferrostate.restore;

import static io.ferrostate.checkpoint.BackendFixture.ALL;
import static io.ferrostate.checkpoint.BackendFixture.snapshot;
import static io.ferrostate.checkpoint.CheckpointFiles.CHECKPOINT;
import static io.ferrostate.checkpoint.CheckpointFiles.FULL_CHECKPOINT;
import static io.ferrostate.checkpoint.CheckpointFiles.NATIVE_SAVEPOINT;
import static org.assertj.core.api.Assertions.assertThat;

import io.ferrostate.checkpoint.BackendFixture;
import io.ferrostate.checkpoint.CheckpointFiles;
import io.ferrostate.checkpoint.IncrementalSnapshotStrategy;
import io.ferrostate.jni.Native;
import io.ferrostate.jni.NativeLibrary;

import org.apache.flink.runtime.checkpoint.CheckpointOptions;
import org.apache.flink.runtime.checkpoint.OperatorState;
import org.apache.flink.runtime.state.IncrementalRemoteKeyedStateHandle;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.KeyGroupRangeAssignment;
import org.apache.flink.runtime.state.KeyedStateHandle;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;

/**
 * A job that is rescaled again and again, and what may befall it in between, in random order: every
 * retained checkpoint stays restorable at each moment, and nothing is left when the job has ended. The
 * JobManager is made of Flink's own classes.
 */
@Timeout(120)
class RescaleRetentionTest {

    private static final int RETAINED = 3;
    private static final int STEPS = 20;

    @TempDir Path directory;

    private long liveHandles;
    private CheckpointFiles files;
    private RetainingJobManager jobManager;
    private final List<Subtask> running = new ArrayList<>();

    /** What was written last under each key, now and at each checkpoint. */
    private Map<Integer, Long> state = new HashMap<>();

    private final Map<Long, Map<Integer, Long>> checkpointed = new HashMap<>();
    private long lastId;

    /** Of checkpoints that were acknowledged and never completed. */
    private final Set<Path> aborted = new HashSet<>();

    /** Those of them that a failed JobManager had not deleted yet: no other one knows of them. */
    private final Set<Path> forgotten = new HashSet<>();

    /** A backend and what it does at checkpoints. */
    private final class Subtask {

        private final BackendFixture backend;
        private final IncrementalSnapshotStrategy<Integer> strategy;

        private Subtask(KeyGroupRange range, KeyedStateHandle... handles) throws Exception {
            backend = BackendFixture.restored(directory.resolve("local"), range, handles);
            strategy = backend.incremental();
        }

        private void close() {
            strategy.close();
            backend.close();
        }
    }

    @BeforeEach
    void open() throws Exception {
        NativeLibrary.load();
        liveHandles = Native.liveHandles();
        files = new CheckpointFiles(directory.resolve("checkpoints"), 0);
        jobManager = new RetainingJobManager(files, RETAINED);
    }

    @AfterEach
    void close() {
        stop();
        assertThat(Native.liveHandles()).isEqualTo(liveHandles);
    }

    private void stop() {
        running.forEach(Subtask::close);
        running.clear();
    }

    private void start(int parallelism, List<IncrementalRemoteKeyedStateHandle> from)
            throws Exception {
        stop();
        for (int i = 0; i < parallelism; i++) {
            KeyGroupRange range =
                    KeyGroupRangeAssignment.computeKeyGroupRangeForOperatorIndex(
                            BackendFixture.KEY_GROUPS, parallelism, i);
            List<KeyedStateHandle> parts = new ArrayList<>();
            for (IncrementalRemoteKeyedStateHandle handle : from) {
                if (handle.getIntersection(range) != null) {
                    parts.add(handle.getIntersection(range));
                }
            }
            running.add(new Subtask(range, parts.toArray(new KeyedStateHandle[0])));
        }
    }

    private List<IncrementalRemoteKeyedStateHandle> taken(long id, CheckpointOptions options)
            throws Exception {
        List<IncrementalRemoteKeyedStateHandle> handles = new ArrayList<>();
        for (Subtask subtask : running) {
            handles.add(snapshot(subtask.strategy, id, files.location(id), options));
        }
        return handles;
    }

    private void write(Random random) throws Exception {
        int key = random.nextInt(6);
        long seed = random.nextLong();
        for (Subtask subtask : running) {
            subtask.backend.write(key, seed);
        }
        state.put(key, seed);
    }

    private void checkpoint(CheckpointOptions options) throws Exception {
        long id = ++lastId;
        OperatorState acknowledged = jobManager.acknowledged(id, taken(id, options));
        jobManager.complete(id, acknowledged);
        checkpointed.put(id, new HashMap<>(state));
        running.forEach(subtask -> subtask.strategy.notifyCheckpointComplete(id));
    }

    /** All have acknowledged it, and it is aborted all the same. */
    private void abortedCheckpoint(CheckpointOptions options) throws Exception {
        long id = ++lastId;
        List<IncrementalRemoteKeyedStateHandle> handles = taken(id, options);
        handles.forEach(handle -> aborted.addAll(CheckpointFiles.named(handle)));
        jobManager.acknowledged(id, handles).discardState();
        running.forEach(subtask -> subtask.strategy.notifyCheckpointAborted(id));
    }

    /** Its owner deletes it soon. */
    private void savepoint() throws Exception {
        long id = ++lastId;
        List<IncrementalRemoteKeyedStateHandle> handles = taken(id, NATIVE_SAVEPOINT);
        running.forEach(subtask -> subtask.strategy.notifyCheckpointComplete(id));
        assertHolds("savepoint " + id, handles, state);
        for (IncrementalRemoteKeyedStateHandle handle : handles) {
            handle.discardState();
        }
    }

    private void failOver() throws Exception {
        Set<Path> unknown = files.all();
        for (long id : jobManager.retained()) {
            unknown.remove(files.metadata(id));
            for (IncrementalRemoteKeyedStateHandle handle : jobManager.handles(id)) {
                unknown.removeAll(CheckpointFiles.named(handle));
            }
        }
        assertThat(aborted).containsAll(unknown);
        forgotten.addAll(unknown);
        jobManager.failOver();
        restart(running.size());
    }

    private void restart(int parallelism) throws Exception {
        List<Long> retained = jobManager.retained();
        long last = retained.get(retained.size() - 1);
        start(parallelism, jobManager.handles(last));
        state = new HashMap<>(checkpointed.get(last));
    }

    private void step(int step, Random random) throws Exception {
        switch (step) {
            case 0:
                failOver();
                break;
            case 1:
                abortedCheckpoint(random.nextBoolean() ? CHECKPOINT : FULL_CHECKPOINT);
                break;
            case 2:
                savepoint();
                break;
            case 3:
                checkpoint(FULL_CHECKPOINT);
                break;
            case 4:
                BackendFixture backend =
                        running.get(random.nextInt(running.size())).backend;
                Native.dbCompact(backend.restoreResult().database().call(open -> open));
                break;
            case 5:
            case 6:
                restart(1 + random.nextInt(3));
                break;
            default:
                write(random);
                checkpoint(CHECKPOINT);
        }
    }

    private void assertAllRetainedAreWhole(String when) throws Exception {
        for (long id : jobManager.retained()) {
            String what = when + ", checkpoint " + id;
            assertHolds(what, jobManager.handles(id), checkpointed.get(id));
        }
    }

    /** Also at another parallelism than that at which it was taken. */
    private void assertHolds(
            String what,
            List<IncrementalRemoteKeyedStateHandle> handles,
            Map<Integer, Long> expected)
            throws Exception {
        try (BackendFixture restored =
                BackendFixture.restored(
                        directory.resolve("restored"),
                        ALL,
                        handles.toArray(new KeyedStateHandle[0]))) {
            for (Map.Entry<Integer, Long> row : expected.entrySet()) {
                assertThat(restored.has(row.getKey(), row.getValue()))
                        .as("%s: %s", what, row)
                        .isTrue();
            }
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3})
    void everyRetainedCheckpointIsWholeAndNothingIsLeft(long seed) throws Exception {
        Random random = new Random(seed);
        start(1, List.of());
        write(random);
        checkpoint(CHECKPOINT);
        for (int done = 0; done < STEPS; done++) {
            int step = random.nextInt(11);
            step(step, random);
            assertAllRetainedAreWhole("seed " + seed + ", step " + done + " (" + step + ")");
        }
        assertThat(jobManager.retained()).hasSize(RETAINED);
        stop();
        jobManager.finish();
        // Flink has no more for what it forgot than this backend.
        assertThat(files.all()).isEqualTo(forgotten);
    }
}
