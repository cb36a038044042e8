package io.ferrostate.timer;

import io.ferrostate.backend.Column;
import io.ferrostate.backend.Cursors;
import io.ferrostate.backend.Database;
import io.ferrostate.backend.RegisteredState;
import io.ferrostate.backend.RowCursor;
import io.ferrostate.backend.ScanPage;

import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.runtime.state.HeapPriorityQueuesManager;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.KeyGroupedInternalPriorityQueue;
import org.apache.flink.runtime.state.Keyed;
import org.apache.flink.runtime.state.PriorityComparable;
import org.apache.flink.runtime.state.RegisteredPriorityQueueStateBackendMetaInfo;
import org.apache.flink.runtime.state.heap.HeapPriorityQueueElement;
import org.apache.flink.runtime.state.heap.HeapPriorityQueueSetFactory;
import org.apache.flink.runtime.state.heap.HeapPriorityQueueSnapshotRestoreWrapper;
import org.apache.flink.util.FlinkRuntimeException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Timers on the heap. Those that were restored as rows (a checkpoint of Flink's RocksDB backend, or a
 * canonical savepoint) move to the heap when their queue is asked for, and their column family goes.
 */
public final class HeapTimerQueues implements TimerQueues {

    private static final Logger LOG = LoggerFactory.getLogger(TimerQueues.class);

    private static final int INITIAL_CAPACITY = 128;

    private final Database database;
    private final Map<String, RegisteredState> states;
    private final Cursors cursors;
    private final int keyGroupBytes;
    private final HeapPriorityQueuesManager manager;

    public HeapTimerQueues(
            Database database,
            Map<String, RegisteredState> states,
            Cursors cursors,
            KeyGroupRange keyGroupRange,
            int numberOfKeyGroups,
            int keyGroupBytes) {
        this.database = database;
        this.states = states;
        this.cursors = cursors;
        this.keyGroupBytes = keyGroupBytes;
        this.manager =
                new HeapPriorityQueuesManager(
                        new LinkedHashMap<>(),
                        new HeapPriorityQueueSetFactory(
                                keyGroupRange, numberOfKeyGroups, INITIAL_CAPACITY),
                        keyGroupRange,
                        numberOfKeyGroups);
    }

    @Override
    public <T extends HeapPriorityQueueElement & PriorityComparable<? super T> & Keyed<?>>
            KeyGroupedInternalPriorityQueue<T> create(
                    String name, TypeSerializer<T> serializer, boolean allowFutureUpdates) {
        KeyGroupedInternalPriorityQueue<T> queue =
                manager.createOrUpdate(name, serializer, allowFutureUpdates);
        RegisteredState restored = states.get(name);
        if (restored != null) {
            take(restored, serializer, queue);
        }
        return queue;
    }

    @Override
    public Collection<HeapPriorityQueueSnapshotRestoreWrapper<?>> heapQueues() {
        return manager.getRegisteredPQStates().values();
    }

    @Override
    public boolean areOnHeap() {
        return true;
    }

    private <T extends HeapPriorityQueueElement & PriorityComparable<? super T> & Keyed<?>>
            void take(
                    RegisteredState restored,
                    TypeSerializer<T> serializer,
                    KeyGroupedInternalPriorityQueue<T> queue) {
        String name = restored.metaInfo().getName();
        try {
            int count = read(restored.column(), readable(restored, serializer), queue);
            database.drop(restored.column());
            states.remove(name);
            LOG.info("Moved {} restored timers of '{}' to the heap.", count, name);
        } catch (Exception e) {
            throw new FlinkRuntimeException(
                    "Could not move the restored timers of '" + name + "' to the heap.", e);
        }
    }

    /** The serializer that wrote the rows. */
    private static <T> TypeSerializer<T> readable(
            RegisteredState restored, TypeSerializer<T> serializer) {
        RegisteredPriorityQueueStateBackendMetaInfo<T> metaInfo = TimerColumns.metaInfo(restored);
        TypeSerializer<T> previous = metaInfo.getPreviousElementSerializer();
        TimerColumns.update(metaInfo, serializer);
        return previous;
    }

    private <T extends HeapPriorityQueueElement & PriorityComparable<? super T> & Keyed<?>>
            int read(
                    Column column,
                    TypeSerializer<T> serializer,
                    KeyGroupedInternalPriorityQueue<T> queue)
                    throws IOException {
        DataInputDeserializer input = new DataInputDeserializer();
        int count = 0;
        try (RowCursor rows = cursors.open(column, true)) {
            while (rows.next()) {
                ScanPage row = rows.row();
                input.setBuffer(
                        row.bytes(),
                        row.keyOffset() + keyGroupBytes,
                        row.keyLength() - keyGroupBytes);
                queue.add(serializer.deserialize(input));
                count++;
            }
        }
        return count;
    }
}
