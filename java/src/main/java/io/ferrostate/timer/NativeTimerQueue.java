package io.ferrostate.timer;

import io.ferrostate.backend.Column;
import io.ferrostate.backend.Cursors;
import io.ferrostate.backend.StateAccess;
import io.ferrostate.jni.Native;

import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.KeyGroupRangeAssignment;
import org.apache.flink.runtime.state.KeyGroupedInternalPriorityQueue;
import org.apache.flink.runtime.state.Keyed;
import org.apache.flink.util.CloseableIterator;

import java.io.IOException;
import java.util.Collection;
import java.util.HashSet;
import java.util.Set;

/**
 * A queue that the library orders (docs/decisions/0010): timers cross the door as bytes, one call an
 * operation. Here are the bytes of the first timer, so that looking at it is no call, and the timer once
 * somebody asked for it.
 */
final class NativeTimerQueue<T extends Keyed<?>> implements KeyGroupedInternalPriorityQueue<T> {

    /** Instead of the length of the first timer: there is none. */
    private static final int NONE = -1;

    /** It has to be asked for. */
    private static final int UNKNOWN = -2;

    private final Column column;
    private final StateAccess<?> access;
    private final Cursors cursors;
    private final KeyGroupRange keyGroups;
    private final int numberOfKeyGroups;
    private final TimerBytes<T> bytes;

    private byte[] firstBytes = new byte[0];
    private int firstLength = UNKNOWN;
    private T first;

    NativeTimerQueue(
            Column column,
            StateAccess<?> access,
            Cursors cursors,
            KeyGroupRange keyGroups,
            TimerBytes<T> bytes) {
        this.column = column;
        this.access = access;
        this.cursors = cursors;
        this.keyGroups = keyGroups;
        this.numberOfKeyGroups = access.numberOfKeyGroups();
        this.bytes = bytes;
    }

    TimerBytes<T> timerBytes() {
        return bytes;
    }

    // ---- the first timer -------------------------------------------------------------------------

    @Override
    public T peek() {
        if (first != null) {
            return first;
        }
        access.enter();
        try {
            return first();
        } finally {
            access.exit();
        }
    }

    private T first() {
        if (first == null && findFirst()) {
            first = bytes.deserialize(firstBytes, 0, firstLength);
        }
        return first;
    }

    private boolean findFirst() {
        if (firstLength == UNKNOWN) {
            try {
                keepFirst(access.firstTimer(column));
            } catch (IOException e) {
                throw bytes.failed("read timers", e);
            }
        }
        return firstLength != NONE;
    }

    /** Its bytes lie in the page. */
    private void keepFirst(int length) {
        if (length > 0) {
            makeRoom(length);
            access.readTimer(firstBytes, length);
        }
        firstLength = length;
    }

    private void makeRoom(int length) {
        if (length > firstBytes.length || firstBytes.length > TimerBytes.KEEP_CAPACITY) {
            firstBytes = new byte[length];
        }
    }

    private void forgetFirst() {
        first = null;
        firstLength = UNKNOWN;
    }

    @Override
    public T poll() {
        access.enter();
        try {
            T polled = first();
            if (polled != null) {
                forgetFirst();
                keepFirst(access.pollTimer(column));
            }
            return polled;
        } catch (IOException e) {
            throw bytes.failed("remove a timer", e);
        } finally {
            access.exit();
        }
    }

    @Override
    public boolean isEmpty() {
        access.enter();
        try {
            return !findFirst();
        } finally {
            access.exit();
        }
    }

    // ---- changes ---------------------------------------------------------------------------------

    /** True if the timer is the first one now. */
    @Override
    public boolean add(T timer) {
        access.enter();
        try {
            int length = serialize(timer);
            boolean isFirst = access.addTimer(column, bytes.bytes(), length);
            if (isFirst) {
                first = null;
                makeRoom(length);
                System.arraycopy(bytes.bytes(), 0, firstBytes, 0, length);
                firstLength = length;
            }
            return isFirst;
        } catch (IOException e) {
            throw bytes.failed("add a timer", e);
        } finally {
            access.exit();
        }
    }

    /** True if the timer was the first one. */
    @Override
    public boolean remove(T timer) {
        access.enter();
        try {
            int length = serialize(timer);
            boolean wasFirst = access.removeTimer(column, bytes.bytes(), length);
            if (wasFirst) {
                forgetFirst();
            }
            return wasFirst;
        } catch (IOException e) {
            throw bytes.failed("remove a timer", e);
        } finally {
            access.exit();
        }
    }

    private int serialize(T timer) {
        Object key = timer.getKey();
        return bytes.serialize(
                KeyGroupRangeAssignment.assignToKeyGroup(key, numberOfKeyGroups), timer);
    }

    @Override
    public void addAll(Collection<? extends T> timers) {
        if (timers != null) {
            timers.forEach(this::add);
        }
    }

    // ---- all timers ------------------------------------------------------------------------------

    /** Reads all of them. For tests, as in Flink. */
    @Override
    public int size() {
        access.enter();
        try {
            return (int) Math.min(Integer.MAX_VALUE, column.call(Native::timersCount));
        } catch (IOException e) {
            throw bytes.failed("count the timers", e);
        } finally {
            access.exit();
        }
    }

    /** Key group by key group, each as it is when its turn comes. */
    @Override
    public CloseableIterator<T> iterator() {
        return new TimerIterator<>(column, access, cursors, bytes, keyGroups);
    }

    /** The first timer of a key group by its bytes, or null. Looks into the database. */
    T firstOf(int keyGroup) {
        try (TimerIterator<T> timers = iterator(keyGroup)) {
            return timers.hasNext() ? timers.next() : null;
        }
    }

    private TimerIterator<T> iterator(int keyGroup) {
        return new TimerIterator<>(
                column, access, cursors, bytes, KeyGroupRange.of(keyGroup, keyGroup));
    }

    @Override
    public Set<T> getSubsetForKeyGroup(int keyGroup) {
        Set<T> timers = new HashSet<>();
        try (TimerIterator<T> all = iterator(keyGroup)) {
            all.forEachRemaining(timers::add);
        }
        return timers;
    }
}
