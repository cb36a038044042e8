package io.ferrostate.restore;

import io.ferrostate.backend.Database;
import io.ferrostate.backend.RegisteredState;

import org.apache.flink.runtime.state.RegisteredStateMetaInfoBase;
import org.apache.flink.runtime.state.metainfo.StateMetaInfoSnapshot;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Registers every state of a snapshot, so that later snapshots keep it even if the job never
 * touches it. States stay in the order of the first snapshot that has them.
 */
final class StateRegistration {

    private final Map<String, RegisteredState> states;

    StateRegistration(Map<String, RegisteredState> states) {
        this.states = states;
    }

    /** All states of a meta file in its order; column families are created when absent. */
    List<RegisteredState> register(Database database, List<StateMetaInfoSnapshot> snapshots)
            throws IOException {
        List<RegisteredState> registered = new ArrayList<>(snapshots.size());
        for (StateMetaInfoSnapshot snapshot : snapshots) {
            RegisteredState state = states.get(snapshot.getName());
            if (state == null) {
                state =
                        new RegisteredState(
                                RegisteredStateMetaInfoBase.fromMetaInfoSnapshot(snapshot),
                                database.column(snapshot.getName()));
                states.put(snapshot.getName(), state);
            }
            registered.add(state);
        }
        return registered;
    }

    /** Files and meta file must be of one snapshot: a state without its data would be empty. */
    static void checkComplete(Database database, List<StateMetaInfoSnapshot> snapshots)
            throws IOException {
        Set<String> columns = new HashSet<>(database.columnNames());
        for (StateMetaInfoSnapshot snapshot : snapshots) {
            if (!columns.contains(snapshot.getName())) {
                throw new IOException(
                        "The meta file lists the state '" + snapshot.getName()
                                + "', but the database files have no column family for it");
            }
        }
    }
}
