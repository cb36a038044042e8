package io.ferrostate.backend;

import io.ferrostate.checkpoint.CheckpointStrategy;
import io.ferrostate.checkpoint.SnapshotHandover;
import io.ferrostate.jni.Native;
import io.ferrostate.savepoint.CanonicalSavepoint;
import io.ferrostate.timer.TimerQueues;

import org.apache.flink.api.common.ExecutionConfig;
import org.apache.flink.api.common.state.State;
import org.apache.flink.api.common.state.StateDescriptor;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.core.fs.CloseableRegistry;
import org.apache.flink.runtime.checkpoint.CheckpointOptions;
import org.apache.flink.runtime.checkpoint.SavepointType;
import org.apache.flink.runtime.checkpoint.SnapshotType;
import org.apache.flink.runtime.query.TaskKvStateRegistry;
import org.apache.flink.runtime.state.AbstractKeyedStateBackend;
import org.apache.flink.runtime.state.CheckpointStreamFactory;
import org.apache.flink.runtime.state.KeyGroupedInternalPriorityQueue;
import org.apache.flink.runtime.state.Keyed;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.PriorityComparable;
import org.apache.flink.runtime.state.SavepointResources;
import org.apache.flink.runtime.state.SnapshotExecutionType;
import org.apache.flink.runtime.state.SnapshotResources;
import org.apache.flink.runtime.state.SnapshotResult;
import org.apache.flink.runtime.state.SnapshotStrategyRunner;
import org.apache.flink.runtime.state.StateBackendLoader;
import org.apache.flink.runtime.state.StateSnapshotTransformer.StateSnapshotTransformFactory;
import org.apache.flink.runtime.state.StreamCompressionDecorator;
import org.apache.flink.runtime.state.InternalKeyContext;
import org.apache.flink.runtime.state.heap.HeapPriorityQueueElement;
import org.apache.flink.runtime.state.metrics.LatencyTrackingStateConfig;
import org.apache.flink.runtime.state.metrics.SizeTrackingStateConfig;
import org.apache.flink.runtime.state.ttl.TtlTimeProvider;
import org.apache.flink.util.FlinkRuntimeException;

import java.io.IOException;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.RunnableFuture;
import java.util.stream.Stream;

/**
 * Flink's view of one operator's keyed state: hands each call to the part that does it. Built by {@link
 * FerrostateKeyedStateBackendBuilder}; except for snapshots it belongs to the task's thread.
 */
public final class FerrostateKeyedStateBackend<K> extends AbstractKeyedStateBackend<K> {

    private final BackendResources resources;
    private final StateAccess<K> access;
    private final Map<String, RegisteredState> states;
    private final StateRegistrar<K> registrar;
    private final TimerQueues timers;
    private final KeyStreams<K> keyStreams;

    /** Null where the library reads the system's clock itself. */
    private final TtlClock ttlClock;

    private boolean disposed;

    FerrostateKeyedStateBackend(
            TaskKvStateRegistry kvStateRegistry,
            ClassLoader userCodeClassLoader,
            ExecutionConfig executionConfig,
            TtlTimeProvider ttlTimeProvider,
            LatencyTrackingStateConfig latencyTrackingStateConfig,
            SizeTrackingStateConfig sizeTrackingStateConfig,
            CloseableRegistry cancelStreamRegistry,
            StreamCompressionDecorator compression,
            InternalKeyContext<K> keyContext,
            BackendResources resources,
            StateAccess<K> access,
            TtlFilters ttlFilters,
            Map<String, RegisteredState> states,
            TimerQueues timers) {
        super(
                kvStateRegistry,
                access.keySerializer(),
                userCodeClassLoader,
                executionConfig,
                ttlTimeProvider,
                latencyTrackingStateConfig,
                sizeTrackingStateConfig,
                cancelStreamRegistry,
                compression,
                keyContext);
        this.resources = resources;
        this.access = access;
        this.states = states;
        Database database = resources.database();
        Cursors cursors = resources.cursors();
        this.registrar =
                new StateRegistrar<>(
                        database,
                        states,
                        access,
                        new StateMigration(
                                access.keyGroupBytes(),
                                cursors,
                                ttlTimeProvider,
                                cancelStreamRegistry),
                        ttlFilters);
        this.timers = timers;
        this.keyStreams = new KeyStreams<>(states, cursors, access);
        this.ttlClock = ttlTimeProvider instanceof TtlClock ? (TtlClock) ttlTimeProvider : null;
    }

    // ---- keys ----------------------------------------------------------------------------------

    @Override
    public void setCurrentKey(K newKey) {
        super.setCurrentKey(newKey);
        writeKey();
    }

    @Override
    public void setCurrentKeyAndKeyGroup(K newKey, int newKeyGroupIndex) {
        super.setCurrentKeyAndKeyGroup(newKey, newKeyGroupIndex);
        writeKey();
    }

    private void writeKey() {
        tellTime();
        try {
            access.setKey(getCurrentKey(), getCurrentKeyGroupIndex());
        } catch (IOException e) {
            throw new FlinkRuntimeException("Could not serialize a key with " + keySerializer, e);
        }
    }

    @Override
    public <N> Stream<K> getKeys(String state, N namespace) {
        return keyStreams.keys(Collections.singletonList(state), namespace);
    }

    @Override
    public <N> Stream<K> getKeys(List<String> stateNames, N namespace) {
        return keyStreams.keys(stateNames, namespace);
    }

    @Override
    public <N> Stream<Tuple2<K, N>> getKeysAndNamespaces(String state) {
        return keyStreams.keysAndNamespaces(state);
    }

    /** Number of rows of all states; an entry of a map is a row, and so is a timer. For tests. */
    @Override
    public int numKeyValueStateEntries() {
        int count = 0;
        for (RegisteredState state : states.values()) {
            try (RowCursor rows = resources.cursors().open(state.column(), true)) {
                while (rows.next()) {
                    count++;
                }
            } catch (IOException e) {
                throw new FlinkRuntimeException("Could not count the rows of " + state.column(), e);
            }
        }
        return count;
    }

    /** For each record too: a wrapper around this backend (changelog) has Flink read another clock. */
    private void tellTime() {
        if (ttlClock != null) {
            ttlClock.currentTimestamp();
        }
    }

    /** Whether what a rescale left is still being compacted away. For tests. */
    boolean isSettling() throws IOException {
        return "1".equals(
                resources
                        .database()
                        .call(open -> Native.dbProperty(open, 0, "ferrostate.is-settling")));
    }

    /** Compacts all states, dropping what has expired by now. For tests. */
    void compact() throws IOException {
        tellTime();
        resources
                .database()
                .call(
                        database -> {
                            Native.dbCompact(database);
                            return null;
                        });
    }

    /** For tests. */
    Database database() {
        return resources.database();
    }

    /** What Flink's states ask for the time, see {@link TtlClock}. For tests. */
    TtlTimeProvider timeProvider() {
        return ttlTimeProvider;
    }

    // ---- states and timers ---------------------------------------------------------------------

    @Override
    public <N, SV, SEV, S extends State, IS extends S> IS createOrUpdateInternalState(
            TypeSerializer<N> namespaceSerializer,
            StateDescriptor<S, SV> stateDesc,
            StateSnapshotTransformFactory<SEV> snapshotTransformFactory)
            throws Exception {
        return createOrUpdateInternalState(
                namespaceSerializer, stateDesc, snapshotTransformFactory, false);
    }

    @Override
    @SuppressWarnings("unchecked")
    public <N, SV, SEV, S extends State, IS extends S> IS createOrUpdateInternalState(
            TypeSerializer<N> namespaceSerializer,
            StateDescriptor<S, SV> stateDesc,
            StateSnapshotTransformFactory<SEV> snapshotTransformFactory,
            boolean allowFutureMetadataUpdates)
            throws Exception {
        return (IS)
                registrar.createOrUpdate(
                        namespaceSerializer,
                        stateDesc,
                        snapshotTransformFactory,
                        allowFutureMetadataUpdates);
    }

    @Override
    public <T extends HeapPriorityQueueElement & PriorityComparable<? super T> & Keyed<?>>
            KeyGroupedInternalPriorityQueue<T> create(
                    String stateName, TypeSerializer<T> byteOrderedElementSerializer) {
        return create(stateName, byteOrderedElementSerializer, false);
    }

    @Override
    public <T extends HeapPriorityQueueElement & PriorityComparable<? super T> & Keyed<?>>
            KeyGroupedInternalPriorityQueue<T> create(
                    String stateName,
                    TypeSerializer<T> byteOrderedElementSerializer,
                    boolean allowFutureMetadataUpdates) {
        return timers.create(stateName, byteOrderedElementSerializer, allowFutureMetadataUpdates);
    }

    // ---- snapshots -----------------------------------------------------------------------------

    @Override
    public RunnableFuture<SnapshotResult<KeyedStateHandle>> snapshot(
            long checkpointId,
            long timestamp,
            CheckpointStreamFactory streamFactory,
            CheckpointOptions checkpointOptions)
            throws Exception {
        NativeLog.drain();
        tellTime();
        return snapshot(
                resources.checkpoints(), checkpointId, timestamp, streamFactory, checkpointOptions);
    }

    private <R extends SnapshotResources> RunnableFuture<SnapshotResult<KeyedStateHandle>> snapshot(
            CheckpointStrategy<R> strategy,
            long checkpointId,
            long timestamp,
            CheckpointStreamFactory streamFactory,
            CheckpointOptions checkpointOptions)
            throws Exception {
        SnapshotHandover<R> handover = new SnapshotHandover<>(strategy);
        return handover.around(
                new SnapshotStrategyRunner<>(
                                strategy.description(),
                                handover,
                                cancelStreamRegistry,
                                SnapshotExecutionType.ASYNCHRONOUS)
                        .snapshot(checkpointId, timestamp, streamFactory, checkpointOptions));
    }

    @Override
    public SavepointResources<K> savepoint() throws Exception {
        CanonicalSavepoint<K> savepoint =
                new CanonicalSavepoint<>(
                        keyGroupRange,
                        numberOfKeyGroups,
                        keySerializer,
                        keyGroupCompressionDecorator);
        try {
            savepoint.addStates(states.values(), resources.cursors());
            savepoint.addQueues(timers.heapQueues());
        } catch (IOException | RuntimeException e) {
            savepoint.release();
            throw e;
        }
        return new SavepointResources<>(savepoint, SnapshotExecutionType.ASYNCHRONOUS);
    }

    @Override
    public void notifyCheckpointComplete(long checkpointId) throws Exception {
        resources.checkpoints().notifyCheckpointComplete(checkpointId);
    }

    @Override
    public void notifyCheckpointAborted(long checkpointId) throws Exception {
        resources.checkpoints().notifyCheckpointAborted(checkpointId);
    }

    /**
     * Timers of the heap are part of canonical savepoints; all other snapshots consist of database
     * files, so there Flink has to write them to raw keyed state.
     */
    @Override
    public boolean requiresLegacySynchronousTimerSnapshots(SnapshotType checkpointType) {
        return timers.areOnHeap()
                && !(checkpointType instanceof SavepointType
                        && ((SavepointType) checkpointType).getFormatType()
                                == SavepointFormatType.CANONICAL);
    }

    // ---- the rest ------------------------------------------------------------------------------

    /**
     * Timers of the heap hold the key objects that they are registered with: table operators that
     * reuse those objects when this returns true would change the keys of waiting timers. Those in
     * the database are bytes.
     */
    @Override
    public boolean isSafeToReuseKVState() {
        return !timers.areOnHeap();
    }

    /**
     * Table operators choose by this name: for RocksDB they iterate maps in the order of the bytes
     * and stop early, which holds here too.
     */
    @Override
    public String getBackendTypeIdentifier() {
        return StateBackendLoader.ROCKSDB_STATE_BACKEND_NAME;
    }

    @Override
    public void dispose() {
        if (disposed) {
            return;
        }
        access.checkNotInUse();
        disposed = true;
        super.dispose();
        resources.close();
        states.clear();
    }
}
