package io.ferrostate.bench.rescale;

import org.apache.flink.core.fs.FSDataInputStream;
import org.apache.flink.runtime.state.DirectoryStateHandle;
import org.apache.flink.runtime.state.IncrementalKeyedStateHandle.HandleAndLocalPath;
import org.apache.flink.runtime.state.IncrementalLocalKeyedStateHandle;
import org.apache.flink.runtime.state.IncrementalRemoteKeyedStateHandle;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** A checkpoint's files on the local disk, as local recovery keeps them. */
final class LocalCopy {

    private final List<Path> files = new ArrayList<>();
    final IncrementalLocalKeyedStateHandle handle;

    LocalCopy(IncrementalRemoteKeyedStateHandle checkpoint, Path directory) throws IOException {
        Files.createDirectories(directory);
        List<HandleAndLocalPath> all = new ArrayList<>(checkpoint.getSharedState());
        all.addAll(checkpoint.getPrivateState());
        for (HandleAndLocalPath file : all) {
            Path path = directory.resolve(file.getLocalPath());
            try (FSDataInputStream stream = file.getHandle().openInputStream()) {
                Files.copy(stream, path);
            }
            files.add(path);
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

    /** Makes the kernel forget what it has of the files in memory. */
    void forget() throws IOException, InterruptedException {
        for (Path file : files) {
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
