package io.ferrostate.tool;

import static org.assertj.core.api.Assertions.assertThat;

import io.ferrostate.stress.ChildJvm;
import java.io.IOException;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.JobStatus;
import org.apache.flink.client.deployment.StandaloneClusterId;
import org.apache.flink.client.program.rest.RestClusterClient;
import org.apache.flink.configuration.BlobServerOptions;
import org.apache.flink.configuration.CheckpointingOptions;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.HeartbeatManagerOptions;
import org.apache.flink.configuration.JobManagerOptions;
import org.apache.flink.configuration.RestOptions;
import org.apache.flink.configuration.RestartStrategyOptions;
import org.apache.flink.configuration.TaskManagerOptions;
import org.apache.flink.core.execution.RecoveryClaimMode;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.runtime.jobgraph.SavepointRestoreSettings;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * A task manager, a process of its own, is killed (SIGKILL) while it uploads. What it left, no
 * checkpoint of Flink refers to and nobody deletes: the command-line tool lists exactly that while the
 * job goes on elsewhere. After it was deleted every retained checkpoint is whole and restores.
 */
@Timeout(300)
class KilledTaskManagerTest {

    @TempDir Path directory;

    private Configuration configuration;

    @Test
    void itsLeftoversAreFoundAndNothingElse() throws Exception {
        configuration = configuration();
        ChildJvm master = start(FlinkProcess.JOB_MANAGER);
        ChildJvm worker = start(FlinkProcess.TASK_MANAGER);
        try (RestClusterClient<StandaloneClusterId> flink =
                new RestClusterClient<>(configuration, StandaloneClusterId.getInstance())) {
            JobID job = flink.submitJob(FixtureJob.graph(configuration, false)).get();
            Path home = home(job);
            Set<String> left = Set.of();
            // Where it had just told of all that it uploaded, the job manager deletes everything.
            while (left.isEmpty()) {
                awaitNewer(home, newest(home));
                awaitUpload(home);
                end(worker);
                Set<String> atDeath = JobDirectory.files(home);
                long before = newest(home);
                worker = start(FlinkProcess.TASK_MANAGER);
                // Two, so that whatever was superseded is deleted.
                awaitNewer(home, awaitNewer(home, before));
                left = leftOf(atDeath, home);
            }
            Set<String> expected = left;
            Set<String> seen = new HashSet<>();
            await(
                    () -> {
                        Set<String> listed = orphans(home);
                        seen.addAll(listed);
                        return listed.equals(expected);
                    });
            deleteOrphans(home);
            assertThat(expected).noneMatch(path -> Files.exists(Path.of(path)));
            awaitNewer(home, newest(home));
            assertThat(seen).doesNotContainAnyElementsOf(needed(home));
            Tool.run(0, "verify", "--deep", home.toString());

            cancel(flink, job);
            assertThat(orphans(home, "--stopped")).isEqualTo(leftOf(JobDirectory.files(home), home));
            Tool.run(0, "orphans", home.toString(), "--stopped", "--min-age", "0s", "--delete", "--yes",
                    "--journal", directory.resolve("journal-stopped").toString());
            assertThat(JobDirectory.files(home)).isEqualTo(needed(home));
            List<Path> retained = JobDirectory.retained(home);
            assertThat(retained).hasSizeGreaterThanOrEqualTo(2);
            for (Path checkpoint : retained) {
                restore(flink, checkpoint);
            }
        } finally {
            end(worker);
            end(master);
        }
    }

    private Configuration configuration() throws IOException {
        Configuration configuration =
                FixtureWriter.incremental("io.ferrostate.FerrostateStateBackendFactory");
        configuration.set(CheckpointingOptions.CHECKPOINTING_INTERVAL, Duration.ofMillis(200));
        configuration.set(
                CheckpointingOptions.CHECKPOINTS_DIRECTORY,
                directory.resolve("checkpoints").toUri().toString());
        configuration.set(RestartStrategyOptions.RESTART_STRATEGY, "fixed-delay");
        configuration.set(RestartStrategyOptions.RESTART_STRATEGY_FIXED_DELAY_ATTEMPTS, 1000);
        configuration.set(
                RestartStrategyOptions.RESTART_STRATEGY_FIXED_DELAY_DELAY, Duration.ofMillis(10));
        configuration.set(HeartbeatManagerOptions.HEARTBEAT_INTERVAL, Duration.ofMillis(200));
        configuration.set(HeartbeatManagerOptions.HEARTBEAT_TIMEOUT, Duration.ofSeconds(20));
        configuration.set(JobManagerOptions.ADDRESS, "localhost");
        configuration.set(JobManagerOptions.PORT, freePort());
        configuration.set(RestOptions.ADDRESS, "localhost");
        int rest = freePort();
        configuration.set(RestOptions.PORT, rest);
        configuration.set(RestOptions.BIND_PORT, Integer.toString(rest));
        // Until the job manager is there.
        configuration.set(RestOptions.RETRY_DELAY, Duration.ofMillis(100));
        configuration.set(RestOptions.RETRY_MAX_ATTEMPTS, 1200);
        configuration.set(BlobServerOptions.PORT, "0");
        configuration.set(TaskManagerOptions.NUM_TASK_SLOTS, 2);
        return configuration;
    }

    private static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0)) {
            return socket.getLocalPort();
        }
    }

    private ChildJvm start(String which) throws IOException {
        Path temporary = Files.createTempDirectory(directory, which);
        Stream<String> options =
                configuration.toMap().entrySet().stream()
                        .map(option -> option.getKey() + "=" + option.getValue());
        return ChildJvm.startWith(
                List.of("-Xmx256m"),
                FlinkProcess.class,
                temporary,
                Stream.concat(Stream.of(which), options).toArray(String[]::new));
    }

    /** SIGKILL; returns when the process is no more. */
    private static void end(ChildJvm process) throws Exception {
        process.kill();
        process.exitCode();
        process.close();
    }

    private Path home(JobID job) {
        return directory.resolve("checkpoints").resolve(job.toHexString());
    }

    /** Until a checkpoint in flight has written files, of which none was there when it began. */
    private static void awaitUpload(Path home) throws Exception {
        long completed = newest(home);
        Set<String> before = JobDirectory.files(home);
        await(
                () ->
                        newest(home) > completed
                                || JobDirectory.files(home).stream()
                                        .anyMatch(path -> path.contains("/shared/") && !before.contains(path)));
    }

    /** Returns the newer one. */
    private static long awaitNewer(Path home, long than) throws Exception {
        await(() -> newest(home) > than);
        return newest(home);
    }

    private static long newest(Path home) throws IOException {
        return JobDirectory.retained(home).stream()
                .mapToLong(path -> Long.parseLong(path.getFileName().toString().substring(4)))
                .max()
                .orElse(0);
    }

    /** Those that are still there and that no retained checkpoint needs, as Flink reads it. */
    private static Set<String> leftOf(Set<String> files, Path home) throws IOException {
        Set<String> left = new TreeSet<>(files);
        left.removeAll(needed(home));
        left.removeIf(path -> !Files.exists(Path.of(path)));
        return left;
    }

    private static Set<String> needed(Path home) throws IOException {
        Set<String> needed = new TreeSet<>();
        for (Path checkpoint : JobDirectory.retained(home)) {
            try {
                needed.addAll(FlinkFiles.of(checkpoint.resolve("_metadata")));
            } catch (IOException gone) {
                assertThat(checkpoint.resolve("_metadata")).doesNotExist();
            }
        }
        return needed;
    }

    private static Set<String> orphans(Path home, String... more) throws Exception {
        List<String> arguments = rules(home, more);
        return Tool.paths(Tool.json(arguments.toArray(new String[0])), "orphans");
    }

    private void deleteOrphans(Path home) throws Exception {
        String journal = directory.resolve("journal").toString();
        List<String> arguments = rules(home, "--delete", "--yes", "--journal", journal);
        Tool.run(0, arguments.toArray(new String[0]));
    }

    private static List<String> rules(Path home, String... more) {
        return Stream.concat(
                        Stream.of("orphans", home.toString(), "--min-age", "0s", "--checkpoint-timeout", "0s"),
                        Stream.of(more))
                .collect(Collectors.toList());
    }

    private void restore(RestClusterClient<?> flink, Path checkpoint) throws Exception {
        JobGraph graph = FixtureJob.graph(configuration, false);
        graph.setSavepointRestoreSettings(
                SavepointRestoreSettings.forPath(
                        checkpoint.toUri().toString(), false, RecoveryClaimMode.NO_CLAIM));
        JobID job = flink.submitJob(graph).get();
        await(() -> !JobDirectory.retained(home(job)).isEmpty());
        cancel(flink, job);
    }

    private static void cancel(RestClusterClient<?> flink, JobID job) throws Exception {
        flink.cancel(job).get();
        await(() -> flink.getJobStatus(job).get() == JobStatus.CANCELED);
    }

    private interface Condition {
        boolean holds() throws Exception;
    }

    /** The test's own time limit ends it. */
    private static void await(Condition condition) throws Exception {
        while (!condition.holds()) {
            TimeUnit.MILLISECONDS.sleep(1);
        }
    }
}
