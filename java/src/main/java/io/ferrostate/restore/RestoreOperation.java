package io.ferrostate.restore;

import org.apache.flink.runtime.state.IncrementalKeyedStateHandle;
import org.apache.flink.runtime.state.IncrementalLocalKeyedStateHandle;
import org.apache.flink.runtime.state.IncrementalRemoteKeyedStateHandle;
import org.apache.flink.runtime.state.KeyGroupsStateHandle;
import org.apache.flink.runtime.state.KeyedStateHandle;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.stream.Collectors;

/**
 * Opens the database of a backend that is being built, with the state of the given handles. Decides
 * by the kind of handles how; the work is done by the classes beside it.
 *
 * <p>On failure nothing stays open and the snapshot is as it was; the instance directory is left to
 * the builder.
 */
public final class RestoreOperation<K> {

    private static final Logger LOG = LoggerFactory.getLogger(RestoreOperation.class);

    private final RestoreContext<K> context;
    private final List<KeyedStateHandle> handles;

    public RestoreOperation(RestoreContext<K> context, Collection<KeyedStateHandle> handles) {
        this.context = context;
        this.handles = handles.stream().filter(Objects::nonNull).collect(Collectors.toList());
    }

    public RestoreResult restore() throws Exception {
        if (handles.isEmpty()) {
            return RestoreResult.withoutHistory(context.openDatabase());
        }
        long started = System.nanoTime();
        LOG.info(
                "Restoring {} key groups {} from {} snapshots: {}.",
                context.operatorIdentifier(),
                context.keyGroupRange().prettyPrintInterval(),
                handles.size(),
                handles.stream().map(RestoreStep::nameOf).collect(Collectors.joining(", ")));
        LOG.debug("Handles of {}: {}", context.operatorIdentifier(), handles);
        RestoreResult result =
                handles.get(0) instanceof IncrementalKeyedStateHandle
                        ? new IncrementalRestore<>(context).restore(incrementalHandles())
                        : new SavepointRestore<>(context).restore(savepointHandles());
        LOG.info(
                "Restored {} in {} ms: {} states, {}.",
                context.operatorIdentifier(),
                (System.nanoTime() - started) / 1_000_000,
                context.states().size(),
                result.checkpointId() < 0
                        ? "files without history"
                        : "going on from checkpoint " + result.checkpointId());
        return result;
    }

    private List<IncrementalKeyedStateHandle> incrementalHandles() throws IOException {
        List<IncrementalKeyedStateHandle> incremental = new ArrayList<>(handles.size());
        for (KeyedStateHandle handle : handles) {
            if (!(handle instanceof IncrementalRemoteKeyedStateHandle)
                    && !(handle instanceof IncrementalLocalKeyedStateHandle)) {
                throw unexpected(handle);
            }
            incremental.add((IncrementalKeyedStateHandle) handle);
        }
        new HandleChecks(context).check(handles);
        return incremental;
    }

    private List<KeyedStateHandle> savepointHandles() throws IOException {
        for (KeyedStateHandle handle : handles) {
            if (!(handle instanceof KeyGroupsStateHandle)) {
                throw unexpected(handle);
            }
        }
        new HandleChecks(context).check(handles);
        return handles;
    }

    private IOException unexpected(KeyedStateHandle handle) {
        return new IOException(
                String.format(
                        "Restore of %s failed before it began: a handle of class %s is neither"
                                + " database files nor a canonical savepoint, or both kinds are"
                                + " mixed. It may be of another state backend: %s",
                        context.operatorIdentifier(),
                        handle.getClass().getName(),
                        RestoreStep.nameOf(handle)));
    }
}
