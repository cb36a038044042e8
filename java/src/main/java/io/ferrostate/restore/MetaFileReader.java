package io.ferrostate.restore;

import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.common.typeutils.TypeSerializerSchemaCompatibility;
import org.apache.flink.api.common.typeutils.TypeSerializerSnapshot;
import org.apache.flink.api.common.typeutils.TypeSerializerSnapshotSerializationUtil;
import org.apache.flink.runtime.state.KeyedBackendSerializationProxy;
import org.apache.flink.runtime.state.StreamStateHandle;
import org.apache.flink.runtime.state.metainfo.StateMetaInfoSnapshot;
import org.apache.flink.runtime.state.metainfo.StateMetaInfoSnapshot.BackendStateType;
import org.apache.flink.util.StateMigrationException;

import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Reads keyed meta files and checks once that the job's key serializer fits the snapshot's. */
final class MetaFileReader<K> {

    private final RestoreContext<K> context;
    private boolean keySerializerChecked;

    MetaFileReader(RestoreContext<K> context) {
        this.context = context;
    }

    List<StateMetaInfoSnapshot> read(StreamStateHandle file) throws Exception {
        TypeSerializerSnapshot<K> key;
        List<StateMetaInfoSnapshot> states = new ArrayList<>();
        byte[] bytes = bytes(file);
        try {
            key = read(new MetaFileInput(bytes), states);
        } catch (IOException | RuntimeException failure) {
            throw damaged(file, failure);
        } catch (OutOfMemoryError | StackOverflowError | LinkageError failure) {
            throw damaged(file, failure); // made by what the file says, not by the state of the JVM
        }
        checkKeySerializer(key);
        return states;
    }

    private static IOException damaged(StreamStateHandle file, Throwable failure) {
        return new IOException(
                file.getStreamStateHandleID().getKeyString()
                        + " is not a readable meta file, it is damaged or of another version: "
                        + failure,
                failure);
    }

    private byte[] bytes(StreamStateHandle file) throws IOException {
        try (InputStream in = CancellableInput.open(file, context.cancelRegistry())) {
            byte[] bytes = in.readAllBytes();
            long expected = file.getStateSize();
            if (expected >= 0 && bytes.length != expected) {
                throw new IOException(bytes.length + " bytes instead of " + expected);
            }
            return bytes;
        } catch (IOException failure) {
            throw new IOException(
                    "The meta file " + file.getStreamStateHandleID().getKeyString()
                            + " cannot be read: " + failure.getMessage(),
                    failure);
        }
    }

    /** Compatibility D8. Flink's own reader believes every count. */
    private TypeSerializerSnapshot<K> read(MetaFileInput in, List<StateMetaInfoSnapshot> states)
            throws IOException {
        int version = in.readInt();
        if (version != KeyedBackendSerializationProxy.VERSION) {
            throw new IOException(
                    "version " + version + ", where " + KeyedBackendSerializationProxy.VERSION
                            + " is known (Flink 1.8 and later)");
        }
        in.readBoolean(); // whether rows are compressed; a database's files say so themselves
        TypeSerializerSnapshot<K> key = serializer(in);
        for (int left = in.readUnsignedShort(); left > 0; left--) {
            states.add(state(in));
        }
        return key;
    }

    private StateMetaInfoSnapshot state(MetaFileInput in) throws IOException {
        String name = in.readUTF();
        try {
            BackendStateType[] types = BackendStateType.values();
            int type = in.readInt();
            if (type < 0 || type >= types.length) {
                throw new IOException("no kind of state has number " + type);
            }
            Map<String, String> options = new HashMap<>();
            for (int left = in.readCount(); left > 0; left--) {
                options.put(in.readUTF(), in.readUTF());
            }
            Map<String, TypeSerializerSnapshot<?>> serializers = new HashMap<>();
            for (int left = in.readCount(); left > 0; left--) {
                serializers.put(in.readUTF(), serializer(in));
            }
            return new StateMetaInfoSnapshot(name, types[type], options, serializers);
        } catch (IOException | RuntimeException failure) {
            throw new IOException("state '" + name + "': " + failure, failure);
        }
    }

    private <T> TypeSerializerSnapshot<T> serializer(MetaFileInput in) throws IOException {
        return TypeSerializerSnapshotSerializationUtil.readSerializerSnapshot(
                in, context.userCodeClassLoader());
    }

    /** Compatible as it is or after reconfiguration; keys are never migrated. */
    private void checkKeySerializer(TypeSerializerSnapshot<K> restored)
            throws StateMigrationException {
        if (keySerializerChecked) {
            return;
        }
        // Not to be had any more once found incompatible.
        TypeSerializer<K> current = context.keySerializer().currentSchemaSerializer();
        TypeSerializerSchemaCompatibility<K> compatibility =
                context.keySerializer()
                        .setPreviousSerializerSnapshotForRestoredState(restored);
        if (compatibility.isCompatibleAfterMigration() || compatibility.isIncompatible()) {
            throw new StateMigrationException(
                    "The new key serializer (" + current
                            + ") must be compatible with the previous key serializer ("
                            + context.keySerializer().previousSchemaSerializer() + ").");
        }
        keySerializerChecked = true;
    }
}
