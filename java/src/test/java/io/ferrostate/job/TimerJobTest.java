package io.ferrostate.job;

import static org.assertj.core.api.Assertions.assertThat;

import io.ferrostate.FerrostateOptions;
import io.ferrostate.FerrostateOptions.TimerService;

import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.CheckpointListener;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.connector.source.util.ratelimit.RateLimiterStrategy;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.connector.datagen.source.DataGeneratorSource;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.CloseableIterator;
import org.apache.flink.util.Collector;

import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;

/** A job whose timers are waiting while it fails and goes on: each of them fires exactly once. */
@Timeout(120)
class TimerJobTest {

    private static final long RECORDS = 3_000;
    private static final long KEYS = 37;
    private static final long DELAY = 1_000;

    @TempDir Path directory;

    @ParameterizedTest
    @EnumSource(TimerService.class)
    void eachTimerFiresOnceAcrossAFailure(TimerService timerService) throws Exception {
        Delayed.failed.set(false);
        StreamExecutionEnvironment env =
                StreamExecutionEnvironment.getExecutionEnvironment(configuration(timerService));
        env.setParallelism(2);
        Map<Long, Long> fired = new HashMap<>();
        try (CloseableIterator<Tuple2<Long, Long>> counts =
                env.fromSource(numbers(), inOrder(), "numbers")
                        .keyBy(number -> number % KEYS)
                        .process(new Delayed())
                        .executeAndCollect()) {
            counts.forEachRemaining(count -> fired.merge(count.f0, count.f1, Math::max));
        }
        assertThat(Delayed.failed).isTrue();
        assertThat(fired).hasSize((int) KEYS);
        assertThat(fired.values().stream().mapToLong(Long::longValue).sum()).isEqualTo(RECORDS);
    }

    private Configuration configuration(TimerService timerService) {
        Configuration configuration = TestJobs.configuration(TestJobs.FERROSTATE, directory);
        configuration.set(FerrostateOptions.TIMER_SERVICE_FACTORY, timerService);
        return configuration;
    }

    private static WatermarkStrategy<Long> inOrder() {
        return WatermarkStrategy.<Long>forMonotonousTimestamps()
                .withTimestampAssigner((number, before) -> number);
    }

    /** Some at a time, so that there are a number of checkpoints, however slow the machine is. */
    private static DataGeneratorSource<Long> numbers() {
        return new DataGeneratorSource<>(
                index -> index, RECORDS, RateLimiterStrategy.perCheckpoint(600), Types.LONG);
    }

    /**
     * Counts, per key, the timers that fired: one for each record, some records later. Fails once, on
     * the first record after its second confirmed checkpoint.
     */
    private static final class Delayed extends KeyedProcessFunction<Long, Long, Tuple2<Long, Long>>
            implements CheckpointListener {

        private static final long serialVersionUID = 1L;
        static final AtomicBoolean failed = new AtomicBoolean();

        private transient ValueState<Long> count;
        private transient int confirmed;

        @Override
        public void open(OpenContext context) {
            count =
                    getRuntimeContext()
                            .getState(new ValueStateDescriptor<>("count", Types.LONG));
        }

        @Override
        public void processElement(
                Long number, Context context, Collector<Tuple2<Long, Long>> out) {
            if (confirmed >= 2 && failed.compareAndSet(false, true)) {
                throw new IllegalStateException("induced failure");
            }
            context.timerService().registerEventTimeTimer(number + DELAY);
            context.timerService().registerEventTimeTimer(number + 2 * DELAY);
            context.timerService().deleteEventTimeTimer(number + 2 * DELAY);
        }

        @Override
        public void onTimer(
                long timestamp, OnTimerContext context, Collector<Tuple2<Long, Long>> out)
                throws Exception {
            Long before = count.value();
            long now = before == null ? 1 : before + 1;
            count.update(now);
            out.collect(Tuple2.of(context.getCurrentKey(), now));
        }

        @Override
        public void notifyCheckpointComplete(long checkpointId) {
            confirmed++;
        }
    }
}
