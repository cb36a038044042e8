package io.ferrostate.compatibility;

import java.io.DataInputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.flink.runtime.checkpoint.Checkpoints;
import org.apache.flink.runtime.state.IncrementalRemoteKeyedStateHandle;
import org.apache.flink.runtime.state.KeyGroupsStateHandle;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.StreamStateHandle;
import org.apache.flink.runtime.state.filesystem.FileStateHandle;
import org.apache.flink.util.StringUtils;

/** The files that a snapshot of a {@link ScriptedJob} consists of, as its {@code _metadata} says. */
final class SnapshotFiles {

    private SnapshotFiles() {}

    /** Each one's digest by its path. */
    static SortedMap<Path, String> digests(Path snapshot) throws Exception {
        SortedMap<Path, String> digests = new TreeMap<>();
        Path metadata = snapshot.resolve("_metadata");
        digests.put(metadata, digest(metadata));
        for (KeyedStateHandle handle : keyedState(snapshot)) {
            for (StreamStateHandle part : parts(handle)) {
                if (part instanceof FileStateHandle) {
                    Path file = Path.of(((FileStateHandle) part).getFilePath().getPath());
                    digests.put(file, digest(file));
                }
            }
        }
        return digests;
    }

    private static String digest(Path file) throws Exception {
        return StringUtils.byteToHexString(
                MessageDigest.getInstance("SHA-256").digest(Files.readAllBytes(file)));
    }

    /** Of all subtasks. */
    static List<KeyedStateHandle> keyedState(Path snapshot) throws IOException {
        Path metadata = snapshot.resolve("_metadata");
        try (DataInputStream in = new DataInputStream(Files.newInputStream(metadata))) {
            return Checkpoints.loadCheckpointMetadata(
                            in, SnapshotFiles.class.getClassLoader(), snapshot.toString())
                    .getOperatorStates()
                    .stream()
                    .flatMap(operator -> operator.getStates().stream())
                    .flatMap(subtask -> subtask.getManagedKeyedState().stream())
                    .collect(Collectors.toList());
        }
    }

    private static List<StreamStateHandle> parts(KeyedStateHandle handle) {
        return handle instanceof KeyGroupsStateHandle
                ? List.of(((KeyGroupsStateHandle) handle).getDelegateStateHandle())
                : ((IncrementalRemoteKeyedStateHandle) handle)
                        .streamSubHandles()
                        .collect(Collectors.toList());
    }

    /** Flink deletes files behind a cancelled job's back; the test's time limit says when it does not. */
    static void awaitNoneBelow(Path root) throws Exception {
        while (!filesBelow(root).isEmpty()) {
            Thread.sleep(5); // between two looks
        }
    }

    private static List<Path> filesBelow(Path root) throws IOException {
        try (Stream<Path> found = Files.walk(root)) {
            return found.filter(Files::isRegularFile).collect(Collectors.toList());
        } catch (UncheckedIOException deletedMeanwhile) {
            return filesBelow(root);
        }
    }
}
