package io.ferrostate.backend;

import io.ferrostate.jni.Native;
import io.ferrostate.jni.Page;

import java.io.IOException;

/**
 * The rows of a column family as they were when it was opened, in byte order, a page at a time.
 * It may be closed by another thread than the one that reads.
 */
public final class RowCursor implements AutoCloseable {

    private static final int CAPACITY = 1 << 16;

    private final Cursors owner;
    private final long handle;
    private final Page page;

    private ScanPage rows;
    private boolean closed;

    private RowCursor(Cursors owner, long handle) {
        this.owner = owner;
        this.handle = handle;
        this.page = new Page(CAPACITY);
    }

    static RowCursor ofAll(Cursors owner, Column column, boolean keysOnly) throws IOException {
        return new RowCursor(owner, column.call(state -> Native.cursorOpen(state, keysOnly)));
    }

    /** Null if there are none. */
    static RowCursor ofTimers(Cursors owner, Column column, int keyGroup) throws IOException {
        long handle = column.call(state -> Native.timersCursor(state, keyGroup));
        return handle == 0 ? null : new RowCursor(owner, handle);
    }

    /** Goes to the next row; false at the end. */
    public boolean next() throws IOException {
        if (rows != null && rows.next()) {
            return true;
        }
        rows = fill();
        return rows.next();
    }

    /** The row, good until {@link #next()}: key and value lie in its bytes. */
    public ScanPage row() {
        return rows;
    }

    private synchronized ScanPage fill() throws IOException {
        int used = 0;
        do {
            if (closed) {
                throw new IllegalStateException("The scan was closed.");
            }
            page.ensureCapacity(-(long) used);
            used = Native.cursorNext(handle, page.address(), page.capacity());
        } while (used < 0);
        return ScanPage.copyOf(page, used);
    }

    @Override
    public synchronized void close() {
        if (!closed) {
            closed = true;
            owner.remove(this);
            page.close();
            Native.cursorClose(handle);
        }
    }
}
