package io.ferrostate.state;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.ferrostate.FerrostateStateBackend;
import io.ferrostate.backend.KeyedBackends;
import io.ferrostate.jni.Native;
import io.ferrostate.jni.NativeLibrary;

import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.State;
import org.apache.flink.api.common.state.StateDescriptor;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeutils.SimpleTypeSerializerSnapshot;
import org.apache.flink.api.common.typeutils.TypeSerializerSnapshot;
import org.apache.flink.api.common.typeutils.base.IntSerializer;
import org.apache.flink.api.common.typeutils.base.StringSerializer;
import org.apache.flink.api.common.typeutils.base.TypeSerializerSingleton;
import org.apache.flink.core.memory.DataInputView;
import org.apache.flink.core.memory.DataOutputView;
import org.apache.flink.runtime.state.AbstractKeyedStateBackend;
import org.apache.flink.runtime.state.VoidNamespace;
import org.apache.flink.runtime.state.VoidNamespaceSerializer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.io.EOFException;
import java.io.IOException;
import java.nio.file.Path;
import java.util.AbstractMap;
import java.util.AbstractSet;
import java.util.Collections;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Serializers that throw, that touch the state they serialize for or that read too far: an exception,
 * and what was stored before is still there.
 */
@Timeout(60)
class SerializerMisuseTest {

    /** What is to happen in the middle of the next values. */
    private static Action inTheMiddle = () -> {};

    private interface Action {
        void run() throws Exception;
    }

    @TempDir Path directory;

    private final KeyedBackends backends = new KeyedBackends();
    private AbstractKeyedStateBackend<Integer> backend;
    private long handlesBefore;

    private ValueState<String> value;
    private ListState<String> list;
    private MapState<Integer, String> map;
    private ValueState<String> other;

    @BeforeEach
    void create() throws Exception {
        NativeLibrary.load();
        handlesBefore = Native.liveHandles();
        backend =
                backends.create(
                        new FerrostateStateBackend().setLocalDirectories(directory.toString()),
                        IntSerializer.INSTANCE,
                        16);
        Halves halves = new Halves();
        value = state(new ValueStateDescriptor<>("value", halves));
        list = state(new ListStateDescriptor<>("list", halves));
        map = state(new MapStateDescriptor<>("map", IntSerializer.INSTANCE, halves));
        other = state(new ValueStateDescriptor<>("other", StringSerializer.INSTANCE));
        backend.setCurrentKey(2);
        backend.setCurrentKey(1);
        value.update("value");
        list.add("element");
        map.put(1, "entry");
        other.update("other");
    }

    @AfterEach
    void dispose() {
        inTheMiddle = () -> {};
        backend.dispose();
        backends.close();
        assertThat(Native.liveHandles()).isEqualTo(handlesBefore);
    }

    private <S extends State> S state(StateDescriptor<S, ?> descriptor) throws Exception {
        return backend.getPartitionedState(
                VoidNamespace.INSTANCE, VoidNamespaceSerializer.INSTANCE, descriptor);
    }

    private void assertAllUsesThrow(Class<? extends Throwable> type) {
        List<Action> uses =
                List.of(
                        () -> value.update("new"),
                        value::value,
                        () -> list.add("new"),
                        () -> list.update(Collections.singletonList("new")),
                        () -> list.get().forEach(element -> {}),
                        () -> map.put(1, "new"),
                        () -> map.put(2, "new"),
                        () -> map.get(1));
        for (Action use : uses) {
            assertThatThrownBy(use::run).isInstanceOf(type);
        }
    }

    /** As by single puts. */
    @Test
    void ofAllRowsThoseBeforeOneThatFailsArePut() throws Exception {
        Map<Integer, String> rows = new LinkedHashMap<>();
        rows.put(5, "five");
        rows.put(null, "no key");
        rows.put(7, "seven");
        assertThatThrownBy(() -> map.putAll(rows)).isInstanceOf(NullPointerException.class);
        map.putAll(Map.of(8, "eight"));
        assertThat(map.keys()).containsExactly(1, 5, 8);
        assertThat(map.get(5)).isEqualTo("five");
        assertThat(map.get(8)).isEqualTo("eight");
    }

    @Test
    void aMapMayUseStateWhileItsRowsArePut() throws Exception {
        Map<Integer, String> lazy =
                new AbstractMap<>() {
                    @Override
                    public Set<Entry<Integer, String>> entrySet() {
                        return new AbstractSet<>() {
                            @Override
                            public Iterator<Entry<Integer, String>> iterator() {
                                return List.of(3, 4).stream()
                                        .map(SerializerMisuseTest.this::row)
                                        .iterator();
                            }

                            @Override
                            public int size() {
                                return 2;
                            }
                        };
                    }
                };
        map.putAll(lazy);
        assertThat(map.keys()).containsExactly(1, 3, 4, 13, 14);
        assertThat(map.get(4)).isEqualTo("other");
    }

    private Map.Entry<Integer, String> row(int key) {
        try {
            map.putAll(Map.of(10 + key, "row"));
            return Map.entry(key, other.value());
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    private void assertUnchanged() throws Exception {
        inTheMiddle = () -> {};
        backend.setCurrentKey(2);
        assertThat(value.value()).isNull();
        assertThat(map.isEmpty()).isTrue();
        backend.setCurrentKey(1);
        assertThat(value.value()).isEqualTo("value");
        assertThat(list.get()).containsExactly("element");
        assertThat(map.entries()).hasSize(1);
        assertThat(map.get(1)).isEqualTo("entry");
        assertThat(other.value()).isEqualTo("other");
    }

    @Test
    void aSerializerThatThrows() throws Exception {
        inTheMiddle =
                () -> {
                    throw new IOException("by the serializer");
                };
        assertAllUsesThrow(IOException.class);
        assertUnchanged();
        inTheMiddle =
                () -> {
                    throw new OutOfMemoryError("by the serializer");
                };
        assertAllUsesThrow(OutOfMemoryError.class);
        assertUnchanged();
    }

    /** Without the guard the half-written value would go on behind another one, or to another key. */
    @Test
    void aSerializerThatTouchesState() throws Exception {
        List<Action> touches =
                List.of(
                        () -> other.update("changed"),
                        other::value,
                        other::clear,
                        () -> map.put(7, "seven"),
                        map::isEmpty,
                        () -> backend.setCurrentKey(2));
        for (Action touch : touches) {
            inTheMiddle = touch;
            assertAllUsesThrow(IllegalStateException.class);
            backend.setCurrentKey(1);
            assertUnchanged();
        }
    }

    @Test
    void aSerializerThatDisposesTheBackend() throws Exception {
        inTheMiddle = backend::dispose;
        assertAllUsesThrow(IllegalStateException.class);
        assertUnchanged();
    }

    @Test
    void aSerializerThatReadsTooFar() {
        inTheMiddle =
                () -> {
                    throw new EOFException();
                };
        assertThatThrownBy(value::value).hasMessageContaining("'value'");
        assertThatThrownBy(() -> map.get(1)).hasMessageContaining("'map'");
        assertThatThrownBy(() -> list.get()).hasMessageContaining("'list'");
    }

    /** Writes and reads a text in two halves, with something in between. */
    private static final class Halves extends TypeSerializerSingleton<String> {

        private static final long serialVersionUID = 1L;

        private static void between() throws IOException {
            try {
                inTheMiddle.run();
            } catch (IOException | RuntimeException e) {
                throw e;
            } catch (Exception e) {
                throw new IOException(e);
            }
        }

        @Override
        public void serialize(String text, DataOutputView target) throws IOException {
            target.writeUTF(text.substring(0, text.length() / 2));
            between();
            target.writeUTF(text.substring(text.length() / 2));
        }

        @Override
        public String deserialize(DataInputView source) throws IOException {
            String first = source.readUTF();
            between();
            return first + source.readUTF();
        }

        @Override
        public String deserialize(String reuse, DataInputView source) throws IOException {
            return deserialize(source);
        }

        @Override
        public void copy(DataInputView source, DataOutputView target) throws IOException {
            serialize(deserialize(source), target);
        }

        @Override
        public String copy(String from) {
            return from;
        }

        @Override
        public String copy(String from, String reuse) {
            return from;
        }

        @Override
        public String createInstance() {
            return "";
        }

        @Override
        public boolean isImmutableType() {
            return true;
        }

        @Override
        public int getLength() {
            return -1;
        }

        @Override
        public TypeSerializerSnapshot<String> snapshotConfiguration() {
            return new Snapshot();
        }

        /** See {@link Halves}. */
        public static final class Snapshot extends SimpleTypeSerializerSnapshot<String> {
            public Snapshot() {
                super(Halves::new);
            }
        }
    }
}
