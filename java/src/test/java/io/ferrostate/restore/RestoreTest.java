package io.ferrostate.restore;

import static io.ferrostate.checkpoint.BackendFixture.ALL;
import static io.ferrostate.checkpoint.BackendFixture.snapshot;
import static io.ferrostate.checkpoint.CheckpointFiles.CHECKPOINT;
import static io.ferrostate.checkpoint.CheckpointFiles.NATIVE_SAVEPOINT;
import static org.assertj.core.api.Assertions.assertThat;

import io.ferrostate.checkpoint.BackendFixture;
import io.ferrostate.checkpoint.CheckpointFiles;
import io.ferrostate.checkpoint.FullSnapshotStrategy;
import io.ferrostate.checkpoint.IncrementalSnapshotStrategy;

import org.apache.flink.runtime.checkpoint.CheckpointOptions;
import org.apache.flink.runtime.state.IncrementalRemoteKeyedStateHandle;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.SharedStateRegistry;
import org.apache.flink.runtime.state.SharedStateRegistryImpl;
import org.apache.flink.runtime.state.memory.MemCheckpointStreamFactory;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** State and history after a restore, at the same and at other key-group ranges. */
@Timeout(60)
class RestoreTest {

    private static final KeyGroupRange LOWER = KeyGroupRange.of(0, 7);
    private static final KeyGroupRange UPPER = KeyGroupRange.of(8, 15);

    @TempDir Path directory;

    private CheckpointFiles files;

    @BeforeEach
    void open() throws Exception {
        files = new CheckpointFiles(directory.resolve("checkpoints"), 0);
    }

    private BackendFixture backend(
            KeyGroupRange range, IncrementalRemoteKeyedStateHandle... handles) throws Exception {
        return BackendFixture.restored(directory.resolve("local"), range, handles);
    }

    /** A checkpoint of a new backend of that range, with state of a name of its own. */
    private IncrementalRemoteKeyedStateHandle checkpointOf(
            KeyGroupRange range, long id, String ownState) throws Exception {
        try (BackendFixture backend = backend(range);
                IncrementalSnapshotStrategy<Integer> strategy = backend.incremental()) {
            backend.register(ownState);
            backend.write(1, 1);
            backend.write(2, 2);
            return snapshot(strategy, id, files.location(id), CHECKPOINT);
        }
    }

    @Test
    void theSameRangeGoesOnWithItsHistory() throws Exception {
        IncrementalRemoteKeyedStateHandle first = checkpointOf(ALL, 7, "other");
        try (BackendFixture backend = backend(ALL, first);
                IncrementalSnapshotStrategy<Integer> strategy = backend.incremental()) {
            assertThat(backend.has(1, 1)).isTrue();
            assertThat(backend.restoreResult().backendIdentifier())
                    .isEqualTo(first.getBackendIdentifier());
            assertThat(backend.states().keySet()).containsExactly("other", BackendFixture.STATE);
            backend.write(3, 3);
            IncrementalRemoteKeyedStateHandle next =
                    snapshot(strategy, 8, files.location(8), CHECKPOINT);
            assertThat(CheckpointFiles.reused(next)).isEqualTo(CheckpointFiles.uploaded(first));
            assertThat(CheckpointFiles.uploaded(next)).hasSize(1);
            assertThat(backend.leftovers()).isEmpty();
        }
    }

    /** What the JobManager asks for after a NO_CLAIM restore. */
    @Test
    void aFullCheckpointAfterTheRestoreUploadsEverythingAgain() throws Exception {
        IncrementalRemoteKeyedStateHandle first = checkpointOf(ALL, 7, "other");
        try (BackendFixture backend = backend(ALL, first);
                IncrementalSnapshotStrategy<Integer> strategy = backend.incremental()) {
            IncrementalRemoteKeyedStateHandle next =
                    snapshot(strategy, 8, files.location(8), CheckpointFiles.FULL_CHECKPOINT);
            assertThat(CheckpointFiles.reused(next)).isEmpty();
            first.discardState();
            strategy.notifyCheckpointComplete(8);
            IncrementalRemoteKeyedStateHandle last =
                    snapshot(strategy, 9, files.location(9), CHECKPOINT);
            assertThat(CheckpointFiles.reused(last)).isEqualTo(CheckpointFiles.uploaded(next));
            assertRestoresFrom(next);
        }
    }

    private void assertRestoresFrom(IncrementalRemoteKeyedStateHandle handle) throws Exception {
        try (BackendFixture backend = backend(ALL, handle)) {
            assertThat(backend.has(1, 1)).isTrue();
            assertThat(backend.has(2, 2)).isTrue();
        }
    }

    @Test
    void theFilesOfAClaimedNativeSavepointAreNotReferredTo() throws Exception {
        IncrementalRemoteKeyedStateHandle savepoint = snapshotOf(NATIVE_SAVEPOINT);
        try (BackendFixture backend = backend(ALL, savepoint);
                IncrementalSnapshotStrategy<Integer> strategy = backend.incremental()) {
            IncrementalRemoteKeyedStateHandle next =
                    snapshot(strategy, 8, files.location(8), CHECKPOINT);
            assertThat(CheckpointFiles.reused(next)).isEmpty();
            assertThat(CheckpointFiles.uploaded(next))
                    .isEqualTo(CheckpointFiles.uploaded(savepoint))
                    .isNotEmpty();
            strategy.notifyCheckpointComplete(8);
            assertThat(
                            CheckpointFiles.reused(
                                    snapshot(strategy, 9, files.location(9), CHECKPOINT)))
                    .isEqualTo(CheckpointFiles.uploaded(next));
        }
    }

    private IncrementalRemoteKeyedStateHandle snapshotOf(CheckpointOptions options)
            throws Exception {
        try (BackendFixture backend = backend(ALL);
                IncrementalSnapshotStrategy<Integer> strategy = backend.incremental()) {
            backend.write(1, 1);
            return snapshot(strategy, 7, files.location(7), options);
        }
    }

    @Test
    void aFullSnapshotHasNoFilesToGoOnWith() throws Exception {
        IncrementalRemoteKeyedStateHandle full;
        try (BackendFixture backend = backend(ALL);
                FullSnapshotStrategy<Integer> strategy = backend.full()) {
            backend.write(1, 1);
            full = snapshot(strategy, 7, files.location(7), CHECKPOINT);
        }
        try (BackendFixture backend = backend(ALL, full);
                IncrementalSnapshotStrategy<Integer> strategy = backend.incremental()) {
            assertThat(backend.has(1, 1)).isTrue();
            assertThat(
                            CheckpointFiles.reused(
                                    snapshot(strategy, 8, files.location(8), CHECKPOINT)))
                    .isEmpty();
        }
    }

    @Test
    void twoHalvesBecomeOne() throws Exception {
        IncrementalRemoteKeyedStateHandle lower = checkpointOf(LOWER, 7, "only lower");
        IncrementalRemoteKeyedStateHandle upper = checkpointOf(UPPER, 8, "only upper");
        try (BackendFixture backend = backend(ALL, lower, upper);
                IncrementalSnapshotStrategy<Integer> strategy = backend.incremental()) {
            assertThat(backend.has(1, 1)).isTrue();
            assertThat(backend.has(2, 2)).isTrue();
            assertThat(backend.states().keySet())
                    .containsExactly("only lower", BackendFixture.STATE, "only upper");
            assertThat(backend.restoreResult().backendIdentifier())
                    .isNotIn(lower.getBackendIdentifier(), upper.getBackendIdentifier());
            assertThat(backend.leftovers()).isEmpty();
            IncrementalRemoteKeyedStateHandle next =
                    snapshot(strategy, 9, files.location(9), CHECKPOINT);
            assertThat(CheckpointFiles.reused(next)).hasSize(2);
            assertThat(CheckpointFiles.uploaded(next)).isEmpty();
            assertThat(sharedIds(next)).isEqualTo(sharedIds(lower, upper));
            next.registerSharedStates(registryOf(lower, upper), 9);
            assertRestoresFrom(next);
        }
    }

    private static Set<String> sharedIds(IncrementalRemoteKeyedStateHandle... handles) {
        return Stream.of(handles)
                .flatMap(handle -> handle.getSharedState().stream())
                .map(file -> file.getHandle().getStreamStateHandleID().getKeyString())
                .collect(Collectors.toSet());
    }

    private static SharedStateRegistry registryOf(IncrementalRemoteKeyedStateHandle... handles) {
        SharedStateRegistry registry = new SharedStateRegistryImpl();
        for (IncrementalRemoteKeyedStateHandle handle : handles) {
            handle.registerSharedStates(registry, handle.getCheckpointId());
        }
        return registry;
    }

    @Test
    void oneBecomesTwoHalves() throws Exception {
        IncrementalRemoteKeyedStateHandle all = checkpointOf(ALL, 7, "other");
        Set<Path> before = files.all();
        try (BackendFixture lower = backend(LOWER, all);
                BackendFixture upper = backend(UPPER, all)) {
            assertThat(lower.has(1, 1)).isTrue();
            assertThat(upper.has(1, 1)).isTrue();
            assertThat(lower.read(7, 2)).isNotNull();
            assertThat(lower.read(8, 2)).isNull();
            assertThat(upper.read(7, 2)).isNull();
            assertThat(upper.read(8, 2)).isNotNull();
            assertThat(lower.states().keySet()).containsExactly("other", BackendFixture.STATE);
        }
        assertThat(files.all()).isEqualTo(before);
    }

    @Test
    void aPartOutsideTheRangeOnlyRegistersItsStates() throws Exception {
        IncrementalRemoteKeyedStateHandle lower = checkpointOf(LOWER, 7, "only lower");
        IncrementalRemoteKeyedStateHandle upper = checkpointOf(UPPER, 8, "only upper");
        try (BackendFixture backend = backend(UPPER, lower, upper)) {
            assertThat(backend.has(2, 2)).isTrue();
            assertThat(backend.read(3, 2)).isNull();
            assertThat(backend.states()).containsKey("only lower");
        }
    }

    @Test
    void aCheckpointInJobManagerMemory() throws Exception {
        IncrementalRemoteKeyedStateHandle inline;
        try (BackendFixture backend = backend(ALL);
                IncrementalSnapshotStrategy<Integer> strategy = backend.incremental()) {
            backend.write(1, 1);
            inline = snapshot(strategy, 7, new MemCheckpointStreamFactory(5 << 20), CHECKPOINT);
        }
        try (BackendFixture same = backend(ALL, inline);
                BackendFixture upper = backend(UPPER, inline)) {
            assertThat(same.has(1, 1)).isTrue();
            assertThat(upper.has(1, 1)).isTrue();
        }
    }
}
