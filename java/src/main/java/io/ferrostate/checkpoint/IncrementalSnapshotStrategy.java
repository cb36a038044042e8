package io.ferrostate.checkpoint;

import org.apache.flink.runtime.checkpoint.CheckpointOptions;
import org.apache.flink.runtime.checkpoint.SnapshotType.SharingFilesStrategy;
import org.apache.flink.runtime.state.IncrementalKeyedStateHandle.HandleAndLocalPath;

import java.util.Collection;

/**
 * Incremental checkpoints: files of the last confirmed checkpoint are referred to, new ones are
 * uploaded (compatibility D6). Owns the ledger.
 */
public final class IncrementalSnapshotStrategy<K> extends NativeSnapshotStrategy<K> {

    private final Ledger ledger = new Ledger();

    /**
     * @param restoredCheckpointId the checkpoint whose files this backend goes on with, or -1.
     * @param restoredFiles its shared files.
     */
    public IncrementalSnapshotStrategy(
            SnapshotContext<K> context,
            long restoredCheckpointId,
            Collection<HandleAndLocalPath> restoredFiles) {
        super(context);
        if (restoredCheckpointId >= 0) {
            restore(restoredCheckpointId, restoredFiles);
        }
    }

    /** Nobody closes a strategy that was not made. */
    private void restore(long checkpointId, Collection<HandleAndLocalPath> files) {
        try {
            ledger.restore(checkpointId, files);
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
                return SnapshotMode.fullButShared(ledger);
            case NO_SHARING:
                resources.base().close();
                return SnapshotMode.nativeSavepoint();
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
