package io.ferrostate.backend;

import io.ferrostate.jni.Page;
import io.ferrostate.jni.PageOutput;

import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.core.memory.DataOutputView;
import org.apache.flink.runtime.state.CompositeKeySerializationUtils;
import org.apache.flink.runtime.state.VoidNamespace;

import java.io.IOException;

/**
 * Writes keys into a page in Flink's layout: {@code KG | K | [len K] | N | [len N] | [UK]}
 * (flink-compatibility D1). The parts that have not changed since the last call stay where they are.
 */
final class KeyBuilder<K> {

    /** Stands for no namespace, since null may be one. */
    private static final Object NONE = new Object();

    private final TypeSerializer<K> keySerializer;
    private final boolean keyIsVariable;
    private final int keyGroupBytes;
    private final PageOutput out;

    /** End of the key, and of the namespace when one is written. */
    private int keyEnd;

    private int namespaceEnd;

    /** What is written in the page behind the key. */
    private Object namespace = NONE;

    private TypeSerializer<?> namespaceSerializer;

    KeyBuilder(TypeSerializer<K> keySerializer, int keyGroupBytes, Page page) {
        this.keySerializer = keySerializer;
        this.keyIsVariable = CompositeKeySerializationUtils.isSerializerTypeVariableSized(keySerializer);
        this.keyGroupBytes = keyGroupBytes;
        this.out = new PageOutput(page);
    }

    void setKey(K key, int keyGroup) throws IOException {
        keyEnd = 0;
        namespace = NONE;
        out.clear();
        CompositeKeySerializationUtils.writeKeyGroup(keyGroup, keyGroupBytes, out);
        keySerializer.serialize(key, out);
        keyEnd = out.position();
    }

    /** A state was given a namespace object: its content may differ from what is written. */
    void namespaceChanged(Object changed) {
        if (changed != VoidNamespace.INSTANCE) {
            namespace = NONE;
        }
    }

    /** Current key and this namespace. Returns the length in the page. */
    <N> int build(N current, TypeSerializer<N> serializer) throws IOException {
        if (current != namespace || serializer != namespaceSerializer) {
            writeNamespace(current, serializer);
        }
        return namespaceEnd;
    }

    /** Current key, this namespace and a user key of a map. Returns the length in the page. */
    <N, UK> int build(
            N current,
            TypeSerializer<N> serializer,
            UK userKey,
            TypeSerializer<UK> userKeySerializer)
            throws IOException {
        out.resetTo(build(current, serializer));
        userKeySerializer.serialize(userKey, out);
        return out.position();
    }

    private <N> void writeNamespace(N current, TypeSerializer<N> serializer) throws IOException {
        if (keyEnd == 0) {
            throw new IllegalStateException(
                    "No key set: state was accessed outside of the processing of a record.");
        }
        namespace = NONE;
        out.resetTo(keyEnd);
        boolean ambiguous =
                keyIsVariable
                        && CompositeKeySerializationUtils.isSerializerTypeVariableSized(serializer);
        if (ambiguous) {
            writeLength(keyEnd - keyGroupBytes, out);
        }
        int start = out.position();
        serializer.serialize(current, out);
        if (ambiguous) {
            writeLength(out.position() - start, out);
        }
        namespaceEnd = out.position();
        namespace = current;
        namespaceSerializer = serializer;
    }

    private static void writeLength(int length, DataOutputView out) throws IOException {
        CompositeKeySerializationUtils.writeVariableIntBytes(length, out);
    }
}
