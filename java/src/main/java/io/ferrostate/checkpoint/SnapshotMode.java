package io.ferrostate.checkpoint;

import org.apache.flink.runtime.state.CheckpointedStateScope;

/** How one snapshot places its files, what it may reuse, and who remembers it. Values only. */
final class SnapshotMode {

    private final String name;
    private final CheckpointedStateScope scope;
    private final boolean sstFilesShared;
    private final Ledger.Base base;
    private final Ledger recordIn;

    private SnapshotMode(
            String name,
            CheckpointedStateScope scope,
            boolean sstFilesShared,
            Ledger.Base base,
            Ledger recordIn) {
        this.name = name;
        this.scope = scope;
        this.sstFilesShared = sstFilesShared;
        this.base = base;
        this.recordIn = recordIn;
    }

    /** Reuses what the last confirmed checkpoint has, and may be reused itself. */
    static SnapshotMode incremental(Ledger.Base base, Ledger ledger) {
        return new SnapshotMode(
                "incremental", CheckpointedStateScope.SHARED, true, base, ledger);
    }

    /** Reuses nothing, and may be reused: the first checkpoint after a NO_CLAIM restore. */
    static SnapshotMode fullButShared(Ledger ledger) {
        return new SnapshotMode("full", CheckpointedStateScope.SHARED, true, null, ledger);
    }

    /**
     * Self-contained and never remembered. Its SST files are still listed as shared state, so that
     * a job which claims it goes on incrementally.
     */
    static SnapshotMode nativeSavepoint() {
        return new SnapshotMode(
                "savepoint", CheckpointedStateScope.EXCLUSIVE, true, null, null);
    }

    /** Of a backend without incremental checkpoints. */
    static SnapshotMode full() {
        return new SnapshotMode("full", CheckpointedStateScope.EXCLUSIVE, false, null, null);
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

    /** Null: everything is uploaded. */
    Ledger.Base base() {
        return base;
    }

    /** Null: nobody reuses this snapshot's files. */
    Ledger recordIn() {
        return recordIn;
    }
}
