package io.ferrostate.backend;

import io.ferrostate.jni.Native;
import io.ferrostate.jni.Page;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * Rows in the order of their keys on their way into a column family, of which they become part all at
 * once, in place of rows with the same keys. Closed before that, it leaves everything as it was. For
 * one thread; whoever writes to the column family meanwhile spoils the order.
 */
public final class BulkLoad implements AutoCloseable {

    /** Layout of a page: see {@link Native#scan}. */
    private static final int HEADER = 2 * Integer.BYTES;

    private static final int CAPACITY = 1 << 16;

    private final Column column;
    private final long handle;
    private final Page page;

    private ByteBuffer rows = allocate(CAPACITY);
    private int count;
    private boolean closed;

    public BulkLoad(Column column) throws IOException {
        this.column = column;
        this.handle = column.call(Native::sstOpen);
        this.page = new Page(CAPACITY);
        clear();
    }

    public void add(
            byte[] key, int keyOffset, int keyLength, byte[] value, int valueOffset, int valueLength)
            throws IOException {
        long needed = (long) HEADER + keyLength + valueLength;
        if (needed > rows.remaining()) {
            makeRoom(needed);
        }
        rows.putInt(keyLength).putInt(valueLength);
        rows.put(key, keyOffset, keyLength).put(value, valueOffset, valueLength);
        count++;
    }

    private void makeRoom(long needed) throws IOException {
        flush();
        if (needed > rows.remaining()) {
            if (HEADER + needed > Integer.MAX_VALUE - 8) {
                throw new IOException(
                        "A row of state '" + column.name() + "' has " + needed
                                + " bytes: Java takes at most 2 GiB.");
            }
            rows = allocate((int) (HEADER + needed));
            clear();
        }
    }

    private void flush() throws IOException {
        if (count > 0) {
            int used = rows.putInt(0, count).position();
            page.write(0, rows.array(), 0, used);
            Native.sstAdd(handle, page.address(), used);
            page.used(used);
            if (rows.capacity() > CAPACITY) {
                rows = allocate(CAPACITY);
            }
            clear();
        }
    }

    private void clear() {
        count = 0;
        rows.clear().position(HEADER);
    }

    /** Puts the rows into the column family; closing is all that may follow. */
    public void ingest() throws IOException {
        flush();
        Native.sstIngest(handle);
    }

    @Override
    public void close() {
        if (!closed) {
            closed = true;
            page.close();
            Native.sstClose(handle);
        }
    }

    private static ByteBuffer allocate(int capacity) {
        return ByteBuffer.allocate(capacity).order(ByteOrder.nativeOrder());
    }
}
