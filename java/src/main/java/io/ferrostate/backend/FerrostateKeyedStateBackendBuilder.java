package io.ferrostate.backend;

import io.ferrostate.FerrostateOptions;
import io.ferrostate.FerrostateOptions.TimerService;
import io.ferrostate.checkpoint.CheckpointStrategy;
import io.ferrostate.checkpoint.FullSnapshotStrategy;
import io.ferrostate.checkpoint.IncrementalSnapshotStrategy;
import io.ferrostate.checkpoint.SnapshotContext;
import io.ferrostate.metrics.DatabaseMetrics;
import io.ferrostate.restore.RestoreContext;
import io.ferrostate.restore.RestoreOperation;
import io.ferrostate.restore.RestoreResult;
import io.ferrostate.timer.HeapTimerQueues;
import io.ferrostate.timer.NativeTimerQueues;
import io.ferrostate.timer.TimerQueues;

import org.apache.flink.core.fs.CloseableRegistry;
import org.apache.flink.metrics.MetricGroup;
import org.apache.flink.runtime.execution.CancelTaskException;
import org.apache.flink.runtime.execution.Environment;
import org.apache.flink.runtime.state.AbstractKeyedStateBackendBuilder;
import org.apache.flink.runtime.state.BackendBuildingException;
import org.apache.flink.runtime.state.InternalKeyContextImpl;
import org.apache.flink.runtime.state.LocalRecoveryConfig;
import org.apache.flink.runtime.state.StateBackend.KeyedStateBackendParameters;
import org.apache.flink.runtime.state.StreamCompressionDecorator;
import org.apache.flink.runtime.state.metrics.LatencyTrackingStateConfig;
import org.apache.flink.runtime.state.metrics.SizeTrackingStateConfig;
import org.apache.flink.util.IOUtils;

import java.io.File;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Puts a keyed backend together: restores or creates the database, then makes what works on it. Owns
 * the resources until the backend does; when building fails they are closed and the directory is gone.
 */
public final class FerrostateKeyedStateBackendBuilder<K>
        extends AbstractKeyedStateBackendBuilder<K> {

    private final String operatorIdentifier;
    private final LocalRecoveryConfig localRecovery;
    private final OptionSet options;
    private final BackendResources resources;
    private final TtlFilters ttlFilters;
    private final boolean incremental;
    private final MetricGroup metrics;

    private final Map<String, RegisteredState> states = new LinkedHashMap<>();

    public FerrostateKeyedStateBackendBuilder(
            KeyedStateBackendParameters<K> parameters,
            LatencyTrackingStateConfig latencyTracking,
            SizeTrackingStateConfig sizeTracking,
            StreamCompressionDecorator compression,
            OptionSet options,
            BackendResources resources,
            TtlFilters ttlFilters,
            boolean incremental) {
        super(
                parameters.getKvStateRegistry(),
                parameters.getKeySerializer(),
                parameters.getEnv().getUserCodeClassLoader().asClassLoader(),
                parameters.getNumberOfKeyGroups(),
                parameters.getKeyGroupRange(),
                parameters.getEnv().getExecutionConfig(),
                parameters.getTtlTimeProvider(),
                latencyTracking,
                sizeTracking,
                parameters.getStateHandles(),
                compression,
                parameters.getCancelStreamRegistry());
        Environment env = parameters.getEnv();
        this.operatorIdentifier = parameters.getOperatorIdentifier();
        this.localRecovery = env.getTaskStateManager().createLocalRecoveryConfig();
        this.options = options;
        this.resources = resources;
        this.ttlFilters = ttlFilters;
        this.incremental = incremental;
        this.metrics = parameters.getMetricGroup();
    }

    @Override
    public FerrostateKeyedStateBackend<K> build() throws BackendBuildingException {
        CloseableRegistry cancelRegistry = new CloseableRegistry();
        try {
            RestoreResult restored = restore();
            resources.own(restored.database());
            // Only now: restoring may have reconfigured the key serializer.
            StateAccess<K> access =
                    new StateAccess<>(
                            keySerializerProvider.currentSchemaSerializer(), numberOfKeyGroups);
            resources.own(access);
            resources.own(checkpoints(restored));
            FerrostateKeyedStateBackend<K> backend = backend(access, cancelRegistry);
            DatabaseMetrics.register(restored.database(), metrics, options);
            logger.info("Built keyed state backend in {}.", resources.directory().directory());
            NativeLog.drain();
            return backend;
        } catch (Throwable failure) {
            IOUtils.closeQuietly(cancelRegistry);
            resources.close();
            throw failed(failure);
        }
    }

    private RestoreResult restore() throws Exception {
        String[] databaseOptions = options.forDatabase();
        DatabaseOpener opener =
                directory -> Database.open(directory, databaseOptions, resources.memory());
        RestoreContext<K> context =
                new RestoreContext<>(
                        operatorIdentifier,
                        keyGroupRange,
                        numberOfKeyGroups,
                        resources.directory().directory(),
                        resources.directory().database(),
                        databaseOptions,
                        opener,
                        states,
                        keySerializerProvider,
                        userCodeClassLoader,
                        cancelStreamRegistry);
        return new RestoreOperation<>(context, restoreStateHandles).restore();
    }

    private CheckpointStrategy<?> checkpoints(RestoreResult restored) {
        File directory = resources.directory().directory();
        SnapshotContext<K> context =
                new SnapshotContext<>(
                        restored.database(),
                        states,
                        keySerializerProvider.currentSchemaSerializer(),
                        keyGroupRange,
                        localRecovery,
                        directory,
                        restored.backendIdentifier(),
                        operatorIdentifier,
                        options.get(FerrostateOptions.COPY_IN_STORE));
        return incremental
                ? new IncrementalSnapshotStrategy<>(
                        context,
                        restored.checkpointId(),
                        restored.sharedFiles(),
                        restored.privateFiles())
                : new FullSnapshotStrategy<>(context, restored.allFiles());
    }

    private FerrostateKeyedStateBackend<K> backend(
            StateAccess<K> access, CloseableRegistry cancelRegistry) throws IOException {
        return new FerrostateKeyedStateBackend<>(
                kvStateRegistry,
                userCodeClassLoader,
                executionConfig,
                TtlClock.of(ttlTimeProvider, resources.database()),
                latencyTrackingStateConfig,
                sizeTrackingStateConfig,
                cancelRegistry,
                keyGroupCompressionDecorator,
                new InternalKeyContextImpl<>(keyGroupRange, numberOfKeyGroups),
                resources,
                access,
                ttlFilters,
                states,
                timers(access));
    }

    private TimerQueues timers(StateAccess<K> access) {
        if (options.get(FerrostateOptions.TIMER_SERVICE_FACTORY) == TimerService.HEAP) {
            return new HeapTimerQueues(
                    resources.database(),
                    states,
                    resources.cursors(),
                    keyGroupRange,
                    numberOfKeyGroups,
                    access.keyGroupBytes());
        }
        return new NativeTimerQueues(
                resources.database(),
                states,
                access,
                resources.cursors(),
                keyGroupRange,
                options.get(FerrostateOptions.TIMER_SERVICE_CACHE_SIZE));
    }

    private BackendBuildingException failed(Throwable failure) {
        if (cancelStreamRegistry.isClosed()) {
            logger.info("Building the keyed state backend was cancelled.");
            return new BackendBuildingException(
                    "Task was cancelled", new CancelTaskException(failure));
        }
        if (failure instanceof BackendBuildingException) {
            return (BackendBuildingException) failure;
        }
        return new BackendBuildingException(
                "Could not build the keyed state backend of " + operatorIdentifier + ": "
                        + failure.getMessage(),
                failure);
    }
}
