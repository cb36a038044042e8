package io.ferrostate.jni;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.ferrostate.FerrostateStateBackend;
import io.ferrostate.backend.KeyedBackends;
import io.ferrostate.backend.Snapshots;

import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.State;
import org.apache.flink.api.common.state.StateDescriptor;
import org.apache.flink.api.common.typeutils.base.IntSerializer;
import org.apache.flink.api.common.typeutils.base.StringSerializer;
import org.apache.flink.runtime.state.AbstractKeyedStateBackend;
import org.apache.flink.runtime.state.VoidNamespace;
import org.apache.flink.runtime.state.VoidNamespaceSerializer;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;
import java.util.List;

/**
 * Values that have become larger than Java's arrays: an error that names state and
 * key, wherever they are met. The limit is lowered here; LargeDataTest goes to the real one.
 */
@Timeout(60)
class TooLargeTest {

    private static final int LIMIT = 100_000;

    /** As a row's key begins: its key group, then the key. */
    private static final String KEY_IN_HEX = "0000002a";

    @TempDir Path directory;

    private final KeyedBackends backends = new KeyedBackends();
    private AbstractKeyedStateBackend<Integer> backend;

    @BeforeEach
    void create() throws Exception {
        NativeLibrary.load();
        backend =
                backends.create(
                        new FerrostateStateBackend().setLocalDirectories(directory.toString()),
                        IntSerializer.INSTANCE,
                        16);
        backend.setCurrentKey(42);
    }

    @AfterEach
    void dispose() {
        Native.limitValues(-1);
        backend.dispose();
        backends.close();
    }

    private <S extends State> S state(StateDescriptor<S, ?> descriptor) throws Exception {
        return backend.getPartitionedState(
                VoidNamespace.INSTANCE, VoidNamespaceSerializer.INSTANCE, descriptor);
    }

    private static void assertTooLarge(String state, ThrowingCallable call) {
        Throwable failure = catchThrowable(call);
        while (failure != null && !(failure instanceof FerrostateException)) {
            failure = failure.getCause();
        }
        assertThat(failure)
                .isInstanceOf(FerrostateException.class)
                .hasMessageContaining("'" + state + "'")
                .hasMessageContaining(KEY_IN_HEX)
                .hasMessageContaining("bytes");
        assertThat(((FerrostateException) failure).kind())
                .isEqualTo(FerrostateException.Kind.TOO_LARGE);
    }

    @Test
    void aMergedListIsRefusedByNameAndKeyAndCanBeCleared() throws Exception {
        ListState<String> list = state(new ListStateDescriptor<>("my list", StringSerializer.INSTANCE));
        for (int i = 0; i < 3; i++) {
            list.add("x".repeat(LIMIT / 2));
        }
        Native.limitValues(LIMIT);
        assertTooLarge("my list", list::get);
        assertTooLarge("my list", () -> list.get().iterator());
        try (Snapshots snapshots = new Snapshots(directory.resolve("checkpoints"))) {
            assertTooLarge("my list", () -> snapshots.savepoint(backend));
            assertThat(snapshots.checkpoint(backend)).isNotNull();
        }
        assertThat(backend.<VoidNamespace>getKeys("my list", VoidNamespace.INSTANCE))
                .containsExactly(42);

        backend.setCurrentKey(43);
        list.add("of another key");
        assertThat(list.get()).containsExactly("of another key");
        backend.setCurrentKey(42);
        list.clear();
        assertThat(list.get()).isNull();
        list.update(List.of("small", "again"));
        assertThat(list.get()).containsExactly("small", "again");
    }

    @Test
    void anEntryOfAMapIsRefusedByNameAndKey() throws Exception {
        MapState<String, String> map =
                state(
                        new MapStateDescriptor<>(
                                "my map", StringSerializer.INSTANCE, StringSerializer.INSTANCE));
        map.put("a", "small");
        map.put("b", "x".repeat(2 * LIMIT));
        Native.limitValues(LIMIT);
        assertThat(map.get("a")).isEqualTo("small");
        assertTooLarge("my map", () -> map.get("b"));
        assertTooLarge("my map", () -> map.entries().forEach(entry -> {}));
        assertThat(map.contains("b")).isTrue();
        map.remove("b");
        assertThat(map.keys()).containsExactly("a");
    }
}
