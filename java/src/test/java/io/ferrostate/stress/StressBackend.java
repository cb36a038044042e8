package io.ferrostate.stress;

import io.ferrostate.FerrostateOptions;
import io.ferrostate.FerrostateStateBackend;

import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.typeutils.base.IntSerializer;
import org.apache.flink.core.fs.CloseableRegistry;
import org.apache.flink.metrics.groups.UnregisteredMetricsGroup;
import org.apache.flink.runtime.checkpoint.CheckpointOptions;
import org.apache.flink.runtime.operators.testutils.MockEnvironment;
import org.apache.flink.runtime.operators.testutils.MockEnvironmentBuilder;
import org.apache.flink.runtime.state.AbstractKeyedStateBackend;
import org.apache.flink.runtime.state.CheckpointStreamFactory;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.KeyedStateBackendParametersImpl;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.SnapshotResult;
import org.apache.flink.runtime.state.ttl.TtlTimeProvider;
import org.apache.flink.util.IOUtils;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Collection;
import java.util.concurrent.RunnableFuture;

/**
 * One keyed backend as a task opens it, incremental, with managed memory, its local directory given.
 * What is in it is {@link RandomState}'s business.
 */
final class StressBackend implements AutoCloseable {

    static final int KEY_GROUPS = 8;

    private static final int MANAGED_MEMORY = 64 << 20;

    private final JobID job = new JobID();
    private final CloseableRegistry cancel = new CloseableRegistry();
    private final MockEnvironment environment;
    private final AbstractKeyedStateBackend<Integer> keyed;

    StressBackend(Path localDirectory, Collection<KeyedStateHandle> handles) throws Exception {
        environment =
                new MockEnvironmentBuilder()
                        .setTaskName("stress")
                        .setJobID(job)
                        .setMaxParallelism(KEY_GROUPS)
                        .setManagedMemorySize(MANAGED_MEMORY)
                        .build();
        keyed =
                new FerrostateStateBackend(true)
                        .set(FerrostateOptions.LOCAL_DIRECTORIES, localDirectory.toString())
                        .createKeyedStateBackend(parameters(handles));
    }

    private KeyedStateBackendParametersImpl<Integer> parameters(
            Collection<KeyedStateHandle> handles) {
        return new KeyedStateBackendParametersImpl<>(
                environment,
                job,
                "stress",
                IntSerializer.INSTANCE,
                KEY_GROUPS,
                KeyGroupRange.of(0, KEY_GROUPS - 1),
                environment.getTaskKvStateRegistry(),
                TtlTimeProvider.DEFAULT,
                new UnregisteredMetricsGroup(),
                handles,
                cancel);
    }

    AbstractKeyedStateBackend<Integer> keyed() {
        return keyed;
    }

    /** Does the sync part; running the result is the async part. */
    RunnableFuture<SnapshotResult<KeyedStateHandle>> prepareSnapshot(
            long id, CheckpointStreamFactory location) throws Exception {
        return keyed.snapshot(
                id, id, location, CheckpointOptions.forCheckpointWithDefaultLocation());
    }

    @Override
    public void close() throws IOException {
        IOUtils.closeQuietly(cancel);
        keyed.dispose();
        try {
            environment.close();
        } catch (Exception failure) {
            throw new IOException(failure);
        }
    }
}
