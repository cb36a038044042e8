package io.ferrostate.tool;

import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.connector.source.util.ratelimit.RateLimiterStrategy;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.connector.datagen.source.DataGeneratorSource;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.runtime.state.FunctionInitializationContext;
import org.apache.flink.runtime.state.FunctionSnapshotContext;
import org.apache.flink.streaming.api.checkpoint.CheckpointedFunction;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.util.Collector;

/**
 * The job whose checkpoints are fixtures: a source with a coordinator, keyed state of three kinds with
 * timers, operator state. The source waits for a checkpoint after each so many records.
 */
final class FixtureJob {

    static final int PER_CHECKPOINT = 400;
    private static final long KEYS = 60;

    /** Records that were worked on in this process; the job runs in a mini cluster. */
    static final AtomicLong worked = new AtomicLong();

    /** Makes the next record fail its task, once. */
    static final AtomicBoolean fail = new AtomicBoolean();

    static final AtomicLong failures = new AtomicLong();

    /** For how long the second subtask holds up each checkpoint, whose other files are there already. */
    static final AtomicLong snapshotMillis = new AtomicLong();

    private FixtureJob() {}

    /** With {@code slow}, records pile up before the keyed operator. */
    static JobGraph graph(Configuration configuration, boolean slow) {
        return graph(configuration, slow, 2);
    }

    static JobGraph graph(Configuration configuration, boolean slow, int parallelism) {
        worked.set(0);
        StreamExecutionEnvironment env =
                StreamExecutionEnvironment.getExecutionEnvironment(configuration);
        env.setParallelism(parallelism);
        env.setMaxParallelism(16);
        env.fromSource(slow ? numbers() : paced(), WatermarkStrategy.noWatermarks(), "numbers")
                .uid("numbers")
                .keyBy(number -> number % KEYS)
                .process(new Counts(slow))
                .name("Counts")
                .uid("counts")
                .sinkTo(new DiscardingSink<>())
                .uid("sink");
        return env.getStreamGraph().getJobGraph();
    }

    private static DataGeneratorSource<Long> numbers() {
        return new DataGeneratorSource<>(n -> n, Long.MAX_VALUE, Types.LONG);
    }

    private static DataGeneratorSource<Long> paced() {
        return new DataGeneratorSource<>(
                n -> n, Long.MAX_VALUE, RateLimiterStrategy.perCheckpoint(PER_CHECKPOINT), Types.LONG);
    }

    /** Keyed state and union list state. */
    private static final class Counts extends KeyedProcessFunction<Long, Long, Long>
            implements CheckpointedFunction {

        private static final long serialVersionUID = 1L;
        private final boolean slow;
        private transient ValueState<Long> count;
        private transient ListState<Long> recent;
        private transient MapState<Long, String> described;
        private transient ListState<Long> seen;

        Counts(boolean slow) {
            this.slow = slow;
        }

        @Override
        public void open(OpenContext context) {
            count = getRuntimeContext().getState(new ValueStateDescriptor<>("count", Types.LONG));
            recent = getRuntimeContext().getListState(new ListStateDescriptor<>("recent", Types.LONG));
            described =
                    getRuntimeContext()
                            .getMapState(
                                    new MapStateDescriptor<>("described", Types.LONG, Types.STRING));
        }

        @Override
        public void processElement(Long number, Context context, Collector<Long> out)
                throws Exception {
            if (fail.getAndSet(false)) {
                failures.incrementAndGet();
                throw new IllegalStateException("induced failure");
            }
            Long before = count.value();
            count.update(before == null ? 1 : before + 1);
            recent.add(number);
            described.put(number % 7, "the number " + number);
            context.timerService().registerEventTimeTimer(number);
            out.collect(number);
            worked.incrementAndGet();
            if (slow) {
                Thread.sleep(1);
            }
        }

        @Override
        public void snapshotState(FunctionSnapshotContext context) throws Exception {
            if (getRuntimeContext().getTaskInfo().getIndexOfThisSubtask() == 1) {
                Thread.sleep(snapshotMillis.get());
            }
            seen.add(context.getCheckpointId());
        }

        @Override
        public void initializeState(FunctionInitializationContext context) throws Exception {
            seen =
                    context.getOperatorStateStore()
                            .getUnionListState(new ListStateDescriptor<>("seen", Types.LONG));
        }
    }
}
