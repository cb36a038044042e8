package io.ferrostate.restore;

import io.ferrostate.backend.Database;
import io.ferrostate.backend.RegisteredState;
import io.ferrostate.jni.CancelToken;
import io.ferrostate.jni.Native;
import io.ferrostate.jni.Page;

import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.restore.FullSnapshotRestoreOperation;
import org.apache.flink.runtime.state.restore.KeyGroup;
import org.apache.flink.runtime.state.restore.KeyGroupEntry;
import org.apache.flink.runtime.state.restore.SavepointRestoreResult;
import org.apache.flink.runtime.state.restore.ThrowingIterator;
import org.apache.flink.util.StateMigrationException;

import java.io.IOException;
import java.util.List;
import java.util.concurrent.CancellationException;

/**
 * Restores canonical savepoints (compatibility D12), which any backend may have written: Flink's own
 * reader yields rows, which are written as they are. Rows of timer queues included.
 */
final class SavepointRestore<K> {

    private static final int PAGE_CAPACITY = 1 << 12;

    private final RestoreContext<K> context;
    private final StateRegistration registration;

    SavepointRestore(RestoreContext<K> context) {
        this.context = context;
        this.registration = new StateRegistration(context.states());
    }

    RestoreResult restore(List<KeyedStateHandle> handles) throws Exception {
        Database database = context.opener().open(context.databaseDirectory());
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
                        handles,
                        context.keySerializer());
        try (CancelToken cancel = CancelToken.registeredIn(context.cancelRegistry());
                Rows rows = new Rows();
                ThrowingIterator<SavepointRestoreResult> parts = reader.restore()) {
            while (parts.hasNext()) {
                SavepointRestoreResult part = parts.next();
                List<RegisteredState> states =
                        registration.register(database, part.getStateMetaInfoSnapshots());
                try (ThrowingIterator<KeyGroup> keyGroups = part.getRestoredKeyGroups()) {
                    while (keyGroups.hasNext()) {
                        copyKeyGroup(keyGroups.next(), states, rows, cancel);
                    }
                }
            }
        }
    }

    private static void copyKeyGroup(
            KeyGroup keyGroup, List<RegisteredState> states, Rows rows, CancelToken cancel)
            throws IOException, StateMigrationException {
        try (ThrowingIterator<KeyGroupEntry> entries = keyGroup.getKeyGroupEntries()) {
            while (entries.hasNext()) {
                if (cancel.isTriggered()) {
                    throw new CancellationException("The restore was cancelled.");
                }
                KeyGroupEntry entry = entries.next();
                if (entry.getKvStateId() >= states.size()) {
                    throw new IOException(
                            "Key group " + keyGroup.getKeyGroupId() + " has a row of state number "
                                    + entry.getKvStateId() + ", but there are only "
                                    + states.size() + " states");
                }
                rows.put(states.get(entry.getKvStateId()), entry);
            }
        }
    }

    /** Hands rows to the database. */
    private static final class Rows implements AutoCloseable {

        private final Page keyPage = new Page(PAGE_CAPACITY);
        private final Page valuePage = new Page(PAGE_CAPACITY);

        void put(RegisteredState state, KeyGroupEntry entry) throws IOException {
            byte[] key = entry.getKey();
            byte[] value = entry.getValue();
            keyPage.write(0, key, 0, key.length);
            valuePage.write(0, value, 0, value.length);
            Native.put(
                    state.column().handle(),
                    keyPage.address(),
                    key.length,
                    valuePage.address(),
                    value.length);
        }

        @Override
        public void close() {
            keyPage.close();
            valuePage.close();
        }
    }
}
