package io.ferrostate.checkpoint;

import io.ferrostate.backend.Database;
import io.ferrostate.backend.RegisteredState;

import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.LocalRecoveryConfig;
import org.apache.flink.runtime.state.metainfo.StateMetaInfoSnapshot;

import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/** What every snapshot of one backend has in common. Values only; owns none of them. */
public final class SnapshotContext<K> {

    private final Database database;
    private final Map<String, RegisteredState> states;
    private final TypeSerializer<K> keySerializer;
    private final KeyGroupRange keyGroupRange;
    private final LocalRecoveryConfig localRecovery;
    private final File instanceDirectory;
    private final UUID backendIdentifier;
    private final String operatorIdentifier;
    private final boolean copiesInStore;

    /**
     * @param states registered states in the order of registration; read in the sync part only.
     * @param keySerializer in its current schema, that is as it is after restore.
     * @param instanceDirectory where temporary {@code chk-N} directories go.
     * @param operatorIdentifier for messages and statistics.
     * @param copiesInStore whether new files are made out of others in the store where that can be.
     */
    public SnapshotContext(
            Database database,
            Map<String, RegisteredState> states,
            TypeSerializer<K> keySerializer,
            KeyGroupRange keyGroupRange,
            LocalRecoveryConfig localRecovery,
            File instanceDirectory,
            UUID backendIdentifier,
            String operatorIdentifier,
            boolean copiesInStore) {
        this.database = database;
        this.states = states;
        this.keySerializer = keySerializer;
        this.keyGroupRange = keyGroupRange;
        this.localRecovery = localRecovery;
        this.instanceDirectory = instanceDirectory;
        this.backendIdentifier = backendIdentifier;
        this.operatorIdentifier = operatorIdentifier;
        this.copiesInStore = copiesInStore;
    }

    /** Meta infos of all states as they are now; column families restore in this order. */
    List<StateMetaInfoSnapshot> stateMetaInfos() throws IOException {
        List<StateMetaInfoSnapshot> snapshots = new ArrayList<>(states.size());
        for (RegisteredState state : states.values()) {
            snapshots.add(state.snapshot());
        }
        return snapshots;
    }

    Database database() {
        return database;
    }

    TypeSerializer<K> keySerializer() {
        return keySerializer;
    }

    KeyGroupRange keyGroupRange() {
        return keyGroupRange;
    }

    LocalRecoveryConfig localRecovery() {
        return localRecovery;
    }

    File instanceDirectory() {
        return instanceDirectory;
    }

    UUID backendIdentifier() {
        return backendIdentifier;
    }

    String operatorIdentifier() {
        return operatorIdentifier;
    }

    boolean copiesInStore() {
        return copiesInStore;
    }
}
