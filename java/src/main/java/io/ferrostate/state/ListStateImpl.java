package io.ferrostate.state;

import io.ferrostate.backend.Column;
import io.ferrostate.backend.StateAccess;

import org.apache.flink.api.common.state.StateDescriptor;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.common.typeutils.base.ListSerializer;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.apache.flink.runtime.state.ListDelimitedSerializer;
import org.apache.flink.runtime.state.RegisteredKeyValueStateBackendMetaInfo;
import org.apache.flink.runtime.state.internal.InternalListState;
import org.apache.flink.runtime.state.ttl.TtlAwareSerializer;
import org.apache.flink.runtime.state.ttl.TtlTimeProvider;
import org.apache.flink.util.Preconditions;
import org.apache.flink.util.StateMigrationException;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;

/**
 * List state: elements back to back with one byte between them, which RocksDB's merge operator puts
 * there when elements are added. The byte is skipped, never searched for.
 */
final class ListStateImpl<K, N, V> extends AbstractState<K, N, List<V>>
        implements InternalListState<K, N, V> {

    private static final byte DELIMITER = ',';

    /** Room for more elements is not made before they are seen. */
    private static final int MOST_EXPECTED = 1 << 12;

    private TypeSerializer<V> elementSerializer;

    ListStateImpl(StateAccess<K> access) {
        super(access);
    }

    @Override
    public void register(
            StateDescriptor<?, List<V>> descriptor,
            RegisteredKeyValueStateBackendMetaInfo<N, List<V>> metaInfo,
            Column newColumn) {
        super.register(descriptor, metaInfo, newColumn);
        elementSerializer = ((ListSerializer<V>) valueSerializer).getElementSerializer();
    }

    @Override
    public Iterable<V> get() throws IOException {
        return getInternal();
    }

    @Override
    public List<V> getInternal() throws IOException {
        access.enter();
        try {
            DataInputDeserializer stored = access.get(column, key());
            return stored == null ? null : read(stored);
        } finally {
            access.exit();
        }
    }

    private List<V> read(DataInputDeserializer stored) throws IOException {
        int length = stored.available();
        ArrayList<V> elements = new ArrayList<>();
        while (stored.available() > 0) {
            V element = deserialize(stored, elementSerializer);
            if (elements.isEmpty()) {
                elements.ensureCapacity(count(length, length - stored.available()));
            }
            elements.add(element);
            stored.skipBytes(1);
        }
        return elements;
    }

    /** How many elements there are if all are as long as the first one; within reason. */
    private static int count(int bytes, int bytesOfFirst) {
        return Math.min(MOST_EXPECTED, bytes / (bytesOfFirst + 1) + 1);
    }

    @Override
    public void add(V value) throws IOException {
        Preconditions.checkNotNull(value, "You cannot add null to a ListState.");
        access.enter();
        try {
            access.serialize(value, elementSerializer, access.startValue());
            access.merge(column, key());
        } finally {
            access.exit();
        }
    }

    @Override
    public void addAll(List<V> values) throws IOException {
        Preconditions.checkNotNull(values, "List of values to add cannot be null.");
        if (values.isEmpty()) {
            return;
        }
        access.enter();
        try {
            write(values);
            access.merge(column, key());
        } finally {
            access.exit();
        }
    }

    @Override
    public void update(List<V> values) throws IOException {
        updateInternal(values);
    }

    @Override
    public void updateInternal(List<V> values) throws IOException {
        Preconditions.checkNotNull(values, "List of values to add cannot be null.");
        if (values.isEmpty()) {
            delete();
            return;
        }
        access.enter();
        try {
            write(values);
            access.put(column, key());
        } finally {
            access.exit();
        }
    }

    @Override
    public void mergeNamespaces(N target, Collection<N> sources) throws IOException {
        if (sources == null || sources.isEmpty()) {
            return;
        }
        access.enter();
        try {
            for (N source : sources) {
                if (source != null) {
                    append(source, target);
                }
            }
        } finally {
            access.exit();
        }
        setCurrentNamespace(target);
    }

    /** Moves the list of one namespace to the end of another's, as one operand. */
    private void append(N source, N target) throws IOException {
        setCurrentNamespace(source);
        if (access.get(column, key()) != null) {
            access.delete(column, key());
            setCurrentNamespace(target);
            access.mergeValueRead(column, key());
        }
    }

    private void write(List<V> values) throws IOException {
        DataOutputSerializer out = access.startValue();
        boolean first = true;
        for (V value : values) {
            Preconditions.checkNotNull(value, "You cannot add null to a value list.");
            if (!first) {
                out.write(DELIMITER);
            }
            first = false;
            access.serialize(value, elementSerializer, out);
        }
    }

    @Override
    public void migrateSerializedValue(
            DataInputDeserializer old,
            DataOutputSerializer migrated,
            TtlAwareSerializer<List<V>, ?> priorSerializer,
            TtlAwareSerializer<List<V>, ?> newSerializer,
            TtlTimeProvider ttlTimeProvider)
            throws StateMigrationException {
        TtlAwareSerializer<V, ?> priorElement = elementSerializer(priorSerializer);
        TtlAwareSerializer<V, ?> newElement = elementSerializer(newSerializer);
        try {
            while (old.available() > 0) {
                newElement.migrateValueFromPriorSerializer(
                        priorElement,
                        () -> ListDelimitedSerializer.deserializeNextElement(old, priorElement),
                        migrated,
                        ttlTimeProvider);
                if (old.available() > 0) {
                    migrated.write(DELIMITER);
                }
            }
        } catch (Exception e) {
            throw migrationFailed(e);
        }
    }

    private static <V> TtlAwareSerializer<V, ?> elementSerializer(
            TtlAwareSerializer<List<V>, ?> serializer) {
        Preconditions.checkArgument(
                serializer instanceof TtlAwareSerializer.TtlAwareListSerializer,
                "not a list serializer: %s",
                serializer);
        TypeSerializer<List<V>> asList = serializer;
        return ((TtlAwareSerializer.TtlAwareListSerializer<V>) asList).getElementSerializer();
    }
}
