package io.ferrostate.state;

import io.ferrostate.backend.Column;
import io.ferrostate.backend.StateAccess;

import org.apache.flink.api.common.state.State;
import org.apache.flink.api.common.state.StateDescriptor;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.apache.flink.runtime.state.RegisteredKeyValueStateBackendMetaInfo;
import org.apache.flink.runtime.state.internal.InternalKvState;
import org.apache.flink.runtime.state.ttl.TtlAwareSerializer;
import org.apache.flink.runtime.state.ttl.TtlTimeProvider;
import org.apache.flink.util.FlinkRuntimeException;
import org.apache.flink.util.Preconditions;
import org.apache.flink.util.StateMigrationException;

import java.io.IOException;

/**
 * What all kinds of keyed state share: the current namespace, the serializers as last registered,
 * clearing, queries from outside, migration. One value a key and namespace is assumed; {@link
 * MapStateImpl} overrides that.
 */
public abstract class AbstractState<K, N, V> implements InternalKvState<K, N, V>, State {

    protected final StateAccess<K> access;

    protected Column column;
    protected TypeSerializer<N> namespaceSerializer;
    protected TypeSerializer<V> valueSerializer;

    private V defaultValue;
    private N namespace;

    AbstractState(StateAccess<K> access) {
        this.access = access;
    }

    /** Takes over what was registered, on creation and again on each later registration. */
    public void register(
            StateDescriptor<?, V> descriptor,
            RegisteredKeyValueStateBackendMetaInfo<N, V> metaInfo,
            Column newColumn) {
        column = newColumn;
        namespaceSerializer = metaInfo.getNamespaceSerializer();
        valueSerializer =
                Preconditions.checkNotNull(metaInfo.getStateSerializer(), "State value serializer");
        defaultValue = descriptor.getDefaultValue();
    }

    /** Rewrites one stored value of a former schema into the current one. */
    public void migrateSerializedValue(
            DataInputDeserializer old,
            DataOutputSerializer migrated,
            TtlAwareSerializer<V, ?> priorSerializer,
            TtlAwareSerializer<V, ?> newSerializer,
            TtlTimeProvider ttlTimeProvider)
            throws StateMigrationException {
        try {
            newSerializer.migrateValueFromPriorSerializer(
                    priorSerializer,
                    () -> priorSerializer.deserialize(old),
                    migrated,
                    ttlTimeProvider);
        } catch (Exception e) {
            throw migrationFailed(e);
        }
    }

    @Override
    public TypeSerializer<K> getKeySerializer() {
        return access.keySerializer();
    }

    @Override
    public TypeSerializer<N> getNamespaceSerializer() {
        return namespaceSerializer;
    }

    @Override
    public TypeSerializer<V> getValueSerializer() {
        return valueSerializer;
    }

    @Override
    public void setCurrentNamespace(N newNamespace) {
        namespace = newNamespace;
        access.namespaceChanged(newNamespace);
    }

    @Override
    public void clear() {
        try {
            delete();
        } catch (IOException e) {
            throw failed("clear", e);
        }
    }

    @Override
    public byte[] getSerializedValue(
            byte[] serializedKeyAndNamespace,
            TypeSerializer<K> safeKeySerializer,
            TypeSerializer<N> safeNamespaceSerializer,
            TypeSerializer<V> safeValueSerializer)
            throws Exception {
        return column.get(queriedKey(serializedKeyAndNamespace, safeKeySerializer, safeNamespaceSerializer));
    }

    final byte[] queriedKey(
            byte[] serializedKeyAndNamespace,
            TypeSerializer<K> safeKeySerializer,
            TypeSerializer<N> safeNamespaceSerializer)
            throws IOException {
        return QueriedKey.toRow(
                serializedKeyAndNamespace,
                safeKeySerializer,
                safeNamespaceSerializer,
                access.numberOfKeyGroups());
    }

    @Override
    public StateIncrementalVisitor<K, N, V> getStateIncrementalVisitor(int maxRecords) {
        throw new UnsupportedOperationException(
                "Visiting the entries of state '" + name() + "' is for heap backends only.");
    }

    /** Puts the current key and namespace into the key page and returns their length. */
    final int key() throws IOException {
        return access.key(namespace, namespaceSerializer);
    }

    final <UK> int key(UK userKey, TypeSerializer<UK> userKeySerializer) throws IOException {
        return access.key(namespace, namespaceSerializer, userKey, userKeySerializer);
    }

    /** Deletes the row of the current key and namespace. */
    final void delete() throws IOException {
        access.enter();
        try {
            access.delete(column, key());
        } finally {
            access.exit();
        }
    }

    /** Stores a value in the row of the current key and namespace. */
    final <T> void put(T value, TypeSerializer<T> serializer) throws IOException {
        access.enter();
        try {
            access.serialize(value, serializer, access.startValue());
            access.put(column, key());
        } finally {
            access.exit();
        }
    }

    /** Reads one stored value; bytes that end too early are told with the state's name. */
    final <T> T deserialize(DataInputDeserializer stored, TypeSerializer<T> serializer)
            throws IOException {
        try {
            return access.deserialize(stored, serializer);
        } catch (IOException e) {
            throw new IOException(
                    "What state '" + name() + "' has stored cannot be read with " + serializer
                            + ": " + e,
                    e);
        }
    }

    final V defaultValue() {
        return defaultValue == null ? null : valueSerializer.copy(defaultValue);
    }

    public final Column column() {
        return column;
    }

    public final String name() {
        return column.name();
    }

    final FlinkRuntimeException failed(String step, Exception cause) {
        return new FlinkRuntimeException("Could not " + step + " state '" + name() + "'.", cause);
    }

    final StateMigrationException migrationFailed(Exception cause) {
        return new StateMigrationException(
                "Error while trying to migrate state '" + name() + "' to its new schema.", cause);
    }
}
