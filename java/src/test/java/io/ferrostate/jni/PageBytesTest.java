package io.ferrostate.jni;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.core.memory.DataInputView;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.apache.flink.core.memory.DataOutputView;
import org.apache.flink.core.memory.MemorySegmentFactory;
import org.apache.flink.core.memory.MemorySegmentWritable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.util.Arrays;
import java.util.Random;

/** Pages hold the bytes that Flink's serializer classes write and are read as those read them. */
@Timeout(60)
class PageBytesTest {

    private static final int ROUNDS = 200;
    private static final int CALLS = 60;

    /** One call on each of two sides that should agree. */
    private interface Write {
        void to(DataOutputView out) throws IOException;
    }

    private interface Read {
        Object from(DataInputView in) throws IOException;
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4})
    void writesWhatDataOutputSerializerWrites(long seed) throws IOException {
        Random random = new Random(seed);
        try (Page page = BufferMemory.page(1 + random.nextInt(64))) {
            PageOutput out = new PageOutput(page);
            for (int round = 0; round < ROUNDS; round++) {
                DataOutputSerializer expected = new DataOutputSerializer(16);
                out.clear();
                for (int call = 0; call < CALLS; call++) {
                    Write write = randomWrite(random);
                    write.to(expected);
                    write.to(out);
                }
                assertThat(out.position()).isEqualTo(expected.length());
                assertThat(out.toByteArray()).isEqualTo(expected.getCopyOfBuffer());
            }
        }
    }

    private static Write randomWrite(Random random) {
        long bits = random.nextLong();
        String text = randomText(random);
        byte[] bytes = new byte[random.nextInt(40)];
        random.nextBytes(bytes);
        int from = random.nextInt(bytes.length + 1);
        int length = random.nextInt(bytes.length - from + 1);
        switch (random.nextInt(15)) {
            case 0:
                return out -> out.write((int) bits);
            case 1:
                return out -> out.write(bytes);
            case 2:
                return out -> out.write(bytes, from, length);
            case 3:
                return out -> out.writeBoolean(bits > 0);
            case 4:
                return out -> out.writeByte((int) bits);
            case 5:
                return out -> out.writeShort((int) bits);
            case 6:
                return out -> out.writeChar((int) bits);
            case 7:
                return out -> out.writeInt((int) bits);
            case 8:
                return out -> out.writeLong(bits);
            case 9:
                return out -> out.writeFloat(Float.intBitsToFloat((int) bits));
            case 10:
                return out -> out.writeDouble(Double.longBitsToDouble(bits));
            case 11:
                return out -> out.writeChars(text);
            case 12:
                return out -> out.writeUTF(text);
            case 13:
                return out ->
                        ((MemorySegmentWritable) out)
                                .write(MemorySegmentFactory.wrap(bytes), from, length);
            default:
                return out -> {
                    // Flink's class fails when it has no room: make some.
                    int mark = out instanceof PageOutput ? ((PageOutput) out).position() : 0;
                    out.write(bytes);
                    if (out instanceof PageOutput) {
                        ((PageOutput) out).resetTo(mark);
                    } else {
                        DataOutputSerializer flinks = (DataOutputSerializer) out;
                        flinks.setPosition(flinks.length() - bytes.length);
                    }
                    out.write(new DataInputDeserializer(bytes), bytes.length);
                };
        }
    }

    private static String randomText(Random random) {
        StringBuilder text = new StringBuilder();
        int length = random.nextInt(20);
        int[] limits = {0x80, 0x800, 0x10000, 2};
        for (int i = 0; i < length; i++) {
            text.append((char) random.nextInt(limits[random.nextInt(limits.length)]));
        }
        return text.toString();
    }

    @ParameterizedTest
    @ValueSource(longs = {5, 6, 7, 8})
    void readsWhatDataInputDeserializerReads(long seed) throws IOException {
        Random random = new Random(seed);
        PageInput in = new PageInput();
        for (int round = 0; round < ROUNDS; round++) {
            byte[] bytes = new byte[random.nextInt(200)];
            fill(bytes, random);
            int start = random.nextInt(10);
            try (Page page = BufferMemory.page(start + bytes.length + 10)) {
                PageOutput out = new PageOutput(page);
                out.write(new byte[start]);
                out.write(bytes);
                out.writeLong(-1); // bytes behind the range that nothing may see
                in.set(page, start, bytes.length);
                DataInputDeserializer expected = new DataInputDeserializer(bytes);
                for (int call = 0; call < CALLS; call++) {
                    Read read = randomRead(random);
                    assertThat(outcome(read, in)).isEqualTo(outcome(read, expected));
                    if (in.position() - start != expected.getPosition()) {
                        break; // after a failure inside a text the positions need not agree
                    }
                    assertThat(in.available()).isEqualTo(expected.available());
                }
            }
        }
    }

    /** Mostly text that can be read as modified UTF-8. */
    private static void fill(byte[] bytes, Random random) {
        random.nextBytes(bytes);
        for (int i = 0; i < bytes.length; i++) {
            if (random.nextInt(4) > 0) {
                bytes[i] = (byte) random.nextInt(8);
            }
        }
    }

    private static Object outcome(Read read, DataInputView in) {
        try {
            Object result = read.from(in);
            return result instanceof byte[] ? Arrays.toString((byte[]) result) : result;
        } catch (IOException | RuntimeException e) {
            return e.getClass();
        }
    }

    private static Read randomRead(Random random) {
        int length = random.nextInt(12);
        switch (random.nextInt(17)) {
            case 0:
                return DataInputView::readBoolean;
            case 1:
                return DataInputView::readByte;
            case 2:
                return DataInputView::readUnsignedByte;
            case 3:
                return DataInputView::readShort;
            case 4:
                return DataInputView::readUnsignedShort;
            case 5:
                return DataInputView::readChar;
            case 6:
                return DataInputView::readInt;
            case 7:
                return DataInputView::readLong;
            case 8:
                return in -> Float.floatToRawIntBits(in.readFloat());
            case 9:
                return in -> Double.doubleToRawLongBits(in.readDouble());
            case 10:
                return DataInputView::readUTF;
            case 11:
                return DataInputView::readLine;
            case 12:
                return in -> in.skipBytes(length);
            case 13:
                return in -> {
                    in.skipBytesToRead(length);
                    return length;
                };
            case 14:
                return in -> {
                    byte[] target = new byte[length + 2];
                    in.readFully(target, 1, length);
                    return target;
                };
            case 15:
                return in -> {
                    byte[] target = new byte[length];
                    return in.read(target) + Arrays.toString(target);
                };
            default:
                return in -> {
                    byte[] target = new byte[length];
                    in.readFully(target);
                    return target;
                };
        }
    }

    @Test
    void writeBytesLeavesNoGap() throws IOException {
        ByteArrayOutputStream expected = new ByteArrayOutputStream();
        new DataOutputStream(expected).writeBytes("caf\u00e9 \u20ac");
        try (Page page = BufferMemory.page(2)) {
            PageOutput out = new PageOutput(page);
            out.writeBytes("caf\u00e9 \u20ac");
            assertThat(out.toByteArray()).isEqualTo(expected.toByteArray());
        }
    }

    @Test
    void tooLongTextIsRefusedBeforeAnythingIsWritten() throws IOException {
        char[] text = new char[65536];
        Arrays.fill(text, 'x');
        try (Page page = BufferMemory.page(8)) {
            PageOutput out = new PageOutput(page);
            assertThatThrownBy(() -> out.writeUTF(new String(text)))
                    .hasMessageContaining("too long");
            assertThat(out.position()).isZero();
        }
    }

    @Test
    void readingBehindTheRangeFails() throws IOException {
        try (Page page = BufferMemory.page(64)) {
            PageInput in = new PageInput();
            in.set(page, 8, 4);
            assertThatThrownBy(in::readLong).isInstanceOf(EOFException.class);
            assertThat(in.readInt()).isZero();
            assertThatThrownBy(in::readByte).isInstanceOf(EOFException.class);
            assertThatThrownBy(() -> in.set(page, 60, 5))
                    .isInstanceOf(IllegalArgumentException.class);
        }
    }
}
