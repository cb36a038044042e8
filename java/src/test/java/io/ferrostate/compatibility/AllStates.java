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
import org.apache.flink.api.common.state.StateTtlConfig;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.common.typeutils.base.IntSerializer;
import org.apache.flink.api.common.typeutils.base.LongSerializer;
import org.apache.flink.api.common.typeutils.base.StringSerializer;
import org.apache.flink.runtime.state.AbstractKeyedStateBackend;
import org.apache.flink.runtime.state.VoidNamespace;
import org.apache.flink.runtime.state.VoidNamespaceSerializer;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Stream;

/**
 * A state of each kind, in each kind of namespace, of one backend, and all that is in them as text.
 * What is done to them is {@link Workload}'s.
 */
final class AllStates {

    static final ValueStateDescriptor<String> VALUE =
            new ValueStateDescriptor<>("value", StringSerializer.INSTANCE);
    static final ValueStateDescriptor<String> UNTOUCHED =
            new ValueStateDescriptor<>("untouched", StringSerializer.INSTANCE);
    static final ListStateDescriptor<String> TEXTS =
            new ListStateDescriptor<>("texts", StringSerializer.INSTANCE);
    static final ListStateDescriptor<Integer> NUMBERS =
            new ListStateDescriptor<>("numbers", IntSerializer.INSTANCE);
    static final MapStateDescriptor<String, Long> MAP =
            new MapStateDescriptor<>("map", StringSerializer.INSTANCE, LongSerializer.INSTANCE);
    static final ReducingStateDescriptor<Long> SUM =
            new ReducingStateDescriptor<>("sum", Long::sum, LongSerializer.INSTANCE);
    static final AggregatingStateDescriptor<Long, String, Integer> DIGITS =
            new AggregatingStateDescriptor<>("digits", new Digits(), StringSerializer.INSTANCE);
    static final MapStateDescriptor<Long, Integer> FIRED =
            new MapStateDescriptor<>("fired", LongSerializer.INSTANCE, IntSerializer.INSTANCE);

    static final ValueStateDescriptor<String> TTL_VALUE =
            new ValueStateDescriptor<>("value that expires", StringSerializer.INSTANCE);
    static final ListStateDescriptor<String> TTL_LIST =
            new ListStateDescriptor<>("list that expires", StringSerializer.INSTANCE);
    static final MapStateDescriptor<Integer, String> TTL_MAP =
            new MapStateDescriptor<>(
                    "map that expires", IntSerializer.INSTANCE, StringSerializer.INSTANCE);

    static final ListStateDescriptor<Long> WINDOW =
            new ListStateDescriptor<>("window", LongSerializer.INSTANCE);
    static final ReducingStateDescriptor<Long> WINDOW_SUM =
            new ReducingStateDescriptor<>("window sum", Long::sum, LongSerializer.INSTANCE);
    static final MapStateDescriptor<Integer, String> NAMED =
            new MapStateDescriptor<>("named", IntSerializer.INSTANCE, StringSerializer.INSTANCE);

    /** With the system's clock nothing expires for as long as a golden snapshot lies about. */
    static final Duration TIME_TO_LIVE = Duration.ofDays(36_500);

    static {
        StateTtlConfig ttl = StateTtlConfig.newBuilder(TIME_TO_LIVE).build();
        Stream.of(TTL_VALUE, TTL_LIST, TTL_MAP).forEach(state -> state.enableTimeToLive(ttl));
    }

    /** Key and namespace are both of variable length here: the ambiguous case of the key bytes. */
    static final List<String> NAMES = Arrays.asList("", "a", "long ".repeat(60));

    static final List<TimeWindow> WINDOWS =
            Arrays.asList(
                    new TimeWindow(0, 10), new TimeWindow(10, 20), new TimeWindow(-5, 1L << 40));

    static final TypeSerializer<TimeWindow> WINDOW_SERIALIZER = new TimeWindow.Serializer();

    private final AbstractKeyedStateBackend<String> backend;

    AllStates(AbstractKeyedStateBackend<String> backend) {
        this.backend = backend;
    }

    <S extends State> S plain(StateDescriptor<S, ?> descriptor) throws Exception {
        return in(VoidNamespace.INSTANCE, VoidNamespaceSerializer.INSTANCE, descriptor);
    }

    <S extends State> S window(TimeWindow window, StateDescriptor<S, ?> descriptor)
            throws Exception {
        return in(window, WINDOW_SERIALIZER, descriptor);
    }

    MapState<Integer, String> named(String name) throws Exception {
        return in(name, StringSerializer.INSTANCE, NAMED);
    }

    private <N, S extends State> S in(
            N namespace, TypeSerializer<N> serializer, StateDescriptor<S, ?> descriptor)
            throws Exception {
        return backend.getPartitionedState(namespace, serializer, descriptor);
    }

    /**
     * What these keys have in all states but the untouched one, and which keys have anything in those
     * that do not expire.
     */
    SortedMap<String, String> dump(List<String> keys) throws Exception {
        SortedMap<String, String> dump = new TreeMap<>();
        for (String key : keys) {
            backend.setCurrentKey(key);
            dumpPlain(dump, key);
            for (TimeWindow window : WINDOWS) {
                put(dump, key, WINDOW, window, list(window(window, WINDOW)));
                put(dump, key, WINDOW_SUM, window, window(window, WINDOW_SUM).get());
            }
            for (String name : NAMES) {
                put(dump, key, NAMED, name, map(named(name)));
            }
        }
        for (StateDescriptor<?, ?> state :
                Arrays.asList(VALUE, TEXTS, NUMBERS, MAP, SUM, DIGITS, FIRED)) {
            try (Stream<String> found = backend.getKeys(state.getName(), VoidNamespace.INSTANCE)) {
                found.forEach(key -> dump.put(key + " is a key of " + state.getName(), ""));
            }
        }
        return dump;
    }

    private void dumpPlain(SortedMap<String, String> dump, String key) throws Exception {
        put(dump, key, VALUE, "", plain(VALUE).value());
        put(dump, key, TEXTS, "", list(plain(TEXTS)));
        put(dump, key, NUMBERS, "", list(plain(NUMBERS)));
        put(dump, key, MAP, "", map(plain(MAP)));
        put(dump, key, SUM, "", plain(SUM).get());
        put(dump, key, DIGITS, "", plain(DIGITS).get());
        put(dump, key, FIRED, "", map(plain(FIRED)));
        put(dump, key, TTL_VALUE, "", plain(TTL_VALUE).value());
        put(dump, key, TTL_LIST, "", list(plain(TTL_LIST)));
        put(dump, key, TTL_MAP, "", map(plain(TTL_MAP)));
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
        return list.isEmpty() ? null : list;
    }

    private static <A, B> Map<A, B> map(MapState<A, B> state) throws Exception {
        Map<A, B> map = new TreeMap<>();
        for (Map.Entry<A, B> entry : state.entries()) {
            map.put(entry.getKey(), entry.getValue());
        }
        return map.isEmpty() ? null : map;
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
