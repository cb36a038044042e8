package io.ferrostate.compatibility;

import static org.assertj.core.api.Assertions.assertThat;

import io.ferrostate.compatibility.Backends.Kind;
import io.ferrostate.compatibility.Backends.Snapshot;

import org.apache.flink.api.common.typeutils.base.StringSerializer;
import org.apache.flink.runtime.state.AbstractKeyedStateBackend;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.KeyGroupRangeAssignment;
import org.apache.flink.runtime.state.KeyGroupedInternalPriorityQueue;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.streaming.api.operators.TimerHeapInternalTimer;
import org.apache.flink.streaming.api.operators.TimerSerializer;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;

import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;

/** Timers that Flink's RocksDB backend kept in RocksDB: Ferrostate has them, and never loses them. */
@Timeout(120)
class TimerCompatibilityTest {

    private static final String QUEUE = "_timer_state/event_windows";

    @TempDir Path directory;

    private static KeyGroupedInternalPriorityQueue<TimerHeapInternalTimer<String, TimeWindow>>
            queue(AbstractKeyedStateBackend<String> backend) {
        return backend.create(
                QUEUE,
                new TimerSerializer<>(StringSerializer.INSTANCE, new TimeWindow.Serializer()));
    }

    private static List<String> poll(AbstractKeyedStateBackend<String> backend) {
        KeyGroupedInternalPriorityQueue<TimerHeapInternalTimer<String, TimeWindow>> queue =
                queue(backend);
        List<String> timers = new ArrayList<>();
        long last = Long.MIN_VALUE;
        for (TimerHeapInternalTimer<String, TimeWindow> timer = queue.poll();
                timer != null;
                timer = queue.poll()) {
            assertThat(timer.getTimestamp()).isGreaterThanOrEqualTo(last);
            last = timer.getTimestamp();
            timers.add(timer.getTimestamp() + " " + timer.getKey() + " " + timer.getNamespace());
        }
        Collections.sort(timers);
        return timers;
    }

    /** Negative timestamps too: their sign bit is flipped in the rows. */
    private static List<String> fill(
            AbstractKeyedStateBackend<String> backend, KeyGroupRange range, int maxParallelism) {
        KeyGroupedInternalPriorityQueue<TimerHeapInternalTimer<String, TimeWindow>> queue =
                queue(backend);
        Random random = new Random(7);
        List<String> timers = new ArrayList<>();
        for (int i = 0; i < 500; i++) {
            String key = "key " + i;
            long time = random.nextLong() / 2;
            TimeWindow window = new TimeWindow(time - 1000, time);
            queue.add(new TimerHeapInternalTimer<>(time, key, window));
            if (range.contains(KeyGroupRangeAssignment.assignToKeyGroup(key, maxParallelism))) {
                timers.add(time + " " + key + " " + window);
            }
        }
        Collections.sort(timers);
        return timers;
    }

    private static KeyedStateHandle write(
            Backends backends, KeyGroupRange all, KeyGroupRange wanted, int maxParallelism,
            List<String> timers)
            throws Exception {
        AbstractKeyedStateBackend<String> writer = backends.open(Kind.ROCKSDB, all, List.of());
        try {
            Workload workload = new Workload(writer, maxParallelism);
            workload.writeUntouched();
            timers.addAll(fill(writer, wanted, maxParallelism));
            return backends.snapshot(writer);
        } finally {
            writer.dispose();
        }
    }

    private static List<String> pollFrom(
            Backends backends, Kind kind, KeyGroupRange range, KeyedStateHandle... handles)
            throws Exception {
        AbstractKeyedStateBackend<String> reader =
                backends.open(kind, range, Arrays.asList(handles));
        try {
            return poll(reader);
        } finally {
            reader.dispose();
        }
    }

    @ParameterizedTest
    @CsvSource({
        "INCREMENTAL,128", "FULL,129", "NATIVE_SAVEPOINT,128", "CANONICAL_SAVEPOINT,128",
        "CANONICAL_SAVEPOINT,129"
    })
    void restoredTimersFire(Snapshot snapshot, int maxParallelism) throws Exception {
        KeyGroupRange all = KeyGroupRange.of(0, maxParallelism - 1);
        try (Backends backends = new Backends(directory, maxParallelism, snapshot)) {
            List<String> timers = new ArrayList<>();
            KeyedStateHandle handle = write(backends, all, all, maxParallelism, timers);
            assertThat(timers).hasSize(500);
            assertThat(pollFrom(backends, Kind.FERROSTATE, all, handle)).isEqualTo(timers);
        }
    }

    @ParameterizedTest
    @CsvSource({"INCREMENTAL,129", "CANONICAL_SAVEPOINT,128"})
    void onlyThoseOfItsKeyGroupsAfterARescale(Snapshot snapshot, int maxParallelism)
            throws Exception {
        KeyGroupRange all = KeyGroupRange.of(0, maxParallelism - 1);
        KeyGroupRange part = KeyGroupRange.of(maxParallelism / 2, maxParallelism - 1);
        try (Backends backends = new Backends(directory, maxParallelism, snapshot)) {
            List<String> timers = new ArrayList<>();
            KeyedStateHandle handle = write(backends, all, part, maxParallelism, timers);
            assertThat(timers).hasSizeBetween(100, 400);
            assertThat(
                            pollFrom(
                                    backends,
                                    Kind.FERROSTATE,
                                    part,
                                    handle.getIntersection(part)))
                    .isEqualTo(timers);
        }
    }

    /** A job that does not ask for the queue yet, for example since it failed before. */
    @ParameterizedTest
    @CsvSource({"INCREMENTAL,128", "FULL,129"})
    void timersNobodyAskedForAreKept(Snapshot snapshot, int maxParallelism) throws Exception {
        KeyGroupRange all = KeyGroupRange.of(0, maxParallelism - 1);
        try (Backends backends = new Backends(directory, maxParallelism, snapshot)) {
            List<String> timers = new ArrayList<>();
            KeyedStateHandle there = write(backends, all, all, maxParallelism, timers);
            KeyedStateHandle back;
            AbstractKeyedStateBackend<String> reader =
                    backends.open(Kind.FERROSTATE, all, List.of(there));
            try {
                Workload workload = new Workload(reader, maxParallelism);
                workload.run(1, 1000);
                back = backends.snapshot(reader);
            } finally {
                reader.dispose();
            }
            assertThat(pollFrom(backends, Kind.ROCKSDB, all, back)).isEqualTo(timers);
        }
    }
}
