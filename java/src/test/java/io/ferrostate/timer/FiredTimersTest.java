package io.ferrostate.timer;

import static org.assertj.core.api.Assertions.assertThat;

import io.ferrostate.FerrostateOptions;
import io.ferrostate.compatibility.Backends;
import io.ferrostate.compatibility.Backends.Kind;
import io.ferrostate.compatibility.Backends.Snapshot;

import org.apache.flink.api.common.typeutils.base.StringSerializer;
import org.apache.flink.runtime.state.AbstractKeyedStateBackend;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.KeyGroupRangeAssignment;
import org.apache.flink.runtime.state.KeyGroupedInternalPriorityQueue;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.VoidNamespace;
import org.apache.flink.runtime.state.VoidNamespaceSerializer;
import org.apache.flink.streaming.api.operators.TimerHeapInternalTimer;
import org.apache.flink.streaming.api.operators.TimerSerializer;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Hundreds of thousands of timers that have fired slow nothing down. RocksDB keeps their deletion for
 * a while; who reads over them needs 20 ms and more each time, and here reads a hundred or thousands of
 * times. The limits are far from what is right and from what is wrong. How many rows RocksDB steps over
 * is counted by timers/queue_test.rs.
 */
@Timeout(120)
class FiredTimersTest {

    private static final int KEY_GROUPS = 100;
    private static final KeyGroupRange ALL = KeyGroupRange.of(0, KEY_GROUPS - 1);
    private static final int FIRED = 300_000;
    private static final int LEFT = 3_000;
    private static final Duration LIMIT = Duration.ofSeconds(5);

    /** Of the processor, which other programs on a busy machine do not change. */
    private static final ThreadMXBean TIME = ManagementFactory.getThreadMXBean();

    /** Key of the last key group: all others are before it. */
    private static final String KEY =
            IntStream.iterate(0, i -> i + 1)
                    .mapToObj(i -> "key " + i)
                    .filter(
                            key ->
                                    KeyGroupRangeAssignment.assignToKeyGroup(key, KEY_GROUPS)
                                            == KEY_GROUPS - 1)
                    .findFirst()
                    .orElseThrow();

    @TempDir Path directory;

    private static KeyGroupedInternalPriorityQueue<TimerHeapInternalTimer<String, VoidNamespace>>
            queue(AbstractKeyedStateBackend<String> backend) {
        return backend.create(
                "_timer_state/event_fired",
                new TimerSerializer<>(StringSerializer.INSTANCE, VoidNamespaceSerializer.INSTANCE));
    }

    private static void fire(
            KeyGroupedInternalPriorityQueue<TimerHeapInternalTimer<String, VoidNamespace>> queue,
            int from,
            int count) {
        for (int i = from; i < from + count; i++) {
            assertThat(queue.poll().getTimestamp()).isEqualTo(i);
        }
    }

    /** There is memory for one timer, so that each poll reads. */
    @Test
    void readingBeginsBehindThem() throws Exception {
        try (Backends backends = new Backends(directory, KEY_GROUPS, Snapshot.INCREMENTAL)) {
            backends.set(FerrostateOptions.TIMER_SERVICE_CACHE_SIZE, 1);
            backends.set(FerrostateOptions.BUFFER_MEMORY_RATIO, 1e-9);
            AbstractKeyedStateBackend<String> backend =
                    backends.open(Kind.FERROSTATE, ALL, List.of());
            var queue = queue(backend);
            add(queue, FIRED + LEFT);
            fire(queue, 0, FIRED);
            long started = TIME.getCurrentThreadCpuTime();
            fire(queue, FIRED, LEFT);
            assertThat(Duration.ofNanos(TIME.getCurrentThreadCpuTime() - started)).isLessThan(LIMIT);
            assertThat(queue.isEmpty()).isTrue();
            backend.dispose();
        }
    }

    /** A queue that was just restored knows nothing of what has fired, and reads each key group. */
    @Test
    void otherKeyGroupsDoNotReadThemAfterARestore() throws Exception {
        try (Backends backends = new Backends(directory, KEY_GROUPS, Snapshot.INCREMENTAL)) {
            AbstractKeyedStateBackend<String> backend =
                    backends.open(Kind.FERROSTATE, ALL, List.of());
            var fired = queue(backend);
            add(fired, FIRED + 1);
            fire(fired, 0, FIRED);
            KeyedStateHandle handle = backends.snapshot(backend);
            backend.dispose();
            long slowest = 0;
            for (int round = 0; round < 3; round++) {
                AbstractKeyedStateBackend<String> restored =
                        backends.open(Kind.FERROSTATE, ALL, List.of(handle));
                long started = TIME.getCurrentThreadCpuTime();
                assertThat(queue(restored).peek().getTimestamp()).isEqualTo(FIRED);
                slowest = Math.max(slowest, TIME.getCurrentThreadCpuTime() - started);
                restored.dispose();
            }
            assertThat(Duration.ofNanos(slowest)).isLessThan(LIMIT.dividedBy(5));
        }
    }

    private static void add(
            KeyGroupedInternalPriorityQueue<TimerHeapInternalTimer<String, VoidNamespace>> queue,
            int count) {
        for (int i = 0; i < count; i++) {
            queue.add(new TimerHeapInternalTimer<>(i, KEY, VoidNamespace.INSTANCE));
        }
    }
}
