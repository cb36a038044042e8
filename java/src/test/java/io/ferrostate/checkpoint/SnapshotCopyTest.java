package io.ferrostate.checkpoint;

import static io.ferrostate.checkpoint.BackendFixture.ALL;
import static io.ferrostate.checkpoint.BackendFixture.snapshot;
import static io.ferrostate.checkpoint.CheckpointFiles.CHECKPOINT;
import static io.ferrostate.checkpoint.CheckpointFiles.FULL_CHECKPOINT;
import static io.ferrostate.checkpoint.CheckpointFiles.NATIVE_SAVEPOINT;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.ferrostate.jni.Native;
import io.ferrostate.jni.NativeLibrary;

import org.apache.flink.runtime.checkpoint.CheckpointOptions;
import org.apache.flink.runtime.state.IncrementalKeyedStateHandle.HandleAndLocalPath;
import org.apache.flink.runtime.state.IncrementalRemoteKeyedStateHandle;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.SharedStateRegistryImpl;
import org.apache.flink.runtime.state.filesystem.FileStateHandle;
import org.apache.flink.runtime.state.filesystem.RelativeFileStateHandle;
import org.apache.flink.util.FileUtils;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Snapshots that must own all their files copy within the store what it has already, and each of them
 * is whole without the others. With Flink's own registry on the other side.
 */
@Timeout(60)
class SnapshotCopyTest {

    @TempDir Path directory;

    private long liveHandles;
    private CheckpointFiles files;
    private SharedStateRegistryImpl registry = new SharedStateRegistryImpl();
    private final List<AutoCloseable> open = new ArrayList<>();

    @BeforeEach
    void prepare() throws Exception {
        NativeLibrary.load();
        liveHandles = Native.liveHandles();
        files = new CheckpointFiles(directory.resolve("checkpoints"), 0);
        SnapshotStats.drain();
    }

    @AfterEach
    void close() throws Exception {
        stop();
        registry.close();
        assertThat(Native.liveHandles()).isEqualTo(liveHandles);
    }

    private void stop() throws Exception {
        for (AutoCloseable closing : open) {
            closing.close();
        }
        open.clear();
    }

    /** Another job with a JobManager of its own, which knows nothing of what it restores (NO_CLAIM). */
    private void anotherJob() throws Exception {
        stop();
        registry.close();
        registry = new SharedStateRegistryImpl();
    }

    private BackendFixture backend(KeyGroupRange range, IncrementalRemoteKeyedStateHandle... from)
            throws Exception {
        BackendFixture backend =
                BackendFixture.restored(
                        directory.resolve("local"),
                        range,
                        new String[] {"compaction.style", "NONE"},
                        from);
        open.add(backend);
        return backend;
    }

    private <S extends NativeSnapshotStrategy<Integer>> S owned(S strategy) {
        open.add(0, strategy);
        return strategy;
    }

    private IncrementalRemoteKeyedStateHandle completed(
            NativeSnapshotStrategy<Integer> strategy, long id, CheckpointOptions options)
            throws Exception {
        IncrementalRemoteKeyedStateHandle handle =
                snapshot(strategy, id, files.location(id), options);
        if (!options.getCheckpointType().isSavepoint()) {
            handle.registerSharedStates(registry, id);
            registry.checkpointCompleted(id);
        }
        strategy.notifyCheckpointComplete(id);
        return handle;
    }

    private static SnapshotStats lastStats() {
        List<SnapshotStats> drained = SnapshotStats.drain();
        return drained.get(drained.size() - 1);
    }

    private static long sstBytes(IncrementalRemoteKeyedStateHandle handle) {
        return sstFiles(handle).mapToLong(HandleAndLocalPath::getStateSize).sum();
    }

    private static Stream<HandleAndLocalPath> sstFiles(IncrementalRemoteKeyedStateHandle handle) {
        return Stream.concat(handle.getSharedState().stream(), handle.getPrivateState().stream())
                .filter(file -> file.getLocalPath().endsWith(".sst"));
    }

    /** Everything that is new and that the store had not: what a snapshot may have written at most. */
    private static void assertAllSstFilesCopied(
            SnapshotStats stats, IncrementalRemoteKeyedStateHandle handle) {
        assertThat(stats.copiedBytes()).isEqualTo(sstBytes(handle)).isPositive();
        assertThat(stats.copiedFiles()).isEqualTo((int) sstFiles(handle).count());
        assertThat(stats.reusedFiles()).isZero();
        // What Flink shows counts all files that only this one has.
        assertThat(handle.getCheckpointedSize()).isEqualTo(handle.getStateSize());
        assertThat(stats.newBytes()).isEqualTo(handle.getCheckpointedSize());
        assertThat(stats.uploadedBytes()).isEqualTo(handle.getStateSize() - sstBytes(handle));
    }

    private static void assertNothingInCommon(
            IncrementalRemoteKeyedStateHandle one, IncrementalRemoteKeyedStateHandle other) {
        assertThat(CheckpointFiles.named(one))
                .doesNotContainAnyElementsOf(CheckpointFiles.named(other));
    }

    private static void delete(IncrementalRemoteKeyedStateHandle handle) throws Exception {
        for (Path path : CheckpointFiles.named(handle)) {
            Files.deleteIfExists(path);
        }
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

    /** One that is written, confirmed, and whose files all later snapshots find in the store. */
    private BackendFixture written() throws Exception {
        BackendFixture backend = backend(ALL);
        for (int key = 1; key <= 3; key++) {
            backend.write(key, key);
        }
        return backend;
    }

    private void subsume(IncrementalRemoteKeyedStateHandle old, long lowestRetained)
            throws Exception {
        old.discardState();
        registry.unregisterUnusedState(lowestRetained);
    }

    @Test
    void aNativeSavepointCopiesAndOutlivesTheCheckpoint() throws Exception {
        BackendFixture backend = written();
        IncrementalSnapshotStrategy<Integer> strategy = owned(backend.incremental());
        IncrementalRemoteKeyedStateHandle first = completed(strategy, 1, CHECKPOINT);
        IncrementalRemoteKeyedStateHandle savepoint = completed(strategy, 2, NATIVE_SAVEPOINT);
        assertAllSstFilesCopied(lastStats(), savepoint);
        assertNothingInCommon(savepoint, first);
        assertThat(savepoint.streamSubHandles())
                .allSatisfy(file -> assertThat(file).isInstanceOf(RelativeFileStateHandle.class));

        subsume(first, 3);
        assertThat(CheckpointFiles.named(first)).noneMatch(CheckpointFiles::exists);
        assertThat(restores(savepoint, 1, 2, 3)).isTrue();
    }

    @Test
    void theCheckpointOutlivesTheSavepoint() throws Exception {
        BackendFixture backend = written();
        IncrementalSnapshotStrategy<Integer> strategy = owned(backend.incremental());
        completed(strategy, 1, CHECKPOINT);
        IncrementalRemoteKeyedStateHandle savepoint = completed(strategy, 2, NATIVE_SAVEPOINT);
        savepoint.discardState();
        assertThat(CheckpointFiles.named(savepoint)).noneMatch(CheckpointFiles::exists);
        backend.write(4, 4);
        IncrementalRemoteKeyedStateHandle third = completed(strategy, 3, CHECKPOINT);
        assertThat(lastStats().reusedFiles()).isPositive();
        assertThat(restores(third, 1, 2, 3, 4)).isTrue();
    }

    /** Everything in it is a file of its own directory: it can be moved, and the job go on. */
    @Test
    void aSavepointCanBeMovedAway() throws Exception {
        BackendFixture backend = written();
        IncrementalSnapshotStrategy<Integer> strategy = owned(backend.incremental());
        completed(strategy, 1, CHECKPOINT);
        IncrementalRemoteKeyedStateHandle savepoint = completed(strategy, 2, NATIVE_SAVEPOINT);
        Set<Path> parents =
                CheckpointFiles.named(savepoint).stream()
                        .map(Path::getParent)
                        .collect(Collectors.toCollection(TreeSet::new));
        assertThat(parents).hasSize(1);
        Path moved = directory.resolve("moved");
        Files.move(parents.iterator().next(), moved);
        assertThat(restores(at(savepoint, moved), 1, 2, 3)).isTrue();
        assertThat(restores(completed(strategy, 3, CHECKPOINT), 1, 2, 3)).isTrue();
    }

    /** As the JobManager resolves relative handles. */
    private static IncrementalRemoteKeyedStateHandle at(
            IncrementalRemoteKeyedStateHandle handle, Path place) {
        return new IncrementalRemoteKeyedStateHandle(
                handle.getBackendIdentifier(),
                handle.getKeyGroupRange(),
                handle.getCheckpointId(),
                at(handle.getSharedState(), place),
                at(handle.getPrivateState(), place),
                at(handle.getMetaDataStateHandle(), place));
    }

    private static List<HandleAndLocalPath> at(List<HandleAndLocalPath> listed, Path place) {
        return listed.stream()
                .map(file -> HandleAndLocalPath.of(at(file.getHandle(), place), file.getLocalPath()))
                .collect(Collectors.toList());
    }

    private static FileStateHandle at(
            org.apache.flink.runtime.state.StreamStateHandle handle, Path place) {
        String name = ((RelativeFileStateHandle) handle).getRelativePath();
        return new FileStateHandle(
                new org.apache.flink.core.fs.Path(place.resolve(name).toUri()),
                handle.getStateSize());
    }

    /** What follows a NO_CLAIM restore: nothing of the restored checkpoint, and no byte moved. */
    @Test
    void theFullCheckpointAfterNoClaimCopiesAndOwnsEveryByte() throws Exception {
        BackendFixture before = written();
        IncrementalRemoteKeyedStateHandle theirs =
                completed(owned(before.incremental()), 1, CHECKPOINT);
        anotherJob();
        IncrementalSnapshotStrategy<Integer> strategy = owned(backend(ALL, theirs).incremental());
        IncrementalRemoteKeyedStateHandle full = completed(strategy, 2, FULL_CHECKPOINT);
        assertAllSstFilesCopied(lastStats(), full);
        assertNothingInCommon(full, theirs);

        delete(theirs);
        IncrementalRemoteKeyedStateHandle third = completed(strategy, 3, CHECKPOINT);
        assertThat(CheckpointFiles.named(third)).containsAll(sharedPaths(full));
        subsume(full, 3);
        assertThat(restores(third, 1, 2, 3)).isTrue();
    }

    @Test
    void theFirstFullCheckpointsOfTwoSubtasksThatShareFiles() throws Exception {
        BackendFixture before = written();
        IncrementalRemoteKeyedStateHandle theirs =
                completed(owned(before.incremental()), 1, CHECKPOINT);
        anotherJob();
        List<IncrementalRemoteKeyedStateHandle> halves = new ArrayList<>();
        for (KeyGroupRange range : List.of(KeyGroupRange.of(0, 7), KeyGroupRange.of(8, 15))) {
            IncrementalSnapshotStrategy<Integer> strategy =
                    owned(backend(range, theirs).incremental());
            halves.add(completed(strategy, 2, FULL_CHECKPOINT));
            assertThat(lastStats().copiedBytes()).isEqualTo(sstBytes(theirs));
        }
        assertNothingInCommon(halves.get(0), halves.get(1));
        delete(theirs);
        stop();
        // One subtask's half goes; the other's stays.
        halves.get(0).discardState();
        registry.unregisterUnusedState(2);
        assertThat(backend(KeyGroupRange.of(8, 15), halves.get(1)).has(1, 1)).isTrue();
    }

    private static Set<Path> sharedPaths(IncrementalRemoteKeyedStateHandle handle) {
        return handle.getSharedState().stream()
                .map(file -> Path.of(((FileStateHandle) file.getHandle()).getFilePath().getPath()))
                .collect(Collectors.toCollection(TreeSet::new));
    }

    /** Its owner deletes the restored checkpoint when we are about to copy it. */
    @Test
    void filesThatVanishAreUploadedInstead() throws Exception {
        BackendFixture before = written();
        IncrementalSnapshotStrategy<Integer> first = owned(before.incremental());
        completed(first, 1, CHECKPOINT);
        before.write(4, 4);
        IncrementalRemoteKeyedStateHandle theirs = completed(first, 2, CHECKPOINT);
        anotherJob();
        IncrementalSnapshotStrategy<Integer> strategy = owned(backend(ALL, theirs).incremental());
        Files.delete(sharedPaths(theirs).iterator().next());
        Set<Path> others = files.all();
        IncrementalRemoteKeyedStateHandle full = completed(strategy, 3, FULL_CHECKPOINT);
        assertThat(lastStats().copiedFiles()).isEqualTo(sharedPaths(theirs).size() - 1).isPositive();
        others.addAll(CheckpointFiles.named(full));
        assertThat(files.all()).isEqualTo(others);
        delete(theirs);
        assertThat(restores(full, 1, 2, 3, 4)).isTrue();
    }

    /** EXDEV: no link leads from one file system to another. */
    @Test
    void aCheckpointOnAnotherFileSystemIsUploaded() throws Exception {
        Path memory = Path.of("/dev/shm");
        assumeTrue(
                Files.isWritable(memory)
                        && !Files.getFileStore(memory).equals(Files.getFileStore(directory)));
        Path elsewhere = Files.createTempDirectory(memory, "ferrostate");
        try {
            BackendFixture before = written();
            IncrementalSnapshotStrategy<Integer> first = owned(before.incremental());
            IncrementalRemoteKeyedStateHandle theirs =
                    snapshot(first, 1, new CheckpointFiles(elsewhere, 0).location(1), CHECKPOINT);
            anotherJob();
            IncrementalSnapshotStrategy<Integer> strategy =
                    owned(backend(ALL, theirs).incremental());
            IncrementalRemoteKeyedStateHandle full = completed(strategy, 2, FULL_CHECKPOINT);
            assertThat(lastStats().copiedFiles()).isZero();
            assertThat(files.all()).isEqualTo(CheckpointFiles.named(full));
            delete(theirs);
            assertThat(restores(full, 1, 2, 3)).isTrue();
        } finally {
            FileUtils.deleteDirectory(elsewhere.toFile());
        }
    }

    @Test
    void withoutIncrementalCheckpointsEachCopiesThePreviousOne() throws Exception {
        BackendFixture backend = written();
        FullSnapshotStrategy<Integer> strategy = owned(backend.full());
        IncrementalRemoteKeyedStateHandle first = completed(strategy, 1, CHECKPOINT);
        assertThat(lastStats().copiedFiles()).isZero();
        IncrementalRemoteKeyedStateHandle second = completed(strategy, 2, CHECKPOINT);
        assertAllSstFilesCopied(lastStats(), second);
        assertThat(second.getSharedState()).isEmpty();
        assertNothingInCommon(second, first);
        first.discardState();
        // One that was aborted takes its files along: the one before is not there any more either.
        IncrementalRemoteKeyedStateHandle aborted =
                snapshot(strategy, 3, files.location(3), CHECKPOINT);
        aborted.discardState();
        strategy.notifyCheckpointAborted(3);
        IncrementalRemoteKeyedStateHandle fourth = completed(strategy, 4, NATIVE_SAVEPOINT);
        assertAllSstFilesCopied(lastStats(), fourth);
        second.discardState();
        assertThat(restores(fourth, 1, 2, 3)).isTrue();

        stop();
        // Private files of the restored one: to copy, not to refer to.
        IncrementalSnapshotStrategy<Integer> incremental =
                owned(backend(ALL, fourth).incremental());
        IncrementalRemoteKeyedStateHandle fifth = completed(incremental, 5, CHECKPOINT);
        assertAllSstFilesCopied(lastStats(), fifth);
        fourth.discardState();
        assertThat(restores(fifth, 1, 2, 3)).isTrue();
    }

    @Test
    void copiesCanBeSwitchedOff() throws Exception {
        IncrementalSnapshotStrategy<Integer> strategy =
                owned(written().withoutCopies().incremental());
        completed(strategy, 1, CHECKPOINT);
        IncrementalRemoteKeyedStateHandle savepoint = completed(strategy, 2, NATIVE_SAVEPOINT);
        SnapshotStats stats = lastStats();
        assertThat(stats.copiedFiles()).isZero();
        assertThat(stats.uploadedBytes()).isEqualTo(savepoint.getStateSize());
        backend(ALL, savepoint);
        completed(strategy, 3, CHECKPOINT);
        assertThat(lastStats().reusedFiles()).isPositive();
    }

    @Test
    void aRescaledNativeFullCheckpointIsCopiedToo() throws Exception {
        BackendFixture backend = written();
        IncrementalRemoteKeyedStateHandle first =
                completed(owned(backend.full()), 1, CHECKPOINT);
        stop();
        FullSnapshotStrategy<Integer> half =
                owned(backend(KeyGroupRange.of(0, 7), first).full());
        IncrementalRemoteKeyedStateHandle second = completed(half, 2, CHECKPOINT);
        assertThat(lastStats().copiedBytes()).isEqualTo(sstBytes(first));
        first.discardState();
        stop();
        assertThat(backend(KeyGroupRange.of(0, 7), second).has(2, 2)).isTrue();
    }
}
