package io.ferrostate.restore;

import io.ferrostate.backend.Database;
import io.ferrostate.backend.RegisteredState;
import io.ferrostate.jni.CancelToken;

import org.apache.flink.runtime.state.KeyGroupsStateHandle;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.restore.FullSnapshotRestoreOperation;
import org.apache.flink.runtime.state.restore.KeyGroup;
import org.apache.flink.runtime.state.restore.KeyGroupEntry;
import org.apache.flink.runtime.state.restore.SavepointRestoreResult;
import org.apache.flink.runtime.state.restore.ThrowingIterator;
import org.apache.flink.util.StateMigrationException;

import java.io.IOException;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.stream.Collectors;

/**
 * Restores canonical savepoints (compatibility D12), which any backend may have written: Flink's own
 * reader yields rows, which are written as they are ({@link RestoredRows}). Rows of timer queues
 * included.
 */
final class SavepointRestore<K> {

    private final RestoreContext<K> context;
    private final StateRegistration registration;

    SavepointRestore(RestoreContext<K> context) {
        this.context = context;
        this.registration = new StateRegistration(context.states());
    }

    RestoreResult restore(List<KeyedStateHandle> handles) throws Exception {
        Database database = context.openDatabase();
        boolean done = false;
        try {
            new RestoreStep(context.operatorIdentifier())
                    .run(
                            "writing its rows",
                            handles.get(0),
                            () -> {
                                copyAll(handles, database);
                                return null;
                            });
            done = true;
            return RestoreResult.withoutHistory(database);
        } finally {
            if (!done) {
                database.close();
            }
        }
    }

    private void copyAll(List<KeyedStateHandle> handles, Database database) throws Exception {
        FullSnapshotRestoreOperation<K> reader =
                new FullSnapshotRestoreOperation<>(
                        context.keyGroupRange(),
                        context.userCodeClassLoader(),
                        cancellable(handles),
                        context.keySerializer());
        try (CancelToken cancel = CancelToken.registeredIn(context.cancelRegistry());
                ThrowingIterator<SavepointRestoreResult> parts = reader.restore()) {
            // Flink's reader goes through the handles in their order.
            Iterator<KeyedStateHandle> handle = handles.iterator();
            while (parts.hasNext()) {
                SavepointRestoreResult part = parts.next();
                List<RegisteredState> states =
                        registration.register(
                                database,
                                part.getStateMetaInfoSnapshots(),
                                context.keyGroupRange()
                                        .getIntersection(handle.next().getKeyGroupRange()));
                try (RestoredRows rows = new RestoredRows(states);
                        ThrowingIterator<KeyGroup> keyGroups = part.getRestoredKeyGroups()) {
                    while (keyGroups.hasNext()) {
                        copyKeyGroup(keyGroups.next(), rows, cancel);
                    }
                    checkNotCancelled(cancel);
                    rows.finish();
                }
            }
        }
    }

    private List<KeyedStateHandle> cancellable(List<KeyedStateHandle> handles) {
        return handles.stream()
                .map(KeyGroupsStateHandle.class::cast)
                .map(handle -> CancellableInput.savepoint(handle, context.cancelRegistry()))
                .collect(Collectors.toList());
    }

    private static void copyKeyGroup(KeyGroup keyGroup, RestoredRows rows, CancelToken cancel)
            throws IOException, StateMigrationException {
        try (ThrowingIterator<KeyGroupEntry> entries = keyGroup.getKeyGroupEntries()) {
            while (entries.hasNext()) {
                checkNotCancelled(cancel);
                KeyGroupEntry entry = entries.next();
                if (entry.getKvStateId() >= rows.states()) {
                    throw new IOException(
                            "Key group " + keyGroup.getKeyGroupId() + " has a row of state number "
                                    + entry.getKvStateId() + ", but there are only "
                                    + rows.states() + " states");
                }
                rows.add(entry.getKvStateId(), entry.getKey(), entry.getValue());
            }
        }
    }

    private static void checkNotCancelled(CancelToken cancel) {
        if (cancel.isTriggered()) {
            throw new CancellationException("The restore was cancelled.");
        }
    }
}
