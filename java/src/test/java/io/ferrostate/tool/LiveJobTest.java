package io.ferrostate.tool;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.JobStatus;
import org.apache.flink.configuration.CheckpointingOptions;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.RestartStrategyOptions;
import org.apache.flink.core.execution.RecoveryClaimMode;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.runtime.jobgraph.SavepointRestoreSettings;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * The command-line tool beside a job that checkpoints every 200 ms and fails again and again: its
 * checkpoints are whole, what is deleted as an orphan nothing ever needs, and what was left over is
 * found. Afterwards every retained checkpoint restores.
 */
@Timeout(180)
class LiveJobTest {

    private static final Pattern PATH = Pattern.compile("\"path\": \"([^\"]+)\"");
    private static final int ROUNDS = 6;
    /** Enough to fall between the first and the last file of some checkpoint. */
    private static final int LOOKS = 8;

    @TempDir Path directory;

    @Test
    void orphansOfALiveJobAreDeletedAndNothingElse() throws Exception {
        Configuration configuration = configuration();
        FixtureJob.snapshotMillis.set(300);
        try (MiniCluster flink = cluster(configuration)) {
            flink.start();
            JobID job = flink.submitJob(FixtureJob.graph(configuration, false)).get().getJobID();
            Path home = directory.resolve("checkpoints").resolve(job.toHexString());
            await(() -> !retained(home).isEmpty());
            Set<String> deleted = new HashSet<>();
            for (int round = 0; round < ROUNDS; round++) {
                Path left = home.resolve("shared").resolve(UUID.randomUUID().toString());
                Files.writeString(left, "left by a task manager that is no more");
                FixtureJob.fail.set(round % 2 == 0);
                int[] looks = {0};
                // It is an orphan as soon as a checkpoint has completed that was begun after it.
                await(
                        () -> {
                            deleted.addAll(deleteOrphans(home));
                            verify(home);
                            Set<String> used = paths(tool(0, "files", home.toString(), "--json"));
                            deleted.forEach(path -> assertThat(used).doesNotContain(path));
                            return !Files.exists(left) && ++looks[0] >= LOOKS;
                        });
                assertThat(deleted).contains(left.toString());
            }
            assertThat(FixtureJob.failures.get()).isPositive();
            FixtureJob.snapshotMillis.set(0);
            cancel(flink, job);
            tool(0, "orphans", home.toString(), "--stopped", "--min-age", "0s", "--delete", "--yes");
            assertThat(files(home)).isEqualTo(used(home));
            tool(0, "verify", "--deep", home.toString());
            for (Path checkpoint : retained(home)) {
                restore(flink, configuration, checkpoint);
            }
        }
    }

    private Configuration configuration() {
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
        return configuration;
    }

    private static MiniCluster cluster(Configuration configuration) {
        return new MiniCluster(
                new MiniClusterConfiguration.Builder()
                        .setConfiguration(configuration)
                        .setNumTaskManagers(1)
                        .setNumSlotsPerTaskManager(2)
                        .withRandomPorts()
                        .build());
    }

    private Set<String> deleteOrphans(Path home) throws Exception {
        Path journal = directory.resolve("journal-" + UUID.randomUUID());
        String[] rules = {"--min-age", "0s", "--checkpoint-timeout", "0s"};
        List<String> arguments = new ArrayList<>(List.of("orphans", home.toString()));
        arguments.addAll(List.of(rules));
        arguments.addAll(List.of("--delete", "--yes", "--journal", journal.toString()));
        tool(0, arguments.toArray(new String[0]));
        if (!Files.exists(journal)) {
            return Set.of();
        }
        return Files.readAllLines(journal).stream()
                .filter(line -> line.contains("\"deleted\""))
                .map(line -> line.replaceAll(".*\"path\":\"([^\"]+)\".*", "$1"))
                .collect(Collectors.toSet());
    }

    private static void verify(Path home) throws Exception {
        tool(0, "verify", home.toString());
    }

    private void restore(MiniCluster flink, Configuration configuration, Path checkpoint)
            throws Exception {
        JobGraph graph = FixtureJob.graph(configuration, false);
        graph.setSavepointRestoreSettings(
                SavepointRestoreSettings.forPath(
                        checkpoint.toUri().toString(), false, RecoveryClaimMode.NO_CLAIM));
        JobID job = flink.submitJob(graph).get().getJobID();
        Path home = directory.resolve("checkpoints").resolve(job.toHexString());
        await(() -> FixtureJob.worked.get() > 0 && !retained(home).isEmpty());
        cancel(flink, job);
    }

    private static void cancel(MiniCluster flink, JobID job) throws Exception {
        flink.cancelJob(job).get();
        await(() -> flink.getJobStatus(job).get() == JobStatus.CANCELED);
    }

    private interface Condition {
        boolean holds() throws Exception;
    }

    /** The test's own time limit ends it. */
    private static void await(Condition condition) throws Exception {
        while (!condition.holds()) {
            TimeUnit.MILLISECONDS.sleep(20);
        }
    }

    private static List<Path> retained(Path home) throws IOException {
        if (!Files.isDirectory(home)) {
            return List.of();
        }
        try (Stream<Path> directories = Files.list(home)) {
            return directories
                    .filter(path -> Files.exists(path.resolve("_metadata")))
                    .sorted()
                    .collect(Collectors.toList());
        }
    }

    private static Set<String> files(Path home) throws IOException {
        try (Stream<Path> paths = Files.walk(home)) {
            return paths.filter(Files::isRegularFile)
                    .filter(path -> !path.endsWith("_metadata"))
                    .map(Path::toString)
                    .collect(Collectors.toSet());
        }
    }

    private static Set<String> used(Path home) throws Exception {
        return paths(tool(0, "files", home.toString(), "--json"));
    }

    private static Set<String> paths(String json) {
        Set<String> paths = new HashSet<>();
        Matcher matcher = PATH.matcher(json);
        while (matcher.find()) {
            paths.add(matcher.group(1));
        }
        // The listing's own path is the directory.
        paths.removeIf(path -> Files.isDirectory(Path.of(path)));
        return paths;
    }

    /** Runs the tool; what it prints. */
    private static String tool(int expected, String... arguments) throws Exception {
        Path tool = Path.of(System.getProperty("ferrostate.tool"));
        assertThat(tool).as("the tool (make tool builds it)").isExecutable();
        List<String> command = new ArrayList<>(List.of(tool.toString()));
        command.addAll(List.of(arguments));
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String said = new String(process.getInputStream().readAllBytes());
        int code = process.waitFor();
        assertThat(code).as("%s: %s", String.join(" ", arguments), said).isEqualTo(expected);
        return said;
    }
}
