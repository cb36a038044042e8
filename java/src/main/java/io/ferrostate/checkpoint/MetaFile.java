package io.ferrostate.checkpoint;

import org.apache.flink.core.memory.DataOutputViewStreamWrapper;
import org.apache.flink.runtime.state.CheckpointStreamFactory;
import org.apache.flink.runtime.state.CheckpointStreamWithResultProvider;
import org.apache.flink.runtime.state.CheckpointedStateScope;
import org.apache.flink.runtime.state.KeyedBackendSerializationProxy;
import org.apache.flink.runtime.state.SnapshotResult;
import org.apache.flink.runtime.state.StreamStateHandle;
import org.apache.flink.runtime.state.metainfo.StateMetaInfoSnapshot;
import org.apache.flink.util.IOUtils;

import java.io.IOException;
import java.util.List;

/** Writes the keyed meta file of a snapshot (compatibility D8) with Flink's own classes. */
final class MetaFile {

    private MetaFile() {}

    /** Exclusive to the checkpoint, with a local copy if there is local backup. */
    static SnapshotResult<StreamStateHandle> write(
            SnapshotContext<?> context,
            long checkpointId,
            List<StateMetaInfoSnapshot> states,
            CheckpointStreamFactory factory,
            SnapshotGuard guard)
            throws Exception {
        CheckpointStreamWithResultProvider stream = open(context, checkpointId, factory);
        try {
            guard.closeOnCancel(stream);
            // Compression concerns rows in a stream; SST files are compressed already.
            new KeyedBackendSerializationProxy<>(context.keySerializer(), states, false)
                    .write(new DataOutputViewStreamWrapper(stream.getCheckpointOutputStream()));
            if (!guard.takeBack(stream)) {
                throw new IOException("The stream was closed by a cancellation.");
            }
            SnapshotResult<StreamStateHandle> result =
                    guard.created(stream.closeAndFinalizeCheckpointStreamResult());
            if (result.getJobManagerOwnedSnapshot() == null) {
                throw new IOException("The checkpoint storage gave no handle for it.");
            }
            return result;
        } catch (Exception failure) {
            guard.takeBack(stream);
            IOUtils.closeQuietly(stream);
            throw new IOException("Writing the meta file through " + factory + " failed: " + failure.getMessage(), failure);
        }
    }

    private static CheckpointStreamWithResultProvider open(
            SnapshotContext<?> context, long checkpointId, CheckpointStreamFactory factory)
            throws IOException {
        if (!context.localRecovery().isLocalBackupEnabled()) {
            return CheckpointStreamWithResultProvider.createSimpleStream(
                    CheckpointedStateScope.EXCLUSIVE, factory);
        }
        return CheckpointStreamWithResultProvider.createDuplicatingStream(
                checkpointId,
                CheckpointedStateScope.EXCLUSIVE,
                factory,
                SnapshotDirectories.provider(context.localRecovery()));
    }
}
