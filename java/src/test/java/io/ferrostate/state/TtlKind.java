package io.ferrostate.state;

import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.api.common.serialization.SerializerConfigImpl;
import org.apache.flink.api.common.state.AggregatingState;
import org.apache.flink.api.common.state.AggregatingStateDescriptor;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.ReducingState;
import org.apache.flink.api.common.state.ReducingStateDescriptor;
import org.apache.flink.api.common.state.State;
import org.apache.flink.api.common.state.StateDescriptor;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.TypeHint;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.common.typeutils.base.BigDecSerializer;
import org.apache.flink.api.common.typeutils.base.BigIntSerializer;
import org.apache.flink.api.common.typeutils.base.IntSerializer;
import org.apache.flink.api.common.typeutils.base.ListSerializer;
import org.apache.flink.api.common.typeutils.base.LongSerializer;
import org.apache.flink.api.common.typeutils.base.MapSerializer;
import org.apache.flink.api.common.typeutils.base.SetSerializer;
import org.apache.flink.api.common.typeutils.base.StringSerializer;
import org.apache.flink.api.common.typeutils.base.array.BytePrimitiveArraySerializer;
import org.apache.flink.api.common.typeutils.base.array.DoublePrimitiveArraySerializer;
import org.apache.flink.api.common.typeutils.base.array.StringArraySerializer;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.api.java.tuple.Tuple3;
import org.apache.flink.api.java.typeutils.runtime.NullableSerializer;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.runtime.typeutils.RowDataSerializer;
import org.apache.flink.table.types.logical.IntType;
import org.apache.flink.table.types.logical.VarCharType;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.function.Supplier;

/** Kinds of state with a time to live: a descriptor each, and random operations that say what they saw. */
enum TtlKind {
    VALUE_INT(value(IntSerializer.INSTANCE), TtlKind::onValue, Random::nextInt),
    VALUE_STRING(value(StringSerializer.INSTANCE), TtlKind::onValue, TtlKind::text),
    MAP_INT(map(IntSerializer.INSTANCE, IntSerializer.INSTANCE), TtlKind::onMap, r -> r.nextInt(8)),
    MAP_STRING(
            map(StringSerializer.INSTANCE, StringSerializer.INSTANCE),
            TtlKind::onMap,
            TtlKind::text),
    MAP_WITH_NULLS(
            map(
                    StringSerializer.INSTANCE,
                    NullableSerializer.wrap(StringSerializer.INSTANCE, false)),
            TtlKind::onMapWithNulls,
            TtlKind::text),
    MAP_WITH_PADDED_NULLS(
            map(IntSerializer.INSTANCE, NullableSerializer.wrap(IntSerializer.INSTANCE, true)),
            TtlKind::onMapWithNulls,
            r -> r.nextInt(8)),
    REDUCING(
            () ->
                    new ReducingStateDescriptor<>(
                            "state", (a, b) -> a + b, LongSerializer.INSTANCE),
            TtlKind::onReducing,
            Random::nextLong),
    AGGREGATING(
            () ->
                    new AggregatingStateDescriptor<>(
                            "state", new Texts(), StringSerializer.INSTANCE),
            TtlKind::onAggregating,
            TtlKind::text),

    LIST_INT(list(IntSerializer.INSTANCE), TtlKind::onList, Random::nextInt),
    LIST_LONG_PAIR(
            list(new TypeHint<Tuple2<Long, Long>>() {}),
            TtlKind::onList,
            r -> Tuple2.of(r.nextLong(), r.nextLong())),
    LIST_STRING(list(StringSerializer.INSTANCE), TtlKind::onList, TtlKind::text),
    LIST_TUPLE(
            list(new TypeHint<Tuple3<String, Integer, String>>() {}),
            TtlKind::onList,
            r -> Tuple3.of(text(r), r.nextInt(), text(r))),
    LIST_POJO(list(new TypeHint<Pojo>() {}), TtlKind::onList, Pojo::new),
    LIST_ROW(
            list(new RowDataSerializer(new IntType(), new VarCharType(VarCharType.MAX_LENGTH))),
            TtlKind::onList,
            r -> GenericRowData.of(r.nextInt(), StringData.fromString(text(r)))),
    LIST_BYTES(list(BytePrimitiveArraySerializer.INSTANCE), TtlKind::onList, TtlKind::bytes),
    LIST_DOUBLES(
            list(DoublePrimitiveArraySerializer.INSTANCE),
            TtlKind::onList,
            r -> r.doubles(r.nextInt(4)).toArray()),
    LIST_TEXTS(list(StringArraySerializer.INSTANCE), TtlKind::onList, TtlKind::texts),
    LIST_LIST(
            list(new ListSerializer<>(StringSerializer.INSTANCE)),
            TtlKind::onList,
            r -> Arrays.asList(texts(r))),
    LIST_SET(
            list(new SetSerializer<>(StringSerializer.INSTANCE)),
            TtlKind::onList,
            r -> new HashSet<>(Arrays.asList(texts(r)))),
    LIST_MAP(
            list(new MapSerializer<>(StringSerializer.INSTANCE, StringSerializer.INSTANCE)),
            TtlKind::onList,
            r -> Collections.singletonMap(text(r), r.nextBoolean() ? null : text(r))),
    LIST_NULLABLE(
            list(
                    new ListSerializer<>(
                            NullableSerializer.wrap(StringSerializer.INSTANCE, false))),
            TtlKind::onList,
            r -> Arrays.asList(text(r), null, r.nextBoolean() ? null : text(r))),
    LIST_BIG_INTEGER(
            list(BigIntSerializer.INSTANCE),
            TtlKind::onList,
            r -> r.nextBoolean() ? BigInteger.ONE : new BigInteger(r.nextInt(90), r)),
    LIST_BIG_DECIMAL(
            list(BigDecSerializer.INSTANCE),
            TtlKind::onList,
            r -> r.nextBoolean() ? BigDecimal.TEN : new BigDecimal(new BigInteger(80, r), 7));

    private interface Operation {
        Object run(State state, Random random, Function<Random, ?> values) throws Exception;
    }

    private final Supplier<StateDescriptor<?, ?>> descriptor;
    private final Operation operation;
    private final Function<Random, ?> values;

    TtlKind(
            Supplier<StateDescriptor<?, ?>> descriptor,
            Operation operation,
            Function<Random, ?> values) {
        this.descriptor = descriptor;
        this.operation = operation;
        this.values = values;
    }

    /** A new one each time: a backend changes it. */
    StateDescriptor<?, ?> descriptor() {
        return descriptor.get();
    }

    boolean isList() {
        return descriptor() instanceof ListStateDescriptor;
    }

    /** Does something to the state and says what came of it. */
    String operate(State state, Random random) throws Exception {
        return show(operation.run(state, random, values));
    }

    // ---- operations ----------------------------------------------------------------------------

    @SuppressWarnings("unchecked")
    private static Object onValue(State state, Random random, Function<Random, ?> values)
            throws Exception {
        ValueState<Object> value = (ValueState<Object>) state;
        switch (random.nextInt(8)) {
            case 0:
                value.clear();
                return null;
            case 1:
            case 2:
            case 3:
                return value.value();
            default:
                value.update(values.apply(random));
                return null;
        }
    }

    private static Object onMapWithNulls(State state, Random random, Function<Random, ?> values)
            throws Exception {
        if (random.nextInt(4) > 0) {
            return onMap(state, random, values);
        }
        map(state).put(values.apply(random), null);
        return null;
    }

    private static Object onMap(State state, Random random, Function<Random, ?> values)
            throws Exception {
        MapState<Object, Object> map = map(state);
        Object key = values.apply(random);
        switch (random.nextInt(10)) {
            case 0:
                map.remove(key);
                return map.isEmpty();
            case 1:
                return map.contains(key);
            case 2:
                TreeMap<String, String> entries = new TreeMap<>();
                map.entries().forEach(e -> entries.put(show(e.getKey()), show(e.getValue())));
                return entries;
            case 3:
            case 4:
                return map.get(key);
            default:
                map.put(key, values.apply(random));
                return null;
        }
    }

    @SuppressWarnings("unchecked")
    private static MapState<Object, Object> map(State state) {
        return (MapState<Object, Object>) state;
    }

    @SuppressWarnings("unchecked")
    private static Object onList(State state, Random random, Function<Random, ?> values)
            throws Exception {
        ListState<Object> list = (ListState<Object>) state;
        switch (random.nextInt(12)) {
            case 0:
                list.update(some(random, values));
                return null;
            case 1:
                list.addAll(some(random, values));
                return null;
            case 2:
                List<Object> elements = new ArrayList<>();
                Iterable<Object> read = list.get();
                if (read != null) {
                    read.forEach(elements::add);
                }
                return elements;
            default:
                list.add(values.apply(random));
                return null;
        }
    }

    private static List<Object> some(Random random, Function<Random, ?> values) {
        List<Object> some = new ArrayList<>();
        for (int i = random.nextInt(4); i > 0; i--) {
            some.add(values.apply(random));
        }
        return some;
    }

    @SuppressWarnings("unchecked")
    private static Object onReducing(State state, Random random, Function<Random, ?> values)
            throws Exception {
        ReducingState<Object> reducing = (ReducingState<Object>) state;
        if (random.nextInt(3) == 0) {
            return reducing.get();
        }
        reducing.add(values.apply(random));
        return null;
    }

    @SuppressWarnings("unchecked")
    private static Object onAggregating(State state, Random random, Function<Random, ?> values)
            throws Exception {
        AggregatingState<Object, Object> aggregating = (AggregatingState<Object, Object>) state;
        if (random.nextInt(3) == 0) {
            return aggregating.get();
        }
        aggregating.add(values.apply(random));
        return null;
    }

    // ---- descriptors and values ----------------------------------------------------------------

    private static <T> Supplier<StateDescriptor<?, ?>> value(TypeSerializer<T> serializer) {
        return () -> new ValueStateDescriptor<>("state", serializer);
    }

    private static <K, V> Supplier<StateDescriptor<?, ?>> map(
            TypeSerializer<K> keys, TypeSerializer<V> values) {
        return () -> new MapStateDescriptor<>("state", keys, values);
    }

    private static <T> Supplier<StateDescriptor<?, ?>> list(TypeSerializer<T> elements) {
        return () -> new ListStateDescriptor<>("state", elements);
    }

    private static <T> Supplier<StateDescriptor<?, ?>> list(TypeHint<T> elements) {
        return list(TypeInformation.of(elements).createSerializer(new SerializerConfigImpl()));
    }

    /** Few, so that maps meet them again; with commas, of one, two and three bytes a char, empty. */
    private static String text(Random random) {
        int n = random.nextInt(12);
        return n == 0 ? "" : "," + n + "\u00e9\u20ac" + String.join("", Collections.nCopies(n * 12, ","));
    }

    private static String[] texts(Random random) {
        String[] texts = new String[random.nextInt(3)];
        Arrays.setAll(texts, i -> text(random));
        return texts;
    }

    private static byte[] bytes(Random random) {
        byte[] bytes = new byte[random.nextInt(20)];
        random.nextBytes(bytes);
        return bytes;
    }

    private static String show(Object value) {
        if (value instanceof List) {
            List<String> shown = new ArrayList<>();
            ((List<?>) value).forEach(element -> shown.add(show(element)));
            return shown.toString();
        }
        return value != null && value.getClass().isArray()
                ? Arrays.deepToString(new Object[] {value})
                : String.valueOf(value);
    }

    /** With fields that are null now and then, and one of variable length between two fixed ones. */
    public static final class Pojo {
        public int first;
        public String second;
        public Long third;

        public Pojo() {}

        Pojo(Random random) {
            first = random.nextInt();
            second = random.nextBoolean() ? null : text(random);
            third = random.nextBoolean() ? null : random.nextLong();
        }

        @Override
        public String toString() {
            return first + second + third;
        }
    }

    private static final class Texts implements AggregateFunction<String, String, String> {

        private static final long serialVersionUID = 1L;

        @Override
        public String createAccumulator() {
            return "";
        }

        @Override
        public String add(String value, String accumulator) {
            return accumulator.length() > 200 ? value : accumulator + value;
        }

        @Override
        public String getResult(String accumulator) {
            return accumulator;
        }

        @Override
        public String merge(String a, String b) {
            return a + b;
        }
    }
}
