package io.ferrostate.compatibility;

import static org.assertj.core.api.Assertions.assertThat;

import io.ferrostate.checkpoint.CheckpointFiles;

import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.typeutils.base.StringSerializer;
import org.apache.flink.configuration.CheckpointingOptions;
import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.StateBackendOptions;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.core.fs.CloseableRegistry;
import org.apache.flink.metrics.groups.UnregisteredMetricsGroup;
import org.apache.flink.runtime.checkpoint.CheckpointOptions;
import org.apache.flink.runtime.checkpoint.CheckpointType;
import org.apache.flink.runtime.checkpoint.SavepointType;
import org.apache.flink.runtime.checkpoint.SnapshotType;
import org.apache.flink.runtime.operators.testutils.MockEnvironment;
import org.apache.flink.runtime.operators.testutils.MockEnvironmentBuilder;
import org.apache.flink.runtime.state.AbstractKeyedStateBackend;
import org.apache.flink.runtime.state.CheckpointStorageLocationReference;
import org.apache.flink.runtime.state.CheckpointStreamFactory;
import org.apache.flink.runtime.state.FullSnapshotResources;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.KeyedStateBackendParametersImpl;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.SavepointResources;
import org.apache.flink.runtime.state.SavepointSnapshotStrategy;
import org.apache.flink.runtime.state.SharedStateRegistryImpl;
import org.apache.flink.runtime.state.SnapshotResult;
import org.apache.flink.runtime.state.SnapshotStrategyRunner;
import org.apache.flink.runtime.state.StateBackend;
import org.apache.flink.runtime.state.StateBackendLoader;
import org.apache.flink.runtime.state.ttl.TtlTimeProvider;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.RunnableFuture;

/** Opens Ferrostate and Flink's own backends as a task would, and takes their snapshots. */
public final class Backends implements AutoCloseable {

    /** The two sides, by what a user writes into {@code state.backend.type}. */
    public enum Kind {
        FERROSTATE("io.ferrostate.FerrostateStateBackendFactory", "io.ferrostate"),
        ROCKSDB("rocksdb", "org.apache.flink.state.rocksdb");

        private final String type;
        private final String packageName;

        Kind(String type, String packageName) {
            this.type = type;
            this.packageName = packageName;
        }

        Kind other() {
            return this == FERROSTATE ? ROCKSDB : FERROSTATE;
        }
    }

    /** The kinds of snapshots that consist of keyed state. */
    public enum Snapshot {
        INCREMENTAL(CheckpointType.CHECKPOINT),
        FULL(CheckpointType.CHECKPOINT),
        NATIVE_SAVEPOINT(SavepointType.savepoint(SavepointFormatType.NATIVE)),
        CANONICAL_SAVEPOINT(SavepointType.savepoint(SavepointFormatType.CANONICAL));

        private final SnapshotType type;

        Snapshot(SnapshotType type) {
            this.type = type;
        }

        private CheckpointOptions options() {
            return new CheckpointOptions(type, CheckpointStorageLocationReference.getDefault());
        }
    }

    private final CheckpointFiles files;
    private final int maxParallelism;
    private final Snapshot snapshot;
    private final JobID jobId = new JobID();
    private final MockEnvironment environment;
    private final SharedStateRegistryImpl registry = new SharedStateRegistryImpl();
    private final CloseableRegistry streams = new CloseableRegistry();
    private final Configuration more = new Configuration();
    private TtlTimeProvider clock = TtlTimeProvider.DEFAULT;
    private long checkpointId;

    public Backends(Path directory, int maxParallelism, Snapshot snapshot) throws Exception {
        this.files = new CheckpointFiles(directory.resolve("checkpoints"), 1024);
        this.maxParallelism = maxParallelism;
        this.snapshot = snapshot;
        this.environment =
                new MockEnvironmentBuilder()
                        .setTaskName("compatibility")
                        .setJobID(jobId)
                        .setMaxParallelism(maxParallelism)
                        .setManagedMemorySize(64 << 20)
                        .build();
    }

    /** An option of the backends opened from now on. */
    public <T> Backends set(ConfigOption<T> option, T value) {
        more.set(option, value);
        return this;
    }

    /** By which values expire in the backends opened from now on; the system's if not set. */
    Backends clock(TtlTimeProvider provider) {
        clock = provider;
        return this;
    }

    public AbstractKeyedStateBackend<String> open(
            Kind kind, KeyGroupRange range, Collection<KeyedStateHandle> handles)
            throws Exception {
        return open(kind.type, kind.packageName, range, handles);
    }

    /** Flink's backend that keeps everything on the heap. */
    AbstractKeyedStateBackend<String> openHashMap(
            KeyGroupRange range, Collection<KeyedStateHandle> handles) throws Exception {
        return open("hashmap", "org.apache.flink.runtime.state.hashmap", range, handles);
    }

    private AbstractKeyedStateBackend<String> open(
            String type,
            String packageName,
            KeyGroupRange range,
            Collection<KeyedStateHandle> handles)
            throws Exception {
        Configuration options = new Configuration(more);
        options.set(StateBackendOptions.STATE_BACKEND, type);
        options.set(
                CheckpointingOptions.INCREMENTAL_CHECKPOINTS, snapshot != Snapshot.FULL);
        StateBackend backend =
                StateBackendLoader.fromApplicationOrConfigOrDefault(
                        null,
                        options,
                        options,
                        Thread.currentThread().getContextClassLoader(),
                        null);
        assertThat(backend.getClass().getName()).startsWith(packageName);
        return (AbstractKeyedStateBackend<String>)
                backend.createKeyedStateBackend(
                        new KeyedStateBackendParametersImpl<>(
                                environment,
                                jobId,
                                "operator",
                                StringSerializer.INSTANCE,
                                maxParallelism,
                                range,
                                environment.getTaskKvStateRegistry(),
                                clock,
                                new UnregisteredMetricsGroup(),
                                handles,
                                streams));
    }

    /** A snapshot that completed, as the JobManager would hand it to a restored job. */
    public KeyedStateHandle snapshot(AbstractKeyedStateBackend<String> backend) throws Exception {
        return snapshotAll(List.of(backend)).get(0);
    }

    /** One snapshot of all subtasks. */
    List<KeyedStateHandle> snapshotAll(List<AbstractKeyedStateBackend<String>> subtasks)
            throws Exception {
        long id = ++checkpointId;
        List<KeyedStateHandle> handles = new ArrayList<>();
        for (AbstractKeyedStateBackend<String> subtask : subtasks) {
            handles.add(snapshot(subtask, id));
        }
        if (!snapshot.type.isSavepoint()) {
            handles.forEach(handle -> handle.registerSharedStates(registry, id));
            registry.checkpointCompleted(id);
        }
        for (AbstractKeyedStateBackend<String> subtask : subtasks) {
            subtask.notifyCheckpointComplete(id);
        }
        return handles;
    }

    private KeyedStateHandle snapshot(AbstractKeyedStateBackend<String> backend, long id)
            throws Exception {
        CheckpointStreamFactory location = files.location(id);
        RunnableFuture<?> running =
                snapshot == Snapshot.CANONICAL_SAVEPOINT
                        ? savepoint(backend, id, location)
                        : backend.snapshot(id, 0L, location, snapshot.options());
        running.run();
        return (KeyedStateHandle)
                ((SnapshotResult<?>) running.get()).getJobManagerOwnedSnapshot();
    }

    private RunnableFuture<?> savepoint(
            AbstractKeyedStateBackend<String> backend, long id, CheckpointStreamFactory location)
            throws Exception {
        SavepointResources<String> resources = backend.savepoint();
        return new SnapshotStrategyRunner<KeyedStateHandle, FullSnapshotResources<String>>(
                        "canonical savepoint",
                        new SavepointSnapshotStrategy<>(resources.getSnapshotResources()),
                        streams,
                        resources.getPreferredSnapshotExecutionType())
                .snapshot(id, 0L, location, snapshot.options());
    }

    @Override
    public void close() throws IOException {
        streams.close();
        try {
            registry.close();
            environment.close();
        } catch (Exception failure) {
            throw new IOException(failure);
        }
    }
}
