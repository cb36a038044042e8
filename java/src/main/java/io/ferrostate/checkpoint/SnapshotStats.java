package io.ferrostate.checkpoint;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;

/**
 * Numbers of one finished snapshot of one backend, and the last ones of this process for whoever
 * wants to show them. Not told to Flink, which has its own checkpoint statistics.
 */
public final class SnapshotStats {

    /** Nobody needs to drain: the oldest go. */
    private static final int KEPT = 4096;

    private static final Deque<SnapshotStats> RECENT = new ArrayDeque<>();

    private final String operatorIdentifier;
    private final long checkpointId;
    private final String mode;
    private final int newFiles;
    private final int reusedFiles;
    private final long bytesUploaded;
    private final long fullSize;
    private final long syncMillis;
    private final long asyncMillis;

    SnapshotStats(
            String operatorIdentifier,
            long checkpointId,
            String mode,
            int newFiles,
            int reusedFiles,
            long bytesUploaded,
            long fullSize,
            long syncMillis,
            long asyncMillis) {
        this.operatorIdentifier = operatorIdentifier;
        this.checkpointId = checkpointId;
        this.mode = mode;
        this.newFiles = newFiles;
        this.reusedFiles = reusedFiles;
        this.bytesUploaded = bytesUploaded;
        this.fullSize = fullSize;
        this.syncMillis = syncMillis;
        this.asyncMillis = asyncMillis;
    }

    /** Takes the numbers of all snapshots that finished since the last call, oldest first. */
    public static List<SnapshotStats> drain() {
        synchronized (RECENT) {
            List<SnapshotStats> drained = new ArrayList<>(RECENT);
            RECENT.clear();
            return drained;
        }
    }

    void publish() {
        synchronized (RECENT) {
            if (RECENT.size() == KEPT) {
                RECENT.removeFirst();
            }
            RECENT.addLast(this);
        }
    }

    public String operatorIdentifier() {
        return operatorIdentifier;
    }

    public long checkpointId() {
        return checkpointId;
    }

    /** "incremental", "full" or "savepoint". */
    public String mode() {
        return mode;
    }

    /** Files that were uploaded or put inline, without the meta file. */
    public int newFiles() {
        return newFiles;
    }

    /** Files that an earlier checkpoint has already. */
    public int reusedFiles() {
        return reusedFiles;
    }

    /** New files and the meta file; what Flink calls checkpointed size. */
    public long bytesUploaded() {
        return bytesUploaded;
    }

    /** All files, reused ones too. */
    public long fullSize() {
        return fullSize;
    }

    public long syncMillis() {
        return syncMillis;
    }

    public long asyncMillis() {
        return asyncMillis;
    }

    @Override
    public String toString() {
        return String.format(
                "Checkpoint %d (%s) of %s: %d new and %d reused files, %d of %d bytes uploaded,"
                        + " sync %d ms, async %d ms",
                checkpointId,
                mode,
                operatorIdentifier,
                newFiles,
                reusedFiles,
                bytesUploaded,
                fullSize,
                syncMillis,
                asyncMillis);
    }
}
