package io.ferrostate.job;

import static org.assertj.core.api.Assertions.assertThat;

import io.ferrostate.job.WatchedBackend.Restore;

import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.CheckpointListener;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.connector.source.util.ratelimit.RateLimiterStrategy;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.configuration.CheckpointingOptions;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.RestartStrategyOptions;
import org.apache.flink.configuration.StateRecoveryOptions;
import org.apache.flink.connector.datagen.source.DataGeneratorSource;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.CloseableIterator;
import org.apache.flink.util.Collector;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A job with local recovery on two disks that fails again and again, with checkpoints confirmed and
 * local copies pruned in between: it goes on from the copies on the machine, and from the storage when
 * those are damaged or gone.
 */
@Timeout(180)
class LocalRecoveryJobTest {

    private static final long RECORDS = 8_000;
    private static final long KEYS = 37;
    private static final int PARALLELISM = 2;

    @TempDir Path directory;

    @Test
    void aJobThatFailsManyTimes() throws Exception {
        List<Restore> restores = run(4, failure -> {});
        assertThat(restores).hasSize(4 * PARALLELISM).containsOnly(Restore.LOCAL);
    }

    /** The one whose copy is damaged tries it, says so and takes the storage's. */
    @Test
    void localCopiesThatAreDamagedOrPartlyGone() throws Exception {
        List<Restore> restores =
                run(
                        4,
                        failure -> {
                            if (failure == 2) {
                                change(path -> path.endsWith(".sst"), Files::delete);
                            } else if (failure == 3) {
                                change(
                                        path -> path.contains("MANIFEST"),
                                        file -> Files.write(file, new byte[10]));
                            }
                        });
        assertThat(restores.subList(0, PARALLELISM)).containsOnly(Restore.LOCAL);
        assertThat(restores).contains(Restore.LOCAL_FAILED, Restore.REMOTE);
        assertThat(restores).doesNotContain(Restore.REMOTE_FAILED);
        assertThat(restores.stream().filter(Restore.REMOTE::equals).count())
                .isEqualTo(restores.stream().filter(Restore.LOCAL_FAILED::equals).count());
        assertThat(restores.subList(restores.size() - PARALLELISM, restores.size()))
                .containsOnly(Restore.LOCAL);
    }

    private interface Change {
        void to(Path file) throws IOException;
    }

    private void change(java.util.function.Predicate<String> which, Change change) {
        try {
            for (Path file : localCopies()) {
                if (which.test(file.toString())) {
                    change.to(file);
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private List<Path> localRoots() {
        return List.of(directory.resolve("disk1"), directory.resolve("disk2"));
    }

    private List<Path> localCopies() throws IOException {
        List<Path> files = new ArrayList<>();
        for (Path root : localRoots()) {
            if (Files.exists(root)) {
                try (Stream<Path> found = Files.walk(root)) {
                    found.filter(Files::isRegularFile).forEach(files::add);
                } catch (UncheckedIOException prunedMeanwhile) {
                    // What is left is looked at.
                }
            }
        }
        return files;
    }

    private List<Restore> run(int failures, java.util.function.IntConsumer beforeFailure)
            throws Exception {
        WatchedBackend.RESTORES.clear();
        Counter.failuresLeft.set(failures);
        Counter.beforeFailure = left -> beforeFailure.accept(failures - left);
        Configuration configuration =
                TestJobs.configuration(
                        WatchedBackend.Factory.class.getName(), directory.resolve("checkpoints"));
        configuration.set(CheckpointingOptions.LOCAL_BACKUP_ENABLED, true);
        configuration.set(StateRecoveryOptions.LOCAL_RECOVERY, true);
        configuration.set(
                CheckpointingOptions.LOCAL_RECOVERY_TASK_MANAGER_STATE_ROOT_DIRS,
                localRoots().stream().map(Path::toString).collect(Collectors.joining(",")));
        configuration.set(RestartStrategyOptions.RESTART_STRATEGY_FIXED_DELAY_ATTEMPTS, failures);
        StreamExecutionEnvironment env =
                StreamExecutionEnvironment.getExecutionEnvironment(configuration);
        env.setParallelism(PARALLELISM);
        Map<Long, Long> highest = new HashMap<>();
        try (CloseableIterator<Tuple2<Long, Long>> counts =
                env.fromSource(
                                new DataGeneratorSource<>(
                                        index -> index,
                                        RECORDS,
                                        RateLimiterStrategy.perCheckpoint(400),
                                        Types.LONG),
                                WatermarkStrategy.noWatermarks(),
                                "numbers")
                        .keyBy(number -> number % KEYS)
                        .process(new Counter())
                        .executeAndCollect()) {
            counts.forEachRemaining(count -> highest.merge(count.f0, count.f1, Math::max));
        }
        assertThat(Counter.failuresLeft).hasValue(0);
        assertThat(highest.values().stream().mapToLong(Long::longValue).sum()).isEqualTo(RECORDS);
        return new ArrayList<>(WatchedBackend.RESTORES);
    }

    /** Counts per key; fails after each third checkpoint that it was told of. */
    private static final class Counter
            extends KeyedProcessFunction<Long, Long, Tuple2<Long, Long>>
            implements CheckpointListener {

        private static final long serialVersionUID = 1L;
        static final AtomicInteger failuresLeft = new AtomicInteger();
        static volatile java.util.function.IntConsumer beforeFailure;

        private transient ValueState<Long> count;
        private transient int confirmed;

        @Override
        public void open(OpenContext context) {
            count = getRuntimeContext().getState(new ValueStateDescriptor<>("count", Types.LONG));
        }

        @Override
        public void processElement(Long number, Context context, Collector<Tuple2<Long, Long>> out)
                throws Exception {
            if (confirmed >= 3 && getRuntimeContext().getTaskInfo().getIndexOfThisSubtask() == 0) {
                int left = failuresLeft.getAndDecrement();
                if (left > 0) {
                    beforeFailure.accept(left - 1);
                    confirmed = 0;
                    throw new IllegalStateException("induced failure");
                }
                failuresLeft.set(0);
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
