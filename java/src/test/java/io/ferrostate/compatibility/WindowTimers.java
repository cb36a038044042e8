package io.ferrostate.compatibility;

import static org.assertj.core.api.Assertions.assertThat;

import org.apache.flink.api.common.typeutils.base.StringSerializer;
import org.apache.flink.runtime.state.AbstractKeyedStateBackend;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.KeyGroupRangeAssignment;
import org.apache.flink.runtime.state.KeyGroupedInternalPriorityQueue;
import org.apache.flink.streaming.api.operators.TimerHeapInternalTimer;
import org.apache.flink.streaming.api.operators.TimerSerializer;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.util.CloseableIterator;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;

/** The timers of windows that a backend has, as text: {@code timestamp key window}. */
final class WindowTimers {

    private final int maxParallelism;
    private final KeyGroupRange range;
    private final KeyGroupedInternalPriorityQueue<TimerHeapInternalTimer<String, TimeWindow>> queue;

    WindowTimers(AbstractKeyedStateBackend<String> backend, int maxParallelism) {
        this.maxParallelism = maxParallelism;
        this.range = backend.getKeyGroupRange();
        this.queue =
                backend.create(
                        "_timer_state/event_windows",
                        new TimerSerializer<>(
                                StringSerializer.INSTANCE, new TimeWindow.Serializer()));
    }

    /** Adds those of the backend's key groups. Negative timestamps too: rows flip their sign bit. */
    void fill(long seed, int count) {
        fill(seed, count, Long.MIN_VALUE / 2);
    }

    /**
     * Adds more, none before 1970: Flink's queue in RocksDB does not iterate over timers before those
     * it has polled.
     */
    void fillLater(long seed, int count) {
        fill(seed, count, 0);
    }

    private void fill(long seed, int count, long from) {
        Random random = new Random(seed);
        for (int i = 0; i < count; i++) {
            String key = "key " + i;
            long time = from + (random.nextLong() >>> 1);
            if (isIn(range, key)) {
                queue.add(
                        new TimerHeapInternalTimer<>(
                                time, key, new TimeWindow(time - 1000, time)));
            }
        }
    }

    private boolean isIn(KeyGroupRange keyGroups, String key) {
        return keyGroups.contains(KeyGroupRangeAssignment.assignToKeyGroup(key, maxParallelism));
    }

    /** True if a timer's key belongs to one of these key groups. */
    static boolean isIn(KeyGroupRange keyGroups, String timer, int maxParallelism) {
        String key = timer.substring(timer.indexOf("key"), timer.indexOf(" TimeWindow"));
        return keyGroups.contains(KeyGroupRangeAssignment.assignToKeyGroup(key, maxParallelism));
    }

    Set<String> all() throws Exception {
        Set<String> timers = new TreeSet<>();
        try (CloseableIterator<TimerHeapInternalTimer<String, TimeWindow>> all =
                queue.iterator()) {
            all.forEachRemaining(timer -> assertThat(timers.add(text(timer))).isTrue());
        }
        assertThat(queue.size()).isEqualTo(timers.size());
        return timers;
    }

    private static String text(TimerHeapInternalTimer<String, TimeWindow> timer) {
        return timer.getTimestamp() + " " + timer.getKey() + " " + timer.getNamespace();
    }

    List<String> poll(int count) {
        List<String> timers = new ArrayList<>();
        long last = Long.MIN_VALUE;
        while (timers.size() < count) {
            TimerHeapInternalTimer<String, TimeWindow> timer = queue.poll();
            if (timer == null) {
                return timers;
            }
            assertThat(timer.getTimestamp()).isGreaterThanOrEqualTo(last);
            last = timer.getTimestamp();
            timers.add(text(timer));
        }
        return timers;
    }

    List<String> pollAll() {
        return poll(Integer.MAX_VALUE);
    }

    void removeEachTenth() throws Exception {
        List<TimerHeapInternalTimer<String, TimeWindow>> all = new ArrayList<>();
        try (CloseableIterator<TimerHeapInternalTimer<String, TimeWindow>> timers =
                queue.iterator()) {
            timers.forEachRemaining(all::add);
        }
        for (int i = 0; i < all.size(); i += 10) {
            queue.remove(all.get(i));
        }
    }
}
