package io.ferrostate.checkpoint;

import io.ferrostate.jni.Native;

import org.apache.flink.runtime.checkpoint.filemerging.FileMergingSnapshotManager;
import org.apache.flink.runtime.state.IncrementalKeyedStateHandle.HandleAndLocalPath;
import org.apache.flink.runtime.state.PlaceholderStreamStateHandle;
import org.apache.flink.runtime.state.StreamStateHandle;

import java.util.Collection;

/**
 * Java's side of the native ledger of uploaded files: turns Flink's handles into its rows. The
 * rules of reuse (compatibility D6, D10) are the library's.
 *
 * <p>Called by the task's thread and by asynchronous snapshots; after {@link #close()} a snapshot
 * that comes late is refused and a notification is ignored.
 */
final class Ledger implements AutoCloseable {

    private static final int COLUMNS = 5;

    /** 0 once closed. */
    private long handle = Native.ledgerOpen();

    /** Remembers the SST files of a checkpoint that is handed over to Flink. */
    synchronized void record(long checkpointId, Collection<HandleAndLocalPath> sstFiles) {
        if (handle == 0) {
            throw new IllegalStateException(
                    "Checkpoint " + checkpointId + " ends after its backend was closed.");
        }
        Native.ledgerRecord(handle, checkpointId, rows(sstFiles));
    }

    /** Takes over the files of the checkpoint that was restored: they count as confirmed. */
    synchronized void restore(long checkpointId, Collection<HandleAndLocalPath> sstFiles) {
        Native.ledgerRestore(handle, checkpointId, rows(sstFiles));
    }

    /** Files of the restored snapshot that are private to it: copied at most. */
    synchronized void lend(Collection<HandleAndLocalPath> sstFiles) {
        Native.ledgerLend(handle, rows(sstFiles));
    }

    synchronized void confirm(long checkpointId) {
        if (handle != 0) {
            Native.ledgerConfirm(handle, checkpointId);
        }
    }

    synchronized void abort(long checkpointId) {
        if (handle != 0) {
            Native.ledgerAbort(handle, checkpointId);
        }
    }

    /**
     * What may be reused now, unchanged by what is recorded or confirmed later. Close it after the
     * snapshot was recorded or given up, or when it never will be.
     */
    synchronized Base freeze() {
        return new Base(Native.baseOpen(handle));
    }

    @Override
    public synchronized void close() {
        long closing = handle;
        handle = 0;
        if (closing != 0) {
            Native.ledgerClose(closing);
        }
    }

    private static String[] rows(Collection<HandleAndLocalPath> files) {
        String[] rows = new String[files.size() * COLUMNS];
        int next = 0;
        for (HandleAndLocalPath file : files) {
            StreamStateHandle state = file.getHandle();
            rows[next++] = file.getLocalPath();
            rows[next++] = Long.toString(state.getStateSize());
            rows[next++] = state.getStreamStateHandleID().getKeyString();
            rows[next++] =
                    state instanceof PlaceholderStreamStateHandle ? "placeholder" : "uploaded";
            rows[next++] = FileMergingSnapshotManager.isFileMergingHandle(state) ? "merged" : "plain";
        }
        return rows;
    }

    /** A frozen state of the ledger. */
    static final class Base implements AutoCloseable {

        private long handle;

        private Base(long handle) {
            this.handle = handle;
        }

        synchronized long handle() {
            if (handle == 0) {
                throw new IllegalStateException("The snapshot's resources are released already.");
            }
            return handle;
        }

        /** The snapshot uploads everything: until it ends no other one refers to older copies. */
        void reusesNothing() {
            Native.baseReusesNothing(handle());
        }

        /** The snapshot is never remembered: no other one refers to its files. */
        void concernsNobody() {
            Native.baseConcernsNobody(handle());
        }

        @Override
        public synchronized void close() {
            long closing = handle;
            handle = 0;
            if (closing != 0) {
                Native.baseClose(closing);
            }
        }
    }
}
