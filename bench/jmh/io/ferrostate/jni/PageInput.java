package io.ferrostate.jni;

import org.apache.flink.core.memory.DataInputView;
import org.apache.flink.core.memory.MemorySegment;

import java.io.EOFException;
import java.io.IOException;
import java.io.UTFDataFormatException;

/**
 * The way not taken (docs/decisions/0002): no copy, but slower than one copy into an array.
 *
 * <p>Reads a range of a {@link Page} with the semantics of Flink's DataInputDeserializer. The range is
 * good until the page is written, resized or closed; after the last two every read throws.
 */
public final class PageInput implements DataInputView {

    private MemorySegment segment;
    private int position;
    private int end;

    /** Reads the bytes from {@code start} on. */
    public void set(Page page, int start, int length) {
        segment = page.segment();
        if ((start | length) < 0 || start > segment.size() - length) {
            throw new IllegalArgumentException(
                    "start " + start + ", length " + length + " of a page of " + segment.size());
        }
        position = start;
        end = start + length;
    }

    public int available() {
        return end - position;
    }

    /** Position in the page, not in the range. */
    public int position() {
        return position;
    }

    @Override
    public boolean readBoolean() throws IOException {
        return readByte() != 0;
    }

    @Override
    public byte readByte() throws IOException {
        return segment.get(advance(1));
    }

    @Override
    public int readUnsignedByte() throws IOException {
        return readByte() & 0xff;
    }

    @Override
    public short readShort() throws IOException {
        return segment.getShortBigEndian(advance(2));
    }

    @Override
    public int readUnsignedShort() throws IOException {
        return readShort() & 0xffff;
    }

    @Override
    public char readChar() throws IOException {
        return segment.getCharBigEndian(advance(2));
    }

    @Override
    public int readInt() throws IOException {
        return segment.getIntBigEndian(advance(4));
    }

    @Override
    public long readLong() throws IOException {
        return segment.getLongBigEndian(advance(8));
    }

    @Override
    public float readFloat() throws IOException {
        return Float.intBitsToFloat(readInt());
    }

    @Override
    public double readDouble() throws IOException {
        return Double.longBitsToDouble(readLong());
    }

    @Override
    public void readFully(byte[] b) throws IOException {
        readFully(b, 0, b.length);
    }

    @Override
    public void readFully(byte[] b, int off, int len) throws IOException {
        if (len < 0) {
            throw new IllegalArgumentException("Length may not be negative.");
        }
        if (off < 0 || off > b.length - len) {
            throw new ArrayIndexOutOfBoundsException(
                    "offset " + off + ", length " + len + " of an array of " + b.length);
        }
        segment.get(advance(len), b, off, len);
    }

    @Override
    public int read(byte[] b) {
        return read(b, 0, b.length);
    }

    @Override
    public int read(byte[] b, int off, int len) {
        if ((off | len) < 0 || b.length - off < len) {
            throw new IndexOutOfBoundsException(
                    "offset " + off + ", length " + len + " of an array of " + b.length);
        }
        if (position >= end) {
            return len == 0 ? 0 : -1;
        }
        int count = Math.min(end - position, len);
        segment.get(position, b, off, count);
        position += count;
        return count;
    }

    @Override
    public int skipBytes(int n) {
        int count = Math.min(n, end - position);
        position += count;
        return count;
    }

    @Override
    public void skipBytesToRead(int numBytes) throws IOException {
        if (skipBytes(numBytes) < numBytes) {
            throw new EOFException("Could not skip " + numBytes + " bytes.");
        }
    }

    @Override
    public String readLine() throws IOException {
        if (position >= end) {
            return null;
        }
        // As Flink's class: a last line without a line feed loses its last character.
        StringBuilder line = new StringBuilder();
        char current = (char) readUnsignedByte();
        while (position < end && current != '\n') {
            line.append(current);
            current = (char) readUnsignedByte();
        }
        int length = line.length();
        if (length > 0 && line.charAt(length - 1) == '\r') {
            line.setLength(length - 1);
        }
        return line.toString();
    }

    @Override
    public String readUTF() throws IOException {
        int length = readUnsignedShort();
        int at = advance(length);
        int stop = at + length;
        char[] chars = new char[length];
        int count = 0;
        while (at < stop) {
            int c = segment.get(at) & 0xff;
            int size = utfSize(c, at);
            if (at + size > stop) {
                throw new UTFDataFormatException("malformed input: partial character at end");
            }
            chars[count++] = utfChar(c, size, at);
            at += size;
        }
        return new String(chars, 0, count);
    }

    private char utfChar(int first, int size, int at) throws UTFDataFormatException {
        switch (size) {
            case 1:
                return (char) first;
            case 2:
                return (char) ((first & 0x1F) << 6 | continuation(at + 1));
            default:
                return (char)
                        ((first & 0x0F) << 12 | continuation(at + 1) << 6 | continuation(at + 2));
        }
    }

    private int continuation(int at) throws UTFDataFormatException {
        byte b = segment.get(at);
        if ((b & 0xC0) != 0x80) {
            throw new UTFDataFormatException("malformed input around byte " + at);
        }
        return b & 0x3F;
    }

    private static int utfSize(int first, int at) throws UTFDataFormatException {
        int high = first >> 4;
        if (high < 8) {
            return 1;
        }
        if (high == 12 || high == 13) {
            return 2;
        }
        if (high == 14) {
            return 3;
        }
        throw new UTFDataFormatException("malformed input around byte " + at);
    }

    private int advance(int bytes) throws EOFException {
        int at = position;
        if (bytes > end - at) {
            throw new EOFException();
        }
        position = at + bytes;
        return at;
    }
}
