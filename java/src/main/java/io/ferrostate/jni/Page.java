package io.ferrostate.jni;

import org.apache.flink.core.memory.MemorySegment;
import org.apache.flink.core.memory.MemorySegmentFactory;

import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * A piece of native memory that Java and the library both see. Bytes go in and out in one copy each:
 * serializing into it byte by byte costs more than the copy (docs/decisions/0002). Owns the memory and
 * its size. For one thread at a time.
 *
 * <p>Closing or resizing frees the Flink segment first, so that a late access throws {@link
 * IllegalStateException} and never touches memory that is gone.
 */
public final class Page implements AutoCloseable {

    /** Where the bytes come from: the library, or a buffer in tests. */
    interface Memory {

        /** Makes the memory this large, keeping the bytes that fit; a former view is dead. */
        ByteBuffer resize(int capacity);

        void close();
    }

    /** As an array in Java: some JVMs use the last few sizes themselves. */
    private static final int MAX_CAPACITY = Integer.MAX_VALUE - 8;

    /** Pages that grew beyond this are shrunk again when nothing needs the room any more. */
    private static final int KEEP_CAPACITY = 1 << 20;

    /** So many uses in a row must have done with less before a page shrinks. */
    private static final int USES_BEFORE_SHRINKING = 256;

    private final Memory memory;
    private final int initialCapacity;

    private MemorySegment segment;
    private int capacity;
    private int smallUses;

    /** 0 when there is no memory to use. */
    private long address;

    private boolean closed;

    public Page(int initialCapacity) {
        this(new NativeMemory(initialCapacity), initialCapacity);
    }

    Page(Memory memory, int initialCapacity) {
        this.memory = memory;
        this.initialCapacity = initialCapacity;
        view(initialCapacity);
    }

    /** Address of the first byte; changes when the page grows. */
    public long address() {
        if (address == 0) {
            throw closed();
        }
        return address;
    }

    public int capacity() {
        return capacity;
    }

    MemorySegment segment() {
        return segment;
    }

    /** Copies bytes into the page, making room for them. */
    public void write(int at, byte[] source, int offset, int length) throws IOException {
        ensureCapacity((long) at + length);
        segment.put(at, source, offset, length);
    }

    /** Copies bytes out of the page. */
    public void read(int at, byte[] target, int offset, int length) {
        segment.get(at, target, offset, length);
    }

    /** Makes room for so many bytes, keeping what is there. */
    public void ensureCapacity(long needed) throws IOException {
        if (needed <= capacity) {
            return;
        }
        if (address == 0) {
            throw closed();
        }
        if (needed > MAX_CAPACITY) {
            throw new IOException(
                    "Serialization failed because the record length would exceed 2GB (" + needed
                            + " bytes).");
        }
        view((int) Math.min(MAX_CAPACITY, Math.max(needed, 2L * capacity)));
    }

    /**
     * Tells how much the last use needed, so that one very large value does not hold its memory for
     * ever. The content is lost when the page shrinks.
     */
    public void used(int bytes) {
        if (capacity <= KEEP_CAPACITY) {
            return;
        }
        if (bytes > KEEP_CAPACITY) {
            smallUses = 0;
        } else if (++smallUses >= USES_BEFORE_SHRINKING) {
            view(initialCapacity);
        }
    }

    @Override
    public void close() {
        if (!closed) {
            closed = true;
            retire();
            memory.close();
        }
    }

    /** From here on nothing is read or written through the old view. */
    private void retire() {
        address = 0;
        capacity = 0;
        if (segment != null) {
            segment.free();
        }
    }

    private void view(int newCapacity) {
        retire();
        // Should the memory not be had, the page cannot be used any more, but be closed.
        ByteBuffer buffer = memory.resize(newCapacity);
        segment = MemorySegmentFactory.wrapOffHeapMemory(buffer);
        address = segment.getAddress();
        capacity = newCapacity;
        smallUses = 0;
    }

    private static IllegalStateException closed() {
        return new IllegalStateException("The page is closed: the state backend was disposed.");
    }

    /** Memory that the library owns. */
    private static final class NativeMemory implements Memory {

        private final long handle;
        private int capacity;

        NativeMemory(int capacity) {
            this.handle = Native.pageOpen(capacity);
            this.capacity = capacity;
        }

        @Override
        public ByteBuffer resize(int newCapacity) {
            if (newCapacity != capacity) {
                Native.pageResize(handle, newCapacity);
                capacity = newCapacity;
            }
            return Native.pageBuffer(handle);
        }

        @Override
        public void close() {
            Native.pageClose(handle);
        }
    }
}
