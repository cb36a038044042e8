package io.ferrostate.stress;

import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.State;
import org.apache.flink.api.common.state.StateDescriptor;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeutils.base.IntSerializer;
import org.apache.flink.api.common.typeutils.base.LongSerializer;
import org.apache.flink.api.common.typeutils.base.StringSerializer;
import org.apache.flink.runtime.state.AbstractKeyedStateBackend;
import org.apache.flink.runtime.state.VoidNamespace;
import org.apache.flink.runtime.state.VoidNamespaceSerializer;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;

/**
 * Random operations, each decided by seed and number alone, on the states of a backend and on plain
 * maps beside it. The number of operations done is in the state too: so restored state says what it
 * must be, and {@link #restore} compares it all with the maps after as many operations.
 */
final class RandomState {

    private static final int KEYS = 400;
    private static final int COUNTER_KEY = -1;
    private static final int PAYLOAD = 150;

    private final long seed;
    private final AbstractKeyedStateBackend<Integer> backend;
    private final ValueState<Long> counter;
    private final ValueState<String> value;
    private final ListState<Long> list;
    private final MapState<Integer, String> map;

    private final Map<Integer, String> values = new TreeMap<>();
    private final Map<Integer, List<Long>> lists = new TreeMap<>();
    private final Map<Integer, Map<Integer, String>> maps = new TreeMap<>();
    private long done;

    RandomState(long seed, AbstractKeyedStateBackend<Integer> backend) throws Exception {
        this.seed = seed;
        this.backend = backend;
        counter = state(new ValueStateDescriptor<>("counter", LongSerializer.INSTANCE));
        value = state(new ValueStateDescriptor<>("value", StringSerializer.INSTANCE));
        list = state(new ListStateDescriptor<>("list", LongSerializer.INSTANCE));
        map =
                state(
                        new MapStateDescriptor<>(
                                "map", IntSerializer.INSTANCE, StringSerializer.INSTANCE));
    }

    private <S extends State> S state(StateDescriptor<S, ?> descriptor) throws Exception {
        return backend.getPartitionedState(
                VoidNamespace.INSTANCE, VoidNamespaceSerializer.INSTANCE, descriptor);
    }

    long done() {
        return done;
    }

    /** Goes on with so many operations, on backend and maps. */
    void advance(int operations) throws Exception {
        for (int i = 0; i < operations; i++) {
            Operation operation = new Operation(done++);
            operation.onMaps();
            operation.onBackend();
        }
        backend.setCurrentKey(COUNTER_KEY);
        counter.update(done);
    }

    /** Brings the maps to where the restored state says it is, and compares. */
    void restore() throws Exception {
        backend.setCurrentKey(COUNTER_KEY);
        Long restored = counter.value();
        while (restored != null && done < restored) {
            new Operation(done++).onMaps();
        }
        verify();
    }

    void verify() throws Exception {
        for (int key = 0; key < KEYS; key++) {
            backend.setCurrentKey(key);
            same(key, "value", values.get(key), value.value());
            same(key, "list", lists.get(key), toList(list.get()));
            same(key, "map", maps.get(key), toMap(map));
        }
        same(-1, "number of lists", (long) lists.size(), backend.getKeys("list",
                VoidNamespace.INSTANCE).count());
    }

    private void same(int key, String state, Object expected, Object actual) {
        if (expected == null ? actual != null : !expected.equals(actual)) {
            throw new IllegalStateException(
                    "seed " + seed + ", after " + done + " operations, key " + key + ": " + state
                            + " is " + actual + " instead of " + expected);
        }
    }

    private static List<Long> toList(Iterable<Long> elements) {
        if (elements == null) {
            return null;
        }
        List<Long> list = new ArrayList<>();
        elements.forEach(list::add);
        return list.isEmpty() ? null : list;
    }

    private static Map<Integer, String> toMap(MapState<Integer, String> state) throws Exception {
        Map<Integer, String> map = new TreeMap<>();
        for (Map.Entry<Integer, String> entry : state.entries()) {
            map.put(entry.getKey(), entry.getValue());
        }
        return map.isEmpty() ? null : map;
    }

    /** What to do, drawn once, so that both sides do the same. */
    private final class Operation {

        private final int key;
        private final int kind;
        private final int field;
        private final long number;
        private final String text;

        private Operation(long step) {
            Random random = new Random(seed * 31 + step);
            key = random.nextInt(KEYS);
            kind = random.nextInt(20);
            field = random.nextInt(10);
            number = random.nextLong();
            StringBuilder payload = new StringBuilder(PAYLOAD);
            for (int i = 0; i < PAYLOAD; i++) {
                payload.append((char) (' ' + random.nextInt(95)));
            }
            text = payload.toString();
        }

        private void onBackend() throws Exception {
            backend.setCurrentKey(key);
            if (kind < 6) {
                value.update(text);
            } else if (kind == 6) {
                value.clear();
            } else if (kind < 12) {
                list.add(number);
            } else if (kind == 12) {
                list.clear();
            } else if (kind < 18) {
                map.put(field, text);
            } else if (kind == 18) {
                map.remove(field);
            } else {
                map.clear();
            }
        }

        private void onMaps() {
            if (kind < 6) {
                values.put(key, text);
            } else if (kind == 6) {
                values.remove(key);
            } else if (kind < 12) {
                lists.computeIfAbsent(key, absent -> new ArrayList<>()).add(number);
            } else if (kind == 12) {
                lists.remove(key);
            } else if (kind < 18) {
                maps.computeIfAbsent(key, absent -> new TreeMap<>()).put(field, text);
            } else if (kind == 18) {
                maps.computeIfPresent(key, (same, fields) -> without(fields));
            } else {
                maps.remove(key);
            }
        }

        private Map<Integer, String> without(Map<Integer, String> fields) {
            fields.remove(field);
            return fields.isEmpty() ? null : fields;
        }
    }
}
