package io.ferrostate.savepoint;

import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.apache.flink.runtime.state.CompositeKeySerializationUtils;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.heap.HeapPriorityQueueStateSnapshot;

import java.io.IOException;
import java.util.Collections;
import java.util.Iterator;

/** Timers of the heap as rows: the element is the key, the value is empty. */
final class QueueRows<T> implements StateRows {

    private static final byte[] EMPTY = new byte[0];

    private final HeapPriorityQueueStateSnapshot<T> snapshot;
    private final TypeSerializer<T> serializer;
    private final int keyGroupBytes;
    private final Iterator<Integer> keyGroups;
    private final DataOutputSerializer out = new DataOutputSerializer(64);

    private int keyGroup;
    private Iterator<T> elements = Collections.emptyIterator();

    QueueRows(
            HeapPriorityQueueStateSnapshot<T> snapshot,
            KeyGroupRange keyGroupRange,
            int keyGroupBytes) {
        this.snapshot = snapshot;
        this.serializer = snapshot.getMetaInfo().getElementSerializer();
        this.keyGroupBytes = keyGroupBytes;
        this.keyGroups = keyGroupRange.iterator();
    }

    @Override
    public boolean next() throws IOException {
        while (!elements.hasNext()) {
            if (!keyGroups.hasNext()) {
                return false;
            }
            keyGroup = keyGroups.next();
            elements = snapshot.getIteratorForKeyGroup(keyGroup);
        }
        out.clear();
        CompositeKeySerializationUtils.writeKeyGroup(keyGroup, keyGroupBytes, out);
        serializer.serialize(elements.next(), out);
        return true;
    }

    @Override
    public byte[] key() {
        return out.getCopyOfBuffer();
    }

    @Override
    public byte[] value() {
        return EMPTY;
    }

    @Override
    public void close() {}
}
