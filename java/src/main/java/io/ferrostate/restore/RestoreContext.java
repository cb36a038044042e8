package io.ferrostate.restore;

import io.ferrostate.backend.Database;
import io.ferrostate.backend.DatabaseOpener;
import io.ferrostate.backend.RegisteredState;

import org.apache.flink.core.fs.CloseableRegistry;
import org.apache.flink.runtime.state.CompositeKeySerializationUtils;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.StateSerializerProvider;

import java.io.File;
import java.io.IOException;
import java.util.Map;

/** The backend that is being built, as a restore sees it. Values only. */
public final class RestoreContext<K> {

    private final String operatorIdentifier;
    private final KeyGroupRange keyGroupRange;
    private final int numberOfKeyGroups;
    private final File instanceDirectory;
    private final File databaseDirectory;
    private final String[] databaseOptions;
    private final DatabaseOpener opener;
    private final Map<String, RegisteredState> states;
    private final StateSerializerProvider<K> keySerializer;
    private final ClassLoader userCodeClassLoader;
    private final CloseableRegistry cancelRegistry;

    /**
     * @param instanceDirectory exists; temporary downloads go here.
     * @param databaseDirectory below it, does not exist yet.
     * @param databaseOptions those that the opener uses.
     * @param states empty; filled in the order of the snapshot's states.
     * @param keySerializer learns the snapshot's key serializer, and may be reconfigured by it.
     */
    public RestoreContext(
            String operatorIdentifier,
            KeyGroupRange keyGroupRange,
            int numberOfKeyGroups,
            File instanceDirectory,
            File databaseDirectory,
            String[] databaseOptions,
            DatabaseOpener opener,
            Map<String, RegisteredState> states,
            StateSerializerProvider<K> keySerializer,
            ClassLoader userCodeClassLoader,
            CloseableRegistry cancelRegistry) {
        this.operatorIdentifier = operatorIdentifier;
        this.keyGroupRange = keyGroupRange;
        this.numberOfKeyGroups = numberOfKeyGroups;
        this.instanceDirectory = instanceDirectory;
        this.databaseDirectory = databaseDirectory;
        this.databaseOptions = databaseOptions.clone();
        this.opener = opener;
        this.states = states;
        this.keySerializer = keySerializer;
        this.userCodeClassLoader = userCodeClassLoader;
        this.cancelRegistry = cancelRegistry;
    }

    String operatorIdentifier() {
        return operatorIdentifier;
    }

    KeyGroupRange keyGroupRange() {
        return keyGroupRange;
    }

    int numberOfKeyGroups() {
        return numberOfKeyGroups;
    }

    /** The first bytes of all keys of a key group; of the group after the last one as well. */
    byte[] keyGroupPrefix(int keyGroup) {
        byte[] prefix =
                new byte
                        [CompositeKeySerializationUtils.computeRequiredBytesInKeyGroupPrefix(
                                numberOfKeyGroups)];
        CompositeKeySerializationUtils.serializeKeyGroup(keyGroup, prefix);
        return prefix;
    }

    File instanceDirectory() {
        return instanceDirectory;
    }

    File databaseDirectory() {
        return databaseDirectory;
    }

    String[] databaseOptions() {
        return databaseOptions.clone();
    }

    /** Opens the backend's database, which is created when absent. */
    Database openDatabase() throws IOException {
        return opener.open(databaseDirectory);
    }

    Map<String, RegisteredState> states() {
        return states;
    }

    StateSerializerProvider<K> keySerializer() {
        return keySerializer;
    }

    ClassLoader userCodeClassLoader() {
        return userCodeClassLoader;
    }

    CloseableRegistry cancelRegistry() {
        return cancelRegistry;
    }
}
