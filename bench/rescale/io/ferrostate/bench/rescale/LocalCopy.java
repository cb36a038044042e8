package io.ferrostate.bench.rescale;

import org.apache.flink.core.fs.FSDataInputStream;
import org.apache.flink.runtime.state.DirectoryStateHandle;
import org.apache.flink.runtime.state.IncrementalKeyedStateHandle.HandleAndLocalPath;
import org.apache.flink.runtime.state.IncrementalLocalKeyedStateHandle;
import org.apache.flink.runtime.state.IncrementalRemoteKeyedStateHandle;
import org.apache.flink.runtime.state.StreamStateHandle;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** A checkpoint's files on the local disk, as local recovery keeps them. */
final class LocalCopy {

    private final Map<Path, StreamStateHandle> files = new LinkedHashMap<>();
    final IncrementalLocalKeyedStateHandle handle;

    LocalCopy(IncrementalRemoteKeyedStateHandle checkpoint, Path directory) throws IOException {
        Files.createDirectories(directory);
        List<HandleAndLocalPath> all = new ArrayList<>(checkpoint.getSharedState());
        all.addAll(checkpoint.getPrivateState());
        for (HandleAndLocalPath file : all) {
            Path path = directory.resolve(file.getLocalPath());
            copy(file.getHandle(), path);
            files.put(path, file.getHandle());
        }
        handle =
                new IncrementalLocalKeyedStateHandle(
                        checkpoint.getBackendIdentifier(),
                        checkpoint.getCheckpointId(),
                        DirectoryStateHandle.forPathWithSize(directory),
                        checkpoint.getKeyGroupRange(),
                        checkpoint.getMetaDataStateHandle(),
                        checkpoint.getSharedState());
    }

    private static void copy(StreamStateHandle file, Path path) throws IOException {
        try (FSDataInputStream stream = file.openInputStream()) {
            Files.copy(stream, path);
        }
    }

    /**
     * Makes the kernel forget what it has of the files in memory. Flink's backend takes some away when it
     * restores fewer subtasks: they are copied again.
     */
    void forget() throws IOException, InterruptedException {
        for (Map.Entry<Path, StreamStateHandle> entry : files.entrySet()) {
            Path file = entry.getKey();
            Files.createDirectories(file.getParent());
            if (!Files.exists(file)) {
                copy(entry.getValue(), file);
            }
            run("sync", file.toString());
            run("dd", "if=" + file, "iflag=nocache", "count=0", "status=none");
        }
    }

    private static void run(String... command) throws IOException, InterruptedException {
        if (new ProcessBuilder(command).inheritIO().start().waitFor() != 0) {
            throw new IOException(String.join(" ", command) + " failed");
        }
    }
}
