package io.ferrostate.bench.task;

import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.state.State;
import org.apache.flink.api.common.state.StateDescriptor;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.fs.CloseableRegistry;
import org.apache.flink.metrics.groups.UnregisteredMetricsGroup;
import org.apache.flink.runtime.operators.testutils.MockEnvironment;
import org.apache.flink.runtime.operators.testutils.MockEnvironmentBuilder;
import org.apache.flink.runtime.state.AbstractKeyedStateBackend;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.KeyedStateBackendParametersImpl;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.StateBackend;
import org.apache.flink.runtime.state.StateBackendLoader;
import org.apache.flink.runtime.state.VoidNamespace;
import org.apache.flink.runtime.state.VoidNamespaceSerializer;
import org.apache.flink.runtime.state.storage.JobManagerCheckpointStorage;
import org.apache.flink.runtime.state.ttl.TtlTimeProvider;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.util.List;

/** The keyed state backend of one subtask, opened by a user's options as a task would open it. */
public final class TaskBackend<K> implements AutoCloseable {

    public static final int MAX_PARALLELISM = 128;

    /** Share of a core below which nothing goes on in the background any more. */
    private static final double QUIET = 0.05;

    private final MockEnvironment environment;
    public final AbstractKeyedStateBackend<K> keyed;

    /** With all key groups and no state. */
    public TaskBackend(Configuration options, long managedMemory, TypeSerializer<K> keys)
            throws Exception {
        this(options, managedMemory, keys, KeyGroupRange.of(0, MAX_PARALLELISM - 1), List.of());
    }

    public TaskBackend(
            Configuration options,
            long managedMemory,
            TypeSerializer<K> keys,
            KeyGroupRange range,
            List<KeyedStateHandle> restored)
            throws Exception {
        JobID job = new JobID();
        environment =
                new MockEnvironmentBuilder()
                        .setTaskName("bench")
                        .setJobID(job)
                        .setMaxParallelism(MAX_PARALLELISM)
                        .setManagedMemorySize(managedMemory)
                        .build();
        environment.setCheckpointStorageAccess(
                new JobManagerCheckpointStorage().createCheckpointStorage(job)); // ForSt asks for it
        ClassLoader loader = getClass().getClassLoader();
        StateBackend stateBackend =
                StateBackendLoader.fromApplicationOrConfigOrDefault(
                        null, options, options, loader, null);
        keyed =
                (AbstractKeyedStateBackend<K>)
                        stateBackend.createKeyedStateBackend(
                                new KeyedStateBackendParametersImpl<>(
                                        environment,
                                        job,
                                        "operator",
                                        keys,
                                        MAX_PARALLELISM,
                                        range,
                                        environment.getTaskKvStateRegistry(),
                                        TtlTimeProvider.DEFAULT,
                                        new UnregisteredMetricsGroup(),
                                        restored,
                                        new CloseableRegistry()));
    }

    public <S extends State> S state(StateDescriptor<S, ?> descriptor) throws Exception {
        return keyed.getPartitionedState(
                VoidNamespace.INSTANCE, VoidNamespaceSerializer.INSTANCE, descriptor);
    }

    /** Waits until flushes, compactions and garbage collections have come to rest. */
    public static void settle() throws InterruptedException {
        System.gc();
        long pause = 300_000_000;
        long cpu = processCpu();
        long before;
        do {
            before = cpu;
            Thread.sleep(pause / 1_000_000);
            cpu = processCpu();
        } while (cpu - before > QUIET * pause);
    }

    /** CPU nanoseconds of this process so far. */
    public static long processCpu() {
        return ((com.sun.management.OperatingSystemMXBean)
                        ManagementFactory.getOperatingSystemMXBean())
                .getProcessCpuTime();
    }

    @Override
    public void close() throws IOException {
        keyed.dispose();
        try {
            environment.close();
        } catch (Exception failure) {
            throw new IOException(failure);
        }
    }
}
