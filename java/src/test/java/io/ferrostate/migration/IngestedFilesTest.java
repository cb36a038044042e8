package io.ferrostate.migration;

import static org.assertj.core.api.Assertions.assertThat;

import io.ferrostate.FerrostateOptions;
import io.ferrostate.FerrostateStateBackend;
import io.ferrostate.backend.KeyedBackends;
import io.ferrostate.backend.Snapshots;
import io.ferrostate.migration.Evolving.Evolution;

import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.State;
import org.apache.flink.api.common.state.StateDescriptor;
import org.apache.flink.api.common.typeutils.base.IntSerializer;
import org.apache.flink.configuration.MemorySize;
import org.apache.flink.runtime.state.AbstractKeyedStateBackend;
import org.apache.flink.runtime.state.AbstractStateBackend;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.KeyGroupRangeAssignment;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.VoidNamespace;
import org.apache.flink.runtime.state.VoidNamespaceSerializer;
import org.apache.flink.runtime.state.hashmap.HashMapStateBackend;
import org.apache.flink.runtime.state.ttl.TtlTimeProvider;
import org.apache.flink.state.rocksdb.EmbeddedRocksDBStateBackend;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Files that joined the database as a whole, from a migration or a canonical savepoint, are as good as
 * those it wrote: in checkpoints, for Flink's RocksDB backend, at another parallelism, and with newer
 * rows above them.
 */
@Timeout(180)
class IngestedFilesTest {

    private static final int KEYS = 2000;
    private static final int KEY_GROUPS = 16;
    private static final KeyGroupRange ALL = KeyGroupRange.of(0, KEY_GROUPS - 1);
    private static final String PAYLOAD = "some text to fill the pages with ".repeat(8);
    private static final Evolving FIRST = Evolving.first();
    private static final Evolving SECOND = Evolving.second(Evolution.AFTER_MIGRATION);

    @TempDir Path directory;

    private final KeyedBackends backends = new KeyedBackends();
    private Snapshots snapshots;

    enum Engine {
        FERROSTATE,
        ROCKSDB,
        HASHMAP
    }

    @BeforeEach
    void create() throws Exception {
        snapshots = new Snapshots(directory.resolve("checkpoints"));
    }

    @AfterEach
    void close() throws Exception {
        snapshots.close();
        backends.close();
    }

    private AbstractStateBackend engine(Engine engine) {
        switch (engine) {
            case FERROSTATE:
                return new FerrostateStateBackend(true)
                        .setLocalDirectories(directory.resolve("local").toString())
                        .set(FerrostateOptions.TARGET_FILE_SIZE_BASE, MemorySize.parse("64kb"));
            case ROCKSDB:
                EmbeddedRocksDBStateBackend rocksdb = new EmbeddedRocksDBStateBackend(true);
                rocksdb.setDbStoragePath(directory.resolve("rocksdb").toString());
                return rocksdb;
            default:
                return new HashMapStateBackend();
        }
    }

    private Run open(Engine engine, Evolving serializer, KeyedStateHandle... handles)
            throws Exception {
        return new Run(engine, ALL, serializer, handles);
    }

    @ParameterizedTest
    @EnumSource(value = Engine.class, names = {"FERROSTATE", "ROCKSDB"})
    void migratedStateGoesThereAndBack(Engine writer) throws Exception {
        KeyedStateHandle written;
        try (Run run = open(writer, FIRST)) {
            run.write(1);
            snapshots.checkpoint(run.backend);
            run.write(2);
            written = snapshots.checkpoint(run.backend);
        }
        KeyedStateHandle migrated;
        try (Run run = open(Engine.FERROSTATE, SECOND, written)) {
            run.verify(1, 2);
            migrated = snapshots.checkpoint(run.backend);
            run.write(3);
        }
        goesThereAndBack(migrated, 1, 2);
    }

    /** The heap writes its rows in no order. */
    @ParameterizedTest
    @EnumSource(Engine.class)
    void aRestoredSavepointGoesThereAndBack(Engine writer) throws Exception {
        KeyedStateHandle savepoint;
        try (Run run = open(writer, FIRST)) {
            run.write(1);
            savepoint = snapshots.savepoint(run.backend);
        }
        KeyedStateHandle restored;
        try (Run run = open(Engine.FERROSTATE, SECOND, savepoint)) {
            run.verify(1);
            run.write(2);
            restored = snapshots.checkpoint(run.backend);
        }
        goesThereAndBack(restored, 1, 2);
    }

    private void goesThereAndBack(KeyedStateHandle handle, int... writes) throws Exception {
        KeyedStateHandle there;
        try (Run run = open(Engine.ROCKSDB, SECOND, handle)) {
            run.verify(writes);
            run.write(9);
            there = snapshots.checkpoint(run.backend);
        }
        int[] more = Arrays.copyOf(writes, writes.length + 1);
        more[writes.length] = 9;
        KeyGroupRange lower = KeyGroupRange.of(0, KEY_GROUPS / 2 - 1);
        KeyGroupRange upper = KeyGroupRange.of(KEY_GROUPS / 2, KEY_GROUPS - 1);
        for (Engine engine : new Engine[] {Engine.FERROSTATE, Engine.ROCKSDB}) {
            try (Run run = open(engine, SECOND, there)) {
                run.verify(more);
            }
            // Into two parts, and one out of two.
            KeyedStateHandle first;
            KeyedStateHandle second;
            try (Run run = new Run(engine, lower, SECOND, handle.getIntersection(lower))) {
                run.verify(writes);
                first = snapshots.checkpoint(run.backend);
            }
            try (Run run = new Run(engine, upper, SECOND, handle.getIntersection(upper))) {
                run.verify(writes);
                second = snapshots.checkpoint(run.backend);
            }
            try (Run run = open(engine, SECOND, second, first)) {
                run.verify(writes);
            }
        }
    }

    @ParameterizedTest
    @EnumSource(Engine.class)
    void severalSavepointsAreRestoredInAnyOrder(Engine writer) throws Exception {
        KeyGroupRange lower = KeyGroupRange.of(0, 6);
        KeyGroupRange upper = KeyGroupRange.of(7, KEY_GROUPS - 1);
        KeyedStateHandle first;
        KeyedStateHandle second;
        try (Run run = new Run(writer, lower, FIRST)) {
            run.write(1);
            first = snapshots.savepoint(run.backend);
        }
        try (Run run = new Run(writer, upper, FIRST)) {
            run.write(1);
            second = snapshots.savepoint(run.backend);
        }
        try (Run run = open(Engine.FERROSTATE, FIRST, first, second)) {
            run.verify(1);
        }
        try (Run run = open(Engine.FERROSTATE, FIRST, second, first)) {
            run.verify(1);
        }
        KeyGroupRange middle = KeyGroupRange.of(4, 11);
        try (Run run =
                new Run(
                        Engine.FERROSTATE,
                        middle,
                        FIRST,
                        second.getIntersection(middle),
                        first.getIntersection(middle))) {
            run.verify(1);
        }
    }

    /** A backend for some key groups with a list and a map. */
    private final class Run implements AutoCloseable {

        private final AbstractKeyedStateBackend<Integer> backend;
        private final ListState<String> list;
        private final MapState<Integer, String> map;
        private final List<Integer> keys = new ArrayList<>();

        Run(Engine engine, KeyGroupRange range, Evolving serializer, KeyedStateHandle... handles)
                throws Exception {
            backend =
                    backends.create(
                            engine(engine),
                            IntSerializer.INSTANCE,
                            KEY_GROUPS,
                            range,
                            TtlTimeProvider.DEFAULT,
                            handles);
            list = state(new ListStateDescriptor<>("list", serializer));
            map = state(new MapStateDescriptor<>("map", IntSerializer.INSTANCE, serializer));
            for (int key = 0; key < KEYS; key++) {
                int keyGroup =
                        KeyGroupRangeAssignment.assignToKeyGroup(
                                key, KEY_GROUPS);
                if (range.contains(keyGroup)) {
                    keys.add(key);
                }
            }
        }

        private <S extends State> S state(StateDescriptor<S, ?> descriptor) throws Exception {
            return backend.getPartitionedState(
                    VoidNamespace.INSTANCE, VoidNamespaceSerializer.INSTANCE, descriptor);
        }

        void write(int round) throws Exception {
            for (int key : keys) {
                backend.setCurrentKey(key);
                if (key % round == 0) {
                    list.add(round + PAYLOAD);
                    map.put(round, key + PAYLOAD);
                    map.put(0, "last " + round);
                    map.remove(round - 1);
                }
            }
        }

        void verify(int... rounds) throws Exception {
            for (int key : keys) {
                List<String> elements = new ArrayList<>();
                Map<Integer, String> entries = new TreeMap<>();
                for (int round : rounds) {
                    if (key % round == 0) {
                        elements.add(round + PAYLOAD);
                        entries.put(round, key + PAYLOAD);
                        entries.put(0, "last " + round);
                        entries.remove(round - 1);
                    }
                }
                backend.setCurrentKey(key);
                assertThat(list.get()).containsExactlyElementsOf(elements);
                Map<Integer, String> found = new TreeMap<>();
                for (Map.Entry<Integer, String> entry : map.entries()) {
                    found.put(entry.getKey(), entry.getValue());
                }
                assertThat(found).isEqualTo(entries);
            }
        }

        @Override
        public void close() {
            backend.dispose();
        }
    }
}
