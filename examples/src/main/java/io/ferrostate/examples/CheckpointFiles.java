package io.ferrostate.examples;

import org.apache.flink.runtime.checkpoint.Checkpoints;
import org.apache.flink.runtime.checkpoint.OperatorState;
import org.apache.flink.runtime.checkpoint.OperatorSubtaskState;
import org.apache.flink.runtime.checkpoint.metadata.CheckpointMetadata;
import org.apache.flink.runtime.state.IncrementalKeyedStateHandle.HandleAndLocalPath;
import org.apache.flink.runtime.state.IncrementalRemoteKeyedStateHandle;
import org.apache.flink.runtime.state.KeyedStateHandle;

import java.io.DataInputStream;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Set;

/** What the _metadata of one retained checkpoint says about the files of keyed state. */
final class CheckpointFiles {

    private final Set<String> shared = new HashSet<>();
    private int ownFiles;
    private long uploaded;
    private long fullSize;

    private CheckpointFiles() {}

    static CheckpointFiles empty() {
        return new CheckpointFiles();
    }

    /** @param checkpoint URI of the directory that holds _metadata. */
    static CheckpointFiles read(String checkpoint) throws IOException {
        Path metadata = Path.of(URI.create(checkpoint)).resolve("_metadata");
        try (DataInputStream in = new DataInputStream(Files.newInputStream(metadata))) {
            CheckpointFiles files = new CheckpointFiles();
            files.add(
                    Checkpoints.loadCheckpointMetadata(
                            in, CheckpointFiles.class.getClassLoader(), checkpoint));
            return files;
        }
    }

    /** Files that the earlier checkpoint has too. */
    int reusedFrom(CheckpointFiles earlier) {
        return (int) shared.stream().filter(earlier.shared::contains).count();
    }

    int newSince(CheckpointFiles earlier) {
        return shared.size() + ownFiles - reusedFrom(earlier);
    }

    long uploaded() {
        return uploaded;
    }

    long fullSize() {
        return fullSize;
    }

    private void add(CheckpointMetadata metadata) {
        for (OperatorState operator : metadata.getOperatorStates()) {
            for (OperatorSubtaskState subtask : operator.getStates()) {
                subtask.getManagedKeyedState().forEach(this::add);
            }
        }
    }

    private void add(KeyedStateHandle handle) {
        uploaded += handle.getCheckpointedSize();
        fullSize += handle.getStateSize();
        if (handle instanceof IncrementalRemoteKeyedStateHandle) {
            IncrementalRemoteKeyedStateHandle files = (IncrementalRemoteKeyedStateHandle) handle;
            for (HandleAndLocalPath file : files.getSharedState()) {
                shared.add(file.getHandle().getStreamStateHandleID().getKeyString());
            }
            ownFiles += files.getPrivateState().size();
        }
    }
}
