package io.ferrostate.checkpoint;

import static io.ferrostate.checkpoint.CheckpointFiles.CHECKPOINT;
import static org.assertj.core.api.Assertions.assertThat;

import org.apache.flink.api.common.JobID;
import org.apache.flink.core.fs.local.LocalFileSystem;
import org.apache.flink.runtime.checkpoint.filemerging.FileMergingSnapshotManager;
import org.apache.flink.runtime.checkpoint.filemerging.FileMergingSnapshotManager.SubtaskKey;
import org.apache.flink.runtime.checkpoint.filemerging.FileMergingSnapshotManagerBuilder;
import org.apache.flink.runtime.checkpoint.filemerging.FileMergingType;
import org.apache.flink.runtime.clusterframework.types.ResourceID;
import org.apache.flink.runtime.state.CheckpointStorageLocationReference;
import org.apache.flink.runtime.state.CheckpointedStateScope;
import org.apache.flink.runtime.state.IncrementalKeyedStateHandle.HandleAndLocalPath;
import org.apache.flink.runtime.state.IncrementalRemoteKeyedStateHandle;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.PlaceholderStreamStateHandle;
import org.apache.flink.runtime.state.SharedStateRegistryImpl;
import org.apache.flink.runtime.state.StreamStateHandle;
import org.apache.flink.runtime.state.filemerging.SegmentFileStateHandle;
import org.apache.flink.runtime.state.filesystem.FsCheckpointStorageLocation;
import org.apache.flink.runtime.state.filesystem.FsMergingCheckpointStorageLocation;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Path;

/** Checkpoints with Flink's file merging go through its streams and are incremental all the same. */
@Timeout(60)
class FileMergingTest {

    private static final SubtaskKey SUBTASK = new SubtaskKey("job", "vertex", 0, 1);

    @TempDir Path directory;

    private CheckpointFiles files;
    private FileMergingSnapshotManager manager;

    private FsMergingCheckpointStorageLocation location(long checkpointId) throws IOException {
        return location(SUBTASK, checkpointId);
    }

    private FsMergingCheckpointStorageLocation location(SubtaskKey subtask, long checkpointId)
            throws IOException {
        FsCheckpointStorageLocation plain = files.location(checkpointId);
        manager.notifyCheckpointStart(subtask, checkpointId);
        return new FsMergingCheckpointStorageLocation(
                subtask,
                LocalFileSystem.getSharedInstance(),
                plain.getCheckpointDirectory(),
                plain.getSharedStateDirectory(),
                plain.getTaskOwnedStateDirectory(),
                CheckpointStorageLocationReference.getDefault(),
                0,
                4096,
                manager,
                checkpointId);
    }

    @BeforeEach
    void open() throws IOException {
        files = new CheckpointFiles(directory.resolve("checkpoints"), 0);
        manager =
                new FileMergingSnapshotManagerBuilder(
                                new JobID(),
                                ResourceID.generate(),
                                FileMergingType.MERGE_ACROSS_CHECKPOINT)
                        .build();
        FsCheckpointStorageLocation plain = files.location(0);
        manager.initFileSystem(
                LocalFileSystem.getSharedInstance(),
                plain.getCheckpointDirectory().getParent(),
                plain.getSharedStateDirectory(),
                plain.getTaskOwnedStateDirectory(),
                4096);
        manager.registerSubtaskForSharedStates(SUBTASK);
    }

    @AfterEach
    void close() throws IOException {
        manager.close();
    }

    @Test
    void mergedFilesAreReusedAndRestored() throws Exception {
        try (SharedStateRegistryImpl registry = new SharedStateRegistryImpl();
                BackendFixture backend = BackendFixture.fresh(directory.resolve("local"));
                IncrementalSnapshotStrategy<Integer> strategy = backend.incremental()) {
            backend.write(1, 1);
            IncrementalRemoteKeyedStateHandle first =
                    BackendFixture.snapshot(strategy, 1, location(1), CHECKPOINT);
            first.registerSharedStates(registry, 1);
            registry.checkpointCompleted(1);
            manager.notifyCheckpointComplete(SUBTASK, 1);
            strategy.notifyCheckpointComplete(1);
            assertThat(first.getSharedState())
                    .extracting(HandleAndLocalPath::getHandle)
                    .hasOnlyElementsOfType(SegmentFileStateHandle.class);

            backend.write(2, 2);
            IncrementalRemoteKeyedStateHandle second =
                    BackendFixture.snapshot(strategy, 2, location(2), CHECKPOINT);
            assertThat(CheckpointFiles.reused(second)).isEqualTo(CheckpointFiles.uploaded(first));
            StreamStateHandle reused =
                    CheckpointFiles.of(second, CheckpointFiles.reused(second).iterator().next());
            assertThat(((PlaceholderStreamStateHandle) reused).isFileMerged()).isTrue();

            second.registerSharedStates(registry, 2);
            try (BackendFixture restored =
                    BackendFixture.restored(
                            directory.resolve("restored"), BackendFixture.ALL, second)) {
                assertThat(restored.has(1, 1)).isTrue();
                assertThat(restored.has(2, 2)).isTrue();
            }
        }
    }

    /**
     * The first of twelve subtasks has its merged files in {@code ..._0_12}, and a file merging that was
     * asked for {@code ..._0_1} takes them for its own. The JobManager deletes that directory as soon as
     * no checkpoint of the twelve is retained, whatever later ones refer to.
     */
    @Test
    void nothingIsReferredToInTheDirectoryOfASubtaskThatIsNoMore() throws Exception {
        SubtaskKey ofTwelve = new SubtaskKey("job", "vertex", 0, 12);
        manager.registerSubtaskForSharedStates(ofTwelve);
        IncrementalRemoteKeyedStateHandle first;
        try (BackendFixture backend =
                        BackendFixture.restored(
                                directory.resolve("local"), KeyGroupRange.of(0, 7));
                IncrementalSnapshotStrategy<Integer> strategy = backend.incremental()) {
            for (int key = 0; key < 20; key++) {
                backend.write(key, key);
            }
            first = BackendFixture.snapshot(strategy, 1, location(ofTwelve, 1), CHECKPOINT);
        }
        manager.restoreStateHandles(
                1,
                SUBTASK,
                first.streamSubHandles()
                        .filter(SegmentFileStateHandle.class::isInstance)
                        .map(SegmentFileStateHandle.class::cast));
        try (BackendFixture backend =
                        BackendFixture.restored(
                                directory.resolve("restored"), BackendFixture.ALL, first);
                IncrementalSnapshotStrategy<Integer> strategy = backend.incremental()) {
            IncrementalRemoteKeyedStateHandle second =
                    BackendFixture.snapshot(strategy, 2, location(2), CHECKPOINT);
            assertThat(CheckpointFiles.reused(second)).isEmpty();
            // As the JobManager does.
            manager.getManagedDirStateHandle(ofTwelve, CheckpointedStateScope.SHARED)
                    .discardState();
            try (BackendFixture whole =
                    BackendFixture.restored(
                            directory.resolve("again"), KeyGroupRange.of(0, 7), second)) {
                assertThat(whole.has(1, 1)).isTrue();
            }
        }
    }
}
