package io.ferrostate.checkpoint;

import org.apache.flink.runtime.state.CheckpointStateOutputStream;
import org.apache.flink.runtime.state.CheckpointStreamFactory;
import org.apache.flink.runtime.state.CheckpointedStateScope;
import org.apache.flink.runtime.state.StreamStateHandle;
import org.apache.flink.runtime.state.memory.ByteStreamStateHandle;
import org.apache.flink.util.IOUtils;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.Callable;

/**
 * Uploads through Flink's streams, for storages that the library does not reach, or copies within them.
 */
final class StreamUpload implements FileUpload {

    private static final int BUFFER_SIZE = 16 * 1024;

    private final CheckpointStreamFactory factory;

    StreamUpload(CheckpointStreamFactory factory) {
        this.factory = factory;
    }

    @Override
    public Result upload(
            Path localDirectory,
            List<PlannedFile> files,
            CheckpointedStateScope scope,
            SnapshotGuard guard)
            throws Exception {
        StoreCopy store = StoreCopy.of(factory, scope);
        Map<PlannedFile, StreamStateHandle> copied =
                store == null ? Map.of() : store.copy(files, guard);
        List<Callable<StreamStateHandle>> transfers = new ArrayList<>(files.size());
        for (PlannedFile file : files) {
            StreamStateHandle copy = copied.get(file);
            Path local = localDirectory.resolve(file.name());
            transfers.add(() -> copy != null ? copy : upload(local, scope, guard));
        }
        List<StreamStateHandle> handles = ParallelTransfer.run("ferrostate-upload", transfers);
        Result result = new Result();
        for (int i = 0; i < handles.size(); i++) {
            result.add(handles.get(i), files.get(i), copied.containsKey(files.get(i)));
        }
        return result;
    }

    private StreamStateHandle upload(Path file, CheckpointedStateScope scope, SnapshotGuard guard)
            throws IOException {
        CheckpointStateOutputStream out = factory.createCheckpointStateOutputStream(scope);
        try (InputStream in = Files.newInputStream(file)) {
            guard.closeOnCancel(out);
            copy(in, out);
            if (!guard.takeBack(out)) {
                throw new IOException(
                        "The checkpoint stream for " + file + " was closed by a cancellation.");
            }
            StreamStateHandle handle = out.closeAndGetHandle();
            return guard.created(handle != null ? handle : empty());
        } catch (IOException | RuntimeException failure) {
            guard.takeBack(out);
            // A stream that is closed without having given its handle deletes its file.
            IOUtils.closeQuietly(out);
            throw new IOException(
                    "Uploading " + file + " through " + factory + " failed: " + failure.getMessage(),
                    failure);
        }
    }

    private static void copy(InputStream in, CheckpointStateOutputStream out) throws IOException {
        byte[] buffer = new byte[BUFFER_SIZE];
        for (int count = in.read(buffer); count >= 0; count = in.read(buffer)) {
            out.write(buffer, 0, count);
        }
    }

    /** Flink has no handle for a stream that nothing was written to. */
    private static StreamStateHandle empty() {
        return new ByteStreamStateHandle(UUID.randomUUID().toString(), new byte[0]);
    }
}
