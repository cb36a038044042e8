package io.ferrostate.timer;

import io.ferrostate.backend.ScanPage;

import org.apache.flink.runtime.state.InternalPriorityQueue;
import org.apache.flink.runtime.state.heap.AbstractHeapPriorityQueueElement;
import org.apache.flink.util.CloseableIterator;

import java.util.Arrays;
import java.util.Collection;

/**
 * The timers of one key group, ordered by their bytes: the first ones in a cache, all of them in the
 * store. Two timers are the same if their bytes are.
 *
 * <p>Below {@link #bound} the cache holds every timer there is, at and above it none: what is not in
 * the cache is therefore never looked for below it. So reading begins behind everything that was
 * polled or removed, however much of that RocksDB still has to step over, and ends with the key group.
 */
final class KeyGroupQueue<T> extends AbstractHeapPriorityQueueElement
        implements InternalPriorityQueue<T> {

    private final TimerStore<T> store;
    private final byte[] keyGroup;
    private final int cacheSize;
    private final HeadCache cache;

    /** Null when all timers are in the cache. */
    private byte[] bound;

    /** The first timer, once somebody asked for it. */
    private T head;

    /** The batch with the last change at or above the bound: reading waits until it is written. */
    private long batchAboveBound;

    /**
     * @param keyGroup the bytes that its timers begin with.
     * @param empty the store has no timer of it.
     */
    KeyGroupQueue(TimerStore<T> store, byte[] keyGroup, int cacheSize, boolean empty) {
        this.store = store;
        this.keyGroup = keyGroup;
        this.cacheSize = cacheSize;
        this.cache = new HeadCache(cacheSize);
        this.bound = empty ? null : keyGroup;
    }

    @Override
    public T peek() {
        if (head != null) {
            return head;
        }
        store.enter();
        try {
            return first();
        } finally {
            store.exit();
        }
    }

    private T first() {
        refillIfEmpty();
        if (head == null && !cache.isEmpty()) {
            head = deserialize(cache.first());
        }
        return head;
    }

    @Override
    public T poll() {
        store.enter();
        try {
            T first = first();
            if (first != null) {
                head = null;
                byte[] bytes = cache.pollFirst();
                store.remove(bytes, bytes.length);
            }
            return first;
        } finally {
            store.exit();
        }
    }

    /** True if the timer is the first one now. */
    @Override
    public boolean add(T timer) {
        store.enter();
        try {
            return addInside(timer);
        } finally {
            store.exit();
        }
    }

    private boolean addInside(T timer) {
        int length = store.serialize(keyGroup, timer);
        byte[] bytes = store.bytes();
        if (isAboveBound(bytes, length)) {
            // Whether it is the first one is known only with a timer before it.
            refillIfEmpty();
        }
        if (isAboveBound(bytes, length)) {
            addAboveBound(bytes, length, false);
            return false;
        }
        int found = cache.find(bytes, length);
        return found < 0 && addBelowBound(bytes, length, -1 - found);
    }

    private boolean addBelowBound(byte[] bytes, int length, int place) {
        byte[] timer = Arrays.copyOf(bytes, length);
        if (cache.isFull() && place == cache.size()) {
            bound = timer;
            addAboveBound(timer, length, true);
            return false;
        }
        if (cache.isFull()) {
            // Its own change may wait in the present batch.
            bound = cache.pollLast();
            batchAboveBound = store.batch();
        }
        cache.add(place, timer);
        store.add(timer, length, true);
        if (place == 0) {
            head = null;
        }
        return place == 0;
    }

    private void addAboveBound(byte[] bytes, int length, boolean absent) {
        store.add(bytes, length, absent);
        batchAboveBound = store.batch();
    }

    /** True if the timer was the first one. */
    @Override
    public boolean remove(T timer) {
        store.enter();
        try {
            return removeInside(timer);
        } finally {
            store.exit();
        }
    }

    private boolean removeInside(T timer) {
        refillIfEmpty();
        if (cache.isEmpty()) {
            return false;
        }
        int length = store.serialize(keyGroup, timer);
        byte[] bytes = store.bytes();
        if (isAboveBound(bytes, length)) {
            store.remove(bytes, length);
            batchAboveBound = store.batch();
            return false;
        }
        int place = cache.find(bytes, length);
        if (place < 0) {
            return false;
        }
        cache.remove(place);
        store.remove(bytes, length);
        if (place == 0) {
            head = null;
        }
        return place == 0;
    }

    private boolean isAboveBound(byte[] bytes, int length) {
        return bound != null && HeadCache.compare(bytes, length, bound, bound.length) >= 0;
    }

    private void refillIfEmpty() {
        if (cache.isEmpty() && bound != null) {
            refill();
        }
    }

    private void refill() {
        if (batchAboveBound == store.batch()) {
            store.flush();
        }
        ScanPage page = store.scan(bound, keyGroup.length, cacheSize);
        byte[] last = null;
        while (page.next()) {
            int end = page.keyOffset() + page.keyLength();
            last = Arrays.copyOfRange(page.bytes(), page.keyOffset(), end);
            cache.addLast(last);
        }
        // The smallest bytes behind the last timer.
        bound = page.more() ? Arrays.copyOf(last, last.length + 1) : null;
    }

    private T deserialize(byte[] bytes) {
        return store.deserialize(bytes, keyGroup.length, bytes.length - keyGroup.length);
    }

    @Override
    public boolean isEmpty() {
        return peek() == null;
    }

    /** Reads all timers unless they are cached. For tests, as in Flink. */
    @Override
    public int size() {
        if (bound == null) {
            return cache.size();
        }
        int size = 0;
        try (TimerIterator<T> timers = storedTimers()) {
            while (timers.skip()) {
                size++;
            }
        }
        return size;
    }

    @Override
    public void addAll(Collection<? extends T> timers) {
        if (timers != null) {
            timers.forEach(this::add);
        }
    }

    /** The timers as they are now, whatever happens to them meanwhile. */
    @Override
    public CloseableIterator<T> iterator() {
        if (bound == null) {
            return CloseableIterator.adapterForIterator(
                    Arrays.stream(cache.copy()).map(this::deserialize).iterator());
        }
        return storedTimers();
    }

    private TimerIterator<T> storedTimers() {
        store.enter();
        try {
            store.flush();
        } finally {
            store.exit();
        }
        byte[] from = cache.isEmpty() ? bound : cache.first();
        return new TimerIterator<>(store, store.cursor(from, keyGroup.length), keyGroup.length);
    }
}
