package io.ferrostate.job;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.CheckpointListener;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.connector.source.util.ratelimit.RateLimiterStrategy;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.connector.datagen.source.DataGeneratorSource;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.CloseableIterator;
import org.apache.flink.util.Collector;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The one line that a user writes, in a job that fails once after a checkpoint: every record counts
 * exactly once. Not what the state backend does in detail.
 */
class MiniClusterTest {

    private static final long RECORDS = 6_000;
    private static final long KEYS = 37;

    @TempDir Path directory;

    @Test
    void aJobThatFailsGoesOnFromItsLastIncrementalCheckpoint() throws Exception {
        Counter.failed.set(false);
        StreamExecutionEnvironment env =
                StreamExecutionEnvironment.getExecutionEnvironment(
                        TestJobs.configuration(TestJobs.FERROSTATE, directory));
        env.setParallelism(2);
        Map<Long, Long> highest = new HashMap<>();
        try (CloseableIterator<Tuple2<Long, Long>> counts =
                env.fromSource(numbers(), WatermarkStrategy.noWatermarks(), "numbers")
                        .keyBy(number -> number % KEYS)
                        .process(new Counter())
                        .executeAndCollect()) {
            counts.forEachRemaining(count -> highest.merge(count.f0, count.f1, Math::max));
        }
        assertThat(Counter.failed).isTrue();
        assertThat(highest).hasSize((int) KEYS);
        assertThat(highest.values().stream().mapToLong(Long::longValue).sum()).isEqualTo(RECORDS);
    }

    /** Waits for a checkpoint after each so many records: there are a dozen, however slow the machine. */
    private static DataGeneratorSource<Long> numbers() {
        return new DataGeneratorSource<>(
                index -> index, RECORDS, RateLimiterStrategy.perCheckpoint(500), Types.LONG);
    }

    /** Counts per key; fails once, on the first record after its second confirmed checkpoint. */
    private static final class Counter
            extends KeyedProcessFunction<Long, Long, Tuple2<Long, Long>>
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
                Long number, Context context, Collector<Tuple2<Long, Long>> out)
                throws Exception {
            if (confirmed >= 2 && failed.compareAndSet(false, true)) {
                throw new IllegalStateException("induced failure");
            }
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
