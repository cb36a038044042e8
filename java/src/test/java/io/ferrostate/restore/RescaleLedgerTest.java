package io.ferrostate.restore;

import static io.ferrostate.checkpoint.BackendFixture.ALL;
import static io.ferrostate.checkpoint.BackendFixture.STATE;
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
import org.apache.flink.runtime.checkpoint.Checkpoints;
import org.apache.flink.runtime.checkpoint.OperatorState;
import org.apache.flink.runtime.checkpoint.OperatorSubtaskState;
import org.apache.flink.runtime.checkpoint.metadata.CheckpointMetadata;
import org.apache.flink.runtime.jobgraph.OperatorID;
import org.apache.flink.runtime.state.CheckpointMetadataOutputStream;
import org.apache.flink.runtime.state.IncrementalKeyedStateHandle.HandleAndLocalPath;
import org.apache.flink.runtime.state.IncrementalRemoteKeyedStateHandle;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.SharedStateRegistryImpl;
import org.apache.flink.runtime.state.StreamStateHandle;
import org.apache.flink.runtime.state.filesystem.FileStateHandle;
import org.apache.flink.runtime.state.filesystem.FsCheckpointStorageLocation;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.DataInputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * After a rescale, what checkpoints refer to and what they upload, with Flink's own registry on the
 * other side. The databases never compact, so each file is there until the end of its test.
 */
@Timeout(120)
class RescaleLedgerTest {

    private static final KeyGroupRange LOWER = KeyGroupRange.of(0, 7);
    private static final KeyGroupRange UPPER = KeyGroupRange.of(8, 15);
    private static final String[] NO_COMPACTION = {"compaction.style", "NONE"};

    /** A file that only deletes the other key groups. */
    private static final long SMALL = 2048;

    @TempDir Path directory;

    private long liveHandles;
    private CheckpointFiles files;
    private SharedStateRegistryImpl registry = new SharedStateRegistryImpl();
    private final List<Subtask> running = new ArrayList<>();

    /** A backend and what it does at checkpoints. */
    private final class Subtask {

        private final BackendFixture backend;
        private final IncrementalSnapshotStrategy<Integer> strategy;

        private Subtask(KeyGroupRange range, IncrementalRemoteKeyedStateHandle... handles)
                throws Exception {
            backend =
                    BackendFixture.restored(
                            directory.resolve("local"), range, NO_COMPACTION, handles);
            strategy = backend.incremental();
            running.add(this);
        }

        private IncrementalRemoteKeyedStateHandle checkpoint(long id, CheckpointOptions options)
                throws Exception {
            return snapshot(strategy, id, files.location(id), options);
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
    }

    @AfterEach
    void close() throws Exception {
        cancelJob();
        registry.close();
        assertThat(Native.liveHandles()).isEqualTo(liveHandles);
    }

    private void cancelJob() {
        running.forEach(Subtask::close);
        running.clear();
    }

    /** All running subtasks checkpoint, the JobManager completes it, and tells them. */
    private List<IncrementalRemoteKeyedStateHandle> completed(long id, CheckpointOptions options)
            throws Exception {
        List<IncrementalRemoteKeyedStateHandle> handles = new ArrayList<>();
        for (Subtask subtask : running) {
            handles.add(subtask.checkpoint(id, options));
        }
        handles.forEach(handle -> handle.registerSharedStates(registry, id));
        registry.checkpointCompleted(id);
        running.forEach(subtask -> subtask.strategy.notifyCheckpointComplete(id));
        return handles;
    }

    private void subsume(List<IncrementalRemoteKeyedStateHandle> old, long lowestRetained)
            throws Exception {
        for (IncrementalRemoteKeyedStateHandle handle : old) {
            handle.discardState();
        }
        registry.unregisterUnusedState(lowestRetained);
    }

    /** One file with all key groups. */
    private List<IncrementalRemoteKeyedStateHandle> writtenByOne() throws Exception {
        Subtask one = new Subtask(ALL);
        one.backend.write(1, 1);
        return completed(1, CHECKPOINT);
    }

    private static Set<String> sharedIds(IncrementalRemoteKeyedStateHandle... handles) {
        return Stream.of(handles)
                .flatMap(handle -> handle.getSharedState().stream())
                .map(file -> file.getHandle().getStreamStateHandleID().getKeyString())
                .collect(Collectors.toCollection(TreeSet::new));
    }

    private static Set<String> reusedIds(IncrementalRemoteKeyedStateHandle handle) {
        return CheckpointFiles.reused(handle).stream()
                .map(name -> CheckpointFiles.of(handle, name))
                .map(file -> file.getStreamStateHandleID().getKeyString())
                .collect(Collectors.toCollection(TreeSet::new));
    }

    /** Files of a checkpoint that its predecessors have not, in bytes. */
    private static long uploadedBytes(
            IncrementalRemoteKeyedStateHandle handle, IncrementalRemoteKeyedStateHandle... old) {
        Set<String> known = sharedIds(old);
        return handle.getSharedState().stream()
                .map(HandleAndLocalPath::getHandle)
                .filter(file -> !known.contains(file.getStreamStateHandleID().getKeyString()))
                .mapToLong(StreamStateHandle::getStateSize)
                .sum();
    }

    private void assertAllThere(IncrementalRemoteKeyedStateHandle handle) throws Exception {
        assertThat(files.all()).containsAll(CheckpointFiles.named(handle));
    }

    @Test
    void twoSubtasksShareAFileUntilNobodyNeedsIt() throws Exception {
        List<IncrementalRemoteKeyedStateHandle> first = writtenByOne();
        cancelJob();
        Subtask lower = new Subtask(LOWER, first.get(0));
        Subtask upper = new Subtask(UPPER, first.get(0));
        lower.backend.write(2, 2);
        List<IncrementalRemoteKeyedStateHandle> unregistered =
                List.of(lower.checkpoint(2, CHECKPOINT), upper.checkpoint(2, CHECKPOINT));
        for (IncrementalRemoteKeyedStateHandle handle : unregistered) {
            assertThat(reusedIds(handle)).isEqualTo(sharedIds(first.get(0)));
            // As after an abort before the JobManager heard of it.
            handle.discardState();
        }
        assertAllThere(first.get(0));

        List<IncrementalRemoteKeyedStateHandle> third = completed(3, CHECKPOINT);
        subsume(first, 3);
        third.forEach(handle -> assertThat(sharedIds(handle)).containsAll(sharedIds(first.get(0))));
        for (IncrementalRemoteKeyedStateHandle handle : third) {
            assertAllThere(handle);
        }

        // One drops its copy, the other goes on with it.
        Native.dbCompact(lower.backend.restoreResult().database().call(open -> open));
        List<IncrementalRemoteKeyedStateHandle> fourth = completed(4, CHECKPOINT);
        subsume(third, 4);
        assertThat(sharedIds(fourth.get(0))).doesNotContainAnyElementsOf(sharedIds(first.get(0)));
        assertThat(sharedIds(fourth.get(1))).containsAll(sharedIds(first.get(0)));
        assertAllThere(fourth.get(1));
        assertThat(upper.backend.has(1, 1)).isTrue();

        Native.dbCompact(upper.backend.restoreResult().database().call(open -> open));
        List<IncrementalRemoteKeyedStateHandle> fifth = completed(5, CHECKPOINT);
        subsume(fourth, 5);
        assertThat(files.all()).doesNotContainAnyElementsOf(
                first.get(0).getSharedState().stream()
                        .map(file -> pathOf(file.getHandle()))
                        .collect(Collectors.toList()));
        cancelJob();
        Subtask one = new Subtask(ALL, fifth.get(0), fifth.get(1));
        assertThat(one.backend.has(1, 1)).isTrue();
        // The job ends and keeps no checkpoint.
        subsume(fifth, 6);
        assertThat(files.all()).noneMatch(path -> path.startsWith(files.shared()));
    }

    private static Path pathOf(StreamStateHandle handle) {
        return Path.of(((FileStateHandle) handle).getFilePath().getPath());
    }

    /** The new JobManager knows nothing but _metadata. */
    @Test
    void aNewJobManagerKeepsTheSharedFile() throws Exception {
        List<IncrementalRemoteKeyedStateHandle> first = writtenByOne();
        cancelJob();
        new Subtask(LOWER, first.get(0));
        new Subtask(UPPER, first.get(0));
        List<IncrementalRemoteKeyedStateHandle> second = writtenAndRead(completed(2, CHECKPOINT));
        subsume(first, 2);
        cancelJob();

        registry = new SharedStateRegistryImpl();
        second.forEach(handle -> handle.registerSharedStates(registry, 2));
        registry.checkpointCompleted(2);
        new Subtask(LOWER, second.get(0)).backend.write(3, 3);
        new Subtask(UPPER, second.get(1));
        List<IncrementalRemoteKeyedStateHandle> third = completed(3, CHECKPOINT);
        subsume(second, 3);
        for (IncrementalRemoteKeyedStateHandle handle : third) {
            assertThat(sharedIds(handle)).containsAll(sharedIds(first.get(0)));
            assertAllThere(handle);
        }
        cancelJob();
        assertThat(new Subtask(LOWER, third.get(0)).backend.has(3, 3)).isTrue();
        assertThat(new Subtask(UPPER, third.get(1)).backend.has(1, 1)).isTrue();
    }

    private List<IncrementalRemoteKeyedStateHandle> writtenAndRead(
            List<IncrementalRemoteKeyedStateHandle> handles) throws Exception {
        OperatorState operator =
                new OperatorState(
                        "name",
                        "uid",
                        new OperatorID(1, 2),
                        handles.size(),
                        BackendFixture.KEY_GROUPS);
        for (int i = 0; i < handles.size(); i++) {
            operator.putState(
                    i,
                    OperatorSubtaskState.builder().setManagedKeyedState(handles.get(i)).build());
        }
        FsCheckpointStorageLocation location = files.location(2);
        try (CheckpointMetadataOutputStream out = location.createMetadataOutputStream()) {
            Checkpoints.storeCheckpointMetadata(
                    new CheckpointMetadata(2, List.of(operator), List.of()), out);
            out.closeAndFinalizeCheckpoint();
        }
        Path chk = Path.of(location.getCheckpointDirectory().getPath());
        try (DataInputStream in =
                new DataInputStream(Files.newInputStream(chk.resolve("_metadata")))) {
            OperatorState read =
                    Checkpoints.loadCheckpointMetadata(
                                    in, getClass().getClassLoader(), chk.toUri().toString())
                            .getOperatorStates()
                            .iterator()
                            .next();
            List<IncrementalRemoteKeyedStateHandle> loaded = new ArrayList<>();
            for (int i = 0; i < handles.size(); i++) {
                loaded.add(
                        (IncrementalRemoteKeyedStateHandle)
                                read.getState(i).getManagedKeyedState().iterator().next());
            }
            return loaded;
        }
    }

    /**
     * Flink up to 2.3 writes a reference to a file of a native savepoint as if it lay beside the
     * {@code _metadata} that refers to it.
     */
    @ParameterizedTest(name = "rescaled={0}")
    @ValueSource(booleans = {false, true})
    void aCheckpointAfterAClaimedNativeSavepointIsRestoredFromItsMetadata(boolean rescaled)
            throws Exception {
        Subtask one = new Subtask(ALL);
        one.backend.write(1, 1);
        IncrementalRemoteKeyedStateHandle savepoint = completed(1, NATIVE_SAVEPOINT).get(0);
        cancelJob();
        KeyGroupRange range = rescaled ? LOWER : ALL;
        new Subtask(range, savepoint);
        IncrementalRemoteKeyedStateHandle next = completed(2, CHECKPOINT).get(0);
        cancelJob();
        IncrementalRemoteKeyedStateHandle read = writtenAndRead(List.of(next)).get(0);
        assertThat(sharedIds(read))
                .isEqualTo(sharedIds(next))
                .doesNotContainAnyElementsOf(sharedIds(savepoint));
        assertThat(new Subtask(range, read).backend.has(1, 1)).isTrue();
    }

    /** What the first checkpoint uploads, for each kind of restore. */
    @Test
    void onlyWhatChangedIsUploadedAfterClaim() throws Exception {
        IncrementalRemoteKeyedStateHandle first = writtenByOne().get(0);
        cancelJob();

        new Subtask(ALL, first);
        assertThat(uploadedBytes(completed(2, CHECKPOINT).get(0), first)).as("same").isZero();
        cancelJob();

        new Subtask(LOWER, first);
        new Subtask(UPPER, first);
        List<IncrementalRemoteKeyedStateHandle> halves = completed(3, CHECKPOINT);
        for (IncrementalRemoteKeyedStateHandle half : halves) {
            assertThat(uploadedBytes(half, first)).as("out").isBetween(1L, SMALL);
        }
        cancelJob();

        new Subtask(LOWER).backend.write(4, 4);
        new Subtask(UPPER).backend.write(4, 4);
        List<IncrementalRemoteKeyedStateHandle> whole =
                completed(4, CHECKPOINT);
        cancelJob();
        new Subtask(ALL, whole.get(0), whole.get(1));
        IncrementalRemoteKeyedStateHandle in = completed(5, CHECKPOINT).get(0);
        assertThat(uploadedBytes(in, whole.get(0), whole.get(1))).as("in").isZero();
        assertThat(sharedIds(in)).isEqualTo(sharedIds(whole.get(0), whole.get(1)));
    }

    /** NO_CLAIM: the JobManager asks for a checkpoint that refers to nothing of the restored one. */
    @Test
    void everythingIsUploadedAfterNoClaim() throws Exception {
        IncrementalRemoteKeyedStateHandle first = writtenByOne().get(0);
        cancelJob();
        new Subtask(LOWER, first);
        new Subtask(UPPER, first);
        List<IncrementalRemoteKeyedStateHandle> full = completed(2, FULL_CHECKPOINT);
        for (IncrementalRemoteKeyedStateHandle handle : full) {
            assertThat(sharedIds(handle)).doesNotContainAnyElementsOf(sharedIds(first));
            assertThat(uploadedBytes(handle, first))
                    .isGreaterThan(first.getSharedState().get(0).getStateSize());
        }
        List<IncrementalRemoteKeyedStateHandle> third = completed(3, CHECKPOINT);
        for (int i = 0; i < 2; i++) {
            assertThat(sharedIds(third.get(i))).isEqualTo(sharedIds(full.get(i)));
        }
        assertAllThere(first);
    }

    /** Both halves still have the other half's rows in the file they share. */
    @Test
    void backTogetherBeforeAnythingWasCompacted() throws Exception {
        IncrementalRemoteKeyedStateHandle first = writtenByOne().get(0);
        cancelJob();
        new Subtask(LOWER, first).backend.write(2, 2);
        new Subtask(UPPER, first).backend.write(2, 2);
        List<IncrementalRemoteKeyedStateHandle> halves = completed(2, CHECKPOINT);
        cancelJob();
        Subtask one = new Subtask(ALL, halves.get(0), halves.get(1));
        assertThat(one.backend.has(1, 1)).isTrue();
        assertThat(one.backend.has(2, 2)).isTrue();
        assertThat(one.backend.leftovers()).isEmpty();
        one.backend.write(1, 5);
        List<IncrementalRemoteKeyedStateHandle> third = completed(3, CHECKPOINT);
        subsume(halves, 3);
        cancelJob();
        Subtask again = new Subtask(ALL, third.get(0));
        assertThat(again.backend.has(1, 5)).isTrue();
        assertThat(again.backend.has(2, 2)).isTrue();
        assertThat(again.backend.states()).containsOnlyKeys(STATE);
    }

    /** Keys that nobody wants are not even downloaded. */
    @Test
    void filesOfOtherKeyGroupsAreLeftWhereTheyAre() throws Exception {
        new Subtask(LOWER).backend.write(1, 1);
        new Subtask(UPPER).backend.write(1, 1);
        List<IncrementalRemoteKeyedStateHandle> halves = completed(1, CHECKPOINT);
        cancelJob();
        new Subtask(ALL, halves.get(0), halves.get(1));
        IncrementalRemoteKeyedStateHandle whole = completed(2, CHECKPOINT).get(0);
        cancelJob();
        Subtask lower = new Subtask(LOWER, whole);
        assertThat(lower.backend.restoreResult().sharedFiles()).hasSize(1);
        assertThat(lower.backend.has(1, 1)).isTrue();
        IncrementalRemoteKeyedStateHandle third = lower.checkpoint(3, CHECKPOINT);
        assertThat(sharedIds(third)).isEqualTo(sharedIds(halves.get(0)));
    }
}
