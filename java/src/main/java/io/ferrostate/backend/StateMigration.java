package io.ferrostate.backend;

import io.ferrostate.state.AbstractState;

import org.apache.flink.api.common.state.StateDescriptor;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.common.typeutils.TypeSerializerSnapshot;
import org.apache.flink.api.common.typeutils.base.MapSerializer;
import org.apache.flink.api.common.typeutils.base.MapSerializerSnapshot;
import org.apache.flink.core.fs.CloseableRegistry;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.apache.flink.runtime.execution.CancelTaskException;
import org.apache.flink.runtime.state.RegisteredKeyValueStateBackendMetaInfo;
import org.apache.flink.runtime.state.ttl.TtlAwareSerializer;
import org.apache.flink.runtime.state.ttl.TtlTimeProvider;
import org.apache.flink.util.StateMigrationException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;


/**
 * Rewrites all values of a state into the schema of its new serializer: all or none, since the new
 * rows wait in files of their own until the last one is written. Keys, namespaces and user keys of maps
 * stay as they are; a state whose user key changed is refused.
 */
final class StateMigration {

    private static final Logger LOG = LoggerFactory.getLogger(StateMigration.class);

    private final int keyGroupBytes;
    private final Cursors cursors;
    private final TtlTimeProvider ttlTimeProvider;
    private final CloseableRegistry cancelRegistry;

    StateMigration(
            int keyGroupBytes,
            Cursors cursors,
            TtlTimeProvider ttlTimeProvider,
            CloseableRegistry cancelRegistry) {
        this.keyGroupBytes = keyGroupBytes;
        this.cursors = cursors;
        this.ttlTimeProvider = ttlTimeProvider;
        this.cancelRegistry = cancelRegistry;
    }

    <N, SV> void run(
            StateDescriptor<?, SV> descriptor,
            RegisteredKeyValueStateBackendMetaInfo<N, SV> metaInfo,
            AbstractState<?, N, SV> state,
            FormerSchemas<SV> former)
            throws Exception {
        if (descriptor.getType() == StateDescriptor.Type.MAP) {
            for (RegisteredKeyValueStateBackendMetaInfo<?, SV> part : former.metaInfos()) {
                checkUserKey(part);
            }
        }
        LOG.info("Migrating state '{}': its serialization format has changed.", state.name());
        long rows = rewrite(metaInfo, state, former);
        LOG.info("Migrated {} rows of state '{}'.", rows, state.name());
    }

    private <N, SV> long rewrite(
            RegisteredKeyValueStateBackendMetaInfo<N, SV> metaInfo,
            AbstractState<?, N, SV> state,
            FormerSchemas<SV> former)
            throws Exception {
        TtlAwareSerializer<SV, ?> current = FormerSchemas.ttlAware(metaInfo.getStateSerializer());
        DataInputDeserializer old = new DataInputDeserializer();
        DataOutputSerializer migrated = new DataOutputSerializer(512);
        long count = 0;
        try (RowCursor rows = cursors.open(state.column(), false);
                BulkLoad load = new BulkLoad(state.column())) {
            while (rows.next()) {
                checkNotCancelled(state.name());
                ScanPage row = rows.row();
                TtlAwareSerializer<SV, ?> prior =
                        former.serializer(keyGroup(row.bytes(), row.keyOffset()));
                if (prior == null) {
                    continue;
                }
                old.setBuffer(row.bytes(), row.valueOffset(), row.valueLength());
                migrated.clear();
                state.migrateSerializedValue(old, migrated, prior, current, ttlTimeProvider);
                load.add(
                        row.bytes(),
                        row.keyOffset(),
                        row.keyLength(),
                        migrated.getSharedBuffer(),
                        0,
                        migrated.length());
                count++;
            }
            checkNotCancelled(state.name());
            load.ingest();
        }
        return count;
    }

    private void checkNotCancelled(String state) {
        if (cancelRegistry.isClosed()) {
            throw new CancelTaskException(
                    "The migration of state '" + state + "' was cancelled; it is as it was.");
        }
    }

    private int keyGroup(byte[] bytes, int offset) {
        int keyGroup = 0;
        for (int i = 0; i < keyGroupBytes; i++) {
            keyGroup = (keyGroup << Byte.SIZE) | (bytes[offset + i] & 0xff);
        }
        return keyGroup;
    }

    private static void checkUserKey(RegisteredKeyValueStateBackendMetaInfo<?, ?> metaInfo)
            throws StateMigrationException {
        TypeSerializerSnapshot<?> previous = metaInfo.getPreviousStateSerializerSnapshot();
        TypeSerializer<?> current = metaInfo.getStateSerializer();
        if (!(previous instanceof MapSerializerSnapshot) || !(current instanceof MapSerializer)) {
            throw new StateMigrationException(
                    "The serializers of map state '" + metaInfo.getName() + "' are not those of a"
                            + " map: " + previous + ", " + current);
        }
        if (!userKeyIsUnchanged((MapSerializerSnapshot<?, ?>) previous, (MapSerializer<?, ?>) current)) {
            throw new StateMigrationException(
                    "The new serializer of map state '" + metaInfo.getName() + "' requires state"
                            + " migration in order for the job to proceed, since the key schema has"
                            + " changed. However, migration for MapState currently only allows"
                            + " value schema evolutions.");
        }
    }

    @SuppressWarnings("unchecked")
    private static <UK> boolean userKeyIsUnchanged(
            MapSerializerSnapshot<?, ?> previous, MapSerializer<?, ?> current) {
        TypeSerializer<UK> serializer = (TypeSerializer<UK>) current.getKeySerializer();
        TypeSerializerSnapshot<UK> snapshot =
                (TypeSerializerSnapshot<UK>) previous.getKeySerializerSnapshot();
        return serializer
                .snapshotConfiguration()
                .resolveSchemaCompatibility(snapshot)
                .isCompatibleAsIs();
    }
}
