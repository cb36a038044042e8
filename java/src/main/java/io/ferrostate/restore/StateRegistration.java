package io.ferrostate.restore;

import io.ferrostate.backend.Database;
import io.ferrostate.backend.RegisteredState;

import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.RegisteredStateMetaInfoBase;
import org.apache.flink.runtime.state.metainfo.StateMetaInfoSnapshot;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Registers every state of a snapshot, so that later snapshots keep it even if the job never
 * touches it. States stay in the order of the first snapshot that has them. What parts say differently
 * of one state is {@link SchemaParts}' business.
 */
final class StateRegistration {

    private final Map<String, RegisteredState> states;
    private final Map<String, SchemaParts> schemas = new HashMap<>();

    StateRegistration(Map<String, RegisteredState> states) {
        this.states = states;
    }

    static String[] names(List<StateMetaInfoSnapshot> snapshots) {
        return snapshots.stream().map(StateMetaInfoSnapshot::getName).toArray(String[]::new);
    }

    /**
     * All states of a meta file in its order; column families are created when absent.
     *
     * @param keyGroups those of which rows are restored.
     */
    List<RegisteredState> register(
            Database database, List<StateMetaInfoSnapshot> snapshots, KeyGroupRange keyGroups)
            throws IOException {
        List<RegisteredState> registered = new ArrayList<>(snapshots.size());
        for (StateMetaInfoSnapshot snapshot : snapshots) {
            SchemaParts schema =
                    schemas.computeIfAbsent(snapshot.getName(), name -> new SchemaParts());
            schema.add(snapshot, keyGroups);
            RegisteredState state =
                    new RegisteredState(
                            metaInfo(schema.snapshot()),
                            database.column(snapshot.getName()),
                            schema.others());
            states.put(snapshot.getName(), state);
            registered.add(state);
        }
        return registered;
    }

    private static RegisteredStateMetaInfoBase metaInfo(StateMetaInfoSnapshot snapshot)
            throws IOException {
        String what = "What the meta file says of the state '" + snapshot.getName() + "'";
        switch (snapshot.getBackendStateType()) {
            case OPERATOR:
            case BROADCAST:
                throw new IOException(what + " is about operator state: the meta file is damaged.");
            default:
        }
        try {
            return RegisteredStateMetaInfoBase.fromMetaInfoSnapshot(snapshot);
        } catch (RuntimeException failure) {
            throw new IOException(
                    what + " cannot be understood, the meta file is damaged: " + failure, failure);
        }
    }

    /** Files and meta file must be of one snapshot: a state without its data would be empty. */
    static void checkComplete(Database database, List<StateMetaInfoSnapshot> snapshots)
            throws IOException {
        Set<String> columns = new HashSet<>(database.columnNames());
        for (StateMetaInfoSnapshot snapshot : snapshots) {
            if (!columns.remove(snapshot.getName())) {
                throw new IOException(
                        "The meta file lists the state '" + snapshot.getName()
                                + "', but the database files have no column family for it");
            }
        }
        if (!columns.isEmpty()) {
            throw new IOException(
                    "The database files have a column family '" + columns.iterator().next()
                            + "', but the meta file lists no such state");
        }
    }
}
