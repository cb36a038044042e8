package io.ferrostate.migration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.ferrostate.FerrostateStateBackend;
import io.ferrostate.backend.KeyedBackends;
import io.ferrostate.backend.Snapshots;
import io.ferrostate.migration.Evolving.Evolution;

import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.StateDescriptor;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeutils.base.IntSerializer;
import org.apache.flink.api.common.typeutils.base.StringSerializer;
import org.apache.flink.runtime.state.AbstractKeyedStateBackend;
import org.apache.flink.runtime.state.AbstractStateBackend;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.KeyGroupRangeAssignment;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.VoidNamespace;
import org.apache.flink.runtime.state.VoidNamespaceSerializer;
import org.apache.flink.runtime.state.internal.InternalKvState;
import org.apache.flink.runtime.state.internal.InternalListState;
import org.apache.flink.runtime.state.internal.InternalMapState;
import org.apache.flink.runtime.state.internal.InternalValueState;
import org.apache.flink.runtime.state.ttl.TtlTimeProvider;
import org.apache.flink.state.rocksdb.EmbeddedRocksDBStateBackend;
import org.apache.flink.util.StateMigrationException;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.nio.file.Path;

/**
 * A state that one subtask had migrated and another one not when the checkpoint was taken, and then both
 * parts come into one backend. Flink's RocksDB backend takes the first part's word for all, and then
 * cannot read the others' values (or, with another serializer, reads nonsense).
 */
@Timeout(60)
class MixedSchemasTest {

    private static final int KEY_GROUPS = 16;
    private static final int KEYS = 200;
    private static final KeyGroupRange ALL = KeyGroupRange.of(0, 15);
    private static final KeyGroupRange LOWER = KeyGroupRange.of(0, 6);
    private static final KeyGroupRange UPPER = KeyGroupRange.of(7, 15);

    @TempDir Path directory;

    private final KeyedBackends backends = new KeyedBackends();
    private Snapshots snapshots;

    @BeforeEach
    void open() throws Exception {
        snapshots = new Snapshots(directory.resolve("checkpoints"));
    }

    @AfterEach
    void close() throws Exception {
        snapshots.close();
        backends.close();
    }

    private AbstractKeyedStateBackend<String> backend(KeyGroupRange range, KeyedStateHandle... handles)
            throws IOException {
        return backend(
                new FerrostateStateBackend(true)
                        .setLocalDirectories(directory.resolve("local").toString()),
                range,
                handles);
    }

    private AbstractKeyedStateBackend<String> backend(
            AbstractStateBackend engine, KeyGroupRange range, KeyedStateHandle... handles)
            throws IOException {
        return backends.create(
                engine,
                StringSerializer.INSTANCE,
                KEY_GROUPS,
                range,
                TtlTimeProvider.DEFAULT,
                handles);
    }

    /** The keys of a range with values that this serializer wrote. */
    private KeyedStateHandle part(KeyGroupRange range, Evolving serializer, boolean canonical)
            throws Exception {
        AbstractKeyedStateBackend<String> backend = backend(range);
        try {
            new States(backend, serializer).write(range);
            return canonical ? snapshots.savepoint(backend) : snapshots.checkpoint(backend);
        } finally {
            backend.dispose();
        }
    }

    /** The job's serializer is the second one, or a third one that neither part was written with. */
    @ParameterizedTest
    @CsvSource({"2, false", "2, true", "3, false", "3, true"})
    void eachPartIsReadWithItsOwnSerializer(int schema, boolean canonical) throws Exception {
        KeyedStateHandle lower = part(LOWER, Evolving.first(), canonical);
        KeyedStateHandle upper =
                part(UPPER, Evolving.second(Evolution.AFTER_MIGRATION), canonical);
        Evolving serializer = new Evolving(schema, Evolution.AFTER_MIGRATION);
        KeyedStateHandle again;
        for (KeyedStateHandle[] handles :
                new KeyedStateHandle[][] {{upper, lower}, {lower, upper}}) {
            AbstractKeyedStateBackend<String> all = backend(ALL, handles);
            try {
                new States(all, serializer).verify(ALL);
                again = snapshots.checkpoint(all);
            } finally {
                all.dispose();
            }
            AbstractKeyedStateBackend<String> restored = backend(ALL, again);
            try {
                new States(restored, serializer).verify(ALL);
            } finally {
                restored.dispose();
            }
        }
    }

    /** What this is about: should Flink learn it, so much the better. */
    @Test
    void flinksRocksDBBackendTakesTheFirstPartsWord() throws Exception {
        KeyedStateHandle lower = part(LOWER, Evolving.first(), false);
        KeyedStateHandle upper = part(UPPER, Evolving.second(Evolution.AFTER_MIGRATION), false);
        EmbeddedRocksDBStateBackend rocksdb = new EmbeddedRocksDBStateBackend(true);
        rocksdb.setDbStoragePath(directory.resolve("rocksdb").toString());
        AbstractKeyedStateBackend<String> all = backend(rocksdb, ALL, lower, upper);
        try {
            assertThatThrownBy(
                            () ->
                                    new States(all, Evolving.second(Evolution.AFTER_MIGRATION))
                                            .verify(ALL))
                    .hasStackTraceContaining("cannot read schema");
        } finally {
            all.dispose();
        }
    }

    /** A snapshot has room for one schema: taken now it would lose the other one. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void noSnapshotHidesASchema(boolean canonical) throws Exception {
        KeyedStateHandle lower = part(LOWER, Evolving.first(), false);
        KeyedStateHandle upper = part(UPPER, Evolving.second(Evolution.AFTER_MIGRATION), false);
        AbstractKeyedStateBackend<String> all = backend(ALL, lower, upper);
        try {
            assertThatThrownBy(
                            () -> {
                                if (canonical) {
                                    snapshots.savepoint(all);
                                } else {
                                    snapshots.checkpoint(all);
                                }
                            })
                    .hasStackTraceContaining("'value'")
                    .hasStackTraceContaining(UPPER.prettyPrintInterval());
            new States(all, Evolving.second(Evolution.AFTER_MIGRATION)).verify(ALL);
            snapshots.checkpoint(all);
        } finally {
            all.dispose();
        }
    }

    /** A registration that is refused leaves each part as it was. */
    @Test
    void aSerializerThatOnePartIsIncompatibleWith() throws Exception {
        KeyedStateHandle lower = part(LOWER, Evolving.first(), false);
        KeyedStateHandle upper = part(UPPER, Evolving.second(Evolution.AFTER_MIGRATION), false);
        AbstractKeyedStateBackend<String> all = backend(ALL, lower, upper);
        try {
            for (int schema : new int[] {1, 2, 3}) {
                assertThatThrownBy(
                                () -> new States(all, new Evolving(schema, Evolution.INCOMPATIBLE)))
                        .isInstanceOf(StateMigrationException.class)
                        .hasMessageContaining("'value'");
            }
            new States(all, Evolving.second(Evolution.AFTER_MIGRATION)).verify(ALL);
        } finally {
            all.dispose();
        }
    }

    /** The reconfigured serializer of one part is not for the other one's values. */
    @Test
    void aSerializerThatIsReconfigured() throws Exception {
        KeyedStateHandle lower = part(LOWER, Evolving.first(), false);
        KeyedStateHandle upper = part(UPPER, Evolving.second(Evolution.AFTER_MIGRATION), false);
        for (int schema : new int[] {1, 2, 3}) {
            AbstractKeyedStateBackend<String> all = backend(ALL, lower, upper);
            try {
                // Lists and maps wrap it, and Flink reconfigures their elements one by one.
                new States(all, new Evolving(schema, Evolution.RECONFIGURED)).verify(ALL);
            } finally {
                all.dispose();
            }
        }
    }

    /** Only the part that has the wanted key groups matters. */
    @Test
    void aPartAloneIsNotMixed() throws Exception {
        KeyedStateHandle lower = part(LOWER, Evolving.first(), false);
        KeyedStateHandle upper = part(UPPER, Evolving.second(Evolution.AFTER_MIGRATION), false);
        AbstractKeyedStateBackend<String> some = backend(KeyGroupRange.of(8, 15), lower, upper);
        try {
            snapshots.checkpoint(some);
            new States(some, Evolving.second(Evolution.INCOMPATIBLE))
                    .verify(KeyGroupRange.of(8, 15));
        } finally {
            some.dispose();
        }
    }

    @Test
    void aStateOfAnotherKindOrWithOtherNamespacesInOnePart() throws Exception {
        KeyedStateHandle lower = part(LOWER, Evolving.first(), false);
        AbstractKeyedStateBackend<String> other = backend(UPPER);
        KeyedStateHandle upper;
        try {
            other.createOrUpdateInternalState(
                    VoidNamespaceSerializer.INSTANCE,
                    new ListStateDescriptor<>("value", Evolving.first()));
            upper = snapshots.checkpoint(other);
        } finally {
            other.dispose();
        }
        assertThatThrownBy(() -> backend(ALL, lower, upper))
                .hasStackTraceContaining("The state 'value' is of kind")
                .hasStackTraceContaining("LIST");
        AbstractKeyedStateBackend<String> namespaces = backend(UPPER);
        KeyedStateHandle third;
        try {
            namespaces.createOrUpdateInternalState(
                    IntSerializer.INSTANCE, new ValueStateDescriptor<>("value", Evolving.first()));
            third = snapshots.checkpoint(namespaces);
        } finally {
            namespaces.dispose();
        }
        assertThatThrownBy(() -> backend(ALL, lower, third))
                .hasStackTraceContaining("The namespaces of the state 'value'");
    }

    private static final class States {

        private final AbstractKeyedStateBackend<String> backend;
        private final InternalValueState<String, VoidNamespace, String> value;
        private final InternalListState<String, VoidNamespace, String> list;
        private final InternalMapState<String, VoidNamespace, String, String> map;

        States(AbstractKeyedStateBackend<String> backend, Evolving serializer) throws Exception {
            this.backend = backend;
            value = state(new ValueStateDescriptor<>("value", serializer));
            list = state(new ListStateDescriptor<>("list", serializer));
            map =
                    state(
                            new MapStateDescriptor<>(
                                    "map", StringSerializer.INSTANCE, serializer));
        }

        @SuppressWarnings("unchecked")
        private <S extends org.apache.flink.api.common.state.State, IS extends S> IS state(
                StateDescriptor<S, ?> descriptor) throws Exception {
            IS state =
                    backend.createOrUpdateInternalState(
                            VoidNamespaceSerializer.INSTANCE, descriptor);
            ((InternalKvState<?, VoidNamespace, ?>) state)
                    .setCurrentNamespace(VoidNamespace.INSTANCE);
            return state;
        }

        private static boolean isIn(KeyGroupRange range, String key) {
            return range.contains(KeyGroupRangeAssignment.assignToKeyGroup(key, KEY_GROUPS));
        }

        void write(KeyGroupRange range) throws Exception {
            for (int n = 0; n < KEYS; n++) {
                String key = "key " + n;
                if (isIn(range, key)) {
                    backend.setCurrentKey(key);
                    value.update("value of " + key);
                    list.add("first");
                    list.add("second of " + key);
                    map.put("a", "A of " + key);
                    map.put("none", null);
                }
            }
        }

        void verify(KeyGroupRange range) throws Exception {
            int found = 0;
            for (int n = 0; n < KEYS; n++) {
                String key = "key " + n;
                if (isIn(range, key)) {
                    backend.setCurrentKey(key);
                    assertThat(value.value()).isEqualTo("value of " + key);
                    assertThat(list.get()).containsExactly("first", "second of " + key);
                    assertThat(map.get("a")).isEqualTo("A of " + key);
                    assertThat(map.contains("none")).isTrue();
                    assertThat(map.get("none")).isNull();
                    found++;
                }
            }
            assertThat(found).isGreaterThan(KEYS / 4);
        }
    }
}
