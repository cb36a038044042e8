package io.ferrostate.job;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.flink.api.common.RuntimeExecutionMode;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.ExecutionOptions;
import org.apache.flink.configuration.PipelineOptions;
import org.apache.flink.connector.datagen.source.DataGeneratorSource;
import org.apache.flink.streaming.api.datastream.KeyedStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.util.CloseableIterator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Jobs that use every kind of state, in the ways a user can run them: synchronous and asynchronous
 * state API, object reuse, batch execution. What they say at the end is what the hashmap backend says.
 */
@Timeout(300)
class StatefulJobTest {

    private static final int NUMBERS = 2_000;
    static final int KEYS = 37;

    @TempDir Path directory;

    @ParameterizedTest(name = "object reuse={0}")
    @ValueSource(booleans = {false, true})
    void streamingRestoredFromACheckpoint(boolean objectReuse) throws Exception {
        assertThat(streaming(TestJobs.FERROSTATE, objectReuse, false, true))
                .hasSize(KEYS)
                .isEqualTo(streaming(TestJobs.HASHMAP, false, false, false));
    }

    /** Flink's adaptor makes asynchronous state of the synchronous one; no backend here has its own. */
    @ParameterizedTest(name = "object reuse={0}")
    @ValueSource(booleans = {false, true})
    void asynchronousStateRestoredFromACheckpoint(boolean objectReuse) throws Exception {
        List<String> expected = streaming(TestJobs.HASHMAP, false, true, false);
        assertThat(expected)
                .hasSize(KEYS)
                .as("the asynchronous function says what the synchronous one says")
                .isEqualTo(streaming(TestJobs.HASHMAP, false, false, false));
        assertThat(streaming(TestJobs.FERROSTATE, objectReuse, true, true)).isEqualTo(expected);
    }

    /** In batch jobs Flink's own backend for sorted input replaces the configured one. */
    @Test
    void batchWithFlinksBatchBackend() throws Exception {
        assertThat(batch(TestJobs.FERROSTATE, true))
                .hasSize(KEYS)
                .isEqualTo(streaming(TestJobs.HASHMAP, false, false, false));
    }

    /** With that replacement switched off the configured one is used. */
    @ParameterizedTest(name = "sorted inputs={0}")
    @CsvSource({"true", "false"})
    void batchOnTheConfiguredBackend(boolean sortedInputs) throws Exception {
        Configuration configuration = configuration(TestJobs.FERROSTATE);
        configuration.set(ExecutionOptions.RUNTIME_MODE, RuntimeExecutionMode.BATCH);
        configuration.set(ExecutionOptions.USE_BATCH_STATE_BACKEND, false);
        configuration.set(ExecutionOptions.SORT_INPUTS, sortedInputs);
        assertThat(run(configuration, false))
                .hasSize(KEYS)
                .isEqualTo(batch(TestJobs.HASHMAP, true));
    }

    private List<String> streaming(
            String stateBackend, boolean objectReuse, boolean asynchronous, boolean fail)
            throws Exception {
        Configuration configuration = configuration(stateBackend);
        configuration.set(PipelineOptions.OBJECT_REUSE, objectReuse);
        if (fail) {
            FailOnce.arm(2);
        }
        List<String> said = run(configuration, asynchronous);
        assertThat(FailOnce.happened()).isTrue();
        return said;
    }

    private List<String> batch(String stateBackend, boolean batchStateBackend) throws Exception {
        Configuration configuration = configuration(stateBackend);
        configuration.set(ExecutionOptions.RUNTIME_MODE, RuntimeExecutionMode.BATCH);
        configuration.set(ExecutionOptions.USE_BATCH_STATE_BACKEND, batchStateBackend);
        return run(configuration, false);
    }

    private Configuration configuration(String stateBackend) throws Exception {
        return TestJobs.configuration(
                stateBackend, Files.createTempDirectory(directory, "checkpoints"));
    }

    private static List<String> run(Configuration configuration, boolean asynchronous)
            throws Exception {
        StreamExecutionEnvironment env =
                StreamExecutionEnvironment.getExecutionEnvironment(configuration);
        env.setParallelism(2);
        KeyedStream<Long, Integer> keyed = numbers(env, NUMBERS);
        List<String> said = new ArrayList<>();
        try (CloseableIterator<String> lines =
                (asynchronous
                                ? keyed.enableAsyncState().process(new EveryStateV2())
                                : keyed.process(new EveryState()))
                        .executeAndCollect()) {
            lines.forEachRemaining(said::add);
        }
        said.sort(null);
        return said;
    }

    /** In order: one reader. The numbers are their own timestamps. */
    static KeyedStream<Long, Integer> numbers(StreamExecutionEnvironment env, int numbers) {
        return env.fromSource(
                        new DataGeneratorSource<>(
                                index -> index, numbers, FailOnce.gate(numbers / 2), Types.LONG),
                        WatermarkStrategy.<Long>forMonotonousTimestamps()
                                .withTimestampAssigner((number, timestamp) -> number),
                        "numbers")
                .setParallelism(1)
                .keyBy(number -> (int) (number * 31 % KEYS), Types.INT);
    }
}
