package io.ferrostate.backend;

import io.ferrostate.jni.Page;

import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.apache.flink.core.memory.DataOutputView;
import org.apache.flink.runtime.state.CompositeKeySerializationUtils;
import org.apache.flink.runtime.state.VoidNamespace;

import java.io.IOException;

/**
 * Writes keys into a page in Flink's layout: {@code KG | K | [len K] | N | [len N] | [UK]}
 * (flink-compatibility D1). The parts that have not changed since the last call stay where they are,
 * on the heap and in the page.
 */
final class KeyBuilder<K> {

    /** Stands for no namespace, since null may be one. */
    private static final Object NONE = new Object();

    private static final int INITIAL_CAPACITY = 128;

    /** A buffer that a very large key left behind is not kept. */
    private static final int KEEP_CAPACITY = 1 << 20;

    /**
     * What stands for keys of variable length: a row of the Table API with one field, or so much of a
     * text that most differ. Maps of shorter keys are not filtered.
     */
    private static final int VARIABLE_KEY_FRONT = 20;

    private final TypeSerializer<K> keySerializer;
    private final boolean keyIsVariable;
    private final int keyGroupBytes;
    private final Page page;
    private final Texts texts;
    private DataOutputSerializer out = new DataOutputSerializer(INITIAL_CAPACITY);

    /** End of the key, and of the namespace when one is written. */
    private int keyEnd;

    private int namespaceEnd;

    /** What is written behind the key. */
    private Object namespace = NONE;

    private TypeSerializer<?> namespaceSerializer;

    /** So many bytes from the start are the same in the page. */
    private int inPage;

    KeyBuilder(TypeSerializer<K> keySerializer, int keyGroupBytes, Page page, Texts texts) {
        this.keySerializer = keySerializer;
        this.keyIsVariable = CompositeKeySerializationUtils.isSerializerTypeVariableSized(keySerializer);
        this.keyGroupBytes = keyGroupBytes;
        this.page = page;
        this.texts = texts;
    }

    /** So many bytes at least are the same in all rows of a map, for most keys. */
    int sharedByMap(TypeSerializer<?> namespaces) {
        return keyGroupBytes
                + (keyIsVariable
                        ? VARIABLE_KEY_FRONT
                        : keySerializer.getLength() + Math.max(0, namespaces.getLength()));
    }

    void setKey(K key, int keyGroup) throws IOException {
        keyEnd = 0;
        namespace = NONE;
        inPage = 0;
        page.used(out.length());
        if (out.getSharedBuffer().length > KEEP_CAPACITY) {
            out = new DataOutputSerializer(INITIAL_CAPACITY);
        }
        out.clear();
        CompositeKeySerializationUtils.writeKeyGroup(keyGroup, keyGroupBytes, out);
        texts.serialize(key, keySerializer, out);
        keyEnd = out.length();
    }

    /** A state was given a namespace object: its content may differ from what is written. */
    void namespaceChanged(Object changed) {
        if (changed != VoidNamespace.INSTANCE) {
            namespace = NONE;
        }
    }

    /** Current key and this namespace. Returns the length in the page. */
    <N> int build(N current, TypeSerializer<N> serializer) throws IOException {
        ensureNamespace(current, serializer);
        return copy(namespaceEnd);
    }

    /** Current key, this namespace and a user key of a map. Returns the length in the page. */
    <N, UK> int build(
            N current,
            TypeSerializer<N> serializer,
            UK userKey,
            TypeSerializer<UK> userKeySerializer)
            throws IOException {
        ensureNamespace(current, serializer);
        truncate(namespaceEnd);
        texts.serialize(userKey, userKeySerializer, out);
        return copy(out.length());
    }

    /** Of the key with a user key that was built last: bytes of key and namespace. */
    int prefixLength() {
        return namespaceEnd;
    }

    private <N> void ensureNamespace(N current, TypeSerializer<N> serializer) throws IOException {
        if (current != namespace || serializer != namespaceSerializer) {
            writeNamespace(current, serializer);
        }
    }

    private void truncate(int length) {
        out.setPosition(length);
        inPage = Math.min(inPage, length);
    }

    /** Brings what the page lacks of the key there, and returns the key's length. */
    private int copy(int length) throws IOException {
        if (inPage < length) {
            page.write(inPage, out.getSharedBuffer(), inPage, length - inPage);
            inPage = length;
        }
        return length;
    }

    private <N> void writeNamespace(N current, TypeSerializer<N> serializer) throws IOException {
        if (keyEnd == 0) {
            throw new IllegalStateException(
                    "No key set: state was accessed outside of the processing of a record.");
        }
        namespace = NONE;
        truncate(keyEnd);
        boolean ambiguous =
                keyIsVariable
                        && CompositeKeySerializationUtils.isSerializerTypeVariableSized(serializer);
        if (ambiguous) {
            writeLength(keyEnd - keyGroupBytes, out);
        }
        int start = out.length();
        serializer.serialize(current, out);
        if (ambiguous) {
            writeLength(out.length() - start, out);
        }
        namespaceEnd = out.length();
        namespace = current;
        namespaceSerializer = serializer;
    }

    private static void writeLength(int length, DataOutputView out) throws IOException {
        CompositeKeySerializationUtils.writeVariableIntBytes(length, out);
    }
}
