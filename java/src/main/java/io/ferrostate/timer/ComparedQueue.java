package io.ferrostate.timer;

import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.KeyGroupRangeAssignment;
import org.apache.flink.runtime.state.KeyGroupedInternalPriorityQueue;
import org.apache.flink.runtime.state.Keyed;
import org.apache.flink.runtime.state.PriorityComparable;
import org.apache.flink.util.CloseableIterator;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.Set;

/**
 * A queue whose elements are not Flink's timers: of several key groups the one whose first element is
 * the least <em>by comparison</em> comes first, as in Flink's RocksDB backend; within one the bytes decide. The
 * library can only compare bytes, so the first elements are compared here. Flink itself has no such queue; it
 * is right, not fast: each first element that is not known is read from the database.
 */
final class ComparedQueue<T extends Keyed<?> & PriorityComparable<? super T>>
        implements KeyGroupedInternalPriorityQueue<T> {

    private final NativeTimerQueue<T> all;
    private final KeyGroupRange keyGroups;
    private final int numberOfKeyGroups;

    /** By key group, from the first one on; null where there is none. */
    private final List<T> firsts;

    private final boolean[] known;

    ComparedQueue(NativeTimerQueue<T> all, KeyGroupRange keyGroups, int numberOfKeyGroups) {
        this.all = all;
        this.keyGroups = keyGroups;
        this.numberOfKeyGroups = numberOfKeyGroups;
        this.firsts =
                new ArrayList<>(Collections.nCopies(keyGroups.getNumberOfKeyGroups(), null));
        this.known = new boolean[keyGroups.getNumberOfKeyGroups()];
    }

    private int index(T element) {
        return KeyGroupRangeAssignment.assignToKeyGroup(element.getKey(), numberOfKeyGroups)
                - keyGroups.getStartKeyGroup();
    }

    private T first(int index) {
        if (!known[index]) {
            firsts.set(index, all.firstOf(keyGroups.getStartKeyGroup() + index));
            known[index] = true;
        }
        return firsts.get(index);
    }

    @Override
    public T peek() {
        T least = null;
        for (int index = 0; index < known.length; index++) {
            T first = first(index);
            if (first != null && (least == null || first.comparePriorityTo(least) < 0)) {
                least = first;
            }
        }
        return least;
    }

    @Override
    public T poll() {
        T polled = peek();
        if (polled != null) {
            known[index(polled)] = false;
            all.remove(polled);
        }
        return polled;
    }

    @Override
    public boolean add(T element) {
        int index = index(element);
        T before = first(index);
        known[index] = false;
        all.add(element);
        return !Objects.equals(before, first(index)) && element.equals(peek());
    }

    @Override
    public boolean remove(T element) {
        int index = index(element);
        boolean wasFirst = element.equals(peek());
        known[index] = false;
        all.remove(element);
        return wasFirst;
    }

    @Override
    public void addAll(Collection<? extends T> elements) {
        if (elements != null) {
            elements.forEach(this::add);
        }
    }

    @Override
    public boolean isEmpty() {
        return all.isEmpty();
    }

    @Override
    public int size() {
        return all.size();
    }

    @Override
    public CloseableIterator<T> iterator() {
        return all.iterator();
    }

    @Override
    public Set<T> getSubsetForKeyGroup(int keyGroup) {
        return all.getSubsetForKeyGroup(keyGroup);
    }
}
