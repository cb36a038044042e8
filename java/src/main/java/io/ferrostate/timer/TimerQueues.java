package io.ferrostate.timer;

import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.runtime.state.KeyGroupedInternalPriorityQueue;
import org.apache.flink.runtime.state.Keyed;
import org.apache.flink.runtime.state.PriorityComparable;
import org.apache.flink.runtime.state.heap.HeapPriorityQueueElement;
import org.apache.flink.runtime.state.heap.HeapPriorityQueueSnapshotRestoreWrapper;

import java.util.Collection;

/** The timer queues of one backend, wherever they keep their timers. For the task's thread. */
public interface TimerQueues {

    /** A new queue, or the one of that name: restored, or asked for before. */
    <T extends HeapPriorityQueueElement & PriorityComparable<? super T> & Keyed<?>>
            KeyGroupedInternalPriorityQueue<T> create(
                    String name, TypeSerializer<T> serializer, boolean allowFutureUpdates);

    /** Queues whose timers are not in the database, in the order of their registration. */
    Collection<HeapPriorityQueueSnapshotRestoreWrapper<?>> heapQueues();

    boolean areOnHeap();
}
