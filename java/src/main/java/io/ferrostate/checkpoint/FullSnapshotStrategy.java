package io.ferrostate.checkpoint;

import org.apache.flink.runtime.checkpoint.CheckpointOptions;
import org.apache.flink.runtime.checkpoint.SnapshotType.SharingFilesStrategy;
import org.apache.flink.runtime.state.IncrementalKeyedStateHandle.HandleAndLocalPath;

import java.util.Collection;

/**
 * Checkpoints that contain all files for themselves: {@code incremental} is off. What the store has
 * already may be copied there. Owns the ledger of that.
 */
public final class FullSnapshotStrategy<K> extends NativeSnapshotStrategy<K> {

    private final Ledger ledger = new Ledger();

    /** @param restoredFiles SST files of the restored snapshot that the database has too. */
    public FullSnapshotStrategy(
            SnapshotContext<K> context, Collection<HandleAndLocalPath> restoredFiles) {
        super(context);
        ledger.lend(restoredFiles);
    }

    @Override
    public String description() {
        return "Ferrostate full snapshot";
    }

    @Override
    Ledger.Base freezeBase() {
        return ledger.freeze();
    }

    @Override
    SnapshotMode mode(NativeSnapshotResources resources, CheckpointOptions options) {
        resources.base().concernsNobody();
        boolean checkpoint =
                options.getCheckpointType().getSharingFilesStrategy()
                        != SharingFilesStrategy.NO_SHARING;
        return checkpoint
                ? SnapshotMode.full(resources.base(), ledger)
                : SnapshotMode.fullSavepoint(resources.base());
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
