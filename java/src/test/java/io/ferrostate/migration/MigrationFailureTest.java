package io.ferrostate.migration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.ferrostate.SmallDisk;
import io.ferrostate.FerrostateOptions;
import io.ferrostate.FerrostateStateBackend;
import io.ferrostate.backend.KeyedBackends;
import io.ferrostate.backend.Snapshots;
import io.ferrostate.jni.Native;
import io.ferrostate.jni.NativeLibrary;
import io.ferrostate.migration.Evolving.Evolution;

import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.State;
import org.apache.flink.api.common.state.StateDescriptor;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeutils.base.IntSerializer;
import org.apache.flink.configuration.MemorySize;
import org.apache.flink.runtime.execution.CancelTaskException;
import org.apache.flink.runtime.state.AbstractKeyedStateBackend;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.VoidNamespace;
import org.apache.flink.runtime.state.VoidNamespaceSerializer;
import org.apache.flink.util.StateMigrationException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Random;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A migration that does not come to its end, for whatever reason and wherever it stands, leaves the
 * state as it was: readable, part of the next checkpoint, ready for another attempt, and no files.
 */
@Timeout(180)
class MigrationFailureTest {

    private static final int KEYS = 1500;

    /** Rows fill some pages, and files of 64 KiB. */
    private static final String PAYLOAD = "some text to fill the pages with ".repeat(8);

    @TempDir Path directory;

    private final KeyedBackends backends = new KeyedBackends();
    private Snapshots snapshots;
    private long handlesBefore;

    /** Writes a state of some kind and reads it back. */
    enum Kind {
        VALUE {
            @Override
            StateDescriptor<?, ?> descriptor(Evolving serializer) {
                return new ValueStateDescriptor<>("state of value", serializer);
            }

            @Override
            @SuppressWarnings("unchecked")
            void write(State state, int key) throws Exception {
                ((ValueState<String>) state).update(key + PAYLOAD);
            }

            @Override
            @SuppressWarnings("unchecked")
            List<String> read(State state) throws Exception {
                return List.of(((ValueState<String>) state).value());
            }
        },
        LIST {
            @Override
            StateDescriptor<?, ?> descriptor(Evolving serializer) {
                return new ListStateDescriptor<>("state of list", serializer);
            }

            @Override
            @SuppressWarnings("unchecked")
            void write(State state, int key) throws Exception {
                ListState<String> list = (ListState<String>) state;
                list.update(List.of(key + PAYLOAD));
                list.add("added");
            }

            @Override
            @SuppressWarnings("unchecked")
            List<String> read(State state) throws Exception {
                List<String> elements = new ArrayList<>();
                ((ListState<String>) state).get().forEach(elements::add);
                return elements;
            }
        },
        MAP {
            @Override
            StateDescriptor<?, ?> descriptor(Evolving serializer) {
                return new MapStateDescriptor<>("state of map", Evolving.first(), serializer);
            }

            @Override
            @SuppressWarnings("unchecked")
            void write(State state, int key) throws Exception {
                MapState<String, String> map = (MapState<String, String>) state;
                map.put("one", key + PAYLOAD);
                map.put("two", null);
            }

            @Override
            @SuppressWarnings("unchecked")
            List<String> read(State state) throws Exception {
                List<String> entries = new ArrayList<>();
                ((MapState<String, String>) state)
                        .entries()
                        .forEach(entry -> entries.add(entry.getKey() + entry.getValue()));
                return entries;
            }
        };

        abstract StateDescriptor<?, ?> descriptor(Evolving serializer);

        abstract void write(State state, int key) throws Exception;

        abstract List<String> read(State state) throws Exception;
    }

    @BeforeEach
    void create() throws Exception {
        NativeLibrary.load();
        handlesBefore = Native.liveHandles();
        snapshots = new Snapshots(directory.resolve("checkpoints"));
    }

    @AfterEach
    void close() throws Exception {
        snapshots.close();
        backends.close();
        assertThat(Native.liveHandles()).isEqualTo(handlesBefore);
    }

    private AbstractKeyedStateBackend<Integer> open(KeyedStateHandle... handles)
            throws IOException {
        return open(directory.resolve("local"), handles);
    }

    private AbstractKeyedStateBackend<Integer> open(Path local, KeyedStateHandle... handles)
            throws IOException {
        return backends.create(
                new FerrostateStateBackend(true)
                        .setLocalDirectories(local.toString())
                        .set(FerrostateOptions.TARGET_FILE_SIZE_BASE, MemorySize.parse("64kb")),
                IntSerializer.INSTANCE,
                8,
                handles);
    }

    @SuppressWarnings("unchecked")
    private static State register(
            AbstractKeyedStateBackend<Integer> backend, Kind kind, Evolving serializer)
            throws Exception {
        return backend.getPartitionedState(
                VoidNamespace.INSTANCE,
                VoidNamespaceSerializer.INSTANCE,
                (StateDescriptor<State, ?>) kind.descriptor(serializer));
    }

    private static List<List<String>> content(
            AbstractKeyedStateBackend<Integer> backend, Kind kind, State state) throws Exception {
        List<List<String>> content = new ArrayList<>();
        for (int key = 0; key < KEYS; key++) {
            backend.setCurrentKey(key);
            content.add(kind.read(state));
        }
        return content;
    }

    /** A checkpoint of a first run, and what is in it. */
    private KeyedStateHandle written(Kind kind, List<List<String>> content) throws Exception {
        AbstractKeyedStateBackend<Integer> backend = open();
        try {
            State state = register(backend, kind, Evolving.first());
            for (int key = 0; key < KEYS; key++) {
                backend.setCurrentKey(key);
                kind.write(state, key);
            }
            content.addAll(content(backend, kind, state));
            return snapshots.checkpoint(backend);
        } finally {
            backend.dispose();
        }
    }

    /** Files of bulk loads. */
    private static List<Path> leftovers(Path local) throws IOException {
        try (Stream<Path> found = Files.walk(local)) {
            return found.filter(path -> path.toString().contains(".ingest"))
                    .collect(Collectors.toList());
        }
    }

    private static Evolving failing(Consumer<String> beforeWriting) {
        return new Evolving(2, Evolution.AFTER_MIGRATION, beforeWriting);
    }

    private static Evolving failingAt(int row) {
        int[] written = {0};
        return failing(
                text -> {
                    if (written[0]++ == row) {
                        throw new IllegalStateException("no more of this");
                    }
                });
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void aSerializerThatFailsAtAnyRowLeavesTheStateAsItWas(Kind kind) throws Exception {
        List<List<String>> content = new ArrayList<>();
        KeyedStateHandle handle = written(kind, content);
        // The first row, one of the first page, one of a later file, the last row.
        for (int row : new int[] {0, 1, KEYS / 2, KEYS - 1}) {
            AbstractKeyedStateBackend<Integer> backend = open(handle);
            try {
                assertThatThrownBy(() -> register(backend, kind, failingAt(row)))
                        .isInstanceOf(StateMigrationException.class)
                        .hasMessageContaining("state of")
                        .hasRootCauseMessage("no more of this");
                assertThat(leftovers(directory.resolve("local"))).isEmpty();
                // Of the same backend: a checkpoint, then its content, for who goes on regardless.
                KeyedStateHandle after = snapshots.checkpoint(backend);
                State state = register(backend, kind, Evolving.first());
                assertThat(content(backend, kind, state)).isEqualTo(content);
                assertRestores(kind, after, Evolving.first(), content);
                assertRestores(
                        kind, after, Evolving.second(Evolution.AFTER_MIGRATION), content);
            } finally {
                backend.dispose();
            }
        }
    }

    private void assertRestores(
            Kind kind, KeyedStateHandle handle, Evolving serializer, List<List<String>> content)
            throws Exception {
        AbstractKeyedStateBackend<Integer> backend = open(handle);
        try {
            State state = register(backend, kind, serializer);
            assertThat(content(backend, kind, state)).isEqualTo(content);
        } finally {
            backend.dispose();
        }
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void anAttemptThatFailedMayBeRepeated(Kind kind) throws Exception {
        List<List<String>> content = new ArrayList<>();
        AbstractKeyedStateBackend<Integer> backend = open(written(kind, content));
        try {
            for (int attempt = 0; attempt < 3; attempt++) {
                assertThatThrownBy(() -> register(backend, kind, failingAt(KEYS / 3)))
                        .isInstanceOf(StateMigrationException.class);
            }
            assertThatThrownBy(
                            () ->
                                    register(
                                            backend,
                                            kind,
                                            Evolving.second(Evolution.INCOMPATIBLE)))
                    .isInstanceOf(StateMigrationException.class);
            Evolving second = Evolving.second(Evolution.AFTER_MIGRATION);
            State state = register(backend, kind, second);
            assertThat(content(backend, kind, state)).isEqualTo(content);
            assertRestores(kind, snapshots.checkpoint(backend), second, content);
        } finally {
            backend.dispose();
        }
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void aCancelAtAnyRowLeavesTheStateAsItWas(Kind kind) throws Exception {
        List<List<String>> content = new ArrayList<>();
        KeyedStateHandle handle = written(kind, content);
        for (int row : new int[] {0, KEYS / 2, KEYS - 1}) {
            AbstractKeyedStateBackend<Integer> backend = open(handle);
            try {
                int[] written = {0};
                Evolving cancelling =
                        failing(
                                text -> {
                                    if (written[0]++ == row) {
                                        close(backend);
                                    }
                                });
                assertThatThrownBy(() -> register(backend, kind, cancelling))
                        .isInstanceOf(CancelTaskException.class)
                        .hasMessageContaining("state of");
                // A list of two elements is written to its end.
                assertThat(written[0]).isBetween(row + 1, row + 2);
                assertThat(leftovers(directory.resolve("local"))).isEmpty();
                State state = register(backend, kind, Evolving.first());
                assertThat(content(backend, kind, state)).isEqualTo(content);
            } finally {
                backend.dispose();
            }
        }
    }

    /** What Flink does to the backend of a task that is cancelled, from another thread. */
    private static void close(AbstractKeyedStateBackend<?> backend) {
        try {
            backend.close();
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void whatWasAddedAndDeletedSinceTheCheckpointIsMigratedToo() throws Exception {
        List<List<String>> content = new ArrayList<>();
        KeyedStateHandle handle = written(Kind.LIST, content);
        KeyedStateHandle changed;
        AbstractKeyedStateBackend<Integer> backend = open(handle);
        try {
            State state = register(backend, Kind.LIST, Evolving.first());
            for (int key = 0; key < KEYS; key += 3) {
                backend.setCurrentKey(key);
                Kind.LIST.write(state, -key);
            }
            backend.setCurrentKey(KEYS);
            Kind.LIST.write(state, KEYS);
            backend.setCurrentKey(KEYS);
            ((ListState<?>) state).clear();
            content = content(backend, Kind.LIST, state);
            changed = snapshots.checkpoint(backend);
        } finally {
            backend.dispose();
        }
        backend = open(changed);
        try {
            State state =
                    register(backend, Kind.LIST, Evolving.second(Evolution.AFTER_MIGRATION));
            assertThat(content(backend, Kind.LIST, state)).isEqualTo(content);
            Iterator<Integer> keys =
                    backend.<VoidNamespace>getKeys("state of list", VoidNamespace.INSTANCE)
                            .iterator();
            assertThat(keys).toIterable().hasSize(KEYS).doesNotContain(KEYS);
        } finally {
            backend.dispose();
        }
    }

    @Test
    void aFullDiskLeavesTheStateAsItWas() throws Exception {
        List<List<String>> content = new ArrayList<>();
        KeyedStateHandle handle = written(Kind.VALUE, content);
        try (SmallDisk disk = SmallDisk.mount(directory.resolve("small"), 24)) {
            AbstractKeyedStateBackend<Integer> backend = open(disk.path(), handle);
            try {
                Path filling = disk.path().resolve("filling");
                Consumer<String> fill =
                        text -> {
                            if (!Files.exists(filling)) {
                                disk.fill(filling);
                            }
                        };
                Throwable failure =
                        catchThrowable(() -> register(backend, Kind.VALUE, failing(fill)));
                assertThat(failure)
                        .hasMessageContaining("state of value")
                        .hasMessageContaining("No space left")
                        .hasMessageContaining(disk.path().toString());
                assertThat(leftovers(disk.path())).isEmpty();
                State state = register(backend, Kind.VALUE, Evolving.first());
                assertThat(content(backend, Kind.VALUE, state)).isEqualTo(content);
                Files.delete(filling);
            } finally {
                backend.dispose();
            }
        }
    }
}
