package io.ferrostate.timer;

import io.ferrostate.backend.Column;
import io.ferrostate.backend.Cursors;
import io.ferrostate.backend.Database;
import io.ferrostate.backend.RegisteredState;
import io.ferrostate.backend.StateAccess;
import io.ferrostate.jni.Native;

import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.common.typeutils.TypeSerializerSchemaCompatibility;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.KeyGroupedInternalPriorityQueue;
import org.apache.flink.runtime.state.Keyed;
import org.apache.flink.runtime.state.PriorityComparable;
import org.apache.flink.runtime.state.RegisteredPriorityQueueStateBackendMetaInfo;
import org.apache.flink.runtime.state.heap.HeapPriorityQueueElement;
import org.apache.flink.runtime.state.heap.HeapPriorityQueueSnapshotRestoreWrapper;
import org.apache.flink.streaming.api.operators.TimerSerializer;
import org.apache.flink.util.FlinkRuntimeException;

import java.io.IOException;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Timers in the database: a column family a queue, registered among the states, so that every snapshot
 * contains it.
 */
public final class NativeTimerQueues implements TimerQueues {

    private final Database database;
    private final Map<String, RegisteredState> states;
    private final StateAccess<?> access;
    private final Cursors cursors;
    private final KeyGroupRange keyGroupRange;
    private final int cacheSize;
    private final Map<String, NativeTimerQueue<?>> queues = new LinkedHashMap<>();

    /** @param cacheSize timers of each key group that may be in memory at least. */
    public NativeTimerQueues(
            Database database,
            Map<String, RegisteredState> states,
            StateAccess<?> access,
            Cursors cursors,
            KeyGroupRange keyGroupRange,
            int cacheSize) {
        this.database = database;
        this.states = states;
        this.access = access;
        this.cursors = cursors;
        this.keyGroupRange = keyGroupRange;
        this.cacheSize = cacheSize;
    }

    @Override
    public <T extends HeapPriorityQueueElement & PriorityComparable<? super T> & Keyed<?>>
            KeyGroupedInternalPriorityQueue<T> create(
                    String name, TypeSerializer<T> serializer, boolean allowFutureUpdates) {
        RegisteredState known = states.get(name);
        TypeSerializer<T> used = known == null ? serializer : compatible(known, serializer);
        Column column = known == null ? newColumn(name) : known.column();
        RegisteredPriorityQueueStateBackendMetaInfo<T> metaInfo =
                new RegisteredPriorityQueueStateBackendMetaInfo<>(name, used);
        states.put(
                name,
                new RegisteredState(
                        allowFutureUpdates ? metaInfo.withSerializerUpgradesAllowed() : metaInfo,
                        column));
        return queue(column, used, known == null);
    }

    private Column newColumn(String name) {
        try {
            return database.column(name);
        } catch (IOException e) {
            throw new FlinkRuntimeException(
                    "Could not create the timer queue '" + name + "': " + e.getMessage(), e);
        }
    }

    /** The serializer for timers whose bytes are there already: they are keys, and stay as they are. */
    private static <T> TypeSerializer<T> compatible(
            RegisteredState known, TypeSerializer<T> serializer) {
        RegisteredPriorityQueueStateBackendMetaInfo<T> metaInfo = TimerColumns.metaInfo(known);
        TypeSerializer<T> previous = metaInfo.getPreviousElementSerializer();
        TypeSerializerSchemaCompatibility<T> compatibility =
                TimerColumns.update(metaInfo, serializer);
        if (compatibility.isCompatibleAfterMigration()) {
            throw TimerColumns.refused(metaInfo, serializer, previous, "must not need migration");
        }
        return metaInfo.getElementSerializer();
    }

    @SuppressWarnings("unchecked")
    private <T extends HeapPriorityQueueElement & PriorityComparable<? super T> & Keyed<?>>
            KeyGroupedInternalPriorityQueue<T> queue(
                    Column column, TypeSerializer<T> serializer, boolean empty) {
        NativeTimerQueue<T> queue = (NativeTimerQueue<T>) queues.get(column.name());
        if (queue == null) {
            openTimers(column, empty);
            TimerBytes<T> bytes =
                    new TimerBytes<>(column.name(), access.keyGroupBytes(), serializer);
            queue = new NativeTimerQueue<>(column, access, cursors, keyGroupRange, bytes);
            queues.put(column.name(), queue);
        } else {
            queue.timerBytes().useSerializer(serializer);
        }
        // Their bytes begin with their time: what is first by bytes is so by comparison.
        return serializer instanceof TimerSerializer
                ? queue
                : new ComparedQueue<>(queue, keyGroupRange, access.numberOfKeyGroups());
    }

    private void openTimers(Column column, boolean empty) {
        try {
            column.call(
                    state -> {
                        Native.timersOpen(
                                state,
                                keyGroupRange.getStartKeyGroup(),
                                keyGroupRange.getNumberOfKeyGroups(),
                                access.keyGroupBytes(),
                                empty,
                                cacheSize);
                        return null;
                    });
        } catch (IOException e) {
            throw new FlinkRuntimeException(
                    "Could not open the timer queue '" + column.name() + "': " + e.getMessage(), e);
        }
    }

    @Override
    public Collection<HeapPriorityQueueSnapshotRestoreWrapper<?>> heapQueues() {
        return Collections.emptyList();
    }

    @Override
    public boolean areOnHeap() {
        return false;
    }
}
