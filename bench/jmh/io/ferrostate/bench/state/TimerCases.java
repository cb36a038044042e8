package io.ferrostate.bench.state;

import org.apache.flink.api.common.typeutils.base.LongSerializer;
import org.apache.flink.runtime.state.KeyGroupedInternalPriorityQueue;
import org.apache.flink.runtime.state.VoidNamespace;
import org.apache.flink.runtime.state.VoidNamespaceSerializer;
import org.apache.flink.streaming.api.operators.TimerHeapInternalTimer;
import org.apache.flink.streaming.api.operators.TimerSerializer;
import org.openjdk.jmh.annotations.Benchmark;

import java.util.SplittableRandom;

/** A queue of one timer a key, due within the next hour. */
public class TimerCases extends Cases.OfLong {

    private static final int HOUR = 3_600_000;

    /** A backend creates a queue once. */
    private static KeyGroupedInternalPriorityQueue<TimerHeapInternalTimer<Long, VoidNamespace>>
            created;

    private final SplittableRandom random = new SplittableRandom(7);
    private KeyGroupedInternalPriorityQueue<TimerHeapInternalTimer<Long, VoidNamespace>> queue;
    private long now;

    @Override
    void register() {
        if (created == null) {
            created =
                    subject.keyed.create(
                            "_timer_state/event_timers",
                            new TimerSerializer<>(
                                    LongSerializer.INSTANCE, VoidNamespaceSerializer.INSTANCE));
        }
        queue = created;
        TimerHeapInternalTimer<Long, VoidNamespace> first = queue.peek();
        now = first == null ? 0 : first.getTimestamp();
    }

    @Override
    void fill(int key) {
        queue.add(timer(key));
    }

    private TimerHeapInternalTimer<Long, VoidNamespace> timer(int key) {
        return new TimerHeapInternalTimer<>(
                now + random.nextInt(HOUR), key(key), VoidNamespace.INSTANCE);
    }

    /** The queue keeps its length. */
    @Benchmark
    public Object timerRegisterAndPoll() {
        queue.add(timer(selectNext()));
        TimerHeapInternalTimer<Long, VoidNamespace> due = queue.poll();
        now = due.getTimestamp();
        return due;
    }

    @Benchmark
    public boolean timerRegisterAndDelete() {
        TimerHeapInternalTimer<Long, VoidNamespace> timer = timer(selectNext());
        queue.add(timer);
        return queue.remove(timer);
    }
}
