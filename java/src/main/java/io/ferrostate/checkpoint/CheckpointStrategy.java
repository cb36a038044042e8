package io.ferrostate.checkpoint;

import org.apache.flink.api.common.state.CheckpointListener;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.SnapshotResources;
import org.apache.flink.runtime.state.SnapshotStrategy;

/**
 * What the keyed backend needs of a way to take checkpoints: both parts of a snapshot, the
 * notifications that follow, and freeing native memory at the end.
 */
public interface CheckpointStrategy<R extends SnapshotResources>
        extends SnapshotStrategy<KeyedStateHandle, R>, CheckpointListener, AutoCloseable {

    /** For log lines of Flink's snapshot runner. */
    String description();

    /** Snapshots that still run fail and clean up after themselves. */
    @Override
    void close();
}
