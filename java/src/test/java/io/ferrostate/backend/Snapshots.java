package io.ferrostate.backend;

import io.ferrostate.checkpoint.CheckpointFiles;

import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.core.fs.CloseableRegistry;
import org.apache.flink.runtime.checkpoint.CheckpointOptions;
import org.apache.flink.runtime.checkpoint.SavepointType;
import org.apache.flink.runtime.state.AbstractKeyedStateBackend;
import org.apache.flink.runtime.state.CheckpointStorageLocationReference;
import org.apache.flink.runtime.state.FullSnapshotResources;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.SavepointResources;
import org.apache.flink.runtime.state.SavepointSnapshotStrategy;
import org.apache.flink.runtime.state.SharedStateRegistryImpl;
import org.apache.flink.runtime.state.SnapshotResult;
import org.apache.flink.runtime.state.SnapshotStrategyRunner;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.RunnableFuture;

/** Snapshots of keyed backends that complete, with what a JobManager does about them. */
public final class Snapshots implements AutoCloseable {

    private static final CheckpointOptions CANONICAL =
            new CheckpointOptions(
                    SavepointType.savepoint(SavepointFormatType.CANONICAL),
                    CheckpointStorageLocationReference.getDefault());

    private final CheckpointFiles files;
    private final SharedStateRegistryImpl registry = new SharedStateRegistryImpl();
    private final CloseableRegistry streams = new CloseableRegistry();
    private long lastId;
    private List<KeyedStateHandle> last = List.of();

    public Snapshots(Path directory) throws IOException {
        files = new CheckpointFiles(directory, 1024);
    }

    public KeyedStateHandle checkpoint(AbstractKeyedStateBackend<?> backend) throws Exception {
        long id = ++lastId;
        KeyedStateHandle handle =
                finish(
                        backend.snapshot(
                                id, 0L, files.location(id), CheckpointFiles.CHECKPOINT));
        if (handle != null) {
            handle.registerSharedStates(registry, id);
        }
        registry.checkpointCompleted(id);
        backend.notifyCheckpointComplete(id);
        return handle;
    }

    /** One checkpoint of all subtasks of a job; the one before is subsumed and its files go. */
    public <K> List<KeyedStateHandle> checkpointAll(
            List<AbstractKeyedStateBackend<K>> subtasks, CheckpointOptions options)
            throws Exception {
        long id = ++lastId;
        List<KeyedStateHandle> handles = new ArrayList<>();
        for (AbstractKeyedStateBackend<K> subtask : subtasks) {
            KeyedStateHandle handle =
                    finish(subtask.snapshot(id, 0L, files.location(id), options));
            if (handle != null) {
                handles.add(handle);
            }
        }
        handles.forEach(handle -> handle.registerSharedStates(registry, id));
        registry.checkpointCompleted(id);
        for (AbstractKeyedStateBackend<K> subtask : subtasks) {
            subtask.notifyCheckpointComplete(id);
        }
        for (KeyedStateHandle subsumed : last) {
            subsumed.discardState();
        }
        registry.unregisterUnusedState(id);
        last = handles;
        return handles;
    }

    /** A canonical savepoint, which any backend restores. */
    public <K> KeyedStateHandle savepoint(AbstractKeyedStateBackend<K> backend) throws Exception {
        long id = ++lastId;
        SavepointResources<K> resources = backend.savepoint();
        return finish(
                new SnapshotStrategyRunner<KeyedStateHandle, FullSnapshotResources<K>>(
                                "canonical savepoint",
                                new SavepointSnapshotStrategy<>(resources.getSnapshotResources()),
                                streams,
                                resources.getPreferredSnapshotExecutionType())
                        .snapshot(id, 0L, files.location(id), CANONICAL));
    }

    private static KeyedStateHandle finish(
            RunnableFuture<SnapshotResult<KeyedStateHandle>> snapshot) throws Exception {
        snapshot.run();
        return snapshot.get().getJobManagerOwnedSnapshot();
    }

    @Override
    public void close() throws IOException {
        streams.close();
        registry.close();
    }
}
