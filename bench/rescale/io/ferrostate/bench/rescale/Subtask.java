package io.ferrostate.bench.rescale;

import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeutils.base.LongSerializer;
import org.apache.flink.api.common.typeutils.base.array.BytePrimitiveArraySerializer;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.fs.CloseableRegistry;
import org.apache.flink.metrics.groups.UnregisteredMetricsGroup;
import org.apache.flink.runtime.checkpoint.CheckpointOptions;
import org.apache.flink.runtime.operators.testutils.MockEnvironment;
import org.apache.flink.runtime.operators.testutils.MockEnvironmentBuilder;
import org.apache.flink.runtime.state.AbstractKeyedStateBackend;
import org.apache.flink.runtime.state.CheckpointStreamFactory;
import org.apache.flink.runtime.state.IncrementalRemoteKeyedStateHandle;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.KeyGroupRangeAssignment;
import org.apache.flink.runtime.state.KeyedStateBackendParametersImpl;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.SnapshotResult;
import org.apache.flink.runtime.state.StateBackend;
import org.apache.flink.runtime.state.StateBackendLoader;
import org.apache.flink.runtime.state.VoidNamespace;
import org.apache.flink.runtime.state.VoidNamespaceSerializer;
import org.apache.flink.runtime.state.ttl.TtlTimeProvider;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Random;
import java.util.concurrent.RunnableFuture;

/** One subtask of a job with one value state: its backend, opened as a task would open it. */
final class Subtask implements AutoCloseable {

    static final int MAX_PARALLELISM = 128;

    private static final long MANAGED_MEMORY = 256 << 20;
    private static final int VALUE_BYTES = 256;

    private final MockEnvironment environment;
    private final KeyGroupRange range;
    private final AbstractKeyedStateBackend<Long> backend;
    private final ValueState<byte[]> state;

    Subtask(
            Contender contender,
            int index,
            int parallelism,
            Collection<IncrementalRemoteKeyedStateHandle> checkpoint)
            throws Exception {
        range =
                KeyGroupRangeAssignment.computeKeyGroupRangeForOperatorIndex(
                        MAX_PARALLELISM, parallelism, index);
        JobID job = new JobID();
        environment =
                new MockEnvironmentBuilder()
                        .setTaskName("rescale")
                        .setJobID(job)
                        .setMaxParallelism(MAX_PARALLELISM)
                        .setManagedMemorySize(MANAGED_MEMORY)
                        .build();
        Configuration options = contender.options();
        StateBackend stateBackend =
                StateBackendLoader.fromApplicationOrConfigOrDefault(
                        null, options, options, getClass().getClassLoader(), null);
        backend =
                (AbstractKeyedStateBackend<Long>)
                        stateBackend.createKeyedStateBackend(
                                new KeyedStateBackendParametersImpl<>(
                                        environment,
                                        job,
                                        "operator",
                                        LongSerializer.INSTANCE,
                                        MAX_PARALLELISM,
                                        range,
                                        environment.getTaskKvStateRegistry(),
                                        TtlTimeProvider.DEFAULT,
                                        new UnregisteredMetricsGroup(),
                                        parts(checkpoint),
                                        new CloseableRegistry()));
        state =
                backend.getPartitionedState(
                        VoidNamespace.INSTANCE,
                        VoidNamespaceSerializer.INSTANCE,
                        new ValueStateDescriptor<>(
                                "values", BytePrimitiveArraySerializer.INSTANCE));
    }

    private List<KeyedStateHandle> parts(Collection<IncrementalRemoteKeyedStateHandle> checkpoint) {
        List<KeyedStateHandle> parts = new ArrayList<>();
        for (IncrementalRemoteKeyedStateHandle handle : checkpoint) {
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
    void write(long keys) throws Exception {
        Random random = new Random(1);
        byte[] value = new byte[VALUE_BYTES];
        byte[] half = new byte[VALUE_BYTES / 2];
        for (long key = 0; key < keys; key++) {
            if (owns(key)) {
                random.nextBytes(half);
                System.arraycopy(half, 0, value, 0, half.length);
                backend.setCurrentKey(key);
                state.update(value);
            }
        }
    }

    static long keysOf(long bytes) {
        return bytes / (VALUE_BYTES / 2 + Long.BYTES + 4);
    }

    /** Reads that all must find a row. */
    void read(long keys, int reads, long seed) throws Exception {
        Random random = new Random(seed);
        for (int done = 0; done < reads; ) {
            long key = Math.floorMod(random.nextLong(), keys);
            if (owns(key)) {
                backend.setCurrentKey(key);
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
                backend.snapshot(
                        id, 0L, location, CheckpointOptions.forCheckpointWithDefaultLocation());
        running.run();
        return (IncrementalRemoteKeyedStateHandle) running.get().getJobManagerOwnedSnapshot();
    }

    @Override
    public void close() throws IOException {
        backend.dispose();
        try {
            environment.close();
        } catch (Exception failure) {
            throw new IOException(failure);
        }
    }
}
