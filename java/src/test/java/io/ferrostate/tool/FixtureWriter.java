package io.ferrostate.tool;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.JobStatus;
import org.apache.flink.changelog.fs.FsStateChangelogOptions;
import org.apache.flink.configuration.CheckpointingOptions;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.ExternalizedCheckpointRetention;
import org.apache.flink.configuration.MemorySize;
import org.apache.flink.configuration.StateBackendOptions;
import org.apache.flink.configuration.StateChangelogOptions;
import org.apache.flink.configuration.TaskManagerOptions;
import org.apache.flink.core.execution.CheckpointType;
import org.apache.flink.core.execution.RecoveryClaimMode;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.runtime.jobgraph.SavepointRestoreSettings;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;

/**
 * A program: writes the checkpoints and savepoints that the tests of the command-line tool read, with
 * Flink's own backends and ours. {@code gradle :java:toolFixtures -Pinto=<directory>} (and {@code
 * -Pfixtures=<name>,<name>} for some); the paths in them are those of that directory.
 */
public final class FixtureWriter {

    private static final int CHECKPOINTS = 3;
    private static final int RESCALED = 3;

    private final Path directory;
    private final List<String> only;

    private FixtureWriter(Path directory, List<String> only) {
        this.directory = directory;
        this.only = only;
    }

    /** Arguments: the directory, and the fixtures to write anew there; none for all. */
    public static void main(String[] arguments) throws Exception {
        Path directory = Path.of(arguments[0]).toAbsolutePath();
        List<String> only = List.of(arguments).subList(1, arguments.length);
        FixtureWriter writer = new FixtureWriter(directory, only);
        writer.writeAll();
        Files.writeString(directory.resolve("flink-sizes.json"), FlinkSizes.of(directory));
    }

    private void writeAll() throws Exception {
        write("hashmap", configuration("hashmap"), null);
        write("rocksdb-incremental", incremental("rocksdb"), null);
        Configuration inline = incremental("rocksdb");
        inline.set(CheckpointingOptions.FS_SMALL_FILE_THRESHOLD, MemorySize.ofMebiBytes(1));
        write("rocksdb-inline", inline, null);
        write("rocksdb-full", configuration("rocksdb"), null);
        write("rocksdb-native", incremental("rocksdb"), SavepointFormatType.NATIVE);
        write("rocksdb-canonical", incremental("rocksdb"), SavepointFormatType.CANONICAL);
        Configuration merging = incremental("rocksdb");
        merging.set(CheckpointingOptions.FILE_MERGING_ENABLED, true);
        write("rocksdb-merging", merging, null);
        Configuration changelog = incremental("rocksdb");
        changelog.set(StateChangelogOptions.ENABLE_STATE_CHANGE_LOG, true);
        changelog.set(StateChangelogOptions.STATE_CHANGE_LOG_STORAGE, "filesystem");
        changelog.set(
                StateChangelogOptions.PERIODIC_MATERIALIZATION_INTERVAL, Duration.ofMillis(20));
        changelog.set(
                FsStateChangelogOptions.BASE_PATH,
                directory.resolve("rocksdb-changelog/changes").toUri().toString());
        write("rocksdb-changelog", changelog, null);
        Configuration unaligned = configuration("hashmap");
        unaligned.set(CheckpointingOptions.ENABLE_UNALIGNED, true);
        unaligned.set(CheckpointingOptions.ALIGNED_CHECKPOINT_TIMEOUT, Duration.ZERO);
        write("unaligned", unaligned, null);
        Configuration both = incremental("rocksdb");
        both.set(CheckpointingOptions.FILE_MERGING_ENABLED, true);
        both.set(CheckpointingOptions.ENABLE_UNALIGNED, true);
        both.set(CheckpointingOptions.ALIGNED_CHECKPOINT_TIMEOUT, Duration.ZERO);
        write("unaligned-merging", both, null);
        write("forst", incremental("forst"), null);
        write("rocksdb-rescaled", incremental("rocksdb"), null);
        write("ferrostate", incremental("io.ferrostate.FerrostateStateBackendFactory"), null);
        write("ferrostate-rescaled", incremental("io.ferrostate.FerrostateStateBackendFactory"), null);
    }

    private static Configuration configuration(String backend) {
        Configuration configuration = new Configuration();
        configuration.set(StateBackendOptions.STATE_BACKEND, backend);
        configuration.set(
                CheckpointingOptions.EXTERNALIZED_CHECKPOINT_RETENTION,
                ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION);
        configuration.set(CheckpointingOptions.MAX_RETAINED_CHECKPOINTS, 2);
        configuration.set(CheckpointingOptions.CHECKPOINTING_INTERVAL, Duration.ofDays(9));
        configuration.set(CheckpointingOptions.FS_SMALL_FILE_THRESHOLD, MemorySize.ZERO);
        configuration.set(TaskManagerOptions.MEMORY_SEGMENT_SIZE, MemorySize.parse("4kb"));
        configuration.set(TaskManagerOptions.NETWORK_MEMORY_MIN, MemorySize.ofMebiBytes(8));
        configuration.set(TaskManagerOptions.NETWORK_MEMORY_MAX, MemorySize.ofMebiBytes(8));
        return configuration;
    }

    static Configuration incremental(String backend) {
        Configuration configuration = configuration(backend);
        configuration.set(CheckpointingOptions.INCREMENTAL_CHECKPOINTS, true);
        return configuration;
    }

    /**
     * Three checkpoints, of which two are retained, or a savepoint after a checkpoint; those called
     * rescaled go on at a higher parallelism.
     */
    private void write(String name, Configuration configuration, SavepointFormatType savepoint)
            throws Exception {
        if (!only.isEmpty() && !only.contains(name)) {
            return;
        }
        Path home = directory.resolve(name);
        delete(home);
        Files.createDirectories(home);
        configuration.set(
                CheckpointingOptions.CHECKPOINTS_DIRECTORY, home.resolve("checkpoints").toUri().toString());
        MiniClusterConfiguration cluster =
                new MiniClusterConfiguration.Builder()
                        .setConfiguration(configuration)
                        .setNumTaskManagers(1)
                        .setNumSlotsPerTaskManager(RESCALED)
                        .withRandomPorts()
                        .build();
        boolean slow = name.startsWith("unaligned");
        boolean rescaled = name.endsWith("rescaled");
        int checkpoints = savepoint != null || rescaled ? 1 : CHECKPOINTS;
        try (MiniCluster flink = new MiniCluster(cluster)) {
            flink.start();
            JobID job = flink.submitJob(FixtureJob.graph(configuration, slow)).get().getJobID();
            long last = checkpoints(flink, job, checkpoints, slow);
            if (savepoint != null) {
                await(2L * FixtureJob.PER_CHECKPOINT);
                String target = home.resolve("savepoints").toUri().toString();
                flink.triggerSavepoint(job, target, false, savepoint).get();
            }
            cancel(flink, job);
            if (rescaled) {
                JobGraph graph = FixtureJob.graph(configuration, slow, RESCALED);
                // What it is restored from stays as it is.
                Path from = home.resolve("checkpoints/" + job.toHexString() + "/chk-" + last);
                graph.setSavepointRestoreSettings(
                        SavepointRestoreSettings.forPath(
                                from.toUri().toString(), false, RecoveryClaimMode.NO_CLAIM));
                job = flink.submitJob(graph).get().getJobID();
                checkpoints(flink, job, 1, slow);
                cancel(flink, job);
            }
        }
        if (savepoint != null) {
            delete(home.resolve("checkpoints"));
        }
        System.out.println(name + ": " + size(home) + " bytes");
    }

    /** Returns the number of the last one. */
    private static long checkpoints(MiniCluster flink, JobID job, int checkpoints, boolean slow)
            throws Exception {
        long last = 0;
        for (int checkpoint = 1; checkpoint <= checkpoints; checkpoint++) {
            await(slow ? 300L * checkpoint : (long) FixtureJob.PER_CHECKPOINT * checkpoint);
            last = flink.triggerCheckpoint(job, CheckpointType.DEFAULT).get();
        }
        return last;
    }

    private static void cancel(MiniCluster flink, JobID job) throws Exception {
        flink.cancelJob(job).get();
        while (flink.getJobStatus(job).get() != JobStatus.CANCELED) {
            Thread.sleep(20);
        }
    }

    private static void await(long records) throws InterruptedException {
        long deadline = System.nanoTime() + Duration.ofMinutes(2).toNanos();
        while (FixtureJob.worked.get() < records) {
            if (System.nanoTime() > deadline) {
                throw new IllegalStateException(FixtureJob.worked + " of " + records + " records");
            }
            Thread.sleep(20);
        }
    }

    private static long size(Path home) throws IOException {
        long sum = 0;
        for (Path path : below(home)) {
            sum += Files.isRegularFile(path) ? Files.size(path) : 0;
        }
        return sum;
    }

    private static void delete(Path home) throws IOException {
        for (Path path : below(home)) {
            Files.delete(path);
        }
    }

    /** Children before their parents. */
    private static List<Path> below(Path home) throws IOException {
        if (!Files.exists(home)) {
            return List.of();
        }
        try (Stream<Path> paths = Files.walk(home)) {
            return paths.sorted(Comparator.reverseOrder()).collect(Collectors.toList());
        }
    }
}
