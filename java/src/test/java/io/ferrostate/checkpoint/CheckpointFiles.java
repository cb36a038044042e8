package io.ferrostate.checkpoint;

import org.apache.flink.api.common.JobID;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.runtime.checkpoint.CheckpointOptions;
import org.apache.flink.runtime.checkpoint.CheckpointType;
import org.apache.flink.runtime.checkpoint.SavepointType;
import org.apache.flink.runtime.state.CheckpointStorageLocationReference;
import org.apache.flink.runtime.state.CompletedCheckpointStorageLocation;
import org.apache.flink.runtime.state.IncrementalKeyedStateHandle.HandleAndLocalPath;
import org.apache.flink.runtime.state.IncrementalRemoteKeyedStateHandle;
import org.apache.flink.runtime.state.PlaceholderStreamStateHandle;
import org.apache.flink.runtime.state.StreamStateHandle;
import org.apache.flink.runtime.state.filesystem.FileStateHandle;
import org.apache.flink.runtime.state.filesystem.FsCheckpointStorageAccess;
import org.apache.flink.runtime.state.filesystem.FsCheckpointStorageLocation;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** A checkpoint directory as Flink's JobManager lays it out, and what lies in it. */
public final class CheckpointFiles {

    public static final CheckpointOptions CHECKPOINT =
            CheckpointOptions.forCheckpointWithDefaultLocation();
    public static final CheckpointOptions FULL_CHECKPOINT =
            new CheckpointOptions(
                    CheckpointType.FULL_CHECKPOINT,
                    CheckpointStorageLocationReference.getDefault());
    public static final CheckpointOptions NATIVE_SAVEPOINT =
            new CheckpointOptions(
                    SavepointType.savepoint(SavepointFormatType.NATIVE),
                    CheckpointStorageLocationReference.getDefault());

    private final Path root;
    private final FsCheckpointStorageAccess storage;

    public CheckpointFiles(Path root, int inlineThreshold) throws IOException {
        this.root = Files.createDirectories(root);
        this.storage =
                new FsCheckpointStorageAccess(
                        new org.apache.flink.core.fs.Path(root.toUri()),
                        null,
                        new JobID(),
                        inlineThreshold,
                        4096);
        storage.initializeBaseLocationsForCheckpoint();
    }

    public FsCheckpointStorageLocation location(long checkpointId) throws IOException {
        return (FsCheckpointStorageLocation) storage.initializeLocationForCheckpoint(checkpointId);
    }

    /** A completed checkpoint by what the JobManager knows it by. */
    public CompletedCheckpointStorageLocation resolve(String pointer) throws IOException {
        return storage.resolveCheckpoint(pointer);
    }

    public Path metadata(long checkpointId) {
        return shared().resolveSibling("chk-" + checkpointId).resolve("_metadata");
    }

    public Path shared() {
        return Path.of(storage.getSharedStateDirectory().getPath());
    }

    /** All files below the root. */
    public Set<Path> all() throws IOException {
        try (Stream<Path> found = Files.walk(root)) {
            return found.filter(Files::isRegularFile).collect(Collectors.toCollection(TreeSet::new));
        }
    }

    /** All files that a handle names and that lie in the storage. */
    public static Set<Path> named(IncrementalRemoteKeyedStateHandle handle) {
        return handle.streamSubHandles()
                .filter(FileStateHandle.class::isInstance)
                .map(file -> Path.of(((FileStateHandle) file).getFilePath().getPath()))
                .collect(Collectors.toCollection(TreeSet::new));
    }

    /** Local names of the SST files that a handle refers to without having uploaded them. */
    public static Set<String> reused(IncrementalRemoteKeyedStateHandle handle) {
        return names(handle, true);
    }

    public static Set<String> uploaded(IncrementalRemoteKeyedStateHandle handle) {
        return names(handle, false);
    }

    private static Set<String> names(IncrementalRemoteKeyedStateHandle handle, boolean reused) {
        return handle.getSharedState().stream()
                .filter(file -> file.getHandle() instanceof PlaceholderStreamStateHandle == reused)
                .map(HandleAndLocalPath::getLocalPath)
                .collect(Collectors.toCollection(TreeSet::new));
    }

    public static StreamStateHandle of(IncrementalRemoteKeyedStateHandle handle, String localName) {
        return Stream.concat(handle.getSharedState().stream(), handle.getPrivateState().stream())
                .filter(file -> file.getLocalPath().equals(localName))
                .findFirst()
                .orElseThrow(() -> new AssertionError("no " + localName))
                .getHandle();
    }

    static boolean exists(Path path) {
        try {
            return Files.size(path) >= 0;
        } catch (java.nio.file.NoSuchFileException gone) {
            return false;
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }
}
