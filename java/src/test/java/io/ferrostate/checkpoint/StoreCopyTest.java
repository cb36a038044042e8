package io.ferrostate.checkpoint;

import static io.ferrostate.checkpoint.BackendFixture.ALL;
import static io.ferrostate.checkpoint.BackendFixture.snapshot;
import static io.ferrostate.checkpoint.CheckpointFiles.CHECKPOINT;
import static io.ferrostate.checkpoint.CheckpointFiles.FULL_CHECKPOINT;
import static io.ferrostate.checkpoint.CheckpointFiles.NATIVE_SAVEPOINT;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.ferrostate.jni.Native;
import io.ferrostate.jni.NativeLibrary;

import org.apache.flink.core.fs.CloseableRegistry;
import org.apache.flink.core.fs.EntropyInjectingFileSystem;
import org.apache.flink.core.fs.FileSystem;
import org.apache.flink.core.fs.ICloseableRegistry;
import org.apache.flink.core.fs.Path;
import org.apache.flink.core.fs.PathsCopyingFileSystem;
import org.apache.flink.core.fs.local.LocalFileSystem;
import org.apache.flink.runtime.checkpoint.CheckpointOptions;
import org.apache.flink.runtime.state.IncrementalKeyedStateHandle.HandleAndLocalPath;
import org.apache.flink.runtime.state.IncrementalRemoteKeyedStateHandle;
import org.apache.flink.runtime.state.StreamStateHandle;
import org.apache.flink.runtime.state.filesystem.FileStateHandle;
import org.apache.flink.runtime.state.filesystem.FsCheckpointStreamFactory;
import org.apache.flink.runtime.state.filesystem.RelativeFileStateHandle;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CancellationException;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Copies within a store that only a file system of Flink's reaches, and what may go wrong with them. */
@Timeout(60)
class StoreCopyTest {

    /** Above what Flink may keep inline. */
    private static final int LARGE = FsCheckpointStreamFactory.MAX_FILE_STATE_THRESHOLD;

    @TempDir java.nio.file.Path directory;

    private long liveHandles;
    private final Copying copying = new Copying();
    private BackendFixture backend;
    private IncrementalSnapshotStrategy<Integer> strategy;

    /** Copies as S3 would, when and how it is told to. */
    private static class Copying extends LocalFileSystem implements PathsCopyingFileSystem {

        private final List<CopyRequest> copied = new ArrayList<>();

        @Override
        public void copyFiles(List<CopyRequest> requests, ICloseableRegistry registry)
                throws IOException {
            for (CopyRequest request : requests) {
                Files.copy(at(request.getSource()), at(request.getDestination()));
                copied.add(request);
            }
        }

        @Override
        public boolean canCopyPaths(Path source, Path destination) throws IOException {
            return true;
        }

        static java.nio.file.Path at(Path path) {
            return java.nio.file.Path.of(path.getPath());
        }
    }

    private static final class WithEntropy extends Copying implements EntropyInjectingFileSystem {

        @Override
        public String getEntropyInjectionKey() {
            return "_entropy_";
        }

        @Override
        public String generateEntropy() {
            return "abcd";
        }
    }

    @BeforeEach
    void open() throws Exception {
        NativeLibrary.load();
        liveHandles = Native.liveHandles();
        backend = BackendFixture.fresh(directory.resolve("local"));
        strategy = backend.incremental();
        for (int key = 0; key < 2 * LARGE / (16 * 512); key++) {
            backend.write(key, key);
        }
    }

    @AfterEach
    void close() {
        strategy.close();
        backend.close();
        assertThat(Native.liveHandles()).isEqualTo(liveHandles);
    }

    private FsCheckpointStreamFactory factory(FileSystem fileSystem, long id) throws IOException {
        java.nio.file.Path own = directory.resolve("store/chk-" + id);
        java.nio.file.Path shared = directory.resolve("store/shared");
        Files.createDirectories(own);
        Files.createDirectories(shared);
        return new FsCheckpointStreamFactory(
                fileSystem, new Path(own.toUri()), new Path(shared.toUri()), 1024, 4096);
    }

    private IncrementalRemoteKeyedStateHandle completed(
            FileSystem fileSystem, long id, CheckpointOptions options) throws Exception {
        IncrementalRemoteKeyedStateHandle handle =
                snapshot(strategy, id, factory(fileSystem, id), options);
        strategy.notifyCheckpointComplete(id);
        return handle;
    }

    private Set<java.nio.file.Path> all() throws IOException {
        try (Stream<java.nio.file.Path> found = Files.walk(directory.resolve("store"))) {
            return found.filter(Files::isRegularFile).collect(Collectors.toCollection(TreeSet::new));
        }
    }

    private static StreamStateHandle large(IncrementalRemoteKeyedStateHandle handle) {
        return handle.getSharedState().stream()
                .map(HandleAndLocalPath::getHandle)
                .filter(file -> file.getStateSize() > LARGE)
                .findFirst()
                .orElseThrow();
    }

    private void assertWhole(IncrementalRemoteKeyedStateHandle handle) throws Exception {
        try (BackendFixture restored =
                BackendFixture.restored(directory.resolve("restored"), ALL, handle)) {
            assertThat(restored.has(0, 0)).isTrue();
            assertThat(restored.has(99, 99)).isTrue();
        }
    }

    @Test
    void aSavepointAndAFullCheckpointAreCopiedUnderNamesOfTheirOwn() throws Exception {
        IncrementalRemoteKeyedStateHandle first = completed(copying, 1, CHECKPOINT);
        assertThat(copying.copied).isEmpty();
        IncrementalRemoteKeyedStateHandle savepoint = completed(copying, 2, NATIVE_SAVEPOINT);
        assertThat(copying.copied).hasSize(1);
        assertThat(savepoint.streamSubHandles())
                .filteredOn(FileStateHandle.class::isInstance)
                .allSatisfy(file -> assertThat(file).isInstanceOf(RelativeFileStateHandle.class));
        IncrementalRemoteKeyedStateHandle full = completed(copying, 3, FULL_CHECKPOINT);
        assertThat(copying.copied).hasSize(2);
        assertThat(large(full).getClass()).isEqualTo(FileStateHandle.class);

        List<String> names = new ArrayList<>();
        for (IncrementalRemoteKeyedStateHandle handle : List.of(first, savepoint, full)) {
            names.add(((FileStateHandle) large(handle)).getFilePath().getName());
        }
        // Flink's own duplicate() keeps the name, and in shared/ that is the source.
        assertThat(names).doesNotHaveDuplicates();
        savepoint.discardState();
        first.discardState();
        Files.deleteIfExists(Copying.at(((FileStateHandle) large(first)).getFilePath()));
        assertWhole(full);
    }

    @Test
    void withEntropyHandlesAreAbsoluteAndTheNameIsInjected() throws Exception {
        FileSystem entropy = new WithEntropy();
        java.nio.file.Path base = directory.resolve("store/_entropy_/chk-9");
        Files.createDirectories(directory.resolve("store/abcd/chk-9"));
        completed(copying, 1, CHECKPOINT);
        FsCheckpointStreamFactory factory =
                new FsCheckpointStreamFactory(
                        entropy, new Path(base.toUri()), new Path(base.toUri()), 1024, 4096);
        IncrementalRemoteKeyedStateHandle savepoint =
                snapshot(strategy, 9, factory, NATIVE_SAVEPOINT);
        FileStateHandle file = (FileStateHandle) large(savepoint);
        assertThat(file.getClass()).isEqualTo(FileStateHandle.class);
        assertThat(file.getFilePath().getPath()).contains("/abcd/chk-9/");
        assertWhole(savepoint);
    }

    private static final class Failing extends Copying {

        private final boolean truncates;

        private Failing(boolean truncates) {
            this.truncates = truncates;
        }

        @Override
        public void copyFiles(List<CopyRequest> requests, ICloseableRegistry registry)
                throws IOException {
            super.copyFiles(requests, registry);
            if (truncates) {
                Files.write(at(requests.get(0).getDestination()), new byte[3]);
                return;
            }
            throw new IOException("the copy failed after the bytes were there");
        }
    }

    @Test
    void aCopyThatFailsIsUploadedAndLeavesNothing() throws Exception {
        completed(copying, 1, CHECKPOINT);
        long id = 2;
        for (boolean truncates : new boolean[] {false, true}) {
            Set<java.nio.file.Path> expected = all();
            SnapshotStats.drain();
            IncrementalRemoteKeyedStateHandle savepoint =
                    completed(new Failing(truncates), id++, NATIVE_SAVEPOINT);
            assertThat(SnapshotStats.drain())
                    .allSatisfy(stats -> assertThat(stats.copiedFiles()).isZero());
            expected.addAll(CheckpointFiles.named(savepoint));
            assertThat(all()).isEqualTo(expected);
            assertWhole(savepoint);
        }
    }

    @Test
    void aSourceThatIsGoneIsUploaded() throws Exception {
        IncrementalRemoteKeyedStateHandle first = completed(copying, 1, CHECKPOINT);
        Files.delete(Copying.at(((FileStateHandle) large(first)).getFilePath()));
        IncrementalRemoteKeyedStateHandle savepoint = completed(copying, 2, NATIVE_SAVEPOINT);
        assertThat(copying.copied).isEmpty();
        assertWhole(savepoint);
    }

    private static final class Cancelled extends Copying {

        private final CloseableRegistry cancel;

        private Cancelled(CloseableRegistry cancel) {
            this.cancel = cancel;
        }

        @Override
        public void copyFiles(List<CopyRequest> requests, ICloseableRegistry registry)
                throws IOException {
            super.copyFiles(requests, registry);
            cancel.close();
            // As S3's does: it registers what it has to stop.
            registry.registerCloseable(() -> {});
        }
    }

    @Test
    void aCancelWhileCopyingLeavesNothing() throws Exception {
        completed(copying, 1, CHECKPOINT);
        Set<java.nio.file.Path> before = all();
        CloseableRegistry cancel = new CloseableRegistry();
        FsCheckpointStreamFactory factory = factory(new Cancelled(cancel), 2);
        NativeSnapshotResources resources = strategy.syncPrepareResources(2);
        assertThatThrownBy(
                        () ->
                                BackendFixture.finish(
                                        strategy, resources, 2, factory, NATIVE_SAVEPOINT, cancel))
                .isInstanceOf(CancellationException.class);
        assertThat(all()).isEqualTo(before);
    }
}
