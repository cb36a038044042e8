package io.ferrostate.compatibility;

import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.api.common.state.AggregatingStateDescriptor;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.ReducingStateDescriptor;
import org.apache.flink.api.common.state.State;
import org.apache.flink.api.common.state.StateDescriptor;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.common.typeutils.base.IntSerializer;
import org.apache.flink.api.common.typeutils.base.LongSerializer;
import org.apache.flink.api.common.typeutils.base.StringSerializer;
import org.apache.flink.runtime.state.AbstractKeyedStateBackend;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.KeyGroupRangeAssignment;
import org.apache.flink.runtime.state.VoidNamespace;
import org.apache.flink.runtime.state.VoidNamespaceSerializer;
import org.apache.flink.runtime.state.internal.InternalMergingState;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Random operations on every kind of state and namespace, and a readable dump of all state. Both see
 * only the keys of the backend's key groups.
 */
final class Workload {

    private static final int KEYS = 120;

    private static final ValueStateDescriptor<String> VALUE =
            new ValueStateDescriptor<>("value", StringSerializer.INSTANCE);
    private static final ValueStateDescriptor<String> UNTOUCHED =
            new ValueStateDescriptor<>("untouched", StringSerializer.INSTANCE);
    private static final ListStateDescriptor<String> TEXTS =
            new ListStateDescriptor<>("texts", StringSerializer.INSTANCE);
    private static final ListStateDescriptor<Integer> NUMBERS =
            new ListStateDescriptor<>("numbers", IntSerializer.INSTANCE);
    private static final MapStateDescriptor<String, Long> MAP =
            new MapStateDescriptor<>("map", StringSerializer.INSTANCE, LongSerializer.INSTANCE);
    private static final ReducingStateDescriptor<Long> SUM =
            new ReducingStateDescriptor<>("sum", Long::sum, LongSerializer.INSTANCE);
    private static final AggregatingStateDescriptor<Long, String, Integer> DIGITS =
            new AggregatingStateDescriptor<>("digits", new Digits(), StringSerializer.INSTANCE);
    private static final ListStateDescriptor<Long> WINDOW =
            new ListStateDescriptor<>("window", LongSerializer.INSTANCE);
    private static final ReducingStateDescriptor<Long> WINDOW_SUM =
            new ReducingStateDescriptor<>("window sum", Long::sum, LongSerializer.INSTANCE);
    private static final MapStateDescriptor<Integer, String> NAMED =
            new MapStateDescriptor<>("named", IntSerializer.INSTANCE, StringSerializer.INSTANCE);

    /** Key and namespace are both of variable length here: the ambiguous case of the key bytes. */
    private static final List<String> NAMES = Arrays.asList("", "a", "long ".repeat(60));

    private static final TypeSerializer<TimeWindow> WINDOWS = new TimeWindow.Serializer();

    private final AbstractKeyedStateBackend<String> backend;
    private final List<String> keys;

    Workload(AbstractKeyedStateBackend<String> backend, int maxParallelism) {
        this.backend = backend;
        this.keys = keys(backend.getKeyGroupRange(), maxParallelism);
    }

    private static List<String> keys(KeyGroupRange range, int maxParallelism) {
        List<String> keys = new ArrayList<>();
        for (int i = 0; i < KEYS; i++) {
            // Lengths of one and of two bytes.
            String key = i % 7 == 0 ? "key ".repeat(100) + i : "key " + i;
            if (range.contains(KeyGroupRangeAssignment.assignToKeyGroup(key, maxParallelism))) {
                keys.add(key);
            }
        }
        return keys;
    }

    void writeUntouched() throws Exception {
        for (String key : keys) {
            backend.setCurrentKey(key);
            plain(UNTOUCHED).update("kept for " + key);
        }
    }

    List<String> untouched() throws Exception {
        List<String> values = new ArrayList<>();
        for (String key : keys) {
            backend.setCurrentKey(key);
            values.add(plain(UNTOUCHED).value());
        }
        return values;
    }

    List<String> expectedUntouched() {
        return keys.stream().map(key -> "kept for " + key).collect(Collectors.toList());
    }

    void run(long seed, int operations) throws Exception {
        Random random = new Random(seed);
        for (int i = 0; i < operations; i++) {
            backend.setCurrentKey(keys.get(random.nextInt(keys.size())));
            step(random);
        }
    }

    private void step(Random random) throws Exception {
        long number = random.nextInt(1000) - 500;
        String text = ",".repeat(random.nextInt(3)) + number;
        switch (random.nextInt(14)) {
            case 0:
                plain(VALUE).update(random.nextInt(8) == 0 ? null : text);
                break;
            case 1:
                plain(TEXTS).add(text);
                break;
            case 2:
                plain(TEXTS).addAll(Arrays.asList(text, "", text));
                break;
            case 3:
                plain(TEXTS).update(random.nextBoolean() ? List.of() : List.of(text));
                break;
            case 4:
                // 44 is the delimiter's byte.
                plain(NUMBERS).addAll(Arrays.asList((int) number, 44, 0x2C2C2C2C));
                break;
            case 5:
                plain(MAP).put(text, random.nextInt(4) == 0 ? null : (Long) number);
                break;
            case 6:
                plain(MAP).remove(text);
                break;
            case 7:
                plain(SUM).add(number);
                break;
            case 8:
                plain(DIGITS).add(number);
                break;
            case 9:
                in(window(random), WINDOWS, WINDOW).add(number);
                break;
            case 10:
                in(window(random), WINDOWS, WINDOW_SUM).add(number);
                break;
            case 11:
                mergeWindows(random.nextBoolean() ? WINDOW : WINDOW_SUM);
                break;
            case 12:
                named(random).put((int) number, text);
                break;
            default:
                clear(random);
        }
    }

    private void clear(Random random) throws Exception {
        switch (random.nextInt(4)) {
            case 0:
                plain(MAP).clear();
                break;
            case 1:
                plain(SUM).clear();
                break;
            case 2:
                named(random).clear();
                break;
            default:
                plain(NUMBERS).clear();
        }
    }

    private MapState<Integer, String> named(Random random) throws Exception {
        return in(NAMES.get(random.nextInt(NAMES.size())), StringSerializer.INSTANCE, NAMED);
    }

    private static TimeWindow window(Random random) {
        return windows().get(random.nextInt(3));
    }

    private static List<TimeWindow> windows() {
        return Arrays.asList(
                new TimeWindow(0, 10), new TimeWindow(10, 20), new TimeWindow(-5, 1L << 40));
    }

    @SuppressWarnings("unchecked")
    private void mergeWindows(StateDescriptor<? extends State, ?> descriptor) throws Exception {
        List<TimeWindow> windows = windows();
        InternalMergingState<String, TimeWindow, ?, ?, ?> state =
                (InternalMergingState<String, TimeWindow, ?, ?, ?>)
                        in(windows.get(2), WINDOWS, descriptor);
        state.mergeNamespaces(windows.get(2), windows.subList(0, 2));
    }

    private <S extends State> S plain(StateDescriptor<S, ?> descriptor) throws Exception {
        return in(VoidNamespace.INSTANCE, VoidNamespaceSerializer.INSTANCE, descriptor);
    }

    private <N, S extends State> S in(
            N namespace, TypeSerializer<N> serializer, StateDescriptor<S, ?> descriptor)
            throws Exception {
        return backend.getPartitionedState(namespace, serializer, descriptor);
    }

    /** Everything but the untouched state. */
    SortedMap<String, String> dump() throws Exception {
        SortedMap<String, String> dump = new TreeMap<>();
        for (String key : keys) {
            backend.setCurrentKey(key);
            put(dump, key, VALUE, "", plain(VALUE).value());
            put(dump, key, TEXTS, "", list(plain(TEXTS)));
            put(dump, key, NUMBERS, "", list(plain(NUMBERS)));
            put(dump, key, MAP, "", map(plain(MAP)));
            put(dump, key, SUM, "", plain(SUM).get());
            put(dump, key, DIGITS, "", plain(DIGITS).get());
            for (TimeWindow window : windows()) {
                put(dump, key, WINDOW, window, list(in(window, WINDOWS, WINDOW)));
                put(dump, key, WINDOW_SUM, window, in(window, WINDOWS, WINDOW_SUM).get());
            }
            for (String name : NAMES) {
                put(dump, key, NAMED, name, map(in(name, StringSerializer.INSTANCE, NAMED)));
            }
        }
        dump.put("keys of " + VALUE.getName(), keysOf(VALUE));
        dump.put("keys of " + MAP.getName(), keysOf(MAP));
        return dump;
    }

    private static void put(
            Map<String, String> dump,
            String key,
            StateDescriptor<?, ?> state,
            Object namespace,
            Object value) {
        if (value != null) {
            dump.put(key + " | " + state.getName() + " | " + namespace, value.toString());
        }
    }

    private static <T> List<T> list(ListState<T> state) throws Exception {
        Iterable<T> elements = state.get();
        if (elements == null) {
            return null;
        }
        List<T> list = new ArrayList<>();
        elements.forEach(list::add);
        return list;
    }

    private static <A, B> Map<A, B> map(MapState<A, B> state) throws Exception {
        Map<A, B> map = new TreeMap<>();
        for (Map.Entry<A, B> entry : state.entries()) {
            map.put(entry.getKey(), entry.getValue());
        }
        return map.isEmpty() ? null : map;
    }

    private String keysOf(StateDescriptor<?, ?> descriptor) {
        try (Stream<String> found =
                backend.getKeys(descriptor.getName(), VoidNamespace.INSTANCE)) {
            return found.collect(Collectors.toCollection(TreeSet::new)).toString();
        }
    }

    /** What the accumulator has seen, as text; its length is the result. */
    private static final class Digits implements AggregateFunction<Long, String, Integer> {

        private static final long serialVersionUID = 1L;

        @Override
        public String createAccumulator() {
            return "";
        }

        @Override
        public String add(Long value, String accumulator) {
            return accumulator + value;
        }

        @Override
        public Integer getResult(String accumulator) {
            return accumulator.length();
        }

        @Override
        public String merge(String a, String b) {
            return a + b;
        }
    }
}
