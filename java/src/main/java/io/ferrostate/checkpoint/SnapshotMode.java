package io.ferrostate.checkpoint;

import org.apache.flink.runtime.state.CheckpointedStateScope;

/** How one snapshot places its files, what it may reuse, and who remembers it. Values only. */
final class SnapshotMode {

    private final String name;
    private final CheckpointedStateScope scope;
    private final boolean sstFilesShared;
    private final boolean own;
    private final boolean regular;
    private final Ledger.Base base;
    private final Ledger recordIn;

    private SnapshotMode(
            String name,
            CheckpointedStateScope scope,
            boolean sstFilesShared,
            boolean own,
            boolean regular,
            Ledger.Base base,
            Ledger recordIn) {
        this.name = name;
        this.scope = scope;
        this.sstFilesShared = sstFilesShared;
        this.own = own;
        this.regular = regular;
        this.base = base;
        this.recordIn = recordIn;
    }

    /** Reuses what the last confirmed checkpoint has, and may be reused itself. */
    static SnapshotMode incremental(Ledger.Base base, Ledger ledger) {
        return new SnapshotMode(
                "incremental", CheckpointedStateScope.SHARED, true, false, true, base, ledger);
    }

    /** Reuses nothing, and may be reused: the first checkpoint after a NO_CLAIM restore. */
    static SnapshotMode fullButShared(Ledger.Base base, Ledger ledger) {
        return new SnapshotMode(
                "full", CheckpointedStateScope.SHARED, true, true, false, base, ledger);
    }

    /**
     * Self-contained and never remembered. Its SST files are still listed as shared state, so that
     * a job which claims it goes on incrementally.
     */
    static SnapshotMode nativeSavepoint(Ledger.Base base) {
        return new SnapshotMode(
                "savepoint", CheckpointedStateScope.EXCLUSIVE, true, true, false, base, null);
    }

    /** A checkpoint of a backend without incremental checkpoints: the next one may copy its files. */
    static SnapshotMode full(Ledger.Base base, Ledger ledger) {
        return new SnapshotMode(
                "full", CheckpointedStateScope.EXCLUSIVE, false, true, true, base, ledger);
    }

    /** A native savepoint of a backend without incremental checkpoints. */
    static SnapshotMode fullSavepoint(Ledger.Base base) {
        return new SnapshotMode(
                "savepoint", CheckpointedStateScope.EXCLUSIVE, false, true, false, base, null);
    }

    String name() {
        return name;
    }

    CheckpointedStateScope scope() {
        return scope;
    }

    /** Whether SST files are shared state of the handle, or private like all others. */
    boolean sstFilesShared() {
        return sstFilesShared;
    }

    /** Whether all files are its own: none of another snapshot is referred to. */
    boolean own() {
        return own;
    }

    /** Taken all the time, so that one more is no news. */
    boolean regular() {
        return regular;
    }

    Ledger.Base base() {
        return base;
    }

    /** Null: nobody reuses or copies this snapshot's files. */
    Ledger recordIn() {
        return recordIn;
    }
}
