package io.ferrostate.job;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.MapFunction;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.CheckpointListener;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.ReadOnlyBroadcastState;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.changelog.fs.FsStateChangelogOptions;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.StateChangelogOptions;
import org.apache.flink.connector.datagen.source.DataGeneratorSource;
import org.apache.flink.runtime.state.FunctionInitializationContext;
import org.apache.flink.runtime.state.FunctionSnapshotContext;
import org.apache.flink.streaming.api.checkpoint.CheckpointedFunction;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.co.KeyedBroadcastProcessFunction;
import org.apache.flink.util.CloseableIterator;
import org.apache.flink.util.Collector;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Broadcast state, list state and union list state beside keyed state, in a job that is restored from
 * a checkpoint, with and without Flink's changelog around the backend: as on the hashmap backend.
 */
@Timeout(300)
class BroadcastAndOperatorStateJobTest {

    private static final int NUMBERS = 1_500;
    private static final int RULES = 40;
    private static final int KEYS = 11;

    private static final MapStateDescriptor<Long, String> RULE_STATE =
            new MapStateDescriptor<>("rules", Types.LONG, Types.STRING);

    @TempDir Path directory;

    @ParameterizedTest(name = "changelog={0}")
    @ValueSource(booleans = {false, true})
    void restoredFromACheckpoint(boolean changelog) throws Exception {
        List<String> expected = run(TestJobs.HASHMAP, false);
        assertThat(expected).hasSize(KEYS);
        assertThat(expected.get(0)).contains("rule 39");
        FailOnce.arm(2);
        assertThat(run(TestJobs.FERROSTATE, changelog)).isEqualTo(expected);
        assertThat(FailOnce.happened()).isTrue();
    }

    private List<String> run(String stateBackend, boolean changelog) throws Exception {
        Configuration configuration =
                TestJobs.configuration(
                        stateBackend, Files.createTempDirectory(directory, "checkpoints"));
        configuration.set(StateChangelogOptions.ENABLE_STATE_CHANGE_LOG, changelog);
        configuration.set(StateChangelogOptions.STATE_CHANGE_LOG_STORAGE, "filesystem");
        configuration.set(
                FsStateChangelogOptions.BASE_PATH, directory.resolve("dstl").toUri().toString());
        StreamExecutionEnvironment env =
                StreamExecutionEnvironment.getExecutionEnvironment(configuration);
        env.setParallelism(2);
        List<String> said = new ArrayList<>();
        try (CloseableIterator<String> lines =
                source(env, NUMBERS)
                        .map(new Numbered())
                        .setParallelism(1)
                        .map(new Counted())
                        .keyBy(number -> (int) (number % KEYS), Types.INT)
                        .connect(source(env, RULES).broadcast(RULE_STATE))
                        .process(new Ruled())
                        .executeAndCollect()) {
            lines.forEachRemaining(said::add);
        }
        said.sort(null);
        return said;
    }

    private static SingleOutputStreamOperator<Long> source(
            StreamExecutionEnvironment env, int numbers) {
        return env.fromSource(
                        new DataGeneratorSource<>(
                                index -> index, numbers, FailOnce.gate(numbers / 2), Types.LONG),
                        WatermarkStrategy.<Long>forMonotonousTimestamps()
                                .withTimestampAssigner((number, timestamp) -> number),
                        "numbers up to " + numbers)
                .setParallelism(1);
    }

    /** Checks with a counter in list state that it sees each number exactly once, in order. */
    private static final class Numbered implements MapFunction<Long, Long>, CheckpointedFunction {
        private static final long serialVersionUID = 1L;

        private transient ListState<Long> state;
        private transient long next;

        @Override
        public Long map(Long number) {
            if (number != next++) {
                throw new IllegalStateException("got " + number + " instead of " + (next - 1));
            }
            return number;
        }

        @Override
        public void initializeState(FunctionInitializationContext context) throws Exception {
            state =
                    context.getOperatorStateStore()
                            .getListState(new ListStateDescriptor<>("next", Types.LONG));
            for (long restored : state.get()) {
                next += restored;
            }
        }

        @Override
        public void snapshotState(FunctionSnapshotContext context) throws Exception {
            state.update(List.of(next));
        }
    }

    /** Checks that after a restore each subtask gets the counters of both as union state. */
    private static final class Counted implements MapFunction<Long, Long>, CheckpointedFunction {
        private static final long serialVersionUID = 1L;

        private transient ListState<Long> state;
        private transient long count;

        @Override
        public Long map(Long number) {
            count++;
            return number;
        }

        @Override
        public void initializeState(FunctionInitializationContext context) throws Exception {
            state =
                    context.getOperatorStateStore()
                            .getUnionListState(new ListStateDescriptor<>("counts", Types.LONG));
            List<Long> counts = new ArrayList<>();
            state.get().forEach(counts::add);
            if (counts.size() != (context.isRestored() ? 2 : 0)) {
                throw new IllegalStateException("union state of both subtasks: " + counts);
            }
        }

        @Override
        public void snapshotState(FunctionSnapshotContext context) throws Exception {
            state.update(List.of(count));
        }
    }

    /** Counts per key, and at the end of both inputs says the count and all rules. */
    private static final class Ruled
            extends KeyedBroadcastProcessFunction<Integer, Long, Long, String>
            implements CheckpointListener {
        private static final long serialVersionUID = 1L;

        private transient ValueState<Long> count;

        @Override
        public void open(OpenContext context) {
            count = getRuntimeContext().getState(new ValueStateDescriptor<>("count", Types.LONG));
        }

        @Override
        public void processElement(Long number, ReadOnlyContext context, Collector<String> out)
                throws Exception {
            count.update(count.value() == null ? 1 : count.value() + 1);
            context.timerService().registerEventTimeTimer(EveryState.END);
        }

        @Override
        public void processBroadcastElement(Long rule, Context context, Collector<String> out)
                throws Exception {
            String before = context.getBroadcastState(RULE_STATE).get(rule % 25);
            context.getBroadcastState(RULE_STATE)
                    .put(rule % 25, (before == null ? "" : before + ", ") + "rule " + rule);
            if (rule % 10 == 9) {
                context.getBroadcastState(RULE_STATE).remove(rule % 10);
            }
        }

        @Override
        public void onTimer(long timestamp, OnTimerContext context, Collector<String> out)
                throws Exception {
            ReadOnlyBroadcastState<Long, String> rules = context.getBroadcastState(RULE_STATE);
            TreeMap<Long, String> sorted = new TreeMap<>();
            for (Map.Entry<Long, String> rule : rules.immutableEntries()) {
                sorted.put(rule.getKey(), rule.getValue());
            }
            out.collect(context.getCurrentKey() + ": " + count.value() + " " + sorted);
        }

        @Override
        public void notifyCheckpointComplete(long checkpointId) {
            FailOnce.confirmed();
        }
    }
}
