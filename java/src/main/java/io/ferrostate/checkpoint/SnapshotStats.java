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
    private final int copiedFiles;
    private final int reusedFiles;
    private final long newBytes;
    private final long copiedBytes;
    private final long fullSize;
    private final long syncMillis;
    private final long asyncMillis;

    SnapshotStats(
            String operatorIdentifier,
            long checkpointId,
            String mode,
            int newFiles,
            int copiedFiles,
            int reusedFiles,
            long newBytes,
            long copiedBytes,
            long fullSize,
            long syncMillis,
            long asyncMillis) {
        this.operatorIdentifier = operatorIdentifier;
        this.checkpointId = checkpointId;
        this.mode = mode;
        this.newFiles = newFiles;
        this.copiedFiles = copiedFiles;
        this.reusedFiles = reusedFiles;
        this.newBytes = newBytes;
        this.copiedBytes = copiedBytes;
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

    /** Files that were uploaded, copied in the store or put inline, without the meta file. */
    public int newFiles() {
        return newFiles;
    }

    /** New files that were made out of others in the store. */
    public int copiedFiles() {
        return copiedFiles;
    }

    /** Files of an earlier checkpoint that this one refers to. */
    public int reusedFiles() {
        return reusedFiles;
    }

    /** New files and the meta file; what Flink calls checkpointed size. */
    public long newBytes() {
        return newBytes;
    }

    /** Those of them that the store had already and that did not leave it. */
    public long copiedBytes() {
        return copiedBytes;
    }

    /** Those of them that were written to the store. */
    public long uploadedBytes() {
        return newBytes - copiedBytes;
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
                "Checkpoint %d (%s) of %s: %d new files, %d of them copied in the store, and %d reused"
                        + " ones; of %d bytes %d are new, %d of them copied; sync %d ms, async %d ms",
                checkpointId,
                mode,
                operatorIdentifier,
                newFiles,
                copiedFiles,
                reusedFiles,
                fullSize,
                newBytes,
                copiedBytes,
                syncMillis,
                asyncMillis);
    }
}
