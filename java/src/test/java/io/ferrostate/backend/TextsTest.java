package io.ferrostate.backend;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.apache.flink.api.common.typeutils.base.LongSerializer;
import org.apache.flink.api.common.typeutils.base.StringSerializer;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.io.EOFException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;

/** Strings are written and read as Flink's serializer does it, byte by byte. */
@Timeout(60)
class TextsTest {

    private static final int[] LENGTHS = {
        0, 1, 7, 8, 9, 39, 125, 126, 127, 128, 511, 512, 513, 1024, 1025, 16382, 16383, 40_000
    };
    /** One, two and three bytes a character, and halves of pairs. */
    private static final int[] BOUNDS = {128, 256, 1 << 14, 1 << 16};

    private final Texts texts = new Texts();

    private static List<String> strings() {
        SplittableRandom random = new SplittableRandom(7);
        List<String> strings = new ArrayList<>();
        for (int length : LENGTHS) {
            for (int bound : BOUNDS) {
                char[] plain = new char[length];
                char[] mixed = new char[length];
                for (int i = 0; i < length; i++) {
                    plain[i] = (char) random.nextInt(bound);
                    mixed[i] = (char) random.nextInt(random.nextInt(20) == 0 ? bound : 128);
                }
                strings.add(new String(plain));
                strings.add(new String(mixed));
            }
        }
        strings.add("\uD800?\uDC00");
        return strings;
    }

    private static byte[] asFlink(String text) throws IOException {
        DataOutputSerializer out = new DataOutputSerializer(8);
        out.writeInt(7);
        StringSerializer.INSTANCE.serialize(text, out);
        return out.getCopyOfBuffer();
    }

    @Test
    void writesTheBytesOfFlink() throws IOException {
        for (String text : strings()) {
            DataOutputSerializer out = new DataOutputSerializer(1);
            out.writeInt(7);
            texts.serialize(text, StringSerializer.INSTANCE, out);
            assertThat(out.getCopyOfBuffer())
                    .as("%s characters", text.length())
                    .isEqualTo(asFlink(text));
        }
    }

    /** In front of other bytes, of which none is taken. */
    @Test
    void readsTheBytesOfFlink() throws IOException {
        for (String text : strings()) {
            byte[] stored = asFlink(text);
            byte[] bytes = Arrays.copyOf(stored, stored.length + 9);
            DataInputDeserializer in = new DataInputDeserializer(bytes, 0, bytes.length - 4);
            in.readInt();
            assertThat(Texts.deserialize(in, bytes, StringSerializer.INSTANCE)).isEqualTo(text);
            assertThat(in.available()).isEqualTo(5);
        }
    }

    /** Though the array has more bytes. */
    @Test
    void textThatEndsTooEarlyIsAnError() throws IOException {
        byte[] bytes = asFlink("0123456789");
        for (int end = 4; end < bytes.length; end++) {
            DataInputDeserializer in = new DataInputDeserializer(bytes, 4, end - 4);
            assertThatThrownBy(() -> Texts.deserialize(in, bytes, StringSerializer.INSTANCE))
                    .isInstanceOf(EOFException.class);
        }
    }

    @Test
    void nullAndOtherTypesAreLeftToTheirSerializers() throws IOException {
        DataOutputSerializer out = new DataOutputSerializer(8);
        texts.serialize(null, StringSerializer.INSTANCE, out);
        texts.serialize(7L, LongSerializer.INSTANCE, out);
        byte[] bytes = out.getSharedBuffer();
        DataInputDeserializer in = new DataInputDeserializer(bytes, 0, out.length());
        assertThat(Texts.deserialize(in, bytes, StringSerializer.INSTANCE)).isNull();
        assertThat(Texts.deserialize(in, bytes, LongSerializer.INSTANCE)).isEqualTo(7L);
    }
}
