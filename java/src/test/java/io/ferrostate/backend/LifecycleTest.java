package io.ferrostate.backend;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.ferrostate.FerrostateOptions;
import io.ferrostate.FerrostateStateBackend;
import io.ferrostate.jni.Native;
import io.ferrostate.jni.NativeLibrary;

import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.State;
import org.apache.flink.api.common.state.StateDescriptor;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeutils.base.IntSerializer;
import org.apache.flink.queryablestate.client.state.serialization.KvStateSerializer;
import org.apache.flink.runtime.state.AbstractKeyedStateBackend;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.KeyGroupRangeOffsets;
import org.apache.flink.runtime.state.KeyGroupsStateHandle;
import org.apache.flink.runtime.state.VoidNamespace;
import org.apache.flink.runtime.state.VoidNamespaceSerializer;
import org.apache.flink.runtime.state.internal.InternalKvState;
import org.apache.flink.runtime.state.memory.ByteStreamStateHandle;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Iterator;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;

/** Building, disposing and misuse of a backend: nothing stays open or on disk, nothing crashes. */
@Timeout(120)
class LifecycleTest {

    private static final int KEY_GROUPS = 16;

    @TempDir Path directory;

    private final KeyedBackends backends = new KeyedBackends();
    private long handlesBefore;

    @BeforeEach
    void countHandles() throws IOException {
        NativeLibrary.load();
        handlesBefore = Native.liveHandles();
    }

    @AfterEach
    void nothingIsLeft() throws IOException {
        backends.close();
        assertThat(Native.liveHandles()).isEqualTo(handlesBefore);
        if (Files.isDirectory(local())) {
            assertThat(local()).isEmptyDirectory();
        }
    }

    private Path local() {
        return directory.resolve("local");
    }

    private FerrostateStateBackend stateBackend() {
        return new FerrostateStateBackend(true).setLocalDirectories(local().toString());
    }

    private AbstractKeyedStateBackend<Integer> create(KeyedStateHandle... handles)
            throws IOException {
        return backends.create(stateBackend(), IntSerializer.INSTANCE, KEY_GROUPS, handles);
    }

    private static <S extends State> S state(
            AbstractKeyedStateBackend<Integer> backend, StateDescriptor<S, ?> descriptor)
            throws Exception {
        return backend.getPartitionedState(
                VoidNamespace.INSTANCE, VoidNamespaceSerializer.INSTANCE, descriptor);
    }

    private static ValueState<String> value(AbstractKeyedStateBackend<Integer> backend)
            throws Exception {
        return state(backend, new ValueStateDescriptor<>("value", String.class));
    }

    private static MapState<Integer, String> map(AbstractKeyedStateBackend<Integer> backend)
            throws Exception {
        return state(backend, new MapStateDescriptor<>("map", Integer.class, String.class));
    }

    @Test
    void disposeLeavesNoHandleAndNoFile() throws Exception {
        for (int i = 0; i < 5; i++) {
            AbstractKeyedStateBackend<Integer> backend = create();
            ValueState<String> value = value(backend);
            backend.setCurrentKey(i);
            value.update("text");
            assertThat(value.value()).isEqualTo("text");
            backend.dispose();
            backend.dispose();
        }
    }

    @Test
    void everyUseAfterDisposeThrows() throws Exception {
        AbstractKeyedStateBackend<Integer> backend = create();
        ValueState<String> value = value(backend);
        MapState<Integer, String> map = map(backend);
        backend.setCurrentKey(1);
        value.update("text");
        for (int i = 0; i < 300; i++) {
            map.put(i, "entry");
        }
        Iterator<Integer> keys = map.keys().iterator();
        keys.next();
        backend.dispose();

        assertThatThrownBy(value::value).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> value.update("x")).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(value::clear).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> map.put(1, "x")).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> map.contains(1)).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(map::isEmpty).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> backend.setCurrentKey(2))
                .isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(
                        () -> {
                            while (keys.hasNext()) {
                                keys.next();
                            }
                        })
                .isInstanceOf(IllegalStateException.class);
    }

    @Test
    void forgottenStreamsEndWithTheBackend() throws Exception {
        AbstractKeyedStateBackend<Integer> backend = create();
        ValueState<String> value = value(backend);
        for (int i = 0; i < 20_000; i++) {
            backend.setCurrentKey(i);
            value.update("text");
        }
        Stream<Integer> stream = backend.getKeys("value", VoidNamespace.INSTANCE);
        Iterator<Integer> keys = stream.iterator();
        keys.next();
        backend.dispose();
        assertThatThrownBy(
                        () -> {
                            while (keys.hasNext()) {
                                keys.next();
                            }
                        })
                .isInstanceOf(IllegalStateException.class);
        stream.close();
    }

    @Test
    void queriesFromOtherThreadsSurviveDispose() throws Exception {
        AbstractKeyedStateBackend<Integer> backend = create();
        ValueState<String> value = value(backend);
        MapState<Integer, String> map = map(backend);
        backend.setCurrentKey(7);
        value.update("text");
        for (int i = 0; i < 1000; i++) {
            map.put(i, "entry " + i);
        }
        ExecutorService threads = Executors.newFixedThreadPool(2);
        try {
            CountDownLatch started = new CountDownLatch(2);
            Future<?> first = threads.submit(() -> queryUntilClosed(value, started));
            Future<?> second = threads.submit(() -> queryUntilClosed(map, started));
            started.await();
            backend.dispose();
            first.get();
            second.get();
        } finally {
            threads.shutdownNow();
        }
    }

    @SuppressWarnings("unchecked")
    private static <V> Void queryUntilClosed(State state, CountDownLatch started)
            throws Exception {
        InternalKvState<Integer, VoidNamespace, V> queried =
                (InternalKvState<Integer, VoidNamespace, V>) state;
        byte[] query =
                KvStateSerializer.serializeKeyAndNamespace(
                        7,
                        IntSerializer.INSTANCE,
                        VoidNamespace.INSTANCE,
                        VoidNamespaceSerializer.INSTANCE);
        while (true) {
            try {
                assertThat(
                                queried.getSerializedValue(
                                        query,
                                        IntSerializer.INSTANCE,
                                        VoidNamespaceSerializer.INSTANCE,
                                        queried.getValueSerializer()))
                        .isNotNull();
                started.countDown();
            } catch (IllegalStateException closed) {
                return null;
            }
        }
    }

    @Test
    void aFailedBuildLeavesNothing() {
        KeyGroupsStateHandle garbage =
                new KeyGroupsStateHandle(
                        new KeyGroupRangeOffsets(KeyGroupRange.of(0, KEY_GROUPS - 1)),
                        new ByteStreamStateHandle("garbage", new byte[] {1, 2, 3}));
        assertThatThrownBy(() -> create(garbage)).isInstanceOf(IOException.class);
    }

    @Test
    void aLocalDirectoryThatIsAFileIsNamed() throws IOException {
        Path file = Files.createFile(directory.resolve("file"));
        FerrostateStateBackend backend =
                new FerrostateStateBackend().setLocalDirectories(file.toString());
        assertThatThrownBy(
                        () -> backends.create(backend, IntSerializer.INSTANCE, KEY_GROUPS))
                .isInstanceOf(IOException.class)
                .hasMessageContaining(file.toString())
                .hasMessageContaining("'state.backend.ferrostate.localdir'")
                .hasMessageContaining("is a file");
        FerrostateStateBackend below =
                new FerrostateStateBackend().setLocalDirectories(file + "/below");
        assertThatThrownBy(() -> backends.create(below, IntSerializer.INSTANCE, KEY_GROUPS))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("cannot be created");
    }

    @Test
    void oneUsableLocalDirectoryIsEnough() throws Exception {
        Path file = Files.createFile(directory.resolve("file"));
        FerrostateStateBackend backend =
                new FerrostateStateBackend().setLocalDirectories(file.toString(), local().toString());
        backends.create(backend, IntSerializer.INSTANCE, KEY_GROUPS).dispose();
        assertThat(local()).isDirectory();
    }

    @Test
    void whatDeadProcessesLeftIsSwept() throws Exception {
        Path root = Files.createDirectory(directory.resolve("root"));
        Path dead = Files.createDirectory(root.resolve("job_dead"));
        Files.createFile(dead.resolve(".ferrostate-lock"));
        Files.createDirectory(dead.resolve("db"));
        Path foreign = Files.createDirectory(root.resolve("foreign"));
        FerrostateStateBackend backend =
                new FerrostateStateBackend().setLocalDirectories(root.toString());
        backends.create(backend, IntSerializer.INSTANCE, KEY_GROUPS).dispose();
        assertThat(dead).doesNotExist();
        assertThat(foreign).exists();
    }

    @Test
    void managedMemoryIsGivenBackOrNotTakenAtAll() throws Exception {
        long available = backends.environment().getMemoryManager().availableMemory();
        AbstractKeyedStateBackend<Integer> managed = create();
        AbstractKeyedStateBackend<Integer> sharing = create();
        assertThat(backends.environment().getMemoryManager().availableMemory())
                .isLessThan(available);
        managed.dispose();
        sharing.dispose();
        assertThat(backends.environment().getMemoryManager().availableMemory())
                .isEqualTo(available);

        FerrostateStateBackend unmanaged =
                stateBackend().set(FerrostateOptions.USE_MANAGED_MEMORY, false);
        AbstractKeyedStateBackend<Integer> backend =
                backends.create(unmanaged, IntSerializer.INSTANCE, KEY_GROUPS);
        assertThat(backends.environment().getMemoryManager().availableMemory())
                .isEqualTo(available);
        backend.dispose();
    }
}
