package io.ferrostate.checkpoint;

import static io.ferrostate.checkpoint.BackendFixture.ALL;
import static io.ferrostate.checkpoint.BackendFixture.snapshot;
import static io.ferrostate.checkpoint.CheckpointFiles.CHECKPOINT;
import static io.ferrostate.checkpoint.CheckpointFiles.FULL_CHECKPOINT;
import static io.ferrostate.checkpoint.CheckpointFiles.NATIVE_SAVEPOINT;
import static org.assertj.core.api.Assertions.assertThat;

import io.ferrostate.jni.Native;
import io.ferrostate.jni.NativeLibrary;

import org.apache.flink.core.fs.CloseableRegistry;
import org.apache.flink.runtime.state.IncrementalRemoteKeyedStateHandle;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.SharedStateRegistryImpl;
import org.apache.flink.runtime.state.SnapshotStrategy.SnapshotResultSupplier;
import org.apache.flink.runtime.state.StreamStateHandle;
import org.apache.flink.runtime.state.filesystem.FileStateHandle;
import org.apache.flink.runtime.state.filesystem.RelativeFileStateHandle;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;

/** Which files a checkpoint reuses, with Flink's own registry on the other side. */
@Timeout(60)
class SnapshotReuseTest {

    @TempDir Path directory;

    private long liveHandles;
    private CheckpointFiles files;
    private BackendFixture backend;
    private IncrementalSnapshotStrategy<Integer> strategy;
    private final SharedStateRegistryImpl registry = new SharedStateRegistryImpl();

    @BeforeEach
    void open() throws Exception {
        NativeLibrary.load();
        liveHandles = Native.liveHandles();
        files = new CheckpointFiles(directory.resolve("checkpoints"), 0);
        backend = BackendFixture.fresh(directory.resolve("local"));
        strategy = backend.incremental();
        backend.write(1, 1);
    }

    @AfterEach
    void close() throws Exception {
        strategy.close();
        backend.close();
        registry.close();
        assertThat(Native.liveHandles()).isEqualTo(liveHandles);
    }

    private IncrementalRemoteKeyedStateHandle checkpoint(long id) throws Exception {
        return snapshot(strategy, id, files.location(id), CHECKPOINT);
    }

    private IncrementalRemoteKeyedStateHandle completed(long id) throws Exception {
        IncrementalRemoteKeyedStateHandle handle = checkpoint(id);
        handle.registerSharedStates(registry, id);
        registry.checkpointCompleted(id);
        strategy.notifyCheckpointComplete(id);
        return handle;
    }

    private boolean restores(IncrementalRemoteKeyedStateHandle handle, int... keys)
            throws Exception {
        try (BackendFixture restored =
                BackendFixture.restored(directory.resolve("restored"), ALL, handle)) {
            for (int key : keys) {
                if (!restored.has(key, key)) {
                    return false;
                }
            }
            return true;
        }
    }

    @Test
    void filesOfTheConfirmedCheckpointAreReused() throws Exception {
        IncrementalRemoteKeyedStateHandle first = completed(1);
        backend.write(2, 2);
        IncrementalRemoteKeyedStateHandle second = checkpoint(2);
        assertThat(CheckpointFiles.reused(second)).isEqualTo(CheckpointFiles.uploaded(first));
        assertThat(CheckpointFiles.uploaded(second)).hasSize(1);
        assertThat(second.getCheckpointedSize()).isLessThan(second.getStateSize());
        second.registerSharedStates(registry, 2);
        assertThat(CheckpointFiles.reused(second)).isEmpty();
        assertThat(restores(second, 1, 2)).isTrue();
    }

    /** A02, FLINK-25395. */
    @Test
    void filesOfAnUnconfirmedCheckpointAreNotReused() throws Exception {
        IncrementalRemoteKeyedStateHandle first = checkpoint(1);
        IncrementalRemoteKeyedStateHandle second = checkpoint(2);
        assertThat(CheckpointFiles.reused(second)).isEmpty();
        first.discardState();
        assertThat(restores(second, 1)).isTrue();
    }

    /** A03, FLINK-29913: both upload the same local file. */
    @Test
    void overlappingCheckpointsDoNotShareObjects() throws Exception {
        NativeSnapshotResources early = strategy.syncPrepareResources(1);
        NativeSnapshotResources late = strategy.syncPrepareResources(2);
        IncrementalRemoteKeyedStateHandle first = finish(early, 1);
        IncrementalRemoteKeyedStateHandle second = finish(late, 2);
        assertThat(CheckpointFiles.uploaded(second)).isEqualTo(CheckpointFiles.uploaded(first));
        first.registerSharedStates(registry, 1);
        second.registerSharedStates(registry, 2);
        registry.checkpointCompleted(1);
        registry.checkpointCompleted(2);
        subsume(first, 2);
        assertThat(CheckpointFiles.named(first)).noneMatch(CheckpointFiles::exists);
        assertThat(CheckpointFiles.named(second)).allMatch(CheckpointFiles::exists);
        assertThat(restores(second, 1)).isTrue();
    }

    /** The confirmation of 1 arrives when 2, which uploaded the same file again, subsumed 1. */
    @Test
    void aFileUploadedAgainIsNotReusedFromTheOlderCheckpoint() throws Exception {
        IncrementalRemoteKeyedStateHandle first = checkpoint(1);
        IncrementalRemoteKeyedStateHandle second = checkpoint(2);
        strategy.notifyCheckpointComplete(1);
        IncrementalRemoteKeyedStateHandle third = checkpoint(3);
        first.registerSharedStates(registry, 1);
        second.registerSharedStates(registry, 2);
        registry.checkpointCompleted(1);
        registry.checkpointCompleted(2);
        subsume(first, 2);
        assertThat(CheckpointFiles.reused(third)).isEmpty();
        assertThat(restores(third, 1)).isTrue();
    }

    /** 2 uploads all files again, and may complete before 3 is acknowledged: 1 goes with its files. */
    @Test
    void aFileThatACheckpointOnItsWayUploadsAgainIsNotReused() throws Exception {
        IncrementalRemoteKeyedStateHandle first = completed(1);
        NativeSnapshotResources resources = strategy.syncPrepareResources(2);
        SnapshotResultSupplier<KeyedStateHandle> full =
                strategy.asyncSnapshot(resources, 2, 0L, files.location(2), FULL_CHECKPOINT);
        IncrementalRemoteKeyedStateHandle third = checkpoint(3);
        IncrementalRemoteKeyedStateHandle second;
        try (CloseableRegistry cancel = new CloseableRegistry()) {
            second =
                    (IncrementalRemoteKeyedStateHandle)
                            full.get(cancel).getJobManagerOwnedSnapshot();
        } finally {
            resources.release();
        }
        second.registerSharedStates(registry, 2);
        registry.checkpointCompleted(2);
        subsume(first, 2);
        assertThat(CheckpointFiles.named(first)).noneMatch(CheckpointFiles::exists);
        assertThat(CheckpointFiles.reused(third)).isEmpty();
        third.registerSharedStates(registry, 3);
        assertThat(restores(third, 1)).isTrue();
    }

    private IncrementalRemoteKeyedStateHandle finish(NativeSnapshotResources resources, long id)
            throws Exception {
        return (IncrementalRemoteKeyedStateHandle)
                BackendFixture.finish(
                                strategy,
                                resources,
                                id,
                                files.location(id),
                                CHECKPOINT,
                                new CloseableRegistry())
                        .getJobManagerOwnedSnapshot();
    }

    private void subsume(IncrementalRemoteKeyedStateHandle handle, long lowestRetained)
            throws Exception {
        handle.discardState();
        registry.unregisterUnusedState(lowestRetained);
    }

    /** A26, FLINK-23949. */
    @Test
    void aSavepointInBetweenDoesNotMakeTheNextCheckpointFull() throws Exception {
        IncrementalRemoteKeyedStateHandle first = completed(1);
        IncrementalRemoteKeyedStateHandle savepoint =
                snapshot(strategy, 2, files.location(2), NATIVE_SAVEPOINT);
        strategy.notifyCheckpointComplete(2);
        IncrementalRemoteKeyedStateHandle third = checkpoint(3);
        assertThat(CheckpointFiles.reused(savepoint)).isEmpty();
        assertThat(CheckpointFiles.reused(third)).isEqualTo(CheckpointFiles.uploaded(first));
    }

    @Test
    void filesOfAnAbortedCheckpointAreNotReused() throws Exception {
        IncrementalRemoteKeyedStateHandle first = completed(1);
        backend.write(2, 2);
        IncrementalRemoteKeyedStateHandle second = checkpoint(2);
        strategy.notifyCheckpointAborted(2);
        strategy.notifyCheckpointComplete(2);
        IncrementalRemoteKeyedStateHandle third = checkpoint(3);
        assertThat(CheckpointFiles.reused(third)).isEqualTo(CheckpointFiles.uploaded(first));
        assertThat(CheckpointFiles.uploaded(third)).containsAll(CheckpointFiles.uploaded(second));
    }

    /** FORWARD: what follows a NO_CLAIM restore. */
    @Test
    void aFullCheckpointReusesNothingAndIsReused() throws Exception {
        IncrementalRemoteKeyedStateHandle first = completed(1);
        IncrementalRemoteKeyedStateHandle full =
                snapshot(strategy, 2, files.location(2), FULL_CHECKPOINT);
        strategy.notifyCheckpointComplete(2);
        assertThat(CheckpointFiles.uploaded(full)).isEqualTo(CheckpointFiles.uploaded(first));
        assertThat(CheckpointFiles.named(full)).doesNotContainAnyElementsOf(
                CheckpointFiles.named(first));
        IncrementalRemoteKeyedStateHandle third = checkpoint(3);
        assertThat(CheckpointFiles.reused(third)).isEqualTo(CheckpointFiles.uploaded(full));
        String name = CheckpointFiles.uploaded(full).iterator().next();
        assertThat(CheckpointFiles.of(third, name).getStreamStateHandleID())
                .isEqualTo(CheckpointFiles.of(full, name).getStreamStateHandleID());
    }

    @Test
    void aNativeSavepointIsSelfContained() throws Exception {
        completed(1);
        IncrementalRemoteKeyedStateHandle savepoint =
                snapshot(strategy, 2, files.location(2), NATIVE_SAVEPOINT);
        assertThat(savepoint.getSharedState()).isNotEmpty();
        assertThat(savepoint.streamSubHandles())
                .allSatisfy(
                        handle -> assertThat(handle).isInstanceOf(RelativeFileStateHandle.class));
        assertThat(restores(savepoint, 1)).isTrue();
    }

    @Test
    void aFullStrategyKeepsAllFilesPrivate() throws Exception {
        IncrementalRemoteKeyedStateHandle handle;
        try (FullSnapshotStrategy<Integer> full = backend.full()) {
            handle = snapshot(full, 1, files.location(1), CHECKPOINT);
            full.notifyCheckpointComplete(1);
        }
        assertThat(handle.getSharedState()).isEmpty();
        assertThat(handle.getPrivateState())
                .allSatisfy(
                        file ->
                                assertThat(file.getHandle())
                                        .isInstanceOf(RelativeFileStateHandle.class));
        assertThat(handle.getCheckpointedSize()).isEqualTo(handle.getStateSize());
        assertThat(restores(handle, 1)).isTrue();
    }

    @Test
    void sharedFilesAreAbsoluteAndPrivateOnesDoNotSurviveTheCheckpoint() throws Exception {
        IncrementalRemoteKeyedStateHandle first = completed(1);
        assertThat(first.getSharedState())
                .allSatisfy(file -> isSharedFile(file.getHandle()));
        assertThat(first.getPrivateState())
                .allSatisfy(file -> isSharedFile(file.getHandle()));
        assertThat(first.getMetaDataStateHandle()).isInstanceOf(RelativeFileStateHandle.class);
        first.discardState();
        assertThat(first.getSharedState())
                .allSatisfy(file -> assertThat(file.getHandle().openInputStream()).isNotNull());
        assertThat(files.all()).hasSize(first.getSharedState().size());
    }

    private void isSharedFile(StreamStateHandle handle) {
        assertThat(handle.getClass()).isEqualTo(FileStateHandle.class);
        Path path = Path.of(((FileStateHandle) handle).getFilePath().getPath());
        assertThat(path.getParent()).isEqualTo(files.shared());
    }

    @Test
    void numbersOfEachCheckpointCanBeRead() throws Exception {
        SnapshotStats.drain();
        completed(1);
        backend.write(2, 2);
        IncrementalRemoteKeyedStateHandle second = checkpoint(2);
        assertThat(SnapshotStats.drain())
                .hasSize(2)
                .last()
                .satisfies(
                        stats -> {
                            assertThat(stats.checkpointId()).isEqualTo(2);
                            assertThat(stats.mode()).isEqualTo("incremental");
                            assertThat(stats.reusedFiles()).isEqualTo(1);
                            assertThat(stats.newFiles())
                                    .isEqualTo(1 + second.getPrivateState().size());
                            assertThat(stats.newBytes())
                                    .isEqualTo(second.getCheckpointedSize());
                            assertThat(stats.fullSize()).isEqualTo(second.getStateSize());
                        });
    }
}
