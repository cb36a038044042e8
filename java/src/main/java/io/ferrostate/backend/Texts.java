package io.ferrostate.backend;

import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.common.typeutils.base.StringSerializer;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.core.memory.DataOutputSerializer;

import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/**
 * Strings to and from the bytes of Flink's {@link StringSerializer}, many characters at a time: it goes
 * through a view for each byte, and many keys and values are strings. All other types go to their
 * serializers. Writing is for one thread at a time.
 */
public final class Texts {

    /** Characters that are encoded at a time. */
    private static final int CHUNK = 1 << 9;

    /** Numbers below are one byte, others have this bit set in each byte but the last. */
    private static final int HIGH_BIT = 1 << 7;

    private static final int MOST_BYTES_OF_CHARACTER = 3;
    private static final int MOST_BYTES_OF_LENGTH = 5;

    private static final long HIGH_BITS = 0x8080808080808080L;

    private static final VarHandle LONGS =
            MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.nativeOrder());

    private final byte[] encoded =
            new byte[MOST_BYTES_OF_LENGTH + CHUNK * MOST_BYTES_OF_CHARACTER];

    /** Writes the bytes that the serializer writes. */
    public <T> void serialize(T value, TypeSerializer<T> serializer, DataOutputSerializer out)
            throws IOException {
        if (serializer.getClass() == StringSerializer.class && value instanceof String) {
            write((String) value, out);
        } else {
            serializer.serialize(value, out);
        }
    }

    private void write(String text, DataOutputSerializer out) throws IOException {
        int length = text.length();
        // One more: 0 stands for null.
        int end = encode(length + 1, 0);
        int from = 0;
        do {
            int to = Math.min(length, from + CHUNK);
            end = encode(text, from, to, end);
            out.write(encoded, 0, end);
            from = to;
            end = 0;
        } while (from < length);
    }

    /** Encodes characters from a position on; returns where they end. */
    private int encode(String text, int from, int to, int position) {
        int i = from;
        int at = position;
        for (; i < to; i++) {
            char character = text.charAt(i);
            if (character >= HIGH_BIT) {
                break;
            }
            encoded[at++] = (byte) character;
        }
        for (; i < to; i++) {
            at = encode(text.charAt(i), at);
        }
        return at;
    }

    private int encode(int number, int position) {
        int rest = number;
        int at = position;
        while (rest >= HIGH_BIT) {
            encoded[at++] = (byte) (rest | HIGH_BIT);
            rest >>>= 7;
        }
        encoded[at++] = (byte) rest;
        return at;
    }

    /** Reads what the serializer reads. {@code bytes}: the array that the input reads from. */
    public static <T> T deserialize(
            DataInputDeserializer in, byte[] bytes, TypeSerializer<T> serializer)
            throws IOException {
        if (serializer.getClass() == StringSerializer.class) {
            int start = in.getPosition();
            int length = in.available() == 0 ? 0 : bytes[start] - 1;
            // Null, 127 characters and more, and what is not whole are not read here.
            if (length >= 0 && length < in.available() && isAscii(bytes, start + 1, length)) {
                in.skipBytesToRead(1 + length);
                return cast(new String(bytes, start + 1, length, StandardCharsets.ISO_8859_1));
            }
        }
        return serializer.deserialize(in);
    }

    @SuppressWarnings("unchecked")
    private static <T> T cast(String text) {
        return (T) text;
    }

    private static boolean isAscii(byte[] bytes, int from, int length) {
        long all = 0;
        int at = from;
        int end = from + length;
        for (; at + Long.BYTES <= end; at += Long.BYTES) {
            all |= (long) LONGS.get(bytes, at);
        }
        for (; at < end; at++) {
            all |= bytes[at];
        }
        return (all & HIGH_BITS) == 0;
    }
}
