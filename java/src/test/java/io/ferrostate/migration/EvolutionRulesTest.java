package io.ferrostate.migration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.ferrostate.FerrostateStateBackend;
import io.ferrostate.backend.KeyedBackends;
import io.ferrostate.backend.Snapshots;
import io.ferrostate.migration.Evolving.Evolution;

import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.State;
import org.apache.flink.api.common.state.StateDescriptor;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.runtime.state.AbstractKeyedStateBackend;
import org.apache.flink.runtime.state.AbstractStateBackend;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.internal.InternalListState;
import org.apache.flink.runtime.state.internal.InternalMapState;
import org.apache.flink.runtime.state.internal.InternalValueState;
import org.apache.flink.state.rocksdb.EmbeddedRocksDBStateBackend;
import org.apache.flink.util.StateMigrationException;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import java.util.stream.Stream;

/**
 * Which change of which serializer is taken, and which is refused: on Ferrostate and, to show that
 * these are Flink's rules, on Flink's RocksDB backend.
 */
@Timeout(120)
class EvolutionRulesTest {

    private static final int KEYS = 40;
    private static final int KEY_GROUPS = 8;

    @TempDir Path directory;

    /** What the serializer that changes is for. */
    enum Place {
        KEY,
        NAMESPACE,
        VALUE,
        LIST_ELEMENT,
        MAP_KEY,
        MAP_VALUE;

        /** Rows are rewritten for their values' sake only. */
        boolean takes(Evolution evolution) {
            return evolution == Evolution.AS_IS
                    || evolution == Evolution.RECONFIGURED
                    || evolution == Evolution.AFTER_MIGRATION
                            && (this == VALUE || this == LIST_ELEMENT || this == MAP_VALUE);
        }
    }

    enum Engine {
        FERROSTATE,
        ROCKSDB
    }

    static List<Arguments> changes() {
        List<Arguments> changes = new ArrayList<>();
        for (Engine engine : Engine.values()) {
            for (boolean canonical : new boolean[] {false, true}) {
                for (Place place : Place.values()) {
                    for (Evolution evolution : Evolution.values()) {
                        changes.add(Arguments.of(engine, canonical, place, evolution));
                    }
                }
            }
        }
        return changes;
    }

    @ParameterizedTest
    @MethodSource("changes")
    void aChangeIsTakenOrRefused(
            Engine engine, boolean canonical, Place place, Evolution evolution) throws Exception {
        try (KeyedBackends backends = new KeyedBackends();
                Snapshots snapshots = new Snapshots(directory.resolve("checkpoints"))) {
            KeyedStateHandle handle;
            try (Run first = new Run(backends, engine, new EnumMap<>(Place.class))) {
                first.write();
                handle =
                        canonical
                                ? snapshots.savepoint(first.backend)
                                : snapshots.checkpoint(first.backend);
            }
            Map<Place, Evolving> changed =
                    new EnumMap<>(Map.of(place, Evolving.second(evolution)));
            if (place.takes(evolution)) {
                try (Run second = new Run(backends, engine, changed, handle)) {
                    second.verify();
                    second.write();
                    second.verify();
                }
            } else {
                assertThatThrownBy(() -> new Run(backends, engine, changed, handle).close())
                        .satisfies(
                                failure ->
                                        assertThat(causes(failure))
                                                .anyMatch(StateMigrationException.class::isInstance));
            }
        }
    }

    private static Stream<Throwable> causes(Throwable failure) {
        return Stream.iterate(failure, cause -> cause != null, Throwable::getCause);
    }

    /** A backend with its states, each with content that says where it is. */
    private final class Run implements AutoCloseable {

        private final AbstractKeyedStateBackend<String> backend;
        private final TypeSerializer<String> namespaces;

        /** Flink's RocksDB backend hands a map's nulls to the new serializer. */
        private final boolean migratesNulls;

        private InternalValueState<String, String, String> value;
        private InternalListState<String, String, String> list;
        private InternalMapState<String, String, String, String> map;

        Run(
                KeyedBackends backends,
                Engine engine,
                Map<Place, Evolving> changed,
                KeyedStateHandle... handles)
                throws Exception {
            Supplier<Evolving> first = Evolving::first;
            backend =
                    backends.create(
                            engine(engine),
                            changed.getOrDefault(Place.KEY, first.get()),
                            KEY_GROUPS,
                            handles);
            migratesNulls = engine == Engine.FERROSTATE;
            namespaces = changed.getOrDefault(Place.NAMESPACE, first.get());
            try {
                value =
                        state(
                                new ValueStateDescriptor<>(
                                        "value", changed.getOrDefault(Place.VALUE, first.get())));
                list =
                        state(
                                new ListStateDescriptor<>(
                                        "list",
                                        changed.getOrDefault(Place.LIST_ELEMENT, first.get())));
                map =
                        state(
                                new MapStateDescriptor<>(
                                        "map",
                                        changed.getOrDefault(Place.MAP_KEY, first.get()),
                                        changed.getOrDefault(Place.MAP_VALUE, first.get())));
            } catch (Exception e) {
                backend.dispose();
                throw e;
            }
        }

        private AbstractStateBackend engine(Engine engine) {
            if (engine == Engine.FERROSTATE) {
                return new FerrostateStateBackend(true)
                        .setLocalDirectories(directory.resolve("local").toString());
            }
            EmbeddedRocksDBStateBackend rocksdb = new EmbeddedRocksDBStateBackend(true);
            rocksdb.setDbStoragePath(directory.resolve("rocksdb").toString());
            return rocksdb;
        }

        private <S extends State, IS extends S> IS state(StateDescriptor<S, ?> descriptor)
                throws Exception {
            return backend.createOrUpdateInternalState(namespaces, descriptor);
        }

        void write() throws Exception {
            for (int key = 0; key < KEYS; key++) {
                use(key);
                value.update("value " + key);
                list.update(List.of("a", "b" + key));
                list.add("c");
                if (migratesNulls) {
                    map.put("null", null);
                }
                map.put("one", "value " + key);
            }
        }

        void verify() throws Exception {
            for (int key = 0; key < KEYS; key++) {
                use(key);
                assertThat(value.value()).isEqualTo("value " + key);
                assertThat(list.get()).containsExactly("a", "b" + key, "c");
                assertThat(map.get("one")).isEqualTo("value " + key);
                assertThat(map.contains("null")).isEqualTo(migratesNulls);
                assertThat(map.get("null")).isNull();
                assertThat(map.keys()).hasSize(migratesNulls ? 2 : 1);
            }
            assertThat(backend.getKeys("map", "namespace 1")).hasSize(KEYS / 2);
        }

        private void use(int key) {
            backend.setCurrentKey("key " + key);
            String namespace = "namespace " + key % 2;
            value.setCurrentNamespace(namespace);
            list.setCurrentNamespace(namespace);
            map.setCurrentNamespace(namespace);
        }

        @Override
        public void close() {
            backend.dispose();
        }
    }
}
