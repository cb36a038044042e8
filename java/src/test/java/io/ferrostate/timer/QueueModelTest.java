package io.ferrostate.timer;

import static org.assertj.core.api.Assertions.assertThat;

import io.ferrostate.FerrostateOptions;
import io.ferrostate.compatibility.Backends;
import io.ferrostate.compatibility.Backends.Kind;
import io.ferrostate.compatibility.Backends.Snapshot;
import io.ferrostate.jni.Native;
import io.ferrostate.jni.NativeLibrary;

import org.apache.flink.api.common.typeutils.base.LongSerializer;
import org.apache.flink.api.common.typeutils.base.StringSerializer;
import org.apache.flink.runtime.state.AbstractKeyedStateBackend;
import org.apache.flink.runtime.state.KeyExtractorFunction;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.KeyGroupRangeAssignment;
import org.apache.flink.runtime.state.KeyGroupedInternalPriorityQueue;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.PriorityComparator;
import org.apache.flink.runtime.state.heap.HeapPriorityQueueSet;
import org.apache.flink.streaming.api.operators.TimerHeapInternalTimer;
import org.apache.flink.streaming.api.operators.TimerSerializer;
import org.apache.flink.util.CloseableIterator;

import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;

/**
 * Random operations on a queue in the database and on Flink's queue on the heap: step by step the same
 * heads, the same timers, across snapshots and restores. Most queues have memory for a few timers of each
 * key group only, so that most of what happens goes through the database. {@code -Dferrostate.seed=} repeats a run.
 */
@Timeout(300)
class QueueModelTest {

    private static final int OPERATIONS = 25_000;

    /** Of 64 MB: memory for all timers, for some hundreds, and none but what the cache's size says. */
    private static final double[] MEMORY_RATIOS = {0.25, 0.002, 1e-9, 1e-9};

    @TempDir Path directory;

    private final long seed = Long.getLong("ferrostate.seed", System.nanoTime());
    private final Random random = new Random(seed);

    private AbstractKeyedStateBackend<String> backend;
    private KeyGroupedInternalPriorityQueue<TimerHeapInternalTimer<String, Long>> queue;
    private HeapPriorityQueueSet<TimerHeapInternalTimer<String, Long>> model;
    private KeyGroupRange range;
    private int maxParallelism;

    /** Where time stands: timers are registered around it. */
    private long now;

    @ParameterizedTest
    @CsvSource({
        "INCREMENTAL,1,1,1", "INCREMENTAL,3,2,50", "INCREMENTAL,128,3,400", "INCREMENTAL,200,7,3000",
        "CANONICAL_SAVEPOINT,1,2,30", "CANONICAL_SAVEPOINT,129,1,2000", "FULL,2,16,200",
        "INCREMENTAL,128,128,20000"
    })
    void sameAsOnTheHeap(Snapshot snapshot, int maxParallelism, int cacheSize, int distinctKeys)
            throws Exception {
        System.out.println("QueueModelTest: -Dferrostate.seed=" + seed);
        NativeLibrary.load();
        long handlesBefore = Native.liveHandles();
        this.maxParallelism = maxParallelism;
        range = KeyGroupRange.of(0, maxParallelism - 1);
        model =
                new HeapPriorityQueueSet<>(
                        PriorityComparator.forPriorityComparableObjects(),
                        KeyExtractorFunction.forKeyedObjects(),
                        128,
                        range,
                        maxParallelism);
        try (Backends backends = new Backends(directory, maxParallelism, snapshot)) {
            backends.set(FerrostateOptions.TIMER_SERVICE_CACHE_SIZE, cacheSize);
            backends.set(FerrostateOptions.BUFFER_ENABLED, random.nextBoolean());
            backends.set(
                    FerrostateOptions.BUFFER_MEMORY_RATIO, MEMORY_RATIOS[random.nextInt(4)]);
            open(backends);
            for (int i = 0; i < OPERATIONS; i++) {
                if (random.nextInt(2000) == 0) {
                    reopen(backends);
                }
                operate(distinctKeys);
                assertSameHead();
            }
            assertSameTimers();
            reopen(backends);
            drain();
            backend.dispose();
        }
        assertThat(Native.liveHandles()).isEqualTo(handlesBefore);
    }

    private void open(Backends backends, KeyedStateHandle... handles) throws Exception {
        backend = backends.open(Kind.FERROSTATE, range, List.of(handles));
        queue =
                backend.create(
                        "_timer_state/event_model",
                        new TimerSerializer<>(StringSerializer.INSTANCE, LongSerializer.INSTANCE));
        assertThat(queue).isNotInstanceOf(HeapPriorityQueueSet.class);
    }

    private void reopen(Backends backends) throws Exception {
        KeyedStateHandle handle = backends.snapshot(backend);
        backend.dispose();
        open(backends, handle);
        assertSameHead();
        if (random.nextBoolean()) {
            assertSameTimers();
        }
    }

    private void operate(int distinctKeys) throws Exception {
        int choice = random.nextInt(1000);
        if (choice < 450) {
            add(timer(distinctKeys));
        } else if (choice < 600) {
            poll();
        } else if (choice < 750) {
            remove(timer(distinctKeys));
        } else if (choice < 880) {
            remove(existing());
        } else if (choice < 960) {
            addAndTakeBack(timer(distinctKeys));
        } else if (choice < 990) {
            add(existing());
        } else if (choice < 994) {
            fire(now += random.nextInt(50));
        } else if (choice < 997) {
            assertSameSubset();
        } else if (choice < 999) {
            assertThat(queue.size()).as(step()).isEqualTo(model.size());
        } else {
            assertSameTimers();
        }
    }

    /** Near the present time, sometimes before it, sometimes far away; now and then a large one. */
    private TimerHeapInternalTimer<String, Long> timer(int distinctKeys) {
        String key = "k" + random.nextInt(distinctKeys);
        if (random.nextInt(3000) == 0) {
            key = key + "x".repeat(random.nextInt(100_000));
        } else if (random.nextInt(100) == 0) {
            key = "";
        }
        long time = now + random.nextInt(random.nextInt(10) == 0 ? 100_000 : 100) - 20;
        if (random.nextInt(500) == 0) {
            time = random.nextBoolean() ? Long.MIN_VALUE : Long.MAX_VALUE;
        }
        return new TimerHeapInternalTimer<>(time, key, (long) random.nextInt(2));
    }

    private static <T> T any(Iterable<T> elements, int position) {
        T found = null;
        for (T element : elements) {
            found = element;
            if (position-- == 0) {
                break;
            }
        }
        return found;
    }

    /** One that is there, of some key group; or null. */
    private TimerHeapInternalTimer<String, Long> existing() {
        int first = random.nextInt(maxParallelism);
        for (int i = 0; i < maxParallelism; i++) {
            Set<TimerHeapInternalTimer<String, Long>> timers =
                    model.getSubsetForKeyGroup((first + i) % maxParallelism);
            if (!timers.isEmpty()) {
                TimerHeapInternalTimer<String, Long> timer =
                        any(timers, random.nextInt(Math.min(100, timers.size())));
                return copy(timer);
            }
        }
        return null;
    }

    /** The heap queue keeps its position in the timer itself. */
    private static TimerHeapInternalTimer<String, Long> copy(
            TimerHeapInternalTimer<String, Long> timer) {
        return new TimerHeapInternalTimer<>(
                timer.getTimestamp(), timer.getKey(), timer.getNamespace());
    }

    private void add(TimerHeapInternalTimer<String, Long> timer) {
        if (timer != null) {
            TimerHeapInternalTimer<String, Long> before = queue.peek();
            boolean changed = queue.add(timer);
            model.add(copy(timer));
            assertThat(changed).as(step()).isEqualTo(!queue.peek().equals(before));
        }
    }

    private void remove(TimerHeapInternalTimer<String, Long> timer) {
        if (timer != null) {
            TimerHeapInternalTimer<String, Long> before = queue.peek();
            boolean changed = queue.remove(timer);
            model.remove(copy(timer));
            assertThat(changed).as(step()).isEqualTo(timer.equals(before));
        }
    }

    private void addAndTakeBack(TimerHeapInternalTimer<String, Long> timer) {
        add(timer);
        remove(timer);
        if (random.nextBoolean()) {
            add(timer);
        }
    }

    private void poll() {
        TimerHeapInternalTimer<String, Long> timer = queue.poll();
        if (timer == null) {
            assertThat(model.isEmpty()).as(step()).isTrue();
        } else {
            assertThat(timer.getTimestamp()).as(step()).isEqualTo(model.peek().getTimestamp());
            int sizeBefore = model.size();
            model.remove(copy(timer));
            assertThat(model.size()).as(step()).isEqualTo(sizeBefore - 1);
        }
    }

    /** What a watermark does, with timers that register the next ones. */
    private void fire(long time) {
        while (queue.peek() != null && queue.peek().getTimestamp() <= time) {
            TimerHeapInternalTimer<String, Long> fired = queue.peek();
            poll();
            if (random.nextInt(3) == 0 && fired.getTimestamp() > 0) {
                add(
                        new TimerHeapInternalTimer<>(
                                time + 1 + random.nextInt(100),
                                fired.getKey(),
                                fired.getNamespace()));
            }
            assertSameHead();
        }
    }

    private void drain() {
        while (!queue.isEmpty()) {
            poll();
            assertSameHead();
        }
        assertThat(model.isEmpty()).as(step()).isTrue();
        assertThat(queue.size()).isZero();
    }

    private void assertSameHead() {
        TimerHeapInternalTimer<String, Long> head = queue.peek();
        TimerHeapInternalTimer<String, Long> expected = model.peek();
        if (head == null || expected == null) {
            assertThat(head).as(step()).isEqualTo(expected);
        } else {
            assertThat(head.getTimestamp()).as(step()).isEqualTo(expected.getTimestamp());
        }
    }

    private void assertSameTimers() throws Exception {
        List<TimerHeapInternalTimer<String, Long>> timers = new ArrayList<>();
        try (CloseableIterator<TimerHeapInternalTimer<String, Long>> all = queue.iterator()) {
            all.forEachRemaining(timers::add);
        }
        Set<TimerHeapInternalTimer<String, Long>> expected = new HashSet<>();
        for (int keyGroup : range) {
            expected.addAll(model.getSubsetForKeyGroup(keyGroup));
        }
        assertThat(new HashSet<>(timers)).as(step()).isEqualTo(expected);
        assertThat(timers).as(step()).hasSize(expected.size());
    }

    private void assertSameSubset() {
        int keyGroup =
                KeyGroupRangeAssignment.assignToKeyGroup(
                        "k" + random.nextInt(100), maxParallelism);
        assertThat(queue.getSubsetForKeyGroup(keyGroup))
                .as(step())
                .isEqualTo(model.getSubsetForKeyGroup(keyGroup));
    }

    private String step() {
        return "seed " + seed;
    }
}
