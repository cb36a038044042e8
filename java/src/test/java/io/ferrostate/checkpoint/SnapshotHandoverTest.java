package io.ferrostate.checkpoint;

import static io.ferrostate.checkpoint.CheckpointFiles.CHECKPOINT;
import static org.assertj.core.api.Assertions.assertThat;

import io.ferrostate.jni.Native;
import io.ferrostate.jni.NativeLibrary;

import org.apache.flink.core.fs.CloseableRegistry;
import org.apache.flink.runtime.checkpoint.CheckpointOptions;
import org.apache.flink.runtime.state.CheckpointStreamFactory;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.SnapshotExecutionType;
import org.apache.flink.runtime.state.SnapshotResources;
import org.apache.flink.runtime.state.SnapshotResult;
import org.apache.flink.runtime.state.SnapshotStrategy;
import org.apache.flink.runtime.state.SnapshotStrategyRunner;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;
import java.util.Set;
import java.util.concurrent.RunnableFuture;

/** Cancelled or not, a snapshot's files belong to somebody or are gone (A01). */
@Timeout(60)
class SnapshotHandoverTest {

    @TempDir Path directory;

    /** What Flink's future calls last before it takes the result. */
    private Runnable atTheEnd = () -> {};

    /** Passes on what the resources of a snapshot are asked to do. */
    private final class Resources implements SnapshotResources {

        private final NativeSnapshotResources resources;

        private Resources(NativeSnapshotResources resources) {
            this.resources = resources;
        }

        @Override
        public void release() {
            resources.release();
            atTheEnd.run();
        }
    }

    private final class Strategy implements SnapshotStrategy<KeyedStateHandle, Resources> {

        private final IncrementalSnapshotStrategy<Integer> strategy;

        private Strategy(IncrementalSnapshotStrategy<Integer> strategy) {
            this.strategy = strategy;
        }

        @Override
        public Resources syncPrepareResources(long checkpointId) throws Exception {
            return new Resources(strategy.syncPrepareResources(checkpointId));
        }

        @Override
        public SnapshotResultSupplier<KeyedStateHandle> asyncSnapshot(
                Resources resources,
                long checkpointId,
                long timestamp,
                CheckpointStreamFactory factory,
                CheckpointOptions options) {
            return strategy.asyncSnapshot(
                    resources.resources, checkpointId, timestamp, factory, options);
        }
    }

    @Test
    void cancellationAfterTheWorkAndBeforeTheResultIsTaken() throws Exception {
        NativeLibrary.load();
        long handles = Native.liveHandles();
        CheckpointFiles files = new CheckpointFiles(directory.resolve("checkpoints"), 0);
        try (BackendFixture backend = BackendFixture.fresh(directory.resolve("local"));
                IncrementalSnapshotStrategy<Integer> strategy = backend.incremental()) {
            backend.write(1, 1);
            RunnableFuture<SnapshotResult<KeyedStateHandle>> first = future(strategy, files, 1);
            first.run();
            assertThat(first.get().getJobManagerOwnedSnapshot()).isNotNull();
            strategy.notifyCheckpointComplete(1);
            Set<Path> before = files.all();
            assertThat(before).isNotEmpty();

            backend.write(2, 2);
            RunnableFuture<SnapshotResult<KeyedStateHandle>> second = future(strategy, files, 2);
            atTheEnd = () -> assertThat(second.cancel(true)).isTrue();
            second.run();
            assertThat(second.isCancelled()).isTrue();
            assertThat(Thread.interrupted()).isTrue();
            assertThat(files.all()).isEqualTo(before);
        }
        assertThat(Native.liveHandles()).isEqualTo(handles);
    }

    private RunnableFuture<SnapshotResult<KeyedStateHandle>> future(
            IncrementalSnapshotStrategy<Integer> strategy, CheckpointFiles files, long id)
            throws Exception {
        SnapshotHandover<Resources> handover = new SnapshotHandover<>(new Strategy(strategy));
        return handover.around(
                new SnapshotStrategyRunner<>(
                                "snapshot",
                                handover,
                                new CloseableRegistry(),
                                SnapshotExecutionType.ASYNCHRONOUS)
                        .snapshot(id, 0, files.location(id), CHECKPOINT));
    }
}
