package io.ferrostate.restore;

import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.common.typeutils.TypeSerializerSchemaCompatibility;
import org.apache.flink.core.memory.DataInputViewStreamWrapper;
import org.apache.flink.runtime.state.KeyedBackendSerializationProxy;
import org.apache.flink.runtime.state.StreamStateHandle;
import org.apache.flink.runtime.state.metainfo.StateMetaInfoSnapshot;
import org.apache.flink.util.StateMigrationException;

import java.io.IOException;
import java.io.InputStream;
import java.util.List;

/** Reads keyed meta files and checks once that the job's key serializer fits the snapshot's. */
final class MetaFileReader<K> {

    private final RestoreContext<K> context;
    private boolean keySerializerChecked;

    MetaFileReader(RestoreContext<K> context) {
        this.context = context;
    }

    List<StateMetaInfoSnapshot> read(StreamStateHandle file) throws Exception {
        KeyedBackendSerializationProxy<K> content =
                new KeyedBackendSerializationProxy<>(context.userCodeClassLoader());
        try (InputStream in = CancellableInput.open(file, context.cancelRegistry())) {
            content.read(new DataInputViewStreamWrapper(in));
        } catch (IOException | RuntimeException failure) {
            throw new IOException(
                    file.getStreamStateHandleID().getKeyString() + " is not a readable meta file: "
                            + failure,
                    failure);
        }
        checkKeySerializer(content);
        return content.getStateMetaInfoSnapshots();
    }

    /** Compatible as it is or after reconfiguration; keys are never migrated. */
    private void checkKeySerializer(KeyedBackendSerializationProxy<K> content)
            throws StateMigrationException {
        if (keySerializerChecked) {
            return;
        }
        // Not to be had any more once found incompatible.
        TypeSerializer<K> current = context.keySerializer().currentSchemaSerializer();
        TypeSerializerSchemaCompatibility<K> compatibility =
                context.keySerializer()
                        .setPreviousSerializerSnapshotForRestoredState(
                                content.getKeySerializerSnapshot());
        if (compatibility.isCompatibleAfterMigration() || compatibility.isIncompatible()) {
            throw new StateMigrationException(
                    "The new key serializer (" + current
                            + ") must be compatible with the previous key serializer ("
                            + context.keySerializer().previousSchemaSerializer() + ").");
        }
        keySerializerChecked = true;
    }
}
