package io.ferrostate.jni;

import org.apache.flink.core.memory.DataInputView;
import org.apache.flink.core.memory.DataOutputView;
import org.apache.flink.core.memory.MemorySegment;
import org.apache.flink.core.memory.MemorySegmentWritable;

import java.io.IOException;
import java.io.UTFDataFormatException;

/**
 * The way not taken (docs/decisions/0002): no copy, but slower than one copy of Flink's buffer.
 *
 * <p>Writes into a {@link Page} the bytes that Flink's DataOutputSerializer would write, and lets the
 * page grow. It differs in two faults of that class: {@link #writeBytes} leaves no gap, and {@link
 * #skipBytesToWrite} and {@link #write(DataInputView, int)} make room instead of failing.
 */
public final class PageOutput implements DataOutputView, MemorySegmentWritable {

    private final Page page;
    private int position;

    public PageOutput(Page page) {
        this.page = page;
    }

    /** Starts over at the beginning of the page. */
    public void clear() {
        page.used(position);
        position = 0;
    }

    /** Number of bytes written. */
    public int position() {
        return position;
    }

    /** Goes back to an earlier position; what was written after it is forgotten. */
    public void resetTo(int mark) {
        if (mark < 0 || mark > position) {
            throw new IllegalArgumentException(
                    "Position " + mark + " is not within 0 and " + position + '.');
        }
        position = mark;
    }

    public byte[] toByteArray() {
        byte[] bytes = new byte[position];
        page.segment().get(0, bytes);
        return bytes;
    }

    @Override
    public void write(int b) throws IOException {
        int at = advance(1);
        page.segment().put(at, (byte) b);
    }

    @Override
    public void write(byte[] b) throws IOException {
        write(b, 0, b.length);
    }

    @Override
    public void write(byte[] b, int off, int len) throws IOException {
        if ((off | len) < 0 || off > b.length - len) {
            throw new ArrayIndexOutOfBoundsException(
                    "offset " + off + ", length " + len + " of an array of " + b.length);
        }
        int at = advance(len);
        page.segment().put(at, b, off, len);
    }

    @Override
    public void write(MemorySegment source, int off, int len) throws IOException {
        if ((off | len) < 0 || off > source.size() - len) {
            throw new IndexOutOfBoundsException(
                    "offset " + off + ", length " + len + " of a segment of " + source.size());
        }
        int at = advance(len);
        source.copyTo(off, page.segment(), at, len);
    }

    @Override
    public void write(DataInputView source, int numBytes) throws IOException {
        // The source may fail half-way: only then is it known how much was written.
        page.ensureCapacity((long) position + numBytes);
        page.segment().put(source, position, numBytes);
        position += numBytes;
    }

    @Override
    public void skipBytesToWrite(int numBytes) throws IOException {
        advance(numBytes);
    }

    @Override
    public void writeBoolean(boolean v) throws IOException {
        write(v ? 1 : 0);
    }

    @Override
    public void writeByte(int v) throws IOException {
        write(v);
    }

    @Override
    public void writeShort(int v) throws IOException {
        int at = advance(2);
        page.segment().putShortBigEndian(at, (short) v);
    }

    @Override
    public void writeChar(int v) throws IOException {
        int at = advance(2);
        page.segment().putCharBigEndian(at, (char) v);
    }

    @Override
    public void writeInt(int v) throws IOException {
        int at = advance(4);
        page.segment().putIntBigEndian(at, v);
    }

    @Override
    public void writeLong(long v) throws IOException {
        int at = advance(8);
        page.segment().putLongBigEndian(at, v);
    }

    @Override
    public void writeFloat(float v) throws IOException {
        writeInt(Float.floatToIntBits(v));
    }

    @Override
    public void writeDouble(double v) throws IOException {
        writeLong(Double.doubleToLongBits(v));
    }

    @Override
    public void writeBytes(String s) throws IOException {
        int length = s.length();
        int at = advance(length);
        MemorySegment segment = page.segment();
        for (int i = 0; i < length; i++) {
            segment.put(at + i, (byte) s.charAt(i));
        }
    }

    @Override
    public void writeChars(String s) throws IOException {
        int length = s.length();
        page.ensureCapacity(position + 2L * length);
        MemorySegment segment = page.segment();
        for (int i = 0; i < length; i++) {
            segment.putCharBigEndian(position + 2 * i, s.charAt(i));
        }
        position += 2 * length;
    }

    @Override
    public void writeUTF(String str) throws IOException {
        int bytes = 0;
        for (int i = 0; i < str.length(); i++) {
            bytes += utfSize(str.charAt(i));
            if (bytes > 65535) {
                throw new UTFDataFormatException(
                        "Encoded string is too long: more than 65535 bytes of "
                                + str.length()
                                + " characters");
            }
        }
        writeShort(bytes);
        int at = advance(bytes);
        for (int i = 0; i < str.length(); i++) {
            at = putUtf(at, str.charAt(i));
        }
    }

    private int putUtf(int at, char c) {
        MemorySegment segment = page.segment();
        switch (utfSize(c)) {
            case 1:
                segment.put(at, (byte) c);
                return at + 1;
            case 2:
                segment.put(at, (byte) (0xC0 | c >> 6));
                segment.put(at + 1, (byte) (0x80 | c & 0x3F));
                return at + 2;
            default:
                segment.put(at, (byte) (0xE0 | c >> 12));
                segment.put(at + 1, (byte) (0x80 | c >> 6 & 0x3F));
                segment.put(at + 2, (byte) (0x80 | c & 0x3F));
                return at + 3;
        }
    }

    private static int utfSize(char c) {
        if (c >= 0x0001 && c <= 0x007F) {
            return 1;
        }
        return c > 0x07FF ? 3 : 2;
    }

    /** Makes room for so many bytes and returns where they go. */
    private int advance(int bytes) throws IOException {
        int at = position;
        if (bytes > page.capacity() - at) {
            page.ensureCapacity((long) at + bytes);
        }
        position = at + bytes;
        return at;
    }
}
