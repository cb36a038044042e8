package io.ferrostate.state;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.ferrostate.FerrostateStateBackend;
import io.ferrostate.backend.KeyedBackends;
import io.ferrostate.backend.Snapshots;

import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.State;
import org.apache.flink.api.common.state.StateDescriptor;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.common.typeutils.base.IntSerializer;
import org.apache.flink.api.common.typeutils.base.StringSerializer;
import org.apache.flink.runtime.state.AbstractKeyedStateBackend;
import org.apache.flink.runtime.state.AbstractStateBackend;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.VoidNamespace;
import org.apache.flink.runtime.state.VoidNamespaceSerializer;
import org.apache.flink.runtime.state.hashmap.HashMapStateBackend;
import org.apache.flink.runtime.state.internal.InternalListState;
import org.apache.flink.runtime.state.internal.InternalMapState;
import org.apache.flink.runtime.state.internal.InternalValueState;
import org.apache.flink.runtime.state.ttl.TtlTimeProvider;
import org.apache.flink.state.rocksdb.EmbeddedRocksDBStateBackend;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * Keys, namespaces, values and names that are empty, very long or unusual: the same as on Flink's
 * RocksDB backend, which restores them as well.
 */
@Timeout(120)
class OddDataTest {

    private static final int KEY_GROUPS = 16;

    @TempDir Path directory;

    private final KeyedBackends backends = new KeyedBackends();
    private Snapshots snapshots;

    @BeforeEach
    void create() throws Exception {
        snapshots = new Snapshots(directory.resolve("checkpoints"));
    }

    @AfterEach
    void close() throws Exception {
        snapshots.close();
        backends.close();
    }

    private AbstractStateBackend ferrostate() {
        return new FerrostateStateBackend(true)
                .setLocalDirectories(directory.resolve("local").toString());
    }

    private AbstractStateBackend rocksdb() {
        EmbeddedRocksDBStateBackend rocksdb = new EmbeddedRocksDBStateBackend(true);
        rocksdb.setDbStoragePath(directory.resolve("rocksdb").toString());
        return rocksdb;
    }

    /** What a state of each kind says, with one serializer for all that there is. */
    private static final class Odd<T> {

        private final AbstractKeyedStateBackend<T> backend;
        private final InternalValueState<T, T, T> value;
        private final InternalListState<T, T, T> list;
        private final InternalMapState<T, T, T, T> map;

        Odd(AbstractKeyedStateBackend<T> backend, TypeSerializer<T> serializer) throws Exception {
            this.backend = backend;
            value =
                    backend.createOrUpdateInternalState(
                            serializer, new ValueStateDescriptor<>("value", serializer));
            list =
                    backend.createOrUpdateInternalState(
                            serializer, new ListStateDescriptor<>("list", serializer));
            map =
                    backend.createOrUpdateInternalState(
                            serializer, new MapStateDescriptor<>("map", serializer, serializer));
        }

        private void at(T key, T namespace) {
            backend.setCurrentKey(key);
            value.setCurrentNamespace(namespace);
            list.setCurrentNamespace(namespace);
            map.setCurrentNamespace(namespace);
        }

        void write(List<T> all) throws Exception {
            for (T key : all) {
                for (T namespace : all) {
                    at(key, namespace);
                    value.update(key);
                    list.add(key);
                    list.addAll(Arrays.asList(namespace, key));
                    for (T userKey : all) {
                        map.put(userKey, namespace);
                    }
                }
            }
        }

        List<Object> read(List<T> all) throws Exception {
            List<Object> read = new ArrayList<>();
            for (T key : all) {
                for (T namespace : all) {
                    at(key, namespace);
                    read.add(value.value());
                    Iterable<T> elements = list.get();
                    if (elements != null) {
                        elements.forEach(read::add);
                    }
                    for (Map.Entry<T, T> entry : map.entries()) {
                        read.add(entry.getKey());
                        read.add(entry.getValue());
                    }
                    read.add(map.get(key));
                    read.add(map.isEmpty());
                }
            }
            for (T namespace : all) {
                read.add(backend.getKeys("map", namespace).collect(Collectors.toList()));
            }
            read.add(backend.getKeysAndNamespaces("list").collect(Collectors.toList()));
            return read;
        }
    }

    private <T> void isTheSameEverywhere(TypeSerializer<T> serializer, List<T> all)
            throws Exception {
        List<Object> theirs;
        AbstractKeyedStateBackend<T> backend = backends.create(rocksdb(), serializer, KEY_GROUPS);
        try {
            Odd<T> odd = new Odd<>(backend, serializer);
            odd.write(all);
            theirs = odd.read(all);
        } finally {
            backend.dispose();
        }
        KeyedStateHandle checkpoint;
        KeyedStateHandle savepoint;
        backend = backends.create(ferrostate(), serializer, KEY_GROUPS);
        try {
            Odd<T> odd = new Odd<>(backend, serializer);
            odd.write(all);
            assertThat(odd.read(all)).isEqualTo(theirs);
            checkpoint = snapshots.checkpoint(backend);
            savepoint = snapshots.savepoint(backend);
        } finally {
            backend.dispose();
        }
        for (KeyedStateHandle handle : Arrays.asList(checkpoint, savepoint)) {
            for (AbstractStateBackend reader : Arrays.asList(ferrostate(), rocksdb())) {
                backend = backends.create(reader, serializer, KEY_GROUPS, handle);
                try {
                    assertThat(new Odd<>(backend, serializer).read(all)).isEqualTo(theirs);
                } finally {
                    backend.dispose();
                }
            }
        }
    }

    @Test
    void emptyTexts() throws Exception {
        isTheSameEverywhere(StringSerializer.INSTANCE, Arrays.asList("", "a", ",", ",,"));
    }

    /** Not a byte of key, namespace or value. */
    @Test
    void nothingAtAll() throws Exception {
        isTheSameEverywhere(
                NothingSerializer.INSTANCE, Arrays.asList(NothingSerializer.NOTHING));
    }

    @Test
    void keysAndNamespacesOfAMebibyte() throws Exception {
        String large = "k".repeat(1 << 20);
        isTheSameEverywhere(
                StringSerializer.INSTANCE, Arrays.asList(large + "a", large + "b"));
    }

    /** The pages are small again afterwards; what they held must not be mistaken. */
    @Test
    void largeAndSmallKeysTakeTurns() throws Exception {
        AbstractKeyedStateBackend<String> backend =
                backends.create(ferrostate(), StringSerializer.INSTANCE, KEY_GROUPS);
        try {
            ValueState<String> value = state(backend, "value");
            List<String> keys = new ArrayList<>();
            for (int i = 0; i < 2000; i++) {
                keys.add(i % 500 == 3 ? "k".repeat(3 << 20) + i : "k" + i);
            }
            for (String key : keys) {
                backend.setCurrentKey(key);
                value.update(key.length() > 10 ? "of a large key" : "v".repeat(5000) + key);
            }
            for (String key : keys) {
                backend.setCurrentKey(key);
                assertThat(value.value())
                        .isEqualTo(key.length() > 10 ? "of a large key" : "v".repeat(5000) + key);
            }
        } finally {
            backend.dispose();
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 127, 128, 129, 32768})
    void anyMaximumParallelism(int keyGroups) throws Exception {
        KeyedStateHandle handle;
        AbstractKeyedStateBackend<String> backend =
                backends.create(ferrostate(), StringSerializer.INSTANCE, keyGroups);
        try {
            writeMany(backend);
            handle = snapshots.checkpoint(backend);
        } finally {
            backend.dispose();
        }
        for (AbstractStateBackend reader : Arrays.asList(ferrostate(), rocksdb())) {
            backend = backends.create(reader, StringSerializer.INSTANCE, keyGroups, handle);
            try {
                assertThat(countMany(backend)).isEqualTo(3000);
            } finally {
                backend.dispose();
            }
        }
        if (keyGroups > 1) {
            int middle = keyGroups / 2;
            int lower = countPart(handle, keyGroups, KeyGroupRange.of(0, middle - 1));
            int upper = countPart(handle, keyGroups, KeyGroupRange.of(middle, keyGroups - 1));
            int last = countPart(handle, keyGroups, KeyGroupRange.of(keyGroups - 1, keyGroups - 1));
            assertThat(lower + upper).isEqualTo(3000);
            assertThat(lower).isPositive();
            assertThat(last).isLessThanOrEqualTo(upper);
        }
    }

    private int countPart(KeyedStateHandle handle, int keyGroups, KeyGroupRange range)
            throws Exception {
        AbstractKeyedStateBackend<String> backend =
                backends.create(
                        ferrostate(),
                        StringSerializer.INSTANCE,
                        keyGroups,
                        range,
                        TtlTimeProvider.DEFAULT,
                        handle.getIntersection(range));
        try {
            return countMany(backend);
        } finally {
            backend.dispose();
        }
    }

    private static void writeMany(AbstractKeyedStateBackend<String> backend) throws Exception {
        ValueState<String> value = state(backend, "value");
        for (int key = 0; key < 3000; key++) {
            backend.setCurrentKey("key " + key);
            value.update("value " + key);
        }
    }

    /** Number of keys, each with its own value. */
    private static int countMany(AbstractKeyedStateBackend<String> backend) throws Exception {
        ValueState<String> value = state(backend, "value");
        List<String> keys =
                backend.<VoidNamespace>getKeys("value", VoidNamespace.INSTANCE)
                        .collect(Collectors.toList());
        for (String key : keys) {
            backend.setCurrentKey(key);
            assertThat(value.value()).isEqualTo(key.replace("key", "value"));
        }
        return keys.size();
    }

    private static ValueState<String> state(AbstractKeyedStateBackend<String> backend, String name)
            throws Exception {
        return state(backend, new ValueStateDescriptor<>(name, StringSerializer.INSTANCE));
    }

    private static <S extends State> S state(
            AbstractKeyedStateBackend<?> backend, StateDescriptor<S, ?> descriptor)
            throws Exception {
        return backend.getPartitionedState(
                VoidNamespace.INSTANCE, VoidNamespaceSerializer.INSTANCE, descriptor);
    }

    @Test
    void namesOfAllKinds() throws Exception {
        List<String> names =
                Arrays.asList(
                        "Zust\u00e4nde \u72b6\u614b",
                        "\ud83d\ude00 beyond the basic plane",
                        "a/b/../c",
                        "../../escape",
                        ".",
                        " ",
                        "%2F\\\"'\n\t",
                        "Default",
                        "long ".repeat(10_000));
        KeyedStateHandle checkpoint;
        KeyedStateHandle savepoint;
        AbstractKeyedStateBackend<String> backend =
                backends.create(ferrostate(), StringSerializer.INSTANCE, KEY_GROUPS);
        try {
            for (String name : names) {
                backend.setCurrentKey("key");
                state(backend, name).update("of " + name);
            }
            checkpoint = snapshots.checkpoint(backend);
            savepoint = snapshots.savepoint(backend);
        } finally {
            backend.dispose();
        }
        for (KeyedStateHandle handle : Arrays.asList(checkpoint, savepoint)) {
            for (AbstractStateBackend reader : Arrays.asList(ferrostate(), rocksdb())) {
                backend = backends.create(reader, StringSerializer.INSTANCE, KEY_GROUPS, handle);
                try {
                    for (String name : names) {
                        ValueState<String> value = state(backend, name);
                        backend.setCurrentKey("key");
                        assertThat(value.value()).isEqualTo("of " + name);
                    }
                } finally {
                    backend.dispose();
                }
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"default", "with\0 NUL", "half\ud83d a character"})
    void namesThatCannotBeAreRefusedByName(String name) throws Exception {
        AbstractKeyedStateBackend<String> backend =
                backends.create(ferrostate(), StringSerializer.INSTANCE, KEY_GROUPS);
        try {
            assertThatThrownBy(() -> state(backend, name))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining(name.substring(0, 4));
            ValueState<String> value = state(backend, "another");
            backend.setCurrentKey("key");
            value.update("works");
            assertThat(value.value()).isEqualTo("works");
        } finally {
            backend.dispose();
        }
    }

    /** The heap has no such limit, so that a savepoint may hold one. */
    @Test
    void aSavepointWithAStateNamedDefaultIsRefusedByName() throws Exception {
        KeyedStateHandle savepoint;
        AbstractKeyedStateBackend<Integer> heap =
                backends.create(new HashMapStateBackend(), IntSerializer.INSTANCE, KEY_GROUPS);
        try {
            ValueState<String> value =
                    state(heap, new ValueStateDescriptor<>("default", StringSerializer.INSTANCE));
            heap.setCurrentKey(1);
            value.update("1");
            savepoint = snapshots.savepoint(heap);
        } finally {
            heap.dispose();
        }
        assertThatThrownBy(
                        () ->
                                backends.create(
                                        ferrostate(),
                                        IntSerializer.INSTANCE,
                                        KEY_GROUPS,
                                        savepoint))
                .hasMessageContaining("'default'");
    }
}
