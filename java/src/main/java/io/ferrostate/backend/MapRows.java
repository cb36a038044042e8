package io.ferrostate.backend;

import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.core.memory.DataOutputSerializer;

import java.io.IOException;

/**
 * Rows of one map, collected to be put with one call: as {@link io.ferrostate.jni.Native#mapPutAll} wants
 * them. A value stands behind a byte that tells whether it is null.
 */
public final class MapRows {

    private static final int CAPACITY = 1 << 12;

    /** So many bytes are worth a call. */
    private static final int ENOUGH = 1 << 15;

    /** A buffer that grew beyond this is not kept. */
    private static final int KEEP_CAPACITY = 1 << 20;

    private final DataOutputSerializer out = new DataOutputSerializer(CAPACITY);
    private final Texts texts = new Texts();

    /** Adds a row, or nothing of it if it cannot be serialized. */
    public <UK, UV> void add(
            UK key, TypeSerializer<UK> keySerializer, UV value, TypeSerializer<UV> valueSerializer)
            throws IOException {
        int before = out.length();
        boolean done = false;
        try {
            write(key, keySerializer, value, valueSerializer);
            done = true;
        } finally {
            if (!done) {
                out.setPosition(before);
            }
        }
    }

    private <UK, UV> void write(
            UK key, TypeSerializer<UK> keySerializer, UV value, TypeSerializer<UV> valueSerializer)
            throws IOException {
        int lengths = out.length();
        out.writeLong(0);
        int start = out.length();
        texts.serialize(key, keySerializer, out);
        int end = out.length();
        out.writeBoolean(value == null);
        if (value != null) {
            texts.serialize(value, valueSerializer, out);
        }
        out.writeIntUnsafe(end - start, lengths);
        out.writeIntUnsafe(out.length() - end, lengths + Integer.BYTES);
    }

    public boolean isEnough() {
        return out.length() >= ENOUGH;
    }

    public boolean isEmpty() {
        return out.length() == 0;
    }

    /** Whether it is worth keeping for the next time. */
    public boolean isSmall() {
        return out.getSharedBuffer().length <= KEEP_CAPACITY;
    }

    public void clear() {
        out.clear();
    }

    int length() {
        return out.length();
    }

    byte[] bytes() {
        return out.getSharedBuffer();
    }
}
