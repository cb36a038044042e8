package io.ferrostate.tool;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
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
 * The command-line tool beside a job that checkpoints every 200 ms and fails at random: its
 * checkpoints are whole, what is deleted as an orphan nothing ever needs, and what was left over is
 * found. Afterwards every retained checkpoint restores.
 */
@Timeout(180)
class LiveJobTest {

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
            await(() -> !JobDirectory.retained(home).isEmpty());
            Set<String> deleted = new HashSet<>();
            Random random = new Random();
            for (int round = 0; round < ROUNDS; round++) {
                Path left = home.resolve("shared").resolve(UUID.randomUUID().toString());
                Files.writeString(left, "left by a task manager that is no more");
                int[] looks = {0};
                // It is an orphan as soon as a checkpoint has completed that was begun after it.
                await(
                        () -> {
                            FixtureJob.fail.compareAndSet(false, random.nextInt(8) == 0);
                            deleted.addAll(deleteOrphans(home));
                            verify(home);
                            Set<String> used = Tool.used(home);
                            deleted.forEach(path -> assertThat(used).doesNotContain(path));
                            return !Files.exists(left) && ++looks[0] >= LOOKS;
                        });
                assertThat(deleted).contains(left.toString());
            }
            assertThat(FixtureJob.failures.get()).isPositive();
            FixtureJob.snapshotMillis.set(0);
            cancel(flink, job);
            String journal = directory.resolve("journal-stopped").toString();
            Tool.run(0, "orphans", home.toString(), "--stopped", "--min-age", "0s", "--delete", "--yes",
                    "--journal", journal);
            assertThat(JobDirectory.files(home)).isEqualTo(Tool.used(home));
            Tool.run(0, "verify", "--deep", home.toString());
            for (Path checkpoint : JobDirectory.retained(home)) {
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
        Tool.run(0, arguments.toArray(new String[0]));
        return Tool.deleted(journal);
    }

    private static void verify(Path home) throws Exception {
        Tool.run(0, "verify", home.toString());
    }

    private void restore(MiniCluster flink, Configuration configuration, Path checkpoint)
            throws Exception {
        JobGraph graph = FixtureJob.graph(configuration, false);
        graph.setSavepointRestoreSettings(
                SavepointRestoreSettings.forPath(
                        checkpoint.toUri().toString(), false, RecoveryClaimMode.NO_CLAIM));
        JobID job = flink.submitJob(graph).get().getJobID();
        Path home = directory.resolve("checkpoints").resolve(job.toHexString());
        await(() -> FixtureJob.worked.get() > 0 && !JobDirectory.retained(home).isEmpty());
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
}
