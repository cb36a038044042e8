package io.ferrostate.timer;

import io.ferrostate.backend.RowCursor;
import io.ferrostate.backend.ScanPage;

import org.apache.flink.util.CloseableIterator;

import java.io.IOException;
import java.util.NoSuchElementException;

/** Timers that a cursor reads from the store. Closes it at the end, or when closed before. */
final class TimerIterator<T> implements CloseableIterator<T> {

    private final TimerStore<T> store;
    private final RowCursor cursor;
    private final int keyGroupBytes;

    /** The cursor stands at a timer that was not returned yet. */
    private boolean atNext;

    private boolean ended;

    TimerIterator(TimerStore<T> store, RowCursor cursor, int keyGroupBytes) {
        this.store = store;
        this.cursor = cursor;
        this.keyGroupBytes = keyGroupBytes;
    }

    @Override
    public boolean hasNext() {
        if (!atNext && !ended) {
            try {
                atNext = cursor.next();
            } catch (IOException e) {
                throw store.failed("read timers", e);
            }
            if (!atNext) {
                close();
            }
        }
        return atNext;
    }

    @Override
    public T next() {
        if (!hasNext()) {
            throw new NoSuchElementException("There are no more timers.");
        }
        atNext = false;
        ScanPage row = cursor.row();
        return store.deserialize(
                row.bytes(), row.keyOffset() + keyGroupBytes, row.keyLength() - keyGroupBytes);
    }

    /** Goes past the next timer; false at the end. */
    boolean skip() {
        boolean skipped = hasNext();
        atNext = false;
        return skipped;
    }

    @Override
    public void close() {
        ended = true;
        atNext = false;
        cursor.close();
    }
}
