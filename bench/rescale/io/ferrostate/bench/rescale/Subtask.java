package io.ferrostate.bench.rescale;

import io.ferrostate.bench.task.TaskBackend;

import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeutils.base.LongSerializer;
import org.apache.flink.api.common.typeutils.base.array.BytePrimitiveArraySerializer;
import org.apache.flink.runtime.checkpoint.CheckpointOptions;
import org.apache.flink.runtime.state.CheckpointStreamFactory;
import org.apache.flink.runtime.state.IncrementalRemoteKeyedStateHandle;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.KeyGroupRangeAssignment;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.SnapshotResult;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Random;
import java.util.concurrent.RunnableFuture;

/** One subtask of a job with one value state: its backend, opened as a task would open it. */
final class Subtask implements AutoCloseable {

    static final int MAX_PARALLELISM = TaskBackend.MAX_PARALLELISM;

    private final Arguments arguments;
    private final KeyGroupRange range;
    private final TaskBackend<Long> backend;
    private final ValueState<byte[]> state;

    Subtask(
            Arguments arguments,
            Contender contender,
            int index,
            int parallelism,
            Collection<? extends KeyedStateHandle> checkpoint)
            throws Exception {
        this.arguments = arguments;
        range =
                KeyGroupRangeAssignment.computeKeyGroupRangeForOperatorIndex(
                        MAX_PARALLELISM, parallelism, index);
        backend =
                new TaskBackend<>(
                        contender.options(),
                        arguments.memory,
                        LongSerializer.INSTANCE,
                        range,
                        parts(checkpoint));
        state =
                backend.state(
                        new ValueStateDescriptor<>(
                                "values", BytePrimitiveArraySerializer.INSTANCE));
    }

    private List<KeyedStateHandle> parts(Collection<? extends KeyedStateHandle> checkpoint) {
        List<KeyedStateHandle> parts = new ArrayList<>();
        for (KeyedStateHandle handle : checkpoint) {
            KeyedStateHandle part = handle.getIntersection(range);
            if (part != null) {
                parts.add(part);
            }
        }
        return parts;
    }

    private boolean owns(long key) {
        return range.contains(KeyGroupRangeAssignment.assignToKeyGroup(key, MAX_PARALLELISM));
    }

    /** Rows with values that compress to about a half. */
    void write() throws Exception {
        Random random = new Random(1);
        byte[] value = new byte[arguments.value];
        byte[] half = new byte[arguments.value / 2];
        for (long key = 0; key < arguments.keys(); key++) {
            if (owns(key)) {
                random.nextBytes(half);
                System.arraycopy(half, 0, value, 0, half.length);
                backend.keyed.setCurrentKey(key);
                state.update(value);
            }
        }
    }

    /** Reads that all must find a row. */
    void read(int reads, long seed) throws Exception {
        long keys = arguments.keys();
        Random random = new Random(seed);
        for (int done = 0; done < reads; ) {
            long key = Math.floorMod(random.nextLong(), keys);
            if (owns(key)) {
                backend.keyed.setCurrentKey(key);
                if (state.value() == null) {
                    throw new IllegalStateException("key " + key + " is lost");
                }
                done++;
            }
        }
    }

    IncrementalRemoteKeyedStateHandle checkpoint(long id, CheckpointStreamFactory location)
            throws Exception {
        RunnableFuture<SnapshotResult<KeyedStateHandle>> running =
                backend.keyed.snapshot(
                        id, 0L, location, CheckpointOptions.forCheckpointWithDefaultLocation());
        running.run();
        return (IncrementalRemoteKeyedStateHandle) running.get().getJobManagerOwnedSnapshot();
    }

    @Override
    public void close() throws IOException {
        backend.close();
    }
}
