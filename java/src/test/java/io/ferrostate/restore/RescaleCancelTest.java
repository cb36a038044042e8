package io.ferrostate.restore;

import static io.ferrostate.checkpoint.BackendFixture.ALL;
import static io.ferrostate.checkpoint.BackendFixture.snapshot;
import static io.ferrostate.checkpoint.CheckpointFiles.CHECKPOINT;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.ferrostate.backend.Database;
import io.ferrostate.backend.DatabaseOpener;
import io.ferrostate.checkpoint.BackendFixture;
import io.ferrostate.checkpoint.CheckpointFiles;
import io.ferrostate.checkpoint.IncrementalSnapshotStrategy;
import io.ferrostate.jni.Native;
import io.ferrostate.jni.NativeLibrary;

import org.apache.flink.core.fs.CloseableRegistry;
import org.apache.flink.core.fs.FSDataInputStream;
import org.apache.flink.runtime.state.IncrementalKeyedStateHandle.HandleAndLocalPath;
import org.apache.flink.runtime.state.IncrementalRemoteKeyedStateHandle;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.StreamStateHandle;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A rescale that is cancelled in each of its steps ends at once, leaves no temporary files and keeps
 * nothing open. (What the library does when it is cancelled inside a step is tested in Rust.)
 */
@Timeout(60)
class RescaleCancelTest {

    private static final KeyGroupRange LOWER = KeyGroupRange.of(0, 7);

    @TempDir Path directory;

    private final CloseableRegistry cancelRegistry = new CloseableRegistry();
    private CheckpointFiles files;
    private IncrementalRemoteKeyedStateHandle checkpoint;

    @BeforeEach
    void open() throws Exception {
        NativeLibrary.load();
        files = new CheckpointFiles(directory.resolve("checkpoints"), 0);
        try (BackendFixture backend = BackendFixture.fresh(directory.resolve("first"));
                IncrementalSnapshotStrategy<Integer> strategy = backend.incremental()) {
            backend.write(1, 1);
            checkpoint = snapshot(strategy, 7, files.location(7), CHECKPOINT);
        }
    }

    /** The checkpoint with handles that cancel when their stream is opened. */
    private IncrementalRemoteKeyedStateHandle cancellingAt(Predicate<String> name) {
        List<HandleAndLocalPath> shared = cancellingAt(name, checkpoint.getSharedState());
        return new IncrementalRemoteKeyedStateHandle(
                UUID.randomUUID(),
                ALL,
                7,
                shared,
                cancellingAt(name, checkpoint.getPrivateState()),
                name.test("meta")
                        ? new Cancelling(checkpoint.getMetaDataStateHandle())
                        : checkpoint.getMetaDataStateHandle());
    }

    private List<HandleAndLocalPath> cancellingAt(
            Predicate<String> name, List<HandleAndLocalPath> files) {
        List<HandleAndLocalPath> cancelling = new ArrayList<>();
        for (HandleAndLocalPath file : files) {
            cancelling.add(
                    name.test(file.getLocalPath())
                            ? HandleAndLocalPath.of(
                                    new Cancelling(file.getHandle()), file.getLocalPath())
                            : file);
        }
        return cancelling;
    }

    private void assertCancelled(
            IncrementalRemoteKeyedStateHandle handle, DatabaseOpener opener) throws Exception {
        long liveHandles = Native.liveHandles();
        long started = System.nanoTime();
        assertThatThrownBy(
                () ->
                        BackendFixture.cancellable(
                                directory.resolve("second"),
                                LOWER,
                                new String[0],
                                opener,
                                cancelRegistry,
                                handle));
        assertThat(cancelRegistry.isClosed()).as("the test's point").isTrue();
        assertThat(System.nanoTime() - started).isLessThan(5_000_000_000L);
        assertThat(Native.liveHandles()).isEqualTo(liveHandles);
        try (Stream<Path> found = Files.walk(directory.resolve("second"))) {
            assertThat(
                            found.filter(path -> path.toString().contains("/restore-"))
                                    .collect(Collectors.toList()))
                    .isEmpty();
        }
        assertThat(files.all()).containsAll(CheckpointFiles.named(checkpoint));
    }

    private static Database openDatabase(java.io.File directory) throws IOException {
        return Database.open(directory, new String[0], 0);
    }

    @Test
    void whileReadingTheMetaFile() throws Exception {
        assertCancelled(cancellingAt("meta"::equals), RescaleCancelTest::openDatabase);
    }

    @Test
    void whileBringingTheManifest() throws Exception {
        assertCancelled(
                cancellingAt(name -> name.startsWith("MANIFEST")),
                RescaleCancelTest::openDatabase);
    }

    @Test
    void whileBringingTableFiles() throws Exception {
        assertCancelled(
                cancellingAt(name -> name.endsWith(".sst")), RescaleCancelTest::openDatabase);
    }

    @Test
    void beforeTheImportIsFinished() throws Exception {
        assertCancelled(
                checkpoint,
                databaseDirectory -> {
                    Database database = openDatabase(databaseDirectory);
                    cancelRegistry.close();
                    return database;
                });
    }

    /** Closes the registry when it is read, as Flink does when the task is cancelled meanwhile. */
    private final class Cancelling extends DelegatingHandle {

        private static final long serialVersionUID = 1L;

        private Cancelling(StreamStateHandle handle) {
            super(handle);
        }

        @Override
        public FSDataInputStream openInputStream() throws IOException {
            try {
                cancelRegistry.close();
            } catch (IOException failure) {
                throw new UncheckedIOException(failure);
            }
            return super.openInputStream();
        }
    }
}
