package io.ferrostate.backend;

import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.metainfo.StateMetaInfoSnapshot;

/**
 * Key groups whose values of a state are in another schema than the rest: one subtask had migrated the
 * state when the checkpoint was taken, another had not, and now both parts are in one backend.
 */
public final class OtherSchema {

    private final KeyGroupRange keyGroups;
    private final StateMetaInfoSnapshot snapshot;

    public OtherSchema(KeyGroupRange keyGroups, StateMetaInfoSnapshot snapshot) {
        this.keyGroups = keyGroups;
        this.snapshot = snapshot;
    }

    KeyGroupRange keyGroups() {
        return keyGroups;
    }

    public StateMetaInfoSnapshot snapshot() {
        return snapshot;
    }
}
