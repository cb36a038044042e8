package io.ferrostate.examples;

import org.apache.flink.configuration.CheckpointingOptions;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.CoreOptions;
import org.apache.flink.configuration.ExternalizedCheckpointRetention;
import org.apache.flink.configuration.HeartbeatManagerOptions;
import org.apache.flink.configuration.MemorySize;
import org.apache.flink.configuration.PipelineOptions;
import org.apache.flink.configuration.RestartStrategyOptions;
import org.apache.flink.configuration.StateBackendOptions;
import org.apache.flink.configuration.TaskManagerOptions;
import org.apache.flink.configuration.WebOptions;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;

import java.nio.file.Path;
import java.time.Duration;

/**
 * A MiniCluster with one TaskManager of two slots, and all the configuration of the demo. Knows
 * nothing of the job.
 */
final class DemoCluster implements AutoCloseable {

    static final int PARALLELISM = 2;

    /** Enough that the table sees each checkpoint before it is subsumed. */
    private static final int RETAINED = 10;

    private final Configuration configuration;
    private final MiniCluster cluster;

    private DemoCluster(Configuration configuration) {
        this.configuration = configuration;
        cluster =
                new MiniCluster(
                        new MiniClusterConfiguration.Builder()
                                .setConfiguration(configuration)
                                .setNumTaskManagers(1)
                                .setNumSlotsPerTaskManager(PARALLELISM)
                                .withRandomPorts()
                                .build());
    }

    /** For the reference run: no checkpoints, so that nothing but the flights decides. */
    static DemoCluster withoutCheckpoints(Backend backend, Path work) throws Exception {
        return start(configuration(backend, work));
    }

    static DemoCluster withCheckpoints(Backend backend, Path work, int millis, int restarts)
            throws Exception {
        Configuration configuration = configuration(backend, work);
        checkpoints(configuration, work, Duration.ofMillis(millis));
        configuration.set(RestartStrategyOptions.RESTART_STRATEGY, "fixed-delay");
        configuration.set(RestartStrategyOptions.RESTART_STRATEGY_FIXED_DELAY_ATTEMPTS, restarts);
        configuration.set(
                RestartStrategyOptions.RESTART_STRATEGY_FIXED_DELAY_DELAY, Duration.ofMillis(200));
        return start(configuration);
    }

    private static DemoCluster start(Configuration configuration) throws Exception {
        DemoCluster started = new DemoCluster(configuration);
        started.cluster.start();
        return started;
    }

    Configuration configuration() {
        return configuration;
    }

    MiniCluster miniCluster() {
        return cluster;
    }

    @Override
    public void close() {
        cluster.closeAsync().join();
    }

    private static Configuration configuration(Backend backend, Path work) {
        Configuration configuration = new Configuration();
        configuration.set(StateBackendOptions.STATE_BACKEND, backend.type);
        configuration.set(CoreOptions.DEFAULT_PARALLELISM, PARALLELISM);
        configuration.set(CoreOptions.TMP_DIRS, work.resolve("tmp").toString());
        configuration.set(TaskManagerOptions.MANAGED_MEMORY_SIZE, MemorySize.ofMebiBytes(256));
        // A type that only Kryo could write would be a mistake here.
        configuration.set(PipelineOptions.GENERIC_TYPES, false);
        // Progress is an accumulator, and those travel with heartbeats.
        configuration.set(HeartbeatManagerOptions.HEARTBEAT_INTERVAL, Duration.ofMillis(250));
        return configuration;
    }

    private static void checkpoints(Configuration configuration, Path work, Duration interval) {
        configuration.set(CheckpointingOptions.CHECKPOINTING_INTERVAL, interval);
        configuration.set(CheckpointingOptions.INCREMENTAL_CHECKPOINTS, true);
        configuration.set(CheckpointingOptions.CHECKPOINT_STORAGE, "filesystem");
        configuration.set(
                CheckpointingOptions.CHECKPOINTS_DIRECTORY,
                work.resolve("checkpoints").toUri().toString());
        configuration.set(
                CheckpointingOptions.EXTERNALIZED_CHECKPOINT_RETENTION,
                ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION);
        configuration.set(CheckpointingOptions.MAX_RETAINED_CHECKPOINTS, RETAINED);
        configuration.set(WebOptions.CHECKPOINTS_HISTORY_SIZE, RETAINED * 4);
    }
}
