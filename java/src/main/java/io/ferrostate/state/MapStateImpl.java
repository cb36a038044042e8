package io.ferrostate.state;

import io.ferrostate.backend.Column;
import io.ferrostate.backend.MapRows;
import io.ferrostate.backend.StateAccess;

import org.apache.flink.api.common.state.StateDescriptor;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.common.typeutils.base.MapSerializer;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.apache.flink.runtime.state.RegisteredKeyValueStateBackendMetaInfo;
import org.apache.flink.runtime.state.internal.InternalMapState;
import org.apache.flink.runtime.state.ttl.TtlAwareSerializer;
import org.apache.flink.runtime.state.ttl.TtlTimeProvider;
import org.apache.flink.util.Preconditions;
import org.apache.flink.util.StateMigrationException;

import java.io.IOException;
import java.util.Iterator;
import java.util.Map;

/**
 * Map state: one row an entry, the user key at the end of the row's key, the value behind a byte that
 * tells whether it is null.
 */
final class MapStateImpl<K, N, UK, UV> extends AbstractState<K, N, Map<UK, UV>>
        implements InternalMapState<K, N, UK, UV> {

    private TypeSerializer<UK> userKeySerializer;
    private TypeSerializer<UV> userValueSerializer;

    /** For {@link #putAll}; null while it is used. */
    private MapRows spareRows;

    MapStateImpl(StateAccess<K> access) {
        super(access);
    }

    @Override
    public void register(
            StateDescriptor<?, Map<UK, UV>> descriptor,
            RegisteredKeyValueStateBackendMetaInfo<N, Map<UK, UV>> metaInfo,
            Column newColumn) {
        super.register(descriptor, metaInfo, newColumn);
        Preconditions.checkState(
                valueSerializer instanceof MapSerializer,
                "Unexpected serializer of map state '%s'.",
                newColumn.name());
        MapSerializer<UK, UV> serializer = (MapSerializer<UK, UV>) valueSerializer;
        userKeySerializer = serializer.getKeySerializer();
        userValueSerializer = serializer.getValueSerializer();
    }

    @Override
    public UV get(UK userKey) throws IOException {
        access.enter();
        try {
            DataInputDeserializer stored = access.get(column, key(userKey, userKeySerializer));
            boolean isNull = stored == null || stored.readBoolean();
            return isNull ? null : deserialize(stored, userValueSerializer);
        } finally {
            access.exit();
        }
    }

    @Override
    public void put(UK userKey, UV userValue) throws IOException {
        access.enter();
        try {
            writeValue(userValue);
            access.put(column, key(userKey, userKeySerializer));
        } finally {
            access.exit();
        }
    }

    @Override
    public void putAll(Map<UK, UV> map) throws IOException {
        if (map == null) {
            return;
        }
        // The map may be one that uses state itself, so there is no use of the pages while it is asked.
        MapRows rows = spareRows == null ? new MapRows() : spareRows;
        spareRows = null;
        try {
            for (Map.Entry<UK, UV> entry : map.entrySet()) {
                add(entry.getKey(), entry.getValue(), rows);
            }
        } finally {
            // Of a map that fails half-way the first half is put, as by single puts.
            access.enter();
            try {
                put(rows);
            } finally {
                access.exit();
            }
        }
        spareRows = rows.isSmall() ? rows : null;
    }

    private void add(UK userKey, UV userValue, MapRows rows) throws IOException {
        access.enter();
        try {
            rows.add(userKey, userKeySerializer, userValue, userValueSerializer);
            if (rows.isEnough()) {
                put(rows);
            }
        } finally {
            access.exit();
        }
    }

    private void put(MapRows rows) throws IOException {
        if (!rows.isEmpty()) {
            access.putAll(column, key(), rows);
            rows.clear();
        }
    }

    @Override
    public void remove(UK userKey) throws IOException {
        access.enter();
        try {
            access.delete(column, key(userKey, userKeySerializer));
        } finally {
            access.exit();
        }
    }

    @Override
    public boolean contains(UK userKey) throws IOException {
        access.enter();
        try {
            return access.contains(column, key(userKey, userKeySerializer));
        } finally {
            access.exit();
        }
    }

    @Override
    public boolean isEmpty() {
        access.enter();
        try {
            return !access.mapHasRows(column, key());
        } catch (IOException e) {
            throw failed("read", e);
        } finally {
            access.exit();
        }
    }

    @Override
    public void clear() {
        access.enter();
        try {
            access.clearMap(column, key());
        } catch (IOException e) {
            throw failed("clear", e);
        } finally {
            access.exit();
        }
    }

    @Override
    public Iterable<Map.Entry<UK, UV>> entries() {
        return this::iterator;
    }

    @Override
    public Iterator<Map.Entry<UK, UV>> iterator() {
        return new MapIterator<K, UK, UV, Map.Entry<UK, UV>>(this, prefix()) {
            @Override
            public Map.Entry<UK, UV> next() {
                return nextEntry();
            }
        };
    }

    @Override
    public Iterable<UK> keys() {
        byte[] prefix = prefix();
        return () ->
                new MapIterator<K, UK, UV, UK>(this, prefix) {
                    @Override
                    public UK next() {
                        return nextEntry().getKey();
                    }
                };
    }

    @Override
    public Iterable<UV> values() {
        byte[] prefix = prefix();
        return () ->
                new MapIterator<K, UK, UV, UV>(this, prefix) {
                    @Override
                    public UV next() {
                        return nextEntry().getValue();
                    }
                };
    }

    /** The rows of the current key and namespace share these bytes. */
    private byte[] prefix() {
        access.enter();
        try {
            return access.copyKey(key());
        } catch (IOException e) {
            throw failed("iterate", e);
        } finally {
            access.exit();
        }
    }

    /** Writes the value where the next put takes it from. */
    void writeValue(UV userValue) throws IOException {
        DataOutputSerializer out = access.startValue();
        out.writeBoolean(userValue == null);
        if (userValue != null) {
            access.serialize(userValue, userValueSerializer, out);
        }
    }

    StateAccess<K> access() {
        return access;
    }

    TypeSerializer<UK> userKeySerializer() {
        return userKeySerializer;
    }

    TypeSerializer<UV> userValueSerializer() {
        return userValueSerializer;
    }

    @Override
    public byte[] getSerializedValue(
            byte[] serializedKeyAndNamespace,
            TypeSerializer<K> safeKeySerializer,
            TypeSerializer<N> safeNamespaceSerializer,
            TypeSerializer<Map<UK, UV>> safeValueSerializer)
            throws Exception {
        byte[] prefix =
                queriedKey(serializedKeyAndNamespace, safeKeySerializer, safeNamespaceSerializer);
        return QueriedMap.read(column, prefix, (MapSerializer<UK, UV>) safeValueSerializer);
    }

    @Override
    public void migrateSerializedValue(
            DataInputDeserializer old,
            DataOutputSerializer migrated,
            TtlAwareSerializer<Map<UK, UV>, ?> priorSerializer,
            TtlAwareSerializer<Map<UK, UV>, ?> newSerializer,
            TtlTimeProvider ttlTimeProvider)
            throws StateMigrationException {
        TtlAwareSerializer<UV, ?> priorValue = valueSerializer(priorSerializer);
        TtlAwareSerializer<UV, ?> newValue = valueSerializer(newSerializer);
        try {
            boolean isNull = old.readBoolean();
            // A null without TTL becomes a TTL value that holds null, which is not null itself.
            boolean wrapsNull = isNull && newValue.isTtlEnabled() && !priorValue.isTtlEnabled();
            migrated.writeBoolean(isNull && !wrapsNull);
            if (!isNull || wrapsNull) {
                newValue.migrateValueFromPriorSerializer(
                        priorValue,
                        () -> isNull ? null : priorValue.deserialize(old),
                        migrated,
                        ttlTimeProvider);
            }
        } catch (Exception e) {
            throw migrationFailed(e);
        }
    }

    private static <UK, UV> TtlAwareSerializer<UV, ?> valueSerializer(
            TtlAwareSerializer<Map<UK, UV>, ?> serializer) {
        Preconditions.checkArgument(
                serializer instanceof TtlAwareSerializer.TtlAwareMapSerializer,
                "not a map serializer: %s",
                serializer);
        TypeSerializer<Map<UK, UV>> asMap = serializer;
        return ((TtlAwareSerializer.TtlAwareMapSerializer<UK, UV>) asMap).getValueSerializer();
    }
}
