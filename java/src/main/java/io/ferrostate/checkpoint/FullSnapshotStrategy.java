package io.ferrostate.checkpoint;

import org.apache.flink.runtime.checkpoint.CheckpointOptions;

/** Checkpoints that contain all files for themselves: {@code incremental} is off. */
public final class FullSnapshotStrategy<K> extends NativeSnapshotStrategy<K> {

    public FullSnapshotStrategy(SnapshotContext<K> context) {
        super(context);
    }

    @Override
    public String description() {
        return "Ferrostate full snapshot";
    }

    @Override
    Ledger.Base freezeBase() {
        return null;
    }

    @Override
    SnapshotMode mode(NativeSnapshotResources resources, CheckpointOptions options) {
        return SnapshotMode.full();
    }

    @Override
    public void notifyCheckpointComplete(long checkpointId) {
        // Nothing is remembered.
    }

    @Override
    public void notifyCheckpointAborted(long checkpointId) {
        // Nothing is remembered.
    }

    @Override
    public void close() {
        // Holds nothing.
    }
}
