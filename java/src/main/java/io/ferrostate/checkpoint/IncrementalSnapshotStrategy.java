package io.ferrostate.checkpoint;

import org.apache.flink.runtime.checkpoint.CheckpointOptions;
import org.apache.flink.runtime.checkpoint.SnapshotType.SharingFilesStrategy;
import org.apache.flink.runtime.state.IncrementalKeyedStateHandle.HandleAndLocalPath;

import java.util.Collection;

/**
 * Incremental checkpoints: files of the last confirmed checkpoint are referred to, new ones are
 * uploaded (compatibility D6). What must not refer to them copies them in the store. Owns the ledger.
 */
public final class IncrementalSnapshotStrategy<K> extends NativeSnapshotStrategy<K> {

    private final Ledger ledger = new Ledger();

    /**
     * @param restoredCheckpointId the checkpoint whose files this backend goes on with, or -1.
     * @param restoredFiles its shared files.
     * @param lentFiles files of the restored snapshot that are private to it.
     */
    public IncrementalSnapshotStrategy(
            SnapshotContext<K> context,
            long restoredCheckpointId,
            Collection<HandleAndLocalPath> restoredFiles,
            Collection<HandleAndLocalPath> lentFiles) {
        super(context);
        if (restoredCheckpointId >= 0) {
            restore(restoredCheckpointId, restoredFiles, lentFiles);
        }
    }

    /** Nobody closes a strategy that was not made. */
    private void restore(
            long checkpointId,
            Collection<HandleAndLocalPath> files,
            Collection<HandleAndLocalPath> lent) {
        try {
            ledger.restore(checkpointId, files);
            ledger.lend(lent);
        } catch (RuntimeException refused) {
            ledger.close();
            throw refused;
        }
    }

    @Override
    public String description() {
        return "Ferrostate incremental snapshot";
    }

    @Override
    Ledger.Base freezeBase() {
        return ledger.freeze();
    }

    @Override
    SnapshotMode mode(NativeSnapshotResources resources, CheckpointOptions options) {
        SharingFilesStrategy sharing = options.getCheckpointType().getSharingFilesStrategy();
        switch (sharing) {
            case FORWARD_BACKWARD:
                return SnapshotMode.incremental(resources.base(), ledger);
            case FORWARD:
                resources.base().reusesNothing();
                return SnapshotMode.fullButShared(resources.base(), ledger);
            case NO_SHARING:
                resources.base().concernsNobody();
                return SnapshotMode.nativeSavepoint(resources.base());
            default:
                throw new IllegalArgumentException("Unsupported sharing of files: " + sharing);
        }
    }

    @Override
    public void notifyCheckpointComplete(long checkpointId) {
        ledger.confirm(checkpointId);
    }

    @Override
    public void notifyCheckpointAborted(long checkpointId) {
        ledger.abort(checkpointId);
    }

    @Override
    public void close() {
        ledger.close();
    }
}
