package io.ferrostate.backend;

import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.state.StateDescriptor;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.core.fs.CloseableRegistry;
import org.apache.flink.metrics.MetricGroup;
import org.apache.flink.metrics.groups.UnregisteredMetricsGroup;
import org.apache.flink.runtime.operators.testutils.MockEnvironment;
import org.apache.flink.runtime.operators.testutils.MockEnvironmentBuilder;
import org.apache.flink.runtime.query.KvStateRegistry;
import org.apache.flink.runtime.query.TaskKvStateRegistry;
import org.apache.flink.runtime.state.AbstractKeyedStateBackend;
import org.apache.flink.runtime.state.AbstractStateBackend;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.KeyedStateBackendParametersImpl;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.ttl.TtlTimeProvider;
import org.apache.flink.state.rocksdb.RocksDBKeyedStateBackend;
import org.apache.flink.util.IOUtils;

import java.io.IOException;
import java.util.Arrays;

/** Builds keyed backends, Ferrostate's or another, in an environment of their own as a task would. */
public final class KeyedBackends implements AutoCloseable {

    private static final long MANAGED_MEMORY = 64 << 20;

    private final MockEnvironment environment;

    public KeyedBackends() {
        this.environment =
                new MockEnvironmentBuilder().setManagedMemorySize(MANAGED_MEMORY).build();
    }

    public MockEnvironment environment() {
        return environment;
    }

    public <K> AbstractKeyedStateBackend<K> create(
            AbstractStateBackend backend,
            TypeSerializer<K> keySerializer,
            int numberOfKeyGroups,
            KeyedStateHandle... handles)
            throws IOException {
        return create(
                backend, keySerializer, numberOfKeyGroups, TtlTimeProvider.DEFAULT, handles);
    }

    public <K> AbstractKeyedStateBackend<K> create(
            AbstractStateBackend backend,
            TypeSerializer<K> keySerializer,
            int numberOfKeyGroups,
            TtlTimeProvider timeProvider,
            KeyedStateHandle... handles)
            throws IOException {
        return create(
                backend,
                keySerializer,
                numberOfKeyGroups,
                taskRegistry(),
                timeProvider,
                new UnregisteredMetricsGroup(),
                handles);
    }

    /** With a registry that sees the queryable states. */
    public <K> AbstractKeyedStateBackend<K> create(
            AbstractStateBackend backend,
            TypeSerializer<K> keySerializer,
            int numberOfKeyGroups,
            TaskKvStateRegistry registry)
            throws IOException {
        return create(
                backend,
                keySerializer,
                numberOfKeyGroups,
                registry,
                TtlTimeProvider.DEFAULT,
                new UnregisteredMetricsGroup());
    }

    /** With a group that sees the metrics. */
    public <K> AbstractKeyedStateBackend<K> create(
            AbstractStateBackend backend,
            TypeSerializer<K> keySerializer,
            int numberOfKeyGroups,
            MetricGroup metrics)
            throws IOException {
        return create(
                backend,
                keySerializer,
                numberOfKeyGroups,
                taskRegistry(),
                TtlTimeProvider.DEFAULT,
                metrics);
    }

    private TaskKvStateRegistry taskRegistry() {
        return new KvStateRegistry()
                .createTaskRegistry(environment.getJobID(), environment.getJobVertexId());
    }

    /** With some of the key groups. */
    public <K> AbstractKeyedStateBackend<K> create(
            AbstractStateBackend backend,
            TypeSerializer<K> keySerializer,
            int numberOfKeyGroups,
            KeyGroupRange range,
            TtlTimeProvider timeProvider,
            KeyedStateHandle... handles)
            throws IOException {
        return create(
                backend,
                keySerializer,
                numberOfKeyGroups,
                range,
                taskRegistry(),
                timeProvider,
                new UnregisteredMetricsGroup(),
                handles);
    }

    private <K> AbstractKeyedStateBackend<K> create(
            AbstractStateBackend backend,
            TypeSerializer<K> keySerializer,
            int numberOfKeyGroups,
            TaskKvStateRegistry registry,
            TtlTimeProvider timeProvider,
            MetricGroup metrics,
            KeyedStateHandle... handles)
            throws IOException {
        return create(
                backend,
                keySerializer,
                numberOfKeyGroups,
                KeyGroupRange.of(0, numberOfKeyGroups - 1),
                registry,
                timeProvider,
                metrics,
                handles);
    }

    private <K> AbstractKeyedStateBackend<K> create(
            AbstractStateBackend backend,
            TypeSerializer<K> keySerializer,
            int numberOfKeyGroups,
            KeyGroupRange range,
            TaskKvStateRegistry registry,
            TtlTimeProvider timeProvider,
            MetricGroup metrics,
            KeyedStateHandle... handles)
            throws IOException {
        return backend.createKeyedStateBackend(
                new KeyedStateBackendParametersImpl<>(
                        environment,
                        new JobID(),
                        "test operator/1",
                        keySerializer,
                        numberOfKeyGroups,
                        range,
                        registry,
                        timeProvider,
                        metrics,
                        Arrays.asList(handles),
                        new CloseableRegistry()));
    }

    /** Compacts states of a backend, Ferrostate's or RocksDB's, so that what has expired by now goes. */
    public static void compact(
            AbstractKeyedStateBackend<?> backend, StateDescriptor<?, ?>... descriptors)
            throws Exception {
        if (backend instanceof FerrostateKeyedStateBackend) {
            ((FerrostateKeyedStateBackend<?>) backend).compact();
            return;
        }
        for (StateDescriptor<?, ?> descriptor : descriptors) {
            ((RocksDBKeyedStateBackend<?>) backend).compactState(descriptor);
        }
    }

    /** Waits until what a rescale left is compacted away; at once with any other backend. */
    public static void settle(AbstractKeyedStateBackend<?> backend) throws IOException {
        while (backend instanceof FerrostateKeyedStateBackend
                && ((FerrostateKeyedStateBackend<?>) backend).isSettling()) {
            Thread.yield();
        }
    }

    @Override
    public void close() {
        IOUtils.closeQuietly(environment);
    }
}
