package io.ferrostate.checkpoint;

import static io.ferrostate.checkpoint.CheckpointFiles.CHECKPOINT;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.ferrostate.jni.Native;
import io.ferrostate.jni.NativeLibrary;

import org.apache.flink.core.fs.CloseableRegistry;
import org.apache.flink.runtime.state.CheckpointStreamFactory;
import org.apache.flink.runtime.state.IncrementalRemoteKeyedStateHandle;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.SnapshotResult;
import org.apache.flink.util.FileUtils;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CancellationException;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** A snapshot that does not succeed leaves nothing, neither in the storage nor locally (A01). */
@Timeout(60)
class SnapshotFailureTest {

    @TempDir Path directory;

    private long liveHandles;
    private CheckpointFiles files;
    private BackendFixture backend;
    private IncrementalSnapshotStrategy<Integer> strategy;
    private Set<Path> before;

    @BeforeEach
    void open() throws Exception {
        NativeLibrary.load();
        liveHandles = Native.liveHandles();
        files = new CheckpointFiles(directory.resolve("checkpoints"), 0);
        backend = BackendFixture.fresh(directory.resolve("local"));
        strategy = backend.incremental();
        backend.write(1, 1);
        BackendFixture.snapshot(strategy, 1, files.location(1), CHECKPOINT);
        strategy.notifyCheckpointComplete(1);
        backend.write(2, 2);
        before = files.all();
    }

    @AfterEach
    void close() {
        strategy.close();
        backend.close();
        assertThat(Native.liveHandles()).isEqualTo(liveHandles);
    }

    private SnapshotResult<KeyedStateHandle> checkpoint(
            CheckpointStreamFactory factory, CloseableRegistry registry) throws Exception {
        NativeSnapshotResources resources = strategy.syncPrepareResources(2);
        return BackendFixture.finish(strategy, resources, 2, factory, CHECKPOINT, registry);
    }

    private void assertNothingLeft() throws IOException {
        assertThat(files.all()).isEqualTo(before);
        assertThat(backend.leftovers()).isEmpty();
    }

    private void assertNextCheckpointIsGood() throws Exception {
        IncrementalRemoteKeyedStateHandle next =
                BackendFixture.snapshot(strategy, 3, files.location(3), CHECKPOINT);
        assertThat(CheckpointFiles.reused(next)).hasSize(1);
        assertThat(CheckpointFiles.uploaded(next)).hasSize(1);
    }

    @Test
    void aStreamThatFailsAtAnyPlace() throws Exception {
        int stream = 1;
        for (boolean failed = true; failed; stream++) {
            FaultyStreams faulty =
                    new FaultyStreams(files.location(2), stream, FaultyStreams.failure());
            try {
                SnapshotResult<KeyedStateHandle> good =
                        checkpoint(faulty, new CloseableRegistry());
                failed = false;
                good.discardState();
            } catch (IOException expected) {
                assertThat(expected)
                        .hasMessageContaining("Checkpoint 2 of operator")
                        .hasMessageContaining("no more room in the store")
                        .hasMessageContaining("uploaded before is deleted again");
            }
            assertNothingLeft();
            assertNextCheckpointIsGood();
            before = files.all();
        }
        assertThat(stream).isGreaterThan(4);
    }

    /** A message must not promise what did not happen. */
    @Test
    void whatCannotBeDeletedIsNamed() throws Exception {
        Path metaFiles = files.shared().resolveSibling("chk-2");
        List<Path> stuck = new ArrayList<>();
        FaultyStreams faulty =
                new FaultyStreams(
                        files.location(2),
                        2,
                        () -> {
                            try (Stream<Path> written = Files.list(metaFiles)) {
                                for (Path file : written.collect(Collectors.toList())) {
                                    Files.delete(file);
                                    Files.createFile(Files.createDirectory(file).resolve("kept"));
                                    stuck.add(file);
                                }
                            }
                            FaultyStreams.failure().run();
                        });
        assertThatThrownBy(() -> checkpoint(faulty, new CloseableRegistry()))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("Could not delete what it had uploaded before")
                .hasMessageContaining(stuck.get(0).getFileName().toString());
        assertThat(stuck).hasSize(1);
        FileUtils.deleteDirectory(stuck.get(0).toFile());
        assertNothingLeft();
    }

    @Test
    void aDirectUploadThatFails() throws Exception {
        CheckpointStreamFactory location = files.location(2);
        Path aside = directory.resolve("aside");
        Files.move(files.shared(), aside);
        Files.createFile(files.shared());
        assertThatThrownBy(() -> checkpoint(location, new CloseableRegistry()))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("Checkpoint 2 of operator");
        Files.delete(files.shared());
        Files.move(aside, files.shared());
        assertNothingLeft();
        assertNextCheckpointIsGood();
    }

    @Test
    void cancellationAtAnyStream() throws Exception {
        for (int stream = 1; stream <= 4; stream++) {
            CloseableRegistry registry = new CloseableRegistry();
            FaultyStreams cancelling =
                    new FaultyStreams(files.location(2), stream, registry::close);
            assertThatThrownBy(() -> checkpoint(cancelling, registry))
                    .isInstanceOf(CancellationException.class);
            assertThat(cancelling.streamsClosed()).isGreaterThanOrEqualTo(stream);
            assertNothingLeft();
        }
        assertNextCheckpointIsGood();
    }

    @Test
    void cancellationBeforeTheAsynchronousPart() throws Exception {
        CloseableRegistry registry = new CloseableRegistry();
        registry.close();
        CheckpointStreamFactory location = files.location(2);
        assertThatThrownBy(() -> checkpoint(location, registry)).isInstanceOf(IOException.class);
        assertNothingLeft();
        assertNextCheckpointIsGood();
    }

    @Test
    void anAsynchronousPartThatNeverRuns() throws Exception {
        long handles = Native.liveHandles();
        strategy.syncPrepareResources(2).release();
        assertThat(Native.liveHandles()).isEqualTo(handles);
        assertNothingLeft();
    }

    @Test
    void aLocalCheckpointThatFails() throws Exception {
        long handles = Native.liveHandles();
        Path aside = directory.resolve("aside");
        Files.move(backend.instance(), aside);
        assertThatThrownBy(() -> strategy.syncPrepareResources(2))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("chk-2");
        Files.move(aside, backend.instance());
        assertThat(Native.liveHandles()).isEqualTo(handles);
        assertNothingLeft();
        assertNextCheckpointIsGood();
    }

    /** The second one is refused and does not take the first one's files away. */
    @Test
    void twoSnapshotsWithOneNumber() throws Exception {
        long handles = Native.liveHandles();
        NativeSnapshotResources first = strategy.syncPrepareResources(2);
        assertThatThrownBy(() -> strategy.syncPrepareResources(2))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("snapshot 2 of operator")
                .hasMessageContaining("chk-2");
        SnapshotResult<KeyedStateHandle> result =
                BackendFixture.finish(
                        strategy, first, 2, files.location(2), CHECKPOINT, new CloseableRegistry());
        assertThat(Native.liveHandles()).isEqualTo(handles);
        result.discardState();
        assertNothingLeft();
    }

    @Test
    void aCheckpointThatEndsAfterItsBackend() throws Exception {
        NativeSnapshotResources resources = strategy.syncPrepareResources(2);
        strategy.close();
        CheckpointStreamFactory location = files.location(2);
        assertThatThrownBy(
                        () ->
                                BackendFixture.finish(
                                        strategy,
                                        resources,
                                        2,
                                        location,
                                        CHECKPOINT,
                                        new CloseableRegistry()))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("after its backend was closed");
        strategy.notifyCheckpointComplete(2);
        strategy.notifyCheckpointAborted(2);
        assertNothingLeft();
    }

    @Test
    void nothingIsWrittenWithoutStates() throws Exception {
        try (BackendFixture empty = BackendFixture.fresh(directory.resolve("empty"));
                IncrementalSnapshotStrategy<Integer> snapshots = empty.incremental()) {
            CheckpointStreamFactory location = files.location(2);
            assertThat(BackendFixture.snapshot(snapshots, 2, location, CHECKPOINT)).isNull();
            assertNothingLeft();
            assertThat(empty.leftovers()).isEmpty();
        }
    }

    /** A08: Flink deletes chk-N without looking into it. */
    @Test
    void theStorageHoldsOnlyFilesThatHandlesName() throws Exception {
        IncrementalRemoteKeyedStateHandle second =
                BackendFixture.snapshot(strategy, 2, files.location(2), CHECKPOINT);
        IncrementalRemoteKeyedStateHandle savepoint =
                BackendFixture.snapshot(
                        strategy, 3, files.location(3), CheckpointFiles.NATIVE_SAVEPOINT);
        Set<Path> expected = new TreeSet<>(before);
        expected.addAll(CheckpointFiles.named(second));
        expected.addAll(CheckpointFiles.named(savepoint));
        assertThat(files.all()).isEqualTo(expected);
    }
}
