package io.ferrostate.timer;

import static org.assertj.core.api.Assertions.assertThat;

import io.ferrostate.FerrostateOptions;
import io.ferrostate.FerrostateOptions.TimerService;
import io.ferrostate.FerrostateStateBackend;

import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.runtime.checkpoint.CheckpointType;
import org.apache.flink.runtime.checkpoint.OperatorSubtaskState;
import org.apache.flink.runtime.checkpoint.SavepointType;
import org.apache.flink.runtime.checkpoint.SnapshotType;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.streaming.api.operators.KeyedProcessOperator;
import org.apache.flink.streaming.util.KeyedOneInputStreamOperatorTestHarness;
import org.apache.flink.util.Collector;

import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;

/**
 * An operator that is restored with another {@code timer-service.factory} than it was stopped with:
 * each of its timers fires, once. In checkpoints and native savepoints timers of the heap travel in
 * raw keyed state, which Flink writes and reads.
 */
@Timeout(120)
class SwitchTimerServiceTest {

    private static final int KEYS = 300;

    @TempDir Path directory;

    static Collection<Arguments> switches() {
        SnapshotType[] snapshots = {
            CheckpointType.CHECKPOINT,
            CheckpointType.FULL_CHECKPOINT,
            SavepointType.savepoint(SavepointFormatType.NATIVE),
            SavepointType.savepoint(SavepointFormatType.CANONICAL)
        };
        List<Arguments> switches = new ArrayList<>();
        for (TimerService before : TimerService.values()) {
            for (TimerService after : TimerService.values()) {
                for (SnapshotType snapshot : snapshots) {
                    switches.add(Arguments.of(before, after, snapshot));
                }
            }
        }
        return switches;
    }

    @ParameterizedTest
    @MethodSource("switches")
    void eachTimerFiresOnce(TimerService before, TimerService after, SnapshotType snapshot)
            throws Exception {
        OperatorSubtaskState stopped;
        try (KeyedOneInputStreamOperatorTestHarness<Long, Long, String> operator =
                operator(before)) {
            operator.open();
            for (long key = 0; key < KEYS; key++) {
                operator.processElement(key, 0);
            }
            operator.processWatermark(KEYS / 3);
            operator.setProcessingTime(KEYS / 4);
            assertThat(operator.extractOutputValues())
                    .hasSize(KEYS / 3 + 1 + KEYS / 4 + 1)
                    .doesNotHaveDuplicates();
            stopped = operator.snapshotWithLocalState(1, 1, snapshot).getJobManagerOwnedState();
        }
        boolean raw = before == TimerService.HEAP && !isCanonical(snapshot);
        assertThat(stopped.getRawKeyedState().isEmpty()).isEqualTo(!raw);
        assertRestFires(after, stopped);
    }

    private void assertRestFires(TimerService after, OperatorSubtaskState stopped)
            throws Exception {
        try (KeyedOneInputStreamOperatorTestHarness<Long, Long, String> operator =
                operator(after)) {
            operator.initializeState(stopped);
            operator.open();
            assertThat(operator.numEventTimeTimers()).isEqualTo(KEYS - KEYS / 3 - 1);
            assertThat(operator.numProcessingTimeTimers()).isEqualTo(KEYS - KEYS / 4 - 1);
            operator.processWatermark(KEYS);
            operator.setProcessingTime(KEYS);
            List<String> expected = new ArrayList<>();
            for (long key = KEYS / 3 + 1; key < KEYS; key++) {
                expected.add("EVENT_TIME " + key);
            }
            for (long key = KEYS / 4 + 1; key < KEYS; key++) {
                expected.add("PROCESSING_TIME " + key);
            }
            assertThat(operator.extractOutputValues()).isEqualTo(expected);
        }
    }

    private static boolean isCanonical(SnapshotType snapshot) {
        return snapshot instanceof SavepointType
                && ((SavepointType) snapshot).getFormatType() == SavepointFormatType.CANONICAL;
    }

    private KeyedOneInputStreamOperatorTestHarness<Long, Long, String> operator(
            TimerService timerService) throws Exception {
        KeyedOneInputStreamOperatorTestHarness<Long, Long, String> harness =
                new KeyedOneInputStreamOperatorTestHarness<>(
                        new KeyedProcessOperator<>(new OneTimerEach()), key -> key, Types.LONG);
        harness.setStateBackend(
                new FerrostateStateBackend()
                        .setLocalDirectories(directory.toString())
                        .set(FerrostateOptions.TIMER_SERVICE_FACTORY, timerService)
                        // The harness takes what a backend still holds of it for a leak.
                        .set(FerrostateOptions.USE_MANAGED_MEMORY, false)
                        .configure(new Configuration(), getClass().getClassLoader()));
        return harness;
    }

    /** Registers a timer of both kinds at the time that its key says. */
    private static final class OneTimerEach extends KeyedProcessFunction<Long, Long, String> {

        private static final long serialVersionUID = 1L;

        @Override
        public void processElement(Long key, Context context, Collector<String> out) {
            context.timerService().registerEventTimeTimer(key);
            context.timerService().registerProcessingTimeTimer(key);
        }

        @Override
        public void onTimer(long timestamp, OnTimerContext context, Collector<String> out) {
            assertThat(timestamp).isEqualTo(context.getCurrentKey());
            out.collect(context.timeDomain() + " " + timestamp);
        }
    }
}
