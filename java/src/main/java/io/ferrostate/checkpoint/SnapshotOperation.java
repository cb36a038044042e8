package io.ferrostate.checkpoint;

import org.apache.flink.core.fs.CloseableRegistry;
import org.apache.flink.runtime.state.CheckpointStreamFactory;
import org.apache.flink.runtime.state.DirectoryStateHandle;
import org.apache.flink.runtime.state.IncrementalKeyedStateHandle.HandleAndLocalPath;
import org.apache.flink.runtime.state.IncrementalLocalKeyedStateHandle;
import org.apache.flink.runtime.state.IncrementalRemoteKeyedStateHandle;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.SnapshotResult;
import org.apache.flink.runtime.state.SnapshotStrategy.SnapshotResultSupplier;
import org.apache.flink.runtime.state.StreamStateHandle;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.stream.Collectors;

/**
 * The asynchronous part of one snapshot: meta file, plan, transfer, handle. Runs once. Whatever it
 * created is gone again if it fails, and only then.
 */
final class SnapshotOperation<K> implements SnapshotResultSupplier<KeyedStateHandle> {

    private static final Logger LOG = LoggerFactory.getLogger(SnapshotOperation.class);

    private final SnapshotContext<K> context;
    private final SnapshotMode mode;
    private final NativeSnapshotResources resources;
    private final long checkpointId;
    private final CheckpointStreamFactory factory;

    /** Handles to objects that a confirmed checkpoint has. */
    private final List<HandleAndLocalPath> reused = new ArrayList<>();

    private FileUpload.Result uploaded;

    private final List<HandleAndLocalPath> sharedState = new ArrayList<>();
    private final List<HandleAndLocalPath> privateState = new ArrayList<>();

    /** Those of both that may be reused or copied by later snapshots. */
    private final List<HandleAndLocalPath> sstFiles = new ArrayList<>();

    SnapshotOperation(
            SnapshotContext<K> context,
            SnapshotMode mode,
            NativeSnapshotResources resources,
            long checkpointId,
            CheckpointStreamFactory factory) {
        this.context = context;
        this.mode = mode;
        this.resources = resources;
        this.checkpointId = checkpointId;
        this.factory = factory;
    }

    @Override
    public SnapshotResult<KeyedStateHandle> get(CloseableRegistry registry) throws Exception {
        long started = System.nanoTime();
        try (SnapshotGuard guard = new SnapshotGuard(registry)) {
            try {
                SnapshotResult<KeyedStateHandle> result = snapshot(guard);
                remember();
                reportReuse();
                guard.commit();
                publish(result, NativeSnapshotStrategy.millisSince(started));
                return result;
            } catch (Exception failure) {
                throw explained(failure, guard);
            }
        }
    }

    private SnapshotResult<KeyedStateHandle> snapshot(SnapshotGuard guard) throws Exception {
        SnapshotResult<StreamStateHandle> meta =
                MetaFile.write(context, checkpointId, resources.states(), factory, guard);
        uploaded = transfer(guard);
        // What was copied in the store is new, too: Flink counts what this checkpoint alone has.
        long checkpointedSize =
                meta.getStateSize()
                        + uploaded.handles().stream()
                                .mapToLong(HandleAndLocalPath::getStateSize)
                                .sum();
        KeyedStateHandle remote =
                new IncrementalRemoteKeyedStateHandle(
                        context.backendIdentifier(),
                        context.keyGroupRange(),
                        checkpointId,
                        sharedState,
                        privateState,
                        meta.getJobManagerOwnedSnapshot(),
                        checkpointedSize);
        KeyedStateHandle local = local(meta.getTaskLocalSnapshot(), guard);
        return local == null
                ? SnapshotResult.of(remote)
                : SnapshotResult.withLocalState(remote, local);
    }

    /** Uploads what the plan says and sorts all files into shared and private state. */
    private FileUpload.Result transfer(SnapshotGuard guard) throws Exception {
        Path directory = resources.directory().getDirectory();
        List<PlannedFile> toUpload = new ArrayList<>();
        List<PlannedFile> plan = PlannedFile.plan(mode.base(), mode.own(), directory);
        for (PlannedFile file : plan) {
            if (file.reusable() != null && factory.couldReuseStateHandle(file.reusable())) {
                reused.add(HandleAndLocalPath.of(file.reusable(), file.name()));
            } else {
                toUpload.add(context.copiesInStore() ? file : file.notCopied());
            }
        }
        sharedState.addAll(reused);
        sstFiles.addAll(reused);
        FileUpload.Result result =
                FileUpload.into(factory).upload(directory, toUpload, mode.scope(), guard);
        for (int i = 0; i < toUpload.size(); i++) {
            HandleAndLocalPath file = result.handles().get(i);
            boolean sst = toUpload.get(i).isSst();
            (sst && mode.sstFilesShared() ? sharedState : privateState).add(file);
            if (sst) {
                sstFiles.add(file);
            }
        }
        return result;
    }

    /** The copy for local recovery, or null. */
    private KeyedStateHandle local(StreamStateHandle meta, SnapshotGuard guard)
            throws IOException {
        DirectoryStateHandle directory = resources.directory().completeSnapshotAndGetHandle();
        if (directory == null) {
            return null;
        }
        guard.created(directory);
        return meta == null
                ? null
                : new IncrementalLocalKeyedStateHandle(
                        context.backendIdentifier(),
                        checkpointId,
                        directory,
                        context.keyGroupRange(),
                        meta,
                        sharedState);
    }

    /** Nothing is reused from it before Flink confirms this checkpoint. */
    private void remember() {
        if (mode.recordIn() != null) {
            mode.recordIn().record(checkpointId, sstFiles);
        }
    }

    /** File merging keeps the files alive that are in use. */
    private void reportReuse() {
        factory.reusePreviousStateHandle(
                reused.stream().map(HandleAndLocalPath::getHandle).collect(Collectors.toList()));
    }

    private void publish(SnapshotResult<KeyedStateHandle> result, long asyncMillis) {
        IncrementalRemoteKeyedStateHandle handle =
                (IncrementalRemoteKeyedStateHandle) result.getJobManagerOwnedSnapshot();
        SnapshotStats stats =
                new SnapshotStats(
                        context.operatorIdentifier(),
                        checkpointId,
                        mode.name(),
                        uploaded.handles().size(),
                        uploaded.copiedFiles(),
                        reused.size(),
                        handle.getCheckpointedSize(),
                        uploaded.copiedBytes(),
                        handle.getStateSize(),
                        resources.syncMillis(),
                        asyncMillis);
        stats.publish();
        if (mode.regular()) {
            LOG.debug("{}", stats);
        } else {
            LOG.info("{}", stats);
        }
    }

    private Exception explained(Exception failure, SnapshotGuard guard) {
        if (guard.isCancelled() || failure instanceof InterruptedException) {
            return failure instanceof CancellationException
                    ? failure
                    : (Exception)
                            new CancellationException(
                                            "Checkpoint " + checkpointId + " was cancelled.")
                                    .initCause(failure);
        }
        // What the failing step itself could not delete, its message says.
        return new IOException(
                String.format(
                        "Checkpoint %d of %s failed: %s. %s",
                        checkpointId,
                        context.operatorIdentifier(),
                        failure.getMessage(),
                        guard.undo()),
                failure);
    }
}
