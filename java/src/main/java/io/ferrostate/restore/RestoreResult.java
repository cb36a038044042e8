package io.ferrostate.restore;

import io.ferrostate.backend.Database;

import org.apache.flink.runtime.state.IncrementalKeyedStateHandle;
import org.apache.flink.runtime.state.IncrementalKeyedStateHandle.HandleAndLocalPath;
import org.apache.flink.runtime.state.IncrementalRemoteKeyedStateHandle;
import org.apache.flink.runtime.state.filesystem.RelativeFileStateHandle;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.stream.Collectors;

/** An open database, and which checkpoint's files it may go on with. */
public final class RestoreResult {

    private final Database database;
    private final UUID backendIdentifier;
    private final long checkpointId;
    private final List<HandleAndLocalPath> sharedFiles;
    private final List<HandleAndLocalPath> privateFiles;

    private RestoreResult(
            Database database,
            UUID backendIdentifier,
            long checkpointId,
            List<HandleAndLocalPath> sharedFiles,
            List<HandleAndLocalPath> privateFiles) {
        this.database = database;
        this.backendIdentifier = backendIdentifier;
        this.checkpointId = checkpointId;
        Map<Boolean, List<HandleAndLocalPath>> byRelative =
                sharedFiles.stream().collect(Collectors.partitioningBy(RestoreResult::isRelative));
        this.sharedFiles = byRelative.get(false);
        this.privateFiles = byRelative.get(true);
        this.privateFiles.addAll(privateFiles);
    }

    /**
     * Files of a native savepoint. Flink up to 2.3 writes a reference to one into the
     * {@code _metadata} of a checkpoint as if it lay beside that, and nobody can restore it from there
     * (FLINK-39964). The snapshot lists them as shared, but they are copied and not referred to.
     */
    private static boolean isRelative(HandleAndLocalPath file) {
        return file.getHandle() instanceof RelativeFileStateHandle;
    }

    /** The database has no history: file names of earlier ones say nothing about its own. */
    static RestoreResult withoutHistory(Database database) {
        return ofFiles(database, -1, Collections.emptyList(), Collections.emptyList());
    }

    /** The database has some files of a checkpoint, under names of its own. */
    static RestoreResult ofFiles(
            Database database,
            long checkpointId,
            List<HandleAndLocalPath> sharedFiles,
            List<HandleAndLocalPath> privateFiles) {
        return new RestoreResult(
                database, UUID.randomUUID(), checkpointId, sharedFiles, privateFiles);
    }

    /** The database consists of the files of this snapshot, under the same names. */
    static RestoreResult continuing(Database database, IncrementalKeyedStateHandle handle) {
        return new RestoreResult(
                database,
                handle.getBackendIdentifier(),
                handle.getCheckpointId(),
                handle.getSharedStateHandles(),
                privateFilesOf(handle));
    }

    /** SST files that only the snapshot itself may refer to, as in Flink's full ones. */
    static List<HandleAndLocalPath> privateFilesOf(IncrementalKeyedStateHandle handle) {
        if (!(handle instanceof IncrementalRemoteKeyedStateHandle)) {
            return Collections.emptyList();
        }
        return ((IncrementalRemoteKeyedStateHandle) handle)
                .getPrivateState().stream()
                        .filter(file -> file.getLocalPath().endsWith(".sst"))
                        .collect(Collectors.toList());
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

    /** Files that the database has too, but that no later checkpoint may refer to. */
    public List<HandleAndLocalPath> privateFiles() {
        return privateFiles;
    }

    public List<HandleAndLocalPath> allFiles() {
        List<HandleAndLocalPath> all = new ArrayList<>(sharedFiles);
        all.addAll(privateFiles);
        return all;
    }
}
