package io.ferrostate.restore;

import io.ferrostate.backend.Database;
import io.ferrostate.jni.CancelToken;
import io.ferrostate.jni.Native;

import org.apache.flink.core.fs.CloseableRegistry;
import org.apache.flink.runtime.checkpoint.filemerging.FileMergingSnapshotManager;
import org.apache.flink.runtime.state.IncrementalKeyedStateHandle;
import org.apache.flink.runtime.state.IncrementalKeyedStateHandle.HandleAndLocalPath;
import org.apache.flink.runtime.state.metainfo.StateMetaInfoSnapshot;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Java's side of the library's rescale: hands it the snapshots' databases and turns what it kept into
 * Flink's handles. Brings no files and opens no database.
 */
final class FileImport implements AutoCloseable {

    private static final int COLUMNS = 3;

    private final CloseableRegistry cancelRegistry;
    private final List<IncrementalKeyedStateHandle> parts = new ArrayList<>();
    private final List<HandleAndLocalPath> privateFiles = new ArrayList<>();
    private long handle;

    FileImport(String[] databaseOptions, CloseableRegistry cancelRegistry) {
        this.cancelRegistry = cancelRegistry;
        this.handle = Native.rescaleOpen(databaseOptions);
    }

    /**
     * Adds the keys {@code from <= key < to} of a snapshot. Several threads may add.
     *
     * @param states all states of the snapshot.
     * @return the SST files that are needed in the directory, or null if it cannot be imported.
     */
    synchronized Set<String> add(
            IncrementalKeyedStateHandle snapshot,
            Path directory,
            byte[] from,
            byte[] to,
            List<StateMetaInfoSnapshot> states)
            throws IOException {
        String[] files =
                Native.rescalePart(
                        handle,
                        directory.toString(),
                        from,
                        to,
                        StateRegistration.names(states));
        if (files == null) {
            return null;
        }
        parts.add(snapshot);
        return new HashSet<>(Arrays.asList(files));
    }

    boolean isEmpty() {
        return parts.isEmpty();
    }

    /**
     * Makes the database out of the parts' files.
     *
     * @return the files of it that the snapshot has as shared state, under their new names; null if the
     *     rows must be copied instead.
     */
    List<HandleAndLocalPath> run(Path databaseDirectory, Path scratch) throws IOException {
        try (CancelToken cancel = CancelToken.registeredIn(cancelRegistry)) {
            String[] kept =
                    Native.rescaleRun(
                            handle,
                            databaseDirectory.toString(),
                            scratch.toString(),
                            cancel.handle());
            return kept == null ? null : shared(kept);
        }
    }

    private List<HandleAndLocalPath> shared(String[] kept) {
        List<Map<String, HandleAndLocalPath>> knownShared = new ArrayList<>(parts.size());
        List<Map<String, HandleAndLocalPath>> knownPrivate = new ArrayList<>(parts.size());
        for (IncrementalKeyedStateHandle part : parts) {
            knownShared.add(byName(part.getSharedStateHandles()));
            knownPrivate.add(byName(RestoreResult.privateFilesOf(part)));
        }
        List<HandleAndLocalPath> shared = new ArrayList<>(kept.length / COLUMNS);
        for (int at = 0; at < kept.length; at += COLUMNS) {
            int part = Integer.parseInt(kept[at]);
            addRenamed(shared, knownShared.get(part).get(kept[at + 1]), kept[at + 2]);
            // Files of full snapshots are private: the JobManager could not keep them for us.
            addRenamed(privateFiles, knownPrivate.get(part).get(kept[at + 1]), kept[at + 2]);
        }
        return shared;
    }

    private static Map<String, HandleAndLocalPath> byName(List<HandleAndLocalPath> files) {
        Map<String, HandleAndLocalPath> named = new HashMap<>();
        files.forEach(file -> named.put(file.getLocalPath(), file));
        return named;
    }

    /**
     * Not what lies in merged files: their directory is another subtask's, and the JobManager deletes it
     * with the last checkpoint of that one. Flink's file merging forgets this where the names begin alike
     * ({@code ..._0_1} and {@code ..._0_12}), so it cannot be left to it.
     */
    private static void addRenamed(
            List<HandleAndLocalPath> files, HandleAndLocalPath known, String name) {
        if (known != null && !FileMergingSnapshotManager.isFileMergingHandle(known.getHandle())) {
            files.add(HandleAndLocalPath.of(known.getHandle(), name));
        }
    }

    /** The files of the database that the snapshot has as private state, under their new names. */
    List<HandleAndLocalPath> privateFiles() {
        return privateFiles;
    }

    /** Begins to compact what the files have of other key groups. */
    void finish(Database database) throws IOException {
        try (CancelToken cancel = CancelToken.registeredIn(cancelRegistry)) {
            database.call(
                    opened -> {
                        Native.rescaleFinish(handle, opened, cancel.handle());
                        return null;
                    });
        }
    }

    @Override
    public void close() {
        long closing = handle;
        handle = 0;
        if (closing != 0) {
            Native.rescaleClose(closing);
        }
    }
}
