package io.ferrostate.uploads;

import static io.ferrostate.checkpoint.CheckpointFiles.CHECKPOINT;
import static io.ferrostate.checkpoint.CheckpointFiles.FULL_CHECKPOINT;

import io.ferrostate.backend.KeyedBackends;

import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeutils.base.LongSerializer;
import org.apache.flink.api.common.typeutils.base.array.BytePrimitiveArraySerializer;
import org.apache.flink.core.fs.CloseableRegistry;
import org.apache.flink.runtime.checkpoint.CheckpointOptions;
import org.apache.flink.runtime.checkpoint.SavepointType;
import org.apache.flink.runtime.state.AbstractKeyedStateBackend;
import org.apache.flink.runtime.state.CheckpointStreamFactory;
import org.apache.flink.runtime.state.FullSnapshotResources;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.KeyGroupRangeAssignment;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.SavepointResources;
import org.apache.flink.runtime.state.SavepointSnapshotStrategy;
import org.apache.flink.runtime.state.SharedStateRegistryImpl;
import org.apache.flink.runtime.state.SnapshotResult;
import org.apache.flink.runtime.state.SnapshotStrategyRunner;
import org.apache.flink.runtime.state.VoidNamespace;
import org.apache.flink.runtime.state.VoidNamespaceSerializer;
import org.apache.flink.runtime.state.ttl.TtlTimeProvider;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.RunnableFuture;

/**
 * Restores one and the same state in every way there is, and looks at what the first checkpoint then
 * brings to the store. The state lies in several levels of files and is written by Flink's own backend.
 */
final class Uploads implements AutoCloseable {

    static final int MAX_PARALLELISM = 128;

    private static final int VALUE_BYTES = 512;
    private static final long WRITTEN = 1;
    private static final ValueStateDescriptor<byte[]> STATE =
            new ValueStateDescriptor<>("values", BytePrimitiveArraySerializer.INSTANCE);

    private final long keys;
    private final long fileBytes;
    private final Store store;
    private final KeyedBackends backends = new KeyedBackends();
    private final CloseableRegistry streams = new CloseableRegistry();
    private long checkpointId = WRITTEN;

    /** @param bytes of the state, which has some dozens of files. */
    Uploads(Path directory, long bytes) throws Exception {
        this.keys = bytes / VALUE_BYTES;
        this.fileBytes = bytes / 32;
        this.store = new Store(directory);
    }

    /** The state as jobs of this parallelism left it. */
    List<KeyedStateHandle> written(Restored kind, int parallelism) throws Exception {
        List<KeyedStateHandle> handles = new ArrayList<>();
        for (KeyGroupRange range : ranges(parallelism)) {
            AbstractKeyedStateBackend<Long> backend = open(Contender.ROCKSDB, range, List.of());
            try {
                write(backend, range, keys, 1);
                // Into its levels, and a tenth of it again on top.
                Compactions.await(backend);
                write(backend, range, keys / 10, 2);
                handles.add(snapshot(backend, WRITTEN, kind.options));
            } finally {
                backend.dispose();
            }
        }
        if (kind == Restored.CHECKPOINT_FILES) {
            register(handles, WRITTEN);
        }
        return handles;
    }

    /** The JobManager's part; it replaces placeholders. */
    private static void register(List<KeyedStateHandle> handles, long id) throws Exception {
        try (SharedStateRegistryImpl registry = new SharedStateRegistryImpl()) {
            handles.forEach(handle -> handle.registerSharedStates(registry, id));
        }
    }

    /** The first checkpoint after a restore, of all subtasks; nothing of it stays. */
    Moved firstCheckpoint(
            Contender contender, List<KeyedStateHandle> from, int parallelism, boolean claim)
            throws Exception {
        long id = ++checkpointId;
        Map<Path, Object> before = store.snapshot();
        List<KeyedStateHandle> handles = new ArrayList<>();
        for (KeyGroupRange range : ranges(parallelism)) {
            AbstractKeyedStateBackend<Long> backend = open(contender, range, from);
            try {
                // What it rewrites would else be uploaded sooner or later, as the scheduler likes.
                KeyedBackends.settle(backend);
                handles.add(snapshot(backend, id, claim ? CHECKPOINT : FULL_CHECKPOINT));
            } finally {
                backend.dispose();
            }
        }
        Moved moved = store.since(before, handles);
        for (KeyedStateHandle handle : handles) {
            handle.discardState();
        }
        return moved;
    }

    /** A savepoint before the store has anything of the state, and one after a checkpoint. */
    Savepoint[] nativeSavepoints(Contender contender) throws Exception {
        KeyGroupRange range = ranges(1).get(0);
        AbstractKeyedStateBackend<Long> backend = open(contender, range, List.of());
        try {
            write(backend, range, keys, 1);
            Savepoint before = nativeSavepoint(backend);
            KeyedStateHandle checkpoint = snapshot(backend, ++checkpointId, CHECKPOINT);
            backend.notifyCheckpointComplete(checkpointId);
            Savepoint after = nativeSavepoint(backend);
            checkpoint.discardState();
            return new Savepoint[] {before, after};
        } finally {
            backend.dispose();
        }
    }

    /** How long one took, both parts, and what it moved. */
    static final class Savepoint {

        final double seconds;
        final Moved moved;

        private Savepoint(double seconds, Moved moved) {
            this.seconds = seconds;
            this.moved = moved;
        }
    }

    private Savepoint nativeSavepoint(AbstractKeyedStateBackend<Long> backend) throws Exception {
        Map<Path, Object> before = store.snapshot();
        long started = System.nanoTime();
        KeyedStateHandle handle = snapshot(backend, ++checkpointId, Restored.NATIVE.options);
        double seconds = (System.nanoTime() - started) / 1e9;
        Moved moved = store.since(before, List.of(handle));
        handle.discardState();
        return new Savepoint(seconds, moved);
    }

    private static List<KeyGroupRange> ranges(int parallelism) {
        List<KeyGroupRange> ranges = new ArrayList<>();
        for (int i = 0; i < parallelism; i++) {
            ranges.add(
                    KeyGroupRangeAssignment.computeKeyGroupRangeForOperatorIndex(
                            MAX_PARALLELISM, parallelism, i));
        }
        return ranges;
    }

    private AbstractKeyedStateBackend<Long> open(
            Contender contender, KeyGroupRange range, List<KeyedStateHandle> from)
            throws Exception {
        List<KeyedStateHandle> parts = new ArrayList<>();
        for (KeyedStateHandle handle : from) {
            KeyedStateHandle part = handle.getIntersection(range);
            if (part != null) {
                parts.add(part);
            }
        }
        return backends.create(
                contender.backend(fileBytes),
                LongSerializer.INSTANCE,
                MAX_PARALLELISM,
                range,
                TtlTimeProvider.DEFAULT,
                parts.toArray(new KeyedStateHandle[0]));
    }

    /** Bytes that do not compress. */
    private static void write(
            AbstractKeyedStateBackend<Long> backend, KeyGroupRange range, long count, long seed)
            throws Exception {
        ValueState<byte[]> state =
                backend.getPartitionedState(
                        VoidNamespace.INSTANCE, VoidNamespaceSerializer.INSTANCE, STATE);
        Random random = new Random(seed);
        byte[] value = new byte[VALUE_BYTES];
        for (long key = 0; key < count; key++) {
            if (range.contains(KeyGroupRangeAssignment.assignToKeyGroup(key, MAX_PARALLELISM))) {
                random.nextBytes(value);
                backend.setCurrentKey(key);
                state.update(value);
            }
        }
    }

    private KeyedStateHandle snapshot(
            AbstractKeyedStateBackend<Long> backend, long id, CheckpointOptions options)
            throws Exception {
        CheckpointStreamFactory location = store.files.location(id);
        boolean canonical =
                options.getCheckpointType() instanceof SavepointType
                        && options.equals(Restored.CANONICAL.options);
        RunnableFuture<? extends SnapshotResult<?>> running =
                canonical
                        ? savepoint(backend, id, location)
                        : backend.snapshot(id, 0L, location, options);
        running.run();
        return (KeyedStateHandle) running.get().getJobManagerOwnedSnapshot();
    }

    private RunnableFuture<? extends SnapshotResult<?>> savepoint(
            AbstractKeyedStateBackend<Long> backend, long id, CheckpointStreamFactory location)
            throws Exception {
        SavepointResources<Long> resources = backend.savepoint();
        return new SnapshotStrategyRunner<KeyedStateHandle, FullSnapshotResources<Long>>(
                        "canonical savepoint",
                        new SavepointSnapshotStrategy<>(resources.getSnapshotResources()),
                        streams,
                        resources.getPreferredSnapshotExecutionType())
                .snapshot(id, 0L, location, Restored.CANONICAL.options);
    }

    @Override
    public void close() throws Exception {
        streams.close();
        backends.close();
    }
}
