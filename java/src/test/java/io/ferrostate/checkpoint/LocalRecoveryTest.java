package io.ferrostate.checkpoint;

import static io.ferrostate.checkpoint.BackendFixture.ALL;
import static io.ferrostate.checkpoint.CheckpointFiles.CHECKPOINT;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.ferrostate.SmallDisk;
import io.ferrostate.jni.Native;

import org.apache.flink.api.common.JobID;
import org.apache.flink.core.fs.CloseableRegistry;
import org.apache.flink.runtime.jobgraph.JobVertexID;
import org.apache.flink.runtime.state.IncrementalLocalKeyedStateHandle;
import org.apache.flink.runtime.state.IncrementalRemoteKeyedStateHandle;
import org.apache.flink.runtime.state.KeyGroupRange;
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
import java.util.Arrays;
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

    /** Flink then takes the next alternative, the checkpoint in the storage, and logs this as a warning. */
    @Test
    void aLocalCopyThatIsGoneOrDamagedFailsTheRestore() throws Exception {
        SnapshotResult<KeyedStateHandle> result = checkpoint(1);
        IncrementalLocalKeyedStateHandle local =
                (IncrementalLocalKeyedStateHandle) result.getTaskLocalSnapshot();
        long liveHandles = Native.liveHandles();
        for (Path file : localFiles(1)) {
            String name = file.getFileName().toString();
            if (name.startsWith("OPTIONS") || name.endsWith(".log")) {
                continue; // nobody needs them
            }
            byte[] whole = Files.readAllBytes(file);
            Files.delete(file);
            assertLocalFails(local, file + " is gone");
            Files.write(file, Arrays.copyOf(whole, whole.length / 2));
            assertLocalFails(local, file + " is cut");
            Files.write(file, whole);
        }
        local.getDirectoryStateHandle().discardState();
        assertLocalFails(local, "all is gone");
        assertThat(Native.liveHandles()).isEqualTo(liveHandles);
        try (BackendFixture remote =
                BackendFixture.restored(
                        directory.resolve("restored"), ALL, result.getJobManagerOwnedSnapshot())) {
            assertThat(remote.has(1, 1)).isTrue();
        }
    }

    private void assertLocalFails(IncrementalLocalKeyedStateHandle local, String damaged) {
        for (KeyGroupRange range : List.of(ALL, KeyGroupRange.of(0, 3))) {
            assertThatThrownBy(
                            () ->
                                    BackendFixture.restored(
                                            directory.resolve("restored"), range, local),
                            damaged)
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining(
                            "the local copy of checkpoint 1 in "
                                    + local.getDirectoryStateHandle().getDirectory());
        }
    }

    /** Flink deletes the copy once a later checkpoint is confirmed: it must be gone from the disk then. */
    @Test
    void aRestoredDatabaseHasNoFileOfTheCopyOpen() throws Exception {
        KeyedStateHandle local = checkpoint(1).getTaskLocalSnapshot();
        Path copy = provider.subtaskSpecificCheckpointDirectory(1).toPath();
        for (KeyGroupRange range : List.of(ALL, KeyGroupRange.of(0, 3))) {
            try (BackendFixture restored =
                    BackendFixture.restored(directory.resolve("restored"), range, local)) {
                assertThat(restored.has(1, 1)).isTrue();
                try (Stream<Path> open = Files.list(Path.of("/proc/self/fd"))) {
                    assertThat(open.map(LocalRecoveryTest::target))
                            .noneMatch(target -> target.startsWith(copy.toString()));
                }
            }
        }
        assertThat(localFiles(1)).isNotEmpty();
    }

    private static String target(Path descriptor) {
        try {
            return Files.readSymbolicLink(descriptor).toString();
        } catch (IOException closedMeanwhile) {
            return "";
        }
    }

    /** One subtask's copy is on this machine, the other one's checkpoint is not; either order. */
    @Test
    void aRescaleFromLocalAndRemoteParts() throws Exception {
        KeyGroupRange lower = KeyGroupRange.of(0, 7);
        SnapshotResult<KeyedStateHandle> one = checkpointOf(lower, 5);
        SnapshotResult<KeyedStateHandle> two = checkpointOf(KeyGroupRange.of(8, 15), 5);
        List<Path> before = localFiles(5);
        for (KeyedStateHandle[] parts :
                new KeyedStateHandle[][] {
                    {one.getTaskLocalSnapshot(), two.getJobManagerOwnedSnapshot()},
                    {one.getJobManagerOwnedSnapshot(), two.getTaskLocalSnapshot()},
                    {one.getTaskLocalSnapshot(), two.getTaskLocalSnapshot()}
                }) {
            try (BackendFixture all =
                            BackendFixture.restored(directory.resolve("restored"), ALL, parts);
                    IncrementalSnapshotStrategy<Integer> next = all.incremental()) {
                assertThat(all.has(1, 1)).isTrue();
                assertThat(all.leftovers()).isEmpty();
                IncrementalRemoteKeyedStateHandle sixth =
                        BackendFixture.snapshot(next, 6, files.location(6), CHECKPOINT);
                assertThat(CheckpointFiles.uploaded(sixth)).isEmpty();
                assertThat(CheckpointFiles.reused(sixth)).hasSize(2);
            }
        }
        assertThat(localFiles(5)).isEqualTo(before);
    }

    private SnapshotResult<KeyedStateHandle> checkpointOf(KeyGroupRange range, long id)
            throws Exception {
        try (BackendFixture some =
                        BackendFixture.restored(directory.resolve("some"), range)
                                .withLocalRecovery(
                                        LocalRecoveryConfig.backupAndRecoveryEnabled(provider));
                IncrementalSnapshotStrategy<Integer> snapshots = some.incremental()) {
            some.write(1, 1);
            return BackendFixture.snapshotResult(snapshots, id, files.location(id), CHECKPOINT);
        }
    }

    /** Hard links end at a file system's border: there and back the files are copied. */
    @Test
    void copiesOnAnotherDisk() throws Exception {
        try (SmallDisk disk = SmallDisk.mount(directory.resolve("disk1"), 24)) {
            for (long id : new long[] {2, 3}) { // by turns on this disk and on that
                backend.write((int) id, id);
                SnapshotResult<KeyedStateHandle> result = checkpoint(id);
                strategy.notifyCheckpointComplete(id);
                Path copy = provider.subtaskSpecificCheckpointDirectory(id).toPath();
                assertThat(copy.startsWith(disk.path())).isEqualTo(id % 2 == 0);
                for (KeyGroupRange range : List.of(ALL, KeyGroupRange.of(0, 3))) {
                    try (BackendFixture restored =
                                    BackendFixture.restored(
                                            directory.resolve("restored"),
                                            range,
                                            result.getTaskLocalSnapshot());
                            IncrementalSnapshotStrategy<Integer> next = restored.incremental()) {
                        assertThat(restored.has((int) id, id)).isTrue();
                        IncrementalRemoteKeyedStateHandle following =
                                BackendFixture.snapshot(next, 9, files.location(9), CHECKPOINT);
                        if (range.equals(ALL)) {
                            assertThat(CheckpointFiles.uploaded(following)).isEmpty();
                        }
                    }
                }
            }
        }
    }
}
