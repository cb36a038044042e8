package io.ferrostate.backend;

import io.ferrostate.jni.Page;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * A page of entries that a scan or a cursor returned, copied to the heap so that it outlives the next
 * native call. Walks over the entries in order; {@link #bytes()} holds keys and values.
 */
public final class ScanPage {

    private static final int HEADER = 8;

    private final byte[] bytes;
    private final ByteBuffer ints;
    private final int count;
    private final boolean more;

    private int taken;
    private int nextEntry = HEADER;
    private int keyOffset;
    private int keyLength;
    private int valueLength;

    ScanPage(byte[] bytes) {
        this.bytes = bytes;
        this.ints = ByteBuffer.wrap(bytes).order(ByteOrder.nativeOrder());
        this.count = ints.getInt(0);
        this.more = ints.getInt(4) != 0;
    }

    /** Copies what a native call left in a page. */
    static ScanPage copyOf(Page page, int used) {
        byte[] bytes = new byte[used];
        page.read(0, bytes, 0, used);
        return new ScanPage(bytes);
    }

    /** Goes to the next entry; false when the page has no further one. */
    public boolean next() {
        if (taken == count) {
            return false;
        }
        taken++;
        keyLength = ints.getInt(nextEntry);
        valueLength = ints.getInt(nextEntry + 4);
        keyOffset = nextEntry + HEADER;
        nextEntry = keyOffset + keyLength + valueLength;
        return true;
    }

    /** True if {@link #next} will succeed. */
    public boolean hasNext() {
        return taken < count;
    }

    /** True if there are entries after those of this page. */
    public boolean more() {
        return more;
    }

    public boolean isEmpty() {
        return count == 0;
    }

    public byte[] bytes() {
        return bytes;
    }

    public int keyOffset() {
        return keyOffset;
    }

    public int keyLength() {
        return keyLength;
    }

    public int valueOffset() {
        return keyOffset + keyLength;
    }

    public int valueLength() {
        return valueLength;
    }
}
