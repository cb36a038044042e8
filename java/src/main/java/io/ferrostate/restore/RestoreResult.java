package io.ferrostate.restore;

import io.ferrostate.backend.Database;

import org.apache.flink.runtime.state.IncrementalKeyedStateHandle;
import org.apache.flink.runtime.state.IncrementalKeyedStateHandle.HandleAndLocalPath;

import java.util.Collections;
import java.util.List;
import java.util.UUID;

/** An open database, and which checkpoint's files it may go on with. */
public final class RestoreResult {

    private final Database database;
    private final UUID backendIdentifier;
    private final long checkpointId;
    private final List<HandleAndLocalPath> sharedFiles;

    private RestoreResult(
            Database database,
            UUID backendIdentifier,
            long checkpointId,
            List<HandleAndLocalPath> sharedFiles) {
        this.database = database;
        this.backendIdentifier = backendIdentifier;
        this.checkpointId = checkpointId;
        this.sharedFiles = sharedFiles;
    }

    /** The database has no history: file names of earlier ones say nothing about its own. */
    static RestoreResult withoutHistory(Database database) {
        return new RestoreResult(database, UUID.randomUUID(), -1, Collections.emptyList());
    }

    /** The database has some files of a checkpoint, under names of its own. */
    static RestoreResult ofFiles(
            Database database, long checkpointId, List<HandleAndLocalPath> sharedFiles) {
        return new RestoreResult(database, UUID.randomUUID(), checkpointId, sharedFiles);
    }

    /** The database consists of the files of this snapshot, under the same names. */
    static RestoreResult continuing(Database database, IncrementalKeyedStateHandle handle) {
        return new RestoreResult(
                database,
                handle.getBackendIdentifier(),
                handle.getCheckpointId(),
                handle.getSharedStateHandles());
    }

    public Database database() {
        return database;
    }

    public UUID backendIdentifier() {
        return backendIdentifier;
    }

    /** -1: there is nothing to go on with. */
    public long checkpointId() {
        return checkpointId;
    }

    public List<HandleAndLocalPath> sharedFiles() {
        return sharedFiles;
    }
}
