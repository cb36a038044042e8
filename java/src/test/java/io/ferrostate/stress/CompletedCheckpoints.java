package io.ferrostate.stress;

import org.apache.flink.api.common.JobID;
import org.apache.flink.runtime.checkpoint.Checkpoints;
import org.apache.flink.runtime.checkpoint.OperatorState;
import org.apache.flink.runtime.checkpoint.OperatorSubtaskState;
import org.apache.flink.runtime.checkpoint.metadata.CheckpointMetadata;
import org.apache.flink.runtime.jobgraph.OperatorID;
import org.apache.flink.runtime.state.CheckpointMetadataOutputStream;
import org.apache.flink.runtime.state.CheckpointStorageLocation;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.SharedStateRegistry;
import org.apache.flink.runtime.state.SharedStateRegistryImpl;
import org.apache.flink.runtime.state.filesystem.FsCheckpointStorageAccess;

import java.io.DataInputStream;
import java.io.IOException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Collections;
import java.util.Deque;
import java.util.Optional;

/**
 * The JobManager's part, on one directory: gives each checkpoint its location, makes it complete by
 * its _metadata, subsumes all but the last two, and finds the last complete one after a crash.
 */
final class CompletedCheckpoints implements AutoCloseable {

    private static final JobID JOB = new JobID(0x57e55, 1);
    private static final OperatorID OPERATOR = new OperatorID(0x57e55, 2);
    private static final int RETAINED = 2;

    private final FsCheckpointStorageAccess storage;
    private final Path directory;
    private final SharedStateRegistry registry = new SharedStateRegistryImpl();
    private final Deque<Completed> retained = new ArrayDeque<>();

    CompletedCheckpoints(Path root) throws IOException {
        storage =
                new FsCheckpointStorageAccess(
                        new org.apache.flink.core.fs.Path(root.toUri()), null, JOB, 1024, 4096);
        storage.initializeBaseLocationsForCheckpoint();
        directory = root.resolve(JOB.toString());
    }

    CheckpointStorageLocation location(long id) throws IOException {
        return storage.initializeLocationForCheckpoint(id);
    }

    /** The checkpoint is complete when, and only when, this has written its _metadata. */
    void complete(long id, KeyedStateHandle handle, CheckpointStorageLocation location)
            throws Exception {
        handle.registerSharedStates(registry, id);
        try (CheckpointMetadataOutputStream out = location.createMetadataOutputStream()) {
            Checkpoints.storeCheckpointMetadata(metadata(id, handle), out);
            out.closeAndFinalizeCheckpoint();
        }
        retain(id, handle);
    }

    /** The last complete one, taken over as by a CLAIM restore. */
    Optional<Completed> takeOverLast() throws Exception {
        Optional<Completed> last = last();
        if (last.isPresent()) {
            last.get().handle.registerSharedStates(registry, last.get().id);
            retain(last.get().id, last.get().handle);
        }
        return last;
    }

    @Override
    public void close() throws IOException {
        try {
            registry.close();
        } catch (Exception failure) {
            throw new IOException(failure);
        }
    }

    private void retain(long id, KeyedStateHandle handle) throws Exception {
        registry.checkpointCompleted(id);
        retained.addLast(new Completed(id, handle));
        while (retained.size() > RETAINED) {
            Completed subsumed = retained.removeFirst();
            registry.unregisterUnusedState(retained.getFirst().id);
            subsumed.handle.discardState();
            Path chk = directory.resolve("chk-" + subsumed.id);
            Files.deleteIfExists(chk.resolve("_metadata"));
            deleteUnlessKilledIn(chk);
        }
    }

    /**
     * A process killed in the async part leaves files that nobody refers to in the directory that the
     * next attempt at the same checkpoint uses again; like Flink, this does not delete those.
     */
    private static void deleteUnlessKilledIn(Path chk) throws IOException {
        try {
            Files.deleteIfExists(chk);
        } catch (DirectoryNotEmptyException leftovers) {
            // Found by whoever looks for orphans; no part of any complete checkpoint.
        }
    }

    private Optional<Completed> last() throws IOException {
        long last = 0;
        try (DirectoryStream<Path> found = Files.newDirectoryStream(directory, "chk-*")) {
            for (Path chk : found) {
                if (Files.exists(chk.resolve("_metadata"))) {
                    last = Math.max(last, Long.parseLong(chk.getFileName().toString().substring(4)));
                }
            }
        }
        return last == 0 ? Optional.empty() : Optional.of(new Completed(last, load(last)));
    }

    private KeyedStateHandle load(long id) throws IOException {
        Path chk = directory.resolve("chk-" + id);
        try (DataInputStream in =
                new DataInputStream(Files.newInputStream(chk.resolve("_metadata")))) {
            CheckpointMetadata metadata =
                    Checkpoints.loadCheckpointMetadata(
                            in, getClass().getClassLoader(), chk.toUri().toString());
            return metadata.getOperatorStates()
                    .iterator()
                    .next()
                    .getState(0)
                    .getManagedKeyedState()
                    .iterator()
                    .next();
        }
    }

    private static CheckpointMetadata metadata(long id, KeyedStateHandle handle) {
        OperatorState operator =
                new OperatorState("stress", "stress", OPERATOR, 1, StressBackend.KEY_GROUPS);
        operator.putState(
                0, OperatorSubtaskState.builder().setManagedKeyedState(handle).build());
        return new CheckpointMetadata(
                id, Collections.singleton(operator), Collections.emptyList());
    }

    /** A checkpoint that counts. */
    static final class Completed {

        final long id;
        final KeyedStateHandle handle;

        private Completed(long id, KeyedStateHandle handle) {
            this.id = id;
            this.handle = handle;
        }
    }
}
