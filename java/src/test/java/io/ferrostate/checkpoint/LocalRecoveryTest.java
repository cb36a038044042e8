package io.ferrostate.checkpoint;

import static io.ferrostate.checkpoint.BackendFixture.ALL;
import static io.ferrostate.checkpoint.CheckpointFiles.CHECKPOINT;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.apache.flink.api.common.JobID;
import org.apache.flink.core.fs.CloseableRegistry;
import org.apache.flink.runtime.jobgraph.JobVertexID;
import org.apache.flink.runtime.state.IncrementalLocalKeyedStateHandle;
import org.apache.flink.runtime.state.IncrementalRemoteKeyedStateHandle;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.LocalRecoveryConfig;
import org.apache.flink.runtime.state.LocalSnapshotDirectoryProviderImpl;
import org.apache.flink.runtime.state.SnapshotResult;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Copies of checkpoints that stay on the machine (compatibility D13). */
@Timeout(60)
class LocalRecoveryTest {

    @TempDir Path directory;

    private CheckpointFiles files;
    private LocalSnapshotDirectoryProviderImpl provider;
    private BackendFixture backend;
    private IncrementalSnapshotStrategy<Integer> strategy;

    @BeforeEach
    void open() throws Exception {
        files = new CheckpointFiles(directory.resolve("checkpoints"), 0);
        provider =
                new LocalSnapshotDirectoryProviderImpl(
                        new File[] {
                            directory.resolve("disk1").toFile(), directory.resolve("disk2").toFile()
                        },
                        new JobID(),
                        new JobVertexID(),
                        0);
        backend =
                BackendFixture.fresh(directory.resolve("local"))
                        .withLocalRecovery(LocalRecoveryConfig.backupAndRecoveryEnabled(provider));
        strategy = backend.incremental();
        backend.write(1, 1);
    }

    @AfterEach
    void close() {
        strategy.close();
        backend.close();
    }

    private SnapshotResult<KeyedStateHandle> checkpoint(long id) throws Exception {
        return BackendFixture.snapshotResult(strategy, id, files.location(id), CHECKPOINT);
    }

    private List<Path> localFiles(long checkpointId) throws IOException {
        Path chk = provider.subtaskSpecificCheckpointDirectory(checkpointId).toPath();
        if (!Files.exists(chk)) {
            return List.of();
        }
        try (Stream<Path> found = Files.walk(chk)) {
            return found.filter(Files::isRegularFile).collect(Collectors.toList());
        }
    }

    @Test
    void theLocalCopyRestoresAndContinuesIncrementally() throws Exception {
        SnapshotResult<KeyedStateHandle> result = checkpoint(1);
        IncrementalLocalKeyedStateHandle local =
                (IncrementalLocalKeyedStateHandle) result.getTaskLocalSnapshot();
        IncrementalRemoteKeyedStateHandle remote =
                (IncrementalRemoteKeyedStateHandle) result.getJobManagerOwnedSnapshot();
        assertThat(local.getDirectoryStateHandle().getDirectory())
                .isEqualTo(
                        provider.subtaskSpecificCheckpointDirectory(1)
                                .toPath()
                                .resolve(
                                        backend.restoreResult()
                                                .backendIdentifier()
                                                .toString()
                                                .replace("-", "")));
        assertThat(backend.leftovers()).isEmpty();
        List<Path> before = localFiles(1);
        try (BackendFixture restored =
                        BackendFixture.restored(directory.resolve("restored"), ALL, local);
                IncrementalSnapshotStrategy<Integer> next = restored.incremental()) {
            assertThat(restored.has(1, 1)).isTrue();
            IncrementalRemoteKeyedStateHandle second =
                    BackendFixture.snapshot(next, 2, files.location(2), CHECKPOINT);
            assertThat(CheckpointFiles.reused(second)).isEqualTo(CheckpointFiles.uploaded(remote));
            assertThat(second.getBackendIdentifier()).isEqualTo(remote.getBackendIdentifier());
        }
        assertThat(localFiles(1)).isEqualTo(before);
    }

    @Test
    void aFailedCheckpointLeavesNoLocalCopy() throws Exception {
        NativeSnapshotResources resources = strategy.syncPrepareResources(1);
        FaultyStreams faulty =
                new FaultyStreams(files.location(1), 3, FaultyStreams.failure());
        assertThatThrownBy(
                        () ->
                                BackendFixture.finish(
                                        strategy,
                                        resources,
                                        1,
                                        faulty,
                                        CHECKPOINT,
                                        new CloseableRegistry()))
                .isInstanceOf(IOException.class);
        assertThat(localFiles(1)).isEmpty();
        assertThat(files.all()).isEmpty();
    }

    @Test
    void aCheckpointThatIsCancelledAtTheEndLeavesNoLocalCopy() throws Exception {
        NativeSnapshotResources resources = strategy.syncPrepareResources(1);
        CloseableRegistry registry = new CloseableRegistry();
        int streams = countStreams();
        FaultyStreams cancelling =
                new FaultyStreams(files.location(1), streams, registry::close);
        assertThatThrownBy(
                        () ->
                                BackendFixture.finish(
                                        strategy, resources, 1, cancelling, CHECKPOINT, registry))
                .isInstanceOf(java.util.concurrent.CancellationException.class);
        assertThat(localFiles(1)).isEmpty();
        assertThat(files.all()).isEmpty();
    }

    private int countStreams() throws Exception {
        FaultyStreams counting = new FaultyStreams(files.location(9), 0, () -> {});
        BackendFixture.snapshotResult(strategy, 9, counting, CHECKPOINT).discardState();
        return counting.streamsClosed();
    }

    @Test
    void aLeftoverOfTheSameCheckpointIsReplaced() throws Exception {
        SnapshotResult<KeyedStateHandle> first = checkpoint(1);
        first.getJobManagerOwnedSnapshot().discardState();
        backend.write(2, 2);
        KeyedStateHandle local = checkpoint(1).getTaskLocalSnapshot();
        try (BackendFixture restored =
                BackendFixture.restored(directory.resolve("restored"), ALL, local)) {
            assertThat(restored.has(2, 2)).isTrue();
        }
    }

    @Test
    void aLocalCopyThatIsGoneFailsTheRestore() throws Exception {
        KeyedStateHandle local = checkpoint(1).getTaskLocalSnapshot();
        ((IncrementalLocalKeyedStateHandle) local).getDirectoryStateHandle().discardState();
        assertThatThrownBy(
                        () -> BackendFixture.restored(directory.resolve("restored"), ALL, local))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("checkpoint 1")
                .hasMessageContaining("bringing its files");
    }
}
