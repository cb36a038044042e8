package io.ferrostate.job;

import static org.assertj.core.api.Assertions.assertThat;

import io.ferrostate.FerrostateOptions;
import io.ferrostate.FerrostateOptions.TimerService;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.flink.changelog.fs.FsStateChangelogOptions;
import org.apache.flink.configuration.CheckpointingOptions;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.CoreOptions;
import org.apache.flink.configuration.ExternalizedCheckpointRetention;
import org.apache.flink.configuration.StateChangelogOptions;
import org.apache.flink.configuration.StateRecoveryOptions;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.core.execution.RecoveryClaimMode;
import org.apache.flink.runtime.checkpoint.Checkpoints;
import org.apache.flink.runtime.checkpoint.OperatorSubtaskState;
import org.apache.flink.runtime.state.IncrementalRemoteKeyedStateHandle;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.changelog.ChangelogStateBackendHandle;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.util.CloseableIterator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Flink's changelog around Ferrostate: jobs restored from its checkpoints, with and without
 * materialisations in them, end as on the hashmap backend; also when the changelog is switched off.
 */
@Timeout(300)
class ChangelogJobTest {

    private static final int NUMBERS = 2_000;

    @TempDir Path directory;

    @AfterEach
    void letAllJobsEnd() {
        FailOnce.release();
    }

    @ParameterizedTest(name = "materialisation={0}")
    @ValueSource(booleans = {false, true})
    void goesOnAfterAFailure(boolean materialise) throws Exception {
        FailOnce.arm(3);
        assertThat(toTheEnd(configuration(TestJobs.FERROSTATE, true, materialise)))
                .hasSize(StatefulJobTest.KEYS)
                .isEqualTo(expected());
        assertThat(FailOnce.happened()).isTrue();
    }

    /**
     * A materialisation is a snapshot of the backend alone, for which nobody asks after timers of the
     * heap: with Flink's RocksDB backend they are lost. Here they go into the database.
     */
    @Test
    void noTimerIsLostWhenTheHeapIsAskedFor() throws Exception {
        FailOnce.arm(4);
        Configuration configuration = configuration(TestJobs.FERROSTATE, true, true);
        configuration.set(FerrostateOptions.TIMER_SERVICE_FACTORY, TimerService.HEAP);
        assertThat(toTheEnd(configuration)).isEqualTo(expected());
        assertThat(FailOnce.happened()).isTrue();
    }

    @ParameterizedTest(name = "materialisation={0}, changelog={1} and parallelism={2} afterwards")
    @CsvSource({
        "false, true, 2",
        "true, true, 2",
        "false, false, 2",
        "true, false, 2",
        "true, true, 3",
        "true, false, 1"
    })
    void restoredFromARetainedCheckpoint(
            boolean materialise, boolean changelogAfterwards, int parallelism) throws Exception {
        Path checkpoint = checkpointInTheMiddle(materialise);
        List<ChangelogStateBackendHandle> handles = changelogHandles(checkpoint);
        assertThat(handles).isNotEmpty();
        assertThat(materialised(handles)).isEqualTo(materialise);

        FailOnce.release();
        Configuration configuration =
                configuration(TestJobs.FERROSTATE, changelogAfterwards, materialise);
        configuration.set(StateRecoveryOptions.SAVEPOINT_PATH, checkpoint.toUri().toString());
        configuration.set(StateRecoveryOptions.RESTORE_MODE, RecoveryClaimMode.CLAIM);
        configuration.set(CoreOptions.DEFAULT_PARALLELISM, parallelism);
        assertThat(toTheEnd(configuration)).isEqualTo(expected());
    }

    private List<String> expected() throws Exception {
        return toTheEnd(configuration(TestJobs.HASHMAP, false, false));
    }

    // ---- jobs ----------------------------------------------------------------------------------

    private Configuration configuration(
            String stateBackend, boolean changelog, boolean materialise) throws IOException {
        Configuration configuration =
                TestJobs.configuration(
                        stateBackend, Files.createTempDirectory(directory, "checkpoints"));
        configuration.set(
                CheckpointingOptions.EXTERNALIZED_CHECKPOINT_RETENTION,
                ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION);
        configuration.set(CoreOptions.DEFAULT_PARALLELISM, 2);
        configuration.set(StateChangelogOptions.ENABLE_STATE_CHANGE_LOG, changelog);
        configuration.set(StateChangelogOptions.STATE_CHANGE_LOG_STORAGE, "filesystem");
        configuration.set(
                FsStateChangelogOptions.BASE_PATH, directory.resolve("dstl").toUri().toString());
        configuration.set(StateChangelogOptions.PERIODIC_MATERIALIZATION_ENABLED, materialise);
        configuration.set(
                StateChangelogOptions.PERIODIC_MATERIALIZATION_INTERVAL, Duration.ofMillis(60));
        return configuration;
    }

    private static SingleOutputStreamOperator<String> job(StreamExecutionEnvironment env) {
        return StatefulJobTest.numbers(env, NUMBERS).process(new EveryState()).uid("every state");
    }

    private static List<String> toTheEnd(Configuration configuration) throws Exception {
        StreamExecutionEnvironment env =
                StreamExecutionEnvironment.getExecutionEnvironment(configuration);
        List<String> said = new ArrayList<>();
        try (CloseableIterator<String> lines = job(env).executeAndCollect()) {
            lines.forEachRemaining(said::add);
        }
        said.sort(null);
        return said;
    }

    /** Runs half of the input and cancels when a checkpoint is retained as wanted. */
    private Path checkpointInTheMiddle(boolean materialise) throws Exception {
        Configuration configuration = configuration(TestJobs.FERROSTATE, true, materialise);
        FailOnce.hold();
        StreamExecutionEnvironment env =
                StreamExecutionEnvironment.getExecutionEnvironment(configuration);
        job(env).sinkTo(new DiscardingSink<>());
        JobClient job = env.executeAsync();
        Path root =
                Path.of(
                        URI.create(
                                configuration.get(CheckpointingOptions.CHECKPOINTS_DIRECTORY)));
        awaitCheckpoint(
                root,
                checkpoint -> {
                    List<ChangelogStateBackendHandle> handles = changelogHandles(checkpoint);
                    return !handles.isEmpty() && (!materialise || materialised(handles));
                });
        job.cancel().get();
        try {
            job.getJobExecutionResult().get();
        } catch (Exception cancelled) {
            // That is how a cancelled job ends.
        }
        return newest(root);
    }

    // ---- checkpoints ---------------------------------------------------------------------------

    private static void awaitCheckpoint(Path root, Predicate<Path> wanted) throws Exception {
        while (true) { // the test's time limit ends it
            Path newest = newest(root);
            if (newest != null && wanted.test(newest)) {
                return;
            }
            Thread.sleep(5); // between two looks
        }
    }

    /** The newest whole checkpoint, or null. */
    private static Path newest(Path root) throws IOException {
        try (Stream<Path> files = Files.walk(root)) {
            return files.filter(file -> file.getFileName().toString().startsWith("chk-"))
                    .filter(checkpoint -> Files.exists(checkpoint.resolve("_metadata")))
                    .max(Comparator.comparingInt(ChangelogJobTest::number))
                    .orElse(null);
        } catch (UncheckedIOException subsumedMeanwhile) {
            return null;
        }
    }

    private static int number(Path checkpoint) {
        return Integer.parseInt(checkpoint.getFileName().toString().substring("chk-".length()));
    }

    /** None when the checkpoint was subsumed while it was looked at. */
    private static List<ChangelogStateBackendHandle> changelogHandles(Path checkpoint) {
        Path metadata = checkpoint.resolve("_metadata");
        try (DataInputStream in = new DataInputStream(Files.newInputStream(metadata))) {
            return Checkpoints.loadCheckpointMetadata(
                            in, ChangelogJobTest.class.getClassLoader(), metadata.toString())
                    .getOperatorStates()
                    .stream()
                    .flatMap(operator -> operator.getStates().stream())
                    .map(OperatorSubtaskState::getManagedKeyedState)
                    .flatMap(handles -> handles.stream())
                    .filter(handle -> handle instanceof ChangelogStateBackendHandle)
                    .map(handle -> (ChangelogStateBackendHandle) handle)
                    .collect(Collectors.toList());
        } catch (IOException subsumedMeanwhile) {
            return Collections.emptyList();
        }
    }

    /** Whether each subtask's part has a materialisation, which is then one of Ferrostate's. */
    private static boolean materialised(List<ChangelogStateBackendHandle> handles) {
        for (ChangelogStateBackendHandle handle : handles) {
            for (KeyedStateHandle part : handle.getMaterializedStateHandles()) {
                assertThat(part).isInstanceOf(IncrementalRemoteKeyedStateHandle.class);
            }
        }
        return handles.stream().noneMatch(handle -> handle.getMaterializedStateHandles().isEmpty());
    }
}
