package io.ferrostate.model;

import org.apache.flink.runtime.state.AbstractKeyedStateBackend;
import org.apache.flink.runtime.state.KeyGroupRangeAssignment;
import org.apache.flink.runtime.state.KeyGroupedInternalPriorityQueue;
import org.apache.flink.streaming.api.operators.TimerHeapInternalTimer;
import org.apache.flink.streaming.api.operators.TimerSerializer;
import org.apache.flink.util.CloseableIterator;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;

/**
 * The timer queue of one backend. As in {@link States}, operations are drawn and answers comparable;
 * timers of the same time come in any order, so they are taken together, as Flink fires them.
 */
final class Timers {

    private static final String NAME = "_timer_state/event_model";
    private static final int TIMES = 500;

    private final Layout layout;

    /** Of the backend's key groups. */
    private final List<Object> keys;

    private final KeyGroupedInternalPriorityQueue<TimerHeapInternalTimer<Object, Object>> queue;

    Timers(Layout layout, AbstractKeyedStateBackend<Object> backend) {
        this.layout = layout;
        this.keys = layout.keys(backend.getKeyGroupRange());
        this.queue =
                backend.create(
                        NAME,
                        new TimerSerializer<>(layout.keySerializer, layout.namespaceSerializer));
    }

    Object operate(Random random) throws Exception {
        TimerHeapInternalTimer<Object, Object> timer = draw(random);
        switch (random.nextInt(12)) {
            case 0:
            case 1:
                queue.remove(timer);
                return head();
            case 2:
                return fire();
            case 3:
                return fireUntil(random.nextInt(TIMES / 10) - TIMES / 2);
            case 4:
                return content();
            case 5:
                List<TimerHeapInternalTimer<Object, Object>> some = new ArrayList<>();
                for (int i = random.nextInt(40); i > 0; i--) {
                    some.add(draw(random));
                }
                queue.addAll(some);
                return head();
            case 6:
                return queue.isEmpty() + " " + queue.size();
            case 7:
                return subset(random);
            default:
                queue.add(timer);
                return head();
        }
    }

    private TimerHeapInternalTimer<Object, Object> draw(Random random) {
        return new TimerHeapInternalTimer<>(
                random.nextInt(TIMES) - TIMES / 2,
                keys.get(random.nextInt(keys.size())),
                layout.namespace(random.nextInt(Layout.NAMESPACES)));
    }

    private String head() {
        TimerHeapInternalTimer<Object, Object> head = queue.peek();
        return head == null ? "none" : head.getTimestamp() + "";
    }

    /** Takes all timers of the earliest time. */
    private List<String> fire() {
        TimerHeapInternalTimer<Object, Object> head = queue.peek();
        return head == null ? Collections.emptyList() : fireUntil(head.getTimestamp());
    }

    private List<String> fireUntil(long time) {
        List<String> fired = new ArrayList<>();
        TimerHeapInternalTimer<Object, Object> head;
        long last = Long.MIN_VALUE;
        while ((head = queue.peek()) != null && head.getTimestamp() <= time) {
            TimerHeapInternalTimer<Object, Object> polled = queue.poll();
            if (!polled.equals(head) || polled.getTimestamp() < last) {
                throw new IllegalStateException(polled + " instead of " + head + " after " + last);
            }
            last = polled.getTimestamp();
            fired.add(polled.toString());
        }
        Collections.sort(fired);
        return fired;
    }

    private List<String> subset(Random random) {
        int keyGroup =
                KeyGroupRangeAssignment.assignToKeyGroup(
                        keys.get(random.nextInt(keys.size())), layout.keyGroups);
        List<String> subset = new ArrayList<>();
        queue.getSubsetForKeyGroup(keyGroup).forEach(timer -> subset.add(timer.toString()));
        Collections.sort(subset);
        return subset;
    }

    List<String> content() throws Exception {
        List<String> content = new ArrayList<>();
        for (TimerHeapInternalTimer<Object, Object> timer : all()) {
            content.add(timer.toString());
        }
        Collections.sort(content);
        return content;
    }

    List<TimerHeapInternalTimer<Object, Object>> all() throws Exception {
        List<TimerHeapInternalTimer<Object, Object>> all = new ArrayList<>();
        try (CloseableIterator<TimerHeapInternalTimer<Object, Object>> timers = queue.iterator()) {
            timers.forEachRemaining(all::add);
        }
        return all;
    }

    /** As Flink does with the timers of a heap that a checkpoint keeps apart. */
    void replaceBy(List<TimerHeapInternalTimer<Object, Object>> timers) {
        while (queue.poll() != null) {}
        queue.addAll(timers);
    }
}
