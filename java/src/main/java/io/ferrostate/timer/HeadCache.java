package io.ferrostate.timer;

import java.util.Arrays;

/**
 * The first timers of a key group, as bytes in their order; bounded. A sorted array whose elements
 * move towards the nearer end: it is polled at the front and makes no garbage. Knows nothing of what
 * is not in it.
 */
final class HeadCache {

    private static final int INITIAL_CAPACITY = 8;
    private static final byte[][] NO_ELEMENTS = new byte[0][];

    private final int maxSize;
    private byte[][] elements = NO_ELEMENTS;
    private int start;
    private int size;

    HeadCache(int maxSize) {
        this.maxSize = maxSize;
    }

    /** Unsigned, as RocksDB compares keys. */
    static int compare(byte[] left, int leftLength, byte[] right, int rightLength) {
        return Arrays.compareUnsigned(left, 0, leftLength, right, 0, rightLength);
    }

    int size() {
        return size;
    }

    boolean isEmpty() {
        return size == 0;
    }

    boolean isFull() {
        return size == maxSize;
    }

    byte[] first() {
        return elements[start];
    }

    /** Place of these bytes; or, where they are not in here, {@code -1 - place they would have}. */
    int find(byte[] bytes, int length) {
        int low = 0;
        int high = size - 1;
        while (low <= high) {
            int middle = (low + high) >>> 1;
            byte[] element = elements[start + middle];
            int order = compare(element, element.length, bytes, length);
            if (order == 0) {
                return middle;
            }
            if (order < 0) {
                low = middle + 1;
            } else {
                high = middle - 1;
            }
        }
        return -1 - low;
    }

    /** Adds what {@link #find} did not find, at the place it told; the cache must not be full. */
    void add(int place, byte[] element) {
        if (start > 0 && (place < size / 2 || start + size == elements.length)) {
            System.arraycopy(elements, start, elements, start - 1, place);
            start--;
        } else {
            growIfAtEnd();
            int at = start + place;
            System.arraycopy(elements, at, elements, at + 1, size - place);
        }
        elements[start + place] = element;
        size++;
    }

    private void growIfAtEnd() {
        if (start + size == elements.length) {
            int capacity = Math.max(INITIAL_CAPACITY, 2 * size);
            elements = Arrays.copyOf(elements, Math.max(size + 1, Math.min(maxSize, capacity)));
        }
    }

    void addLast(byte[] element) {
        add(size, element);
    }

    byte[] pollFirst() {
        byte[] first = elements[start];
        elements[start++] = null;
        shrunk();
        return first;
    }

    byte[] pollLast() {
        int at = start + size - 1;
        byte[] last = elements[at];
        elements[at] = null;
        shrunk();
        return last;
    }

    void remove(int place) {
        if (place < size / 2) {
            System.arraycopy(elements, start, elements, start + 1, place);
            pollFirst();
        } else {
            int at = start + place;
            System.arraycopy(elements, at + 1, elements, at, size - place - 1);
            pollLast();
        }
    }

    private void shrunk() {
        size--;
        if (size == 0) {
            start = 0;
        }
    }

    /** The elements as they are now. */
    byte[][] copy() {
        return Arrays.copyOfRange(elements, start, start + size);
    }
}
