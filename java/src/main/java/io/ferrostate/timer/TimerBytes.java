package io.ferrostate.timer;

import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.apache.flink.util.FlinkRuntimeException;

import java.io.IOException;

/**
 * Timers to bytes and back: {@code key group, timer}, as rows have it. Two timers are the same if their
 * bytes are.
 */
final class TimerBytes<T> {

    /** A buffer that a very large timer left behind is not kept. */
    static final int KEEP_CAPACITY = 1 << 20;

    private static final int INITIAL_CAPACITY = 128;

    private final String name;
    private final int keyGroupBytes;
    private final DataInputDeserializer input = new DataInputDeserializer();
    private DataOutputSerializer output = new DataOutputSerializer(INITIAL_CAPACITY);
    private TypeSerializer<T> serializer;

    TimerBytes(String name, int keyGroupBytes, TypeSerializer<T> serializer) {
        this.name = name;
        this.keyGroupBytes = keyGroupBytes;
        this.serializer = serializer;
    }

    void useSerializer(TypeSerializer<T> changed) {
        serializer = changed;
    }

    /** Serializes a timer behind its key group into {@link #bytes}, and returns how many they are. */
    int serialize(int keyGroup, T timer) {
        try {
            if (output.getSharedBuffer().length > KEEP_CAPACITY) {
                output = new DataOutputSerializer(INITIAL_CAPACITY);
            }
            output.clear();
            if (keyGroupBytes == 1) {
                output.writeByte(keyGroup);
            } else {
                output.writeShort(keyGroup);
            }
            serializer.serialize(timer, output);
            return output.length();
        } catch (IOException e) {
            throw failed("serialize a timer", e);
        }
    }

    /** What was serialized last; good until the next time. */
    byte[] bytes() {
        return output.getSharedBuffer();
    }

    T deserialize(byte[] bytes, int offset, int length) {
        try {
            input.setBuffer(bytes, offset + keyGroupBytes, length - keyGroupBytes);
            return serializer.deserialize(input);
        } catch (IOException e) {
            throw failed("deserialize a timer", e);
        }
    }

    FlinkRuntimeException failed(String step, IOException cause) {
        return new FlinkRuntimeException(
                "Could not " + step + " of '" + name + "': " + cause.getMessage(), cause);
    }
}
