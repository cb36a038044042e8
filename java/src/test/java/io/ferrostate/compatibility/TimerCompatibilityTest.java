package io.ferrostate.compatibility;

import static org.assertj.core.api.Assertions.assertThat;

import io.ferrostate.FerrostateOptions;
import io.ferrostate.FerrostateOptions.TimerService;
import io.ferrostate.compatibility.Backends.Kind;
import io.ferrostate.compatibility.Backends.Snapshot;

import org.apache.flink.runtime.state.AbstractKeyedStateBackend;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.state.rocksdb.EmbeddedRocksDBStateBackend.PriorityQueueStateType;
import org.apache.flink.state.rocksdb.RocksDBOptions;

import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/**
 * Timers that one backend kept, in its database or on its heap: another one has them all, fires them,
 * changes them and hands them back. For all kinds of snapshots that consist of keyed state; those of
 * the heap that go to raw keyed state are SwitchTimerServiceTest's.
 */
@Timeout(120)
class TimerCompatibilityTest {

    /** A backend and where it keeps timers. */
    private enum Side {
        FERROSTATE(true),
        FERROSTATE_HEAP(false),
        ROCKSDB(true),
        ROCKSDB_HEAP(false),
        HASHMAP(false);

        /** Its checkpoints contain the timers as rows. */
        private final boolean inDatabase;

        Side(boolean inDatabase) {
            this.inDatabase = inDatabase;
        }

        AbstractKeyedStateBackend<String> open(
                Backends backends, KeyGroupRange range, KeyedStateHandle... handles)
                throws Exception {
            boolean heap = this == FERROSTATE_HEAP;
            backends.set(
                    FerrostateOptions.TIMER_SERVICE_FACTORY,
                    heap ? TimerService.HEAP : TimerService.NATIVE);
            backends.set(
                    RocksDBOptions.TIMER_SERVICE_FACTORY,
                    this == ROCKSDB_HEAP
                            ? PriorityQueueStateType.HEAP
                            : PriorityQueueStateType.ROCKSDB);
            Collection<KeyedStateHandle> from = Arrays.asList(handles);
            switch (this) {
                case HASHMAP:
                    return backends.openHashMap(range, from);
                case ROCKSDB:
                case ROCKSDB_HEAP:
                    return backends.open(Kind.ROCKSDB, range, from);
                default:
                    return backends.open(Kind.FERROSTATE, range, from);
            }
        }
    }

    @TempDir Path directory;

    /** One of the sides is Ferrostate; file snapshots only between databases. */
    static Collection<Arguments> pairs() {
        List<Arguments> pairs = new ArrayList<>();
        for (Snapshot snapshot : Snapshot.values()) {
            for (Side writer : Side.values()) {
                for (Side reader : Side.values()) {
                    boolean ours = (writer.name() + reader.name()).contains("FERROSTATE");
                    boolean rows = writer.inDatabase && reader.inDatabase;
                    if (ours && (rows || snapshot == Snapshot.CANONICAL_SAVEPOINT)) {
                        pairs.add(Arguments.of(writer, reader, snapshot, 128));
                        pairs.add(Arguments.of(writer, reader, snapshot, 129));
                    }
                }
            }
        }
        return pairs;
    }

    private static KeyedStateHandle write(
            Backends backends, Side side, KeyGroupRange range, int maxParallelism,
            Set<String> timers)
            throws Exception {
        AbstractKeyedStateBackend<String> writer = side.open(backends, range);
        try {
            new Workload(writer, maxParallelism).writeUntouched();
            WindowTimers queue = new WindowTimers(writer, maxParallelism);
            queue.fill(7, 500);
            timers.addAll(queue.all());
            return backends.snapshot(writer);
        } finally {
            writer.dispose();
        }
    }

    /** Restores, compares and fires them all. */
    private static void assertFires(
            Backends backends, Side side, KeyGroupRange range, int maxParallelism,
            Set<String> timers, KeyedStateHandle... handles)
            throws Exception {
        AbstractKeyedStateBackend<String> reader = side.open(backends, range, handles);
        try {
            WindowTimers queue = new WindowTimers(reader, maxParallelism);
            assertThat(queue.all()).isEqualTo(timers);
            assertThat(new TreeSet<>(queue.pollAll())).isEqualTo(timers);
        } finally {
            reader.dispose();
        }
    }

    @ParameterizedTest
    @MethodSource("pairs")
    void thereAndBack(Side writer, Side reader, Snapshot snapshot, int maxParallelism)
            throws Exception {
        KeyGroupRange all = KeyGroupRange.of(0, maxParallelism - 1);
        try (Backends backends = new Backends(directory, maxParallelism, snapshot)) {
            Set<String> timers = new TreeSet<>();
            KeyedStateHandle there = write(backends, writer, all, maxParallelism, timers);
            assertThat(timers).hasSize(500);
            KeyedStateHandle back;
            AbstractKeyedStateBackend<String> between = reader.open(backends, all, there);
            try {
                WindowTimers queue = new WindowTimers(between, maxParallelism);
                assertThat(queue.all()).isEqualTo(timers);
                queue.poll(150);
                queue.removeEachTenth();
                queue.fillLater(8, 60);
                timers = queue.all();
                assertThat(timers).hasSizeBetween(350, 400);
                back = backends.snapshot(between);
            } finally {
                between.dispose();
            }
            assertFires(backends, writer, all, maxParallelism, timers, back);
        }
    }

    @ParameterizedTest
    @MethodSource("pairs")
    void onlyThoseOfItsKeyGroupsAfterScalingOut(
            Side writer, Side reader, Snapshot snapshot, int maxParallelism) throws Exception {
        KeyGroupRange all = KeyGroupRange.of(0, maxParallelism - 1);
        KeyGroupRange part = KeyGroupRange.of(maxParallelism / 2, maxParallelism - 1);
        try (Backends backends = new Backends(directory, maxParallelism, snapshot)) {
            Set<String> timers = new TreeSet<>();
            KeyedStateHandle handle = write(backends, writer, all, maxParallelism, timers);
            timers.removeIf(timer -> !WindowTimers.isIn(part, timer, maxParallelism));
            assertThat(timers).hasSizeBetween(100, 400);
            KeyedStateHandle half = handle.getIntersection(part);
            assertFires(backends, reader, part, maxParallelism, timers, half);
        }
    }

    @ParameterizedTest
    @MethodSource("pairs")
    void thoseOfAllPartsAfterScalingIn(
            Side writer, Side reader, Snapshot snapshot, int maxParallelism) throws Exception {
        KeyGroupRange all = KeyGroupRange.of(0, maxParallelism - 1);
        KeyGroupRange lower = KeyGroupRange.of(0, 63);
        KeyGroupRange upper = KeyGroupRange.of(64, maxParallelism - 1);
        try (Backends backends = new Backends(directory, maxParallelism, snapshot)) {
            Set<String> timers = new TreeSet<>();
            KeyedStateHandle first = write(backends, writer, lower, maxParallelism, timers);
            KeyedStateHandle second = write(backends, writer, upper, maxParallelism, timers);
            assertThat(timers).hasSize(500);
            assertFires(backends, reader, all, maxParallelism, timers, first, second);
        }
    }

    /** Those of a database move to the heap when the option says so. */
    @ParameterizedTest
    @CsvSource({
        "FERROSTATE,INCREMENTAL,128", "ROCKSDB,INCREMENTAL,129", "ROCKSDB,FULL,128",
        "FERROSTATE,NATIVE_SAVEPOINT,129", "ROCKSDB,NATIVE_SAVEPOINT,128"
    })
    void rowsMoveToTheHeap(Side writer, Snapshot snapshot, int maxParallelism) throws Exception {
        KeyGroupRange all = KeyGroupRange.of(0, maxParallelism - 1);
        try (Backends backends = new Backends(directory, maxParallelism, snapshot)) {
            Set<String> timers = new TreeSet<>();
            KeyedStateHandle handle = write(backends, writer, all, maxParallelism, timers);
            assertFires(
                    backends, Side.FERROSTATE_HEAP, all, maxParallelism, timers, handle);
        }
    }

    /** A job that does not ask for the queue yet, for example since it failed before. */
    @ParameterizedTest
    @CsvSource({
        "FERROSTATE,INCREMENTAL,128", "FERROSTATE,FULL,129", "FERROSTATE_HEAP,INCREMENTAL,129",
        "FERROSTATE_HEAP,CANONICAL_SAVEPOINT,128", "FERROSTATE,CANONICAL_SAVEPOINT,129"
    })
    void timersNobodyAskedForAreKept(Side between, Snapshot snapshot, int maxParallelism)
            throws Exception {
        KeyGroupRange all = KeyGroupRange.of(0, maxParallelism - 1);
        try (Backends backends = new Backends(directory, maxParallelism, snapshot)) {
            Set<String> timers = new TreeSet<>();
            KeyedStateHandle there = write(backends, Side.ROCKSDB, all, maxParallelism, timers);
            KeyedStateHandle back;
            AbstractKeyedStateBackend<String> reader = between.open(backends, all, there);
            try {
                Workload workload = new Workload(reader, maxParallelism);
                workload.run(1, 1000);
                back = backends.snapshot(reader);
            } finally {
                reader.dispose();
            }
            assertFires(backends, Side.ROCKSDB, all, maxParallelism, timers, back);
        }
    }
}
