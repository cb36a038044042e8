package io.ferrostate.backend;

import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.apache.flink.runtime.state.CompositeKeySerializationUtils;

import java.io.IOException;

/** Takes keys and namespaces out of the rows of one state (layout: flink-compatibility D1). */
final class RowKeys<K, N> {

    private final TypeSerializer<K> keySerializer;
    private final TypeSerializer<N> namespaceSerializer;
    private final int keyGroupBytes;
    private final boolean ambiguous;
    private final DataInputDeserializer input = new DataInputDeserializer();

    RowKeys(
            TypeSerializer<K> keySerializer,
            TypeSerializer<N> namespaceSerializer,
            int keyGroupBytes) {
        this.keySerializer = keySerializer;
        this.namespaceSerializer = namespaceSerializer;
        this.keyGroupBytes = keyGroupBytes;
        this.ambiguous =
                CompositeKeySerializationUtils.isAmbiguousKeyPossible(
                        keySerializer, namespaceSerializer);
    }

    /** The key of a row; the namespace comes next. */
    K key(ScanPage row) throws IOException {
        input.setBuffer(
                row.bytes(), row.keyOffset() + keyGroupBytes, row.keyLength() - keyGroupBytes);
        return CompositeKeySerializationUtils.readKey(keySerializer, input, ambiguous);
    }

    /** The namespace of the row whose key was read last. */
    N namespace() throws IOException {
        return CompositeKeySerializationUtils.readNamespace(namespaceSerializer, input, ambiguous);
    }

    /** True if these bytes come next in the row whose key was read last. */
    boolean namespaceIs(byte[] namespace, ScanPage row) {
        int start = input.getPosition();
        if (input.available() < namespace.length) {
            return false;
        }
        for (int i = 0; i < namespace.length; i++) {
            if (row.bytes()[start + i] != namespace[i]) {
                return false;
            }
        }
        return true;
    }

    byte[] serialize(N namespace) throws IOException {
        DataOutputSerializer out = new DataOutputSerializer(16);
        CompositeKeySerializationUtils.writeNameSpace(
                namespace, namespaceSerializer, out, ambiguous);
        return out.getCopyOfBuffer();
    }
}
