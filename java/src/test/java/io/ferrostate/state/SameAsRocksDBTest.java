package io.ferrostate.state;

import static org.assertj.core.api.Assertions.assertThat;

import io.ferrostate.FerrostateStateBackend;
import io.ferrostate.backend.KeyedBackends;

import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.api.common.state.AggregatingStateDescriptor;
import org.apache.flink.api.common.state.ListStateDescriptor;
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
import org.apache.flink.runtime.state.FullSnapshotResources;
import org.apache.flink.runtime.state.KeyValueStateIterator;
import org.apache.flink.runtime.state.VoidNamespace;
import org.apache.flink.runtime.state.VoidNamespaceSerializer;
import org.apache.flink.runtime.state.internal.InternalAggregatingState;
import org.apache.flink.runtime.state.internal.InternalListState;
import org.apache.flink.runtime.state.internal.InternalMapState;
import org.apache.flink.runtime.state.internal.InternalReducingState;
import org.apache.flink.runtime.state.internal.InternalValueState;
import org.apache.flink.state.rocksdb.EmbeddedRocksDBStateBackend;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.function.IntFunction;
import java.util.stream.Collectors;

/**
 * The same random operations on Ferrostate and on Flink's RocksDB backend give the same answers and
 * leave the same rows, byte for byte.
 */
@Timeout(240)
class SameAsRocksDBTest {

    private static final int OPERATIONS = 3000;

    @TempDir Path directory;

    /** Keys and namespaces of fixed and of variable length, one and two bytes of key group. */
    enum Layout {
        FIXED_KEY_NO_NAMESPACE(
                16, IntSerializer.INSTANCE, i -> i, VoidNamespaceSerializer.INSTANCE, i -> VoidNamespace.INSTANCE),
        VARIABLE_KEY_NO_NAMESPACE(
                1024, StringSerializer.INSTANCE, Layout::text, VoidNamespaceSerializer.INSTANCE, i -> VoidNamespace.INSTANCE),
        FIXED_KEY_WINDOWS(
                128, LongSerializer.INSTANCE, Long::valueOf, new TimeWindow.Serializer(), i -> new TimeWindow(i, i + 10L)),
        VARIABLE_KEY_VARIABLE_NAMESPACE(
                129, StringSerializer.INSTANCE, Layout::text, StringSerializer.INSTANCE, Layout::text);

        final int keyGroups;
        final TypeSerializer<Object> keySerializer;
        final IntFunction<Object> key;
        final TypeSerializer<Object> namespaceSerializer;
        final IntFunction<Object> namespace;

        @SuppressWarnings("unchecked")
        Layout(
                int keyGroups,
                TypeSerializer<?> keySerializer,
                IntFunction<Object> key,
                TypeSerializer<?> namespaceSerializer,
                IntFunction<Object> namespace) {
            this.keyGroups = keyGroups;
            this.keySerializer = (TypeSerializer<Object>) keySerializer;
            this.key = key;
            this.namespaceSerializer = (TypeSerializer<Object>) namespaceSerializer;
            this.namespace = namespace;
        }

        /** Longer than 255 bytes now and then, so that a length takes two bytes. */
        private static String text(int i) {
            return i % 5 == 0 ? String.join("", Collections.nCopies(300, "k")) + i : "k" + i;
        }
    }

    @ParameterizedTest
    @EnumSource(Layout.class)
    void answersAndRowsAreTheSame(Layout layout) throws Exception {
        EmbeddedRocksDBStateBackend rocksdb = new EmbeddedRocksDBStateBackend(false);
        rocksdb.setDbStoragePath(directory.resolve("rocksdb").toString());
        FerrostateStateBackend ferrostate =
                new FerrostateStateBackend(false)
                        .setLocalDirectories(directory.resolve("ferrostate").toString());
        try (KeyedBackends ours = new KeyedBackends();
                KeyedBackends theirs = new KeyedBackends();
                Subject left =
                        new Subject(
                                layout,
                                theirs.create(rocksdb, layout.keySerializer, layout.keyGroups));
                Subject right =
                        new Subject(
                                layout,
                                ours.create(ferrostate, layout.keySerializer, layout.keyGroups))) {
            Random random = new Random(layout.ordinal());
            for (int i = 0; i < OPERATIONS; i++) {
                long seed = random.nextLong();
                assertThat(right.operate(new Random(seed)))
                        .as("operation %s with seed %s", i, seed)
                        .isEqualTo(left.operate(new Random(seed)));
            }
            assertThat(right.keys()).isEqualTo(left.keys());
            assertThat(right.backend.numKeyValueStateEntries())
                    .isEqualTo(left.backend.numKeyValueStateEntries());
            assertThat(right.rows()).isEqualTo(left.rows());
        }
    }

    /** One backend with a state of each kind. */
    private static final class Subject implements AutoCloseable {

        private final Layout layout;
        private final AbstractKeyedStateBackend<Object> backend;
        private final InternalValueState<Object, Object, Long> value;
        private final InternalListState<Object, Object, String> list;
        private final InternalMapState<Object, Object, String, String> map;
        private final InternalReducingState<Object, Object, Long> reducing;
        private final InternalAggregatingState<Object, Object, Integer, String, Integer>
                aggregating;

        Subject(Layout layout, AbstractKeyedStateBackend<Object> backend) throws Exception {
            this.layout = layout;
            this.backend = backend;
            value = state(new ValueStateDescriptor<>("value", Long.class));
            list = state(new ListStateDescriptor<>("list", String.class));
            map = state(new MapStateDescriptor<>("map", String.class, String.class));
            reducing = state(new ReducingStateDescriptor<>("reducing", Long::sum, Long.class));
            aggregating =
                    state(new AggregatingStateDescriptor<>("agg", new Digits(), String.class));
        }

        private <S extends State, IS extends S> IS state(StateDescriptor<S, ?> descriptor)
                throws Exception {
            descriptor.initializeSerializerUnlessSet(new org.apache.flink.api.common.ExecutionConfig());
            return backend.createOrUpdateInternalState(layout.namespaceSerializer, descriptor);
        }

        Object operate(Random random) throws Exception {
            backend.setCurrentKey(layout.key.apply(random.nextInt(12)));
            Object namespace = layout.namespace.apply(random.nextInt(4));
            List<Object> others =
                    Arrays.asList(
                            layout.namespace.apply(random.nextInt(4)),
                            layout.namespace.apply(4 + random.nextInt(2)));
            switch (random.nextInt(5)) {
                case 0:
                    value.setCurrentNamespace(namespace);
                    return onValue(random);
                case 1:
                    list.setCurrentNamespace(namespace);
                    return onList(random, namespace, others);
                case 2:
                    map.setCurrentNamespace(namespace);
                    return onMap(random);
                case 3:
                    reducing.setCurrentNamespace(namespace);
                    return onReducing(random, namespace, others);
                default:
                    aggregating.setCurrentNamespace(namespace);
                    return onAggregating(random, namespace, others);
            }
        }

        private Object onValue(Random random) throws Exception {
            switch (random.nextInt(5)) {
                case 0:
                    value.clear();
                    return null;
                case 1:
                    value.update(null);
                    return null;
                case 2:
                    return value.value();
                default:
                    value.update(random.nextLong());
                    return value.value();
            }
        }

        private Object onList(Random random, Object namespace, List<Object> others)
                throws Exception {
            switch (random.nextInt(8)) {
                case 0:
                    list.clear();
                    return null;
                case 1:
                    list.update(texts(random));
                    return null;
                case 2:
                    list.addAll(texts(random));
                    return list.get();
                case 3:
                    if (!others.contains(namespace)) {
                        list.mergeNamespaces(namespace, others);
                        list.setCurrentNamespace(namespace);
                    }
                    return list.get();
                case 4:
                    return list.get();
                default:
                    list.add(text(random));
                    return null;
            }
        }

        private Object onMap(Random random) throws Exception {
            String key = Integer.toString(random.nextInt(400));
            switch (random.nextInt(14)) {
                case 0:
                    if (random.nextInt(8) == 0) {
                        map.clear();
                    }
                    return map.isEmpty();
                case 1:
                    map.remove(key);
                    return map.contains(key);
                case 2:
                    return map.get(key) + map.contains(key);
                case 3:
                    map.put(key, null);
                    return map.contains(key);
                case 4:
                    return entries();
                case 5:
                    return removeOrUpdateSome(random);
                case 6:
                    List<Object> keysAndValues = new ArrayList<>();
                    map.keys().forEach(keysAndValues::add);
                    map.values().forEach(keysAndValues::add);
                    return keysAndValues;
                case 7:
                    map.putAll(many(random));
                    return null;
                default:
                    map.put(key, text(random));
                    return map.get(key);
            }
        }

        private List<String> entries() throws Exception {
            List<String> entries = new ArrayList<>();
            map.entries().forEach(entry -> entries.add(entry.getKey() + "=" + entry.getValue()));
            return entries;
        }

        private Object removeOrUpdateSome(Random random) throws Exception {
            Iterator<Map.Entry<String, String>> entries = map.iterator();
            while (entries.hasNext()) {
                Map.Entry<String, String> entry = entries.next();
                int choice = random.nextInt(4);
                if (choice == 0) {
                    entries.remove();
                } else if (choice == 1) {
                    entry.setValue(text(random));
                }
            }
            return entries();
        }

        private static Map<String, String> many(Random random) {
            Map<String, String> many = new TreeMap<>();
            for (int i = random.nextInt(200); i > 0; i--) {
                many.put(Integer.toString(random.nextInt(400)), text(random));
            }
            return many;
        }

        private Object onReducing(Random random, Object namespace, List<Object> others)
                throws Exception {
            switch (random.nextInt(5)) {
                case 0:
                    reducing.clear();
                    return reducing.get();
                case 1:
                    if (!others.contains(namespace)) {
                        reducing.mergeNamespaces(namespace, others);
                    }
                    return null;
                default:
                    reducing.add(random.nextLong());
                    return reducing.get();
            }
        }

        private Object onAggregating(Random random, Object namespace, List<Object> others)
                throws Exception {
            switch (random.nextInt(5)) {
                case 0:
                    aggregating.clear();
                    return aggregating.get();
                case 1:
                    if (!others.contains(namespace)) {
                        aggregating.mergeNamespaces(namespace, others);
                    }
                    return null;
                default:
                    aggregating.add(random.nextInt(10));
                    return aggregating.get();
            }
        }

        private static List<String> texts(Random random) {
            List<String> texts = new ArrayList<>();
            for (int i = random.nextInt(4); i > 0; i--) {
                texts.add(text(random));
            }
            return texts;
        }

        /** With commas, empty, and sometimes larger than a page. */
        private static String text(Random random) {
            int kind = random.nextInt(40);
            if (kind == 0) {
                return String.join("", Collections.nCopies(5000, "large,"));
            }
            return kind == 1 ? "" : "text,\u00e9" + random.nextInt(1000);
        }

        List<Object> keys() {
            List<Object> keys = new ArrayList<>();
            for (String state : Arrays.asList("value", "list", "map", "reducing", "agg")) {
                keys.add(
                        backend.getKeys(state, layout.namespace.apply(1))
                                .collect(Collectors.toList()));
                keys.add(backend.getKeysAndNamespaces(state).collect(Collectors.toList()));
            }
            // Flink compares bytes as signed here: an order of its own when several states are read.
            keys.add(
                    backend.getKeys(Arrays.asList("value", "map"), layout.namespace.apply(2))
                            .map(Object::toString)
                            .sorted()
                            .distinct()
                            .collect(Collectors.toList()));
            return keys;
        }

        /** All rows, in hexadecimal. */
        List<String> rows() throws Exception {
            FullSnapshotResources<Object> savepoint = backend.savepoint().getSnapshotResources();
            List<String> rows = new ArrayList<>();
            try (KeyValueStateIterator iterator = savepoint.createKVStateIterator()) {
                for (; iterator.isValid(); iterator.next()) {
                    rows.add(
                            iterator.kvStateId() + " " + iterator.keyGroup() + " "
                                    + Arrays.toString(iterator.key()) + " -> "
                                    + Arrays.toString(iterator.value())
                                    + iterator.isNewKeyGroup() + iterator.isNewKeyValueState());
                }
            } finally {
                savepoint.release();
            }
            return rows;
        }

        @Override
        public void close() {
            backend.dispose();
        }
    }

    /** Collects digits; the result is their number. */
    private static final class Digits implements AggregateFunction<Integer, String, Integer> {

        private static final long serialVersionUID = 1L;

        @Override
        public String createAccumulator() {
            return "";
        }

        @Override
        public String add(Integer value, String accumulator) {
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
