package io.ferrostate.restore;

import io.ferrostate.checkpoint.BackendFixture;
import io.ferrostate.checkpoint.CheckpointFiles;

import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.JobStatus;
import org.apache.flink.core.execution.RecoveryClaimMode;
import org.apache.flink.runtime.checkpoint.CheckpointProperties;
import org.apache.flink.runtime.checkpoint.CheckpointRetentionPolicy;
import org.apache.flink.runtime.checkpoint.Checkpoints;
import org.apache.flink.runtime.checkpoint.CheckpointsCleaner;
import org.apache.flink.runtime.checkpoint.CompletedCheckpoint;
import org.apache.flink.runtime.checkpoint.OperatorState;
import org.apache.flink.runtime.checkpoint.OperatorSubtaskState;
import org.apache.flink.runtime.checkpoint.StandaloneCompletedCheckpointStore;
import org.apache.flink.runtime.checkpoint.metadata.CheckpointMetadata;
import org.apache.flink.runtime.jobgraph.OperatorID;
import org.apache.flink.runtime.state.CheckpointMetadataOutputStream;
import org.apache.flink.runtime.state.CompletedCheckpointStorageLocation;
import org.apache.flink.runtime.state.IncrementalRemoteKeyedStateHandle;
import org.apache.flink.runtime.state.SharedStateRegistry;
import org.apache.flink.util.concurrent.Executors;

import java.io.DataInputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * The JobManager's part, made of Flink's own classes: the store of the retained checkpoints, which
 * subsumes and discards, its registry of shared state, and {@code _metadata}.
 */
final class RetainingJobManager {

    private static final OperatorID OPERATOR = new OperatorID(1, 2);

    private final JobID job = new JobID();
    private final CheckpointsCleaner cleaner = new CheckpointsCleaner();
    private final CheckpointFiles files;
    private final int retained;
    private StandaloneCompletedCheckpointStore store;

    RetainingJobManager(CheckpointFiles files, int retained) {
        this.files = files;
        this.retained = retained;
        this.store = storeWith(SharedStateRegistry.DEFAULT_FACTORY.create(
                Executors.directExecutor(), List.of(), RecoveryClaimMode.CLAIM));
    }

    private StandaloneCompletedCheckpointStore storeWith(SharedStateRegistry registry) {
        return new StandaloneCompletedCheckpointStore(
                retained,
                (executor, checkpoints, mode) -> registry,
                Executors.directExecutor(),
                RecoveryClaimMode.CLAIM);
    }

    /** All subtasks acknowledged. From here on the registry knows what they share. */
    OperatorState acknowledged(long id, List<IncrementalRemoteKeyedStateHandle> handles) {
        OperatorState operator =
                new OperatorState(
                        "name", "uid", OPERATOR, handles.size(), BackendFixture.KEY_GROUPS);
        for (int i = 0; i < handles.size(); i++) {
            OperatorSubtaskState subtask =
                    OperatorSubtaskState.builder().setManagedKeyedState(handles.get(i)).build();
            subtask.registerSharedStates(store.getSharedStateRegistry(), id);
            operator.putState(i, subtask);
        }
        return operator;
    }

    /** Completes it, subsumes others, and deletes what nobody refers to any more. */
    void complete(long id, OperatorState operator) throws Exception {
        CompletedCheckpointStorageLocation location;
        try (CheckpointMetadataOutputStream out =
                files.location(id).createMetadataOutputStream()) {
            Checkpoints.storeCheckpointMetadata(
                    new CheckpointMetadata(id, List.of(operator), List.of()), out);
            location = out.closeAndFinalizeCheckpoint();
        }
        add(store, checkpoint(id, operator, location));
        store.getSharedStateRegistry().checkpointCompleted(id);
    }

    private CompletedCheckpoint checkpoint(
            long id, OperatorState operator, CompletedCheckpointStorageLocation location) {
        return new CompletedCheckpoint(
                job,
                id,
                0,
                1,
                Map.of(OPERATOR, operator),
                List.of(),
                CheckpointProperties.forCheckpoint(
                        CheckpointRetentionPolicy.NEVER_RETAIN_AFTER_TERMINATION),
                location,
                null);
    }

    private void add(StandaloneCompletedCheckpointStore to, CompletedCheckpoint checkpoint)
            throws Exception {
        to.addCheckpointAndSubsumeOldestOne(checkpoint, cleaner, () -> {});
    }

    /** A new one, which knows nothing but the {@code _metadata} of the retained checkpoints. */
    void failOver() throws Exception {
        List<CompletedCheckpoint> read = new ArrayList<>();
        for (CompletedCheckpoint known : store.getAllCheckpoints()) {
            long id = known.getCheckpointID();
            read.add(checkpoint(id, read(known), location(known)));
        }
        store.getSharedStateRegistry().close();
        store =
                storeWith(
                        SharedStateRegistry.DEFAULT_FACTORY.create(
                                Executors.directExecutor(), read, RecoveryClaimMode.CLAIM));
        for (CompletedCheckpoint checkpoint : read) {
            add(store, checkpoint);
        }
    }

    private CompletedCheckpointStorageLocation location(CompletedCheckpoint known)
            throws Exception {
        return files.resolve(known.getExternalPointer());
    }

    /** As a restoring job reads it. */
    private OperatorState read(CompletedCheckpoint known) throws Exception {
        try (DataInputStream in =
                new DataInputStream(location(known).getMetadataHandle().openInputStream())) {
            return Checkpoints.loadCheckpointMetadata(
                            in, getClass().getClassLoader(), known.getExternalPointer())
                    .getOperatorStates()
                    .iterator()
                    .next();
        }
    }

    List<Long> retained() {
        List<Long> ids = new ArrayList<>();
        store.getAllCheckpoints().forEach(known -> ids.add(known.getCheckpointID()));
        return ids;
    }

    /** The subtasks of a retained checkpoint, out of its {@code _metadata}. */
    List<IncrementalRemoteKeyedStateHandle> handles(long id) throws Exception {
        for (CompletedCheckpoint known : store.getAllCheckpoints()) {
            if (known.getCheckpointID() == id) {
                OperatorState operator = read(known);
                List<IncrementalRemoteKeyedStateHandle> handles = new ArrayList<>();
                for (int i = 0; i < operator.getParallelism(); i++) {
                    handles.add(
                            (IncrementalRemoteKeyedStateHandle)
                                    operator.getState(i)
                                            .getManagedKeyedState()
                                            .iterator()
                                            .next());
                }
                return handles;
            }
        }
        throw new AssertionError("checkpoint " + id + " is not retained");
    }

    /** The job ends and keeps nothing. */
    void finish() throws Exception {
        store.shutdown(JobStatus.FINISHED, cleaner);
        store.getSharedStateRegistry().close();
    }
}
