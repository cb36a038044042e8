package io.ferrostate.stress;

import io.ferrostate.job.FailOnce;
import io.ferrostate.stress.usercode.UserFunction;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.stream.Stream;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.configuration.CheckpointingOptions;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.MemorySize;
import org.apache.flink.configuration.RestartStrategyOptions;
import org.apache.flink.configuration.StateBackendOptions;
import org.apache.flink.configuration.TaskManagerOptions;
import org.apache.flink.connector.datagen.source.DataGeneratorSource;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;

/**
 * The process that runs job after job on one mini cluster, each with its code in a jar and therefore
 * in class loaders of its own, and says after each what it holds: {@code <class loaders so far> <alive
 * ones> <Java threads> <threads> <mapped libraries> <local files> <metaspace KiB>}.
 */
public final class UserClassLoaderJobs {

    private static final int RECORDS = 400;

    private UserClassLoaderJobs() {}

    /** Arguments: factory of the state backend, directory, jobs, jars that a job brings. */
    public static void main(String[] arguments) throws Exception {
        Configuration configuration = configuration(arguments[0], Path.of(arguments[1]));
        MiniClusterConfiguration cluster =
                new MiniClusterConfiguration.Builder()
                        .setConfiguration(configuration)
                        .setNumTaskManagers(1)
                        .setNumSlotsPerTaskManager(2)
                        .build();
        try (MiniCluster miniCluster = new MiniCluster(cluster)) {
            miniCluster.start();
            for (int job = 0; job < Integer.parseInt(arguments[2]); job++) {
                FailOnce.arm(1);
                JobGraph graph = graph(configuration);
                for (int jar = 3; jar < arguments.length; jar++) {
                    graph.addJar(
                            new org.apache.flink.core.fs.Path(Path.of(arguments[jar]).toUri()));
                }
                miniCluster.executeJobBlocking(graph);
                check(FailOnce.happened(), "the job did not restart");
                check(!UserClassLoaders.sawOwn(), "the code was not that of the job's jar");
                collect();
                System.out.println(report(Path.of(arguments[1])));
            }
        }
    }

    private static Configuration configuration(String factory, Path directory)
            throws IOException {
        Path checkpoints = Files.createDirectories(directory.resolve("checkpoints"));
        Path local = Files.createDirectories(directory.resolve("local"));
        Configuration configuration = new Configuration();
        configuration.set(StateBackendOptions.STATE_BACKEND, factory);
        configuration.setString("state.backend.rocksdb.localdir", local.toString());
        configuration.set(CheckpointingOptions.INCREMENTAL_CHECKPOINTS, true);
        configuration.set(CheckpointingOptions.CHECKPOINTING_INTERVAL, Duration.ofMillis(20));
        configuration.set(
                CheckpointingOptions.CHECKPOINTS_DIRECTORY, checkpoints.toUri().toString());
        configuration.set(RestartStrategyOptions.RESTART_STRATEGY, "fixed-delay");
        configuration.set(
                RestartStrategyOptions.RESTART_STRATEGY_FIXED_DELAY_DELAY, Duration.ofMillis(1));
        configuration.set(TaskManagerOptions.MANAGED_MEMORY_SIZE, MemorySize.ofMebiBytes(32));
        configuration.set(TaskManagerOptions.NETWORK_MEMORY_MIN, MemorySize.ofMebiBytes(8));
        configuration.set(TaskManagerOptions.NETWORK_MEMORY_MAX, MemorySize.ofMebiBytes(8));
        return configuration;
    }

    private static JobGraph graph(Configuration configuration) {
        StreamExecutionEnvironment env =
                StreamExecutionEnvironment.getExecutionEnvironment(configuration);
        env.setParallelism(2);
        env.fromSource(
                        new DataGeneratorSource<>(
                                index -> index,
                                RECORDS,
                                FailOnce.gate(RECORDS / 4),
                                Types.LONG),
                        WatermarkStrategy.noWatermarks(),
                        "numbers")
                .keyBy(number -> (int) (number % 13), Types.INT)
                .process(new UserFunction())
                .sinkTo(new DiscardingSink<>());
        return env.getStreamGraph().getJobGraph();
    }

    private static void check(boolean condition, String otherwise) {
        if (!condition) {
            throw new IllegalStateException(otherwise);
        }
    }

    /** Until a collection frees no further class loader. */
    private static void collect() {
        long before;
        do {
            before = UserClassLoaders.alive();
            System.gc();
        } while (UserClassLoaders.alive() < before);
    }

    private static String report(Path directory) throws IOException {
        return UserClassLoaders.seen()
                + " " + UserClassLoaders.alive()
                + " " + ManagementFactory.getThreadMXBean().getThreadCount()
                + " " + entries(Path.of("/proc/self/task"))
                + " " + mappedLibraries()
                + " " + (entries(directory.resolve("local")) + unpacked())
                + " " + metaspace();
    }

    private static long entries(Path directory) throws IOException {
        try (Stream<Path> entries = Files.list(directory)) {
            return entries.count();
        }
    }

    private static long unpacked() throws IOException {
        try (Stream<Path> files = Files.list(Path.of(System.getProperty("java.io.tmpdir")))) {
            return files.filter(file -> file.getFileName().toString().startsWith("libferrostate"))
                    .count();
        }
    }

    /** Device and inode tell the copies apart. */
    private static long mappedLibraries() throws IOException {
        try (Stream<String> maps = Files.lines(Path.of("/proc/self/maps"))) {
            return maps.filter(line -> line.contains("libferrostate"))
                    .map(line -> line.split(" +")[3] + " " + line.split(" +")[4])
                    .distinct()
                    .count();
        }
    }

    private static long metaspace() {
        return ManagementFactory.getMemoryPoolMXBeans().stream()
                        .filter(pool -> pool.getName().equals("Metaspace"))
                        .mapToLong(pool -> pool.getUsage().getUsed())
                        .sum()
                >> 10;
    }
}
