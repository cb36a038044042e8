package io.ferrostate.timer;

import io.ferrostate.backend.Column;
import io.ferrostate.backend.Cursors;
import io.ferrostate.backend.RowCursor;
import io.ferrostate.backend.ScanPage;
import io.ferrostate.backend.StateAccess;

import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.util.CloseableIterator;

import java.io.IOException;
import java.util.NoSuchElementException;

/**
 * The timers of some key groups, read from the database one key group after the other, each as it is when
 * it is begun. Closes what it reads from at the end, or when closed before.
 */
final class TimerIterator<T> implements CloseableIterator<T> {

    private final Column column;
    private final StateAccess<?> access;
    private final Cursors cursors;
    private final TimerBytes<T> bytes;
    private final int lastKeyGroup;

    private int nextKeyGroup;

    /** Of the present key group; null between two of them. */
    private RowCursor cursor;

    /** The cursor stands at a timer that was not returned yet. */
    private boolean atNext;

    TimerIterator(
            Column column,
            StateAccess<?> access,
            Cursors cursors,
            TimerBytes<T> bytes,
            KeyGroupRange keyGroups) {
        this.column = column;
        this.access = access;
        this.cursors = cursors;
        this.bytes = bytes;
        this.nextKeyGroup = keyGroups.getStartKeyGroup();
        this.lastKeyGroup = keyGroups.getEndKeyGroup();
    }

    @Override
    public boolean hasNext() {
        try {
            while (!atNext && (cursor != null || nextKeyGroup <= lastKeyGroup)) {
                if (cursor == null) {
                    cursor = open(nextKeyGroup++);
                } else if (cursor.next()) {
                    atNext = true;
                } else {
                    closeCursor();
                }
            }
            return atNext;
        } catch (IOException e) {
            throw bytes.failed("read timers", e);
        }
    }

    /** Null if the key group has no timers. */
    private RowCursor open(int keyGroup) throws IOException {
        access.enter();
        try {
            return cursors.openTimers(column, keyGroup);
        } finally {
            access.exit();
        }
    }

    @Override
    public T next() {
        if (!hasNext()) {
            throw new NoSuchElementException("There are no more timers.");
        }
        atNext = false;
        ScanPage row = cursor.row();
        return bytes.deserialize(row.bytes(), row.keyOffset(), row.keyLength());
    }

    @Override
    public void close() {
        nextKeyGroup = lastKeyGroup + 1;
        atNext = false;
        closeCursor();
    }

    private void closeCursor() {
        if (cursor != null) {
            cursor.close();
            cursor = null;
        }
    }
}
