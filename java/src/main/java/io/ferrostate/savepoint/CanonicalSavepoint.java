package io.ferrostate.savepoint;

import io.ferrostate.backend.Cursors;
import io.ferrostate.backend.RegisteredState;

import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.runtime.state.CompositeKeySerializationUtils;
import org.apache.flink.runtime.state.FullSnapshotResources;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.KeyValueStateIterator;
import org.apache.flink.runtime.state.RegisteredKeyValueStateBackendMetaInfo;
import org.apache.flink.runtime.state.RegisteredStateMetaInfoBase;
import org.apache.flink.runtime.state.StateSnapshotTransformer;
import org.apache.flink.runtime.state.StreamCompressionDecorator;
import org.apache.flink.runtime.state.heap.HeapPriorityQueueSnapshotRestoreWrapper;
import org.apache.flink.runtime.state.metainfo.StateMetaInfoSnapshot;
import org.apache.flink.util.IOUtils;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;

/**
 * What Flink's savepoint writer needs of a backend, frozen in the synchronous part: the states' meta
 * infos and one open scan a state. The format is Flink's and written by Flink.
 */
public final class CanonicalSavepoint<K> implements FullSnapshotResources<K> {

    private final KeyGroupRange keyGroupRange;
    private final int keyGroupBytes;
    private final TypeSerializer<K> keySerializer;
    private final StreamCompressionDecorator compression;
    private final List<StateMetaInfoSnapshot> metaInfos = new ArrayList<>();
    private final List<StateRows> rows = new ArrayList<>();

    public CanonicalSavepoint(
            KeyGroupRange keyGroupRange,
            int numberOfKeyGroups,
            TypeSerializer<K> keySerializer,
            StreamCompressionDecorator compression) {
        this.keyGroupRange = keyGroupRange;
        this.keyGroupBytes =
                CompositeKeySerializationUtils.computeRequiredBytesInKeyGroupPrefix(
                        numberOfKeyGroups);
        this.keySerializer = keySerializer;
        this.compression = compression;
    }

    /** Adds states, in the order of their registration and before any queue. */
    public void addStates(Collection<RegisteredState> states, Cursors cursors) throws IOException {
        for (RegisteredState state : states) {
            metaInfos.add(state.snapshot());
            rows.add(
                    new ColumnRows(
                            cursors.open(state.column(), false), transformer(state.metaInfo())));
        }
    }

    public void addQueues(Collection<HeapPriorityQueueSnapshotRestoreWrapper<?>> queues) {
        for (HeapPriorityQueueSnapshotRestoreWrapper<?> queue : queues) {
            metaInfos.add(queue.getMetaInfo().snapshot());
            rows.add(new QueueRows<>(queue.stateSnapshot(), keyGroupRange, keyGroupBytes));
        }
    }

    private static StateSnapshotTransformer<byte[]> transformer(
            RegisteredStateMetaInfoBase metaInfo) {
        if (metaInfo instanceof RegisteredKeyValueStateBackendMetaInfo) {
            return ((RegisteredKeyValueStateBackendMetaInfo<?, ?>) metaInfo)
                    .getStateSnapshotTransformFactory()
                    .createForSerializedState()
                    .orElse(null);
        }
        return null;
    }

    @Override
    public List<StateMetaInfoSnapshot> getMetaInfoSnapshots() {
        return metaInfos;
    }

    @Override
    public KeyValueStateIterator createKVStateIterator() throws IOException {
        return new MergedRows(rows, keyGroupBytes);
    }

    @Override
    public KeyGroupRange getKeyGroupRange() {
        return keyGroupRange;
    }

    @Override
    public TypeSerializer<K> getKeySerializer() {
        return keySerializer;
    }

    @Override
    public StreamCompressionDecorator getStreamCompressionDecorator() {
        return compression;
    }

    @Override
    public void release() {
        IOUtils.closeAllQuietly(rows);
    }
}
