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
import org.apache.flink.api.common.state.ReducingState;
import org.apache.flink.api.common.state.ReducingStateDescriptor;
import org.apache.flink.api.common.state.State;
import org.apache.flink.api.common.state.StateDescriptor;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeutils.base.IntSerializer;
import org.apache.flink.runtime.state.AbstractKeyedStateBackend;
import org.apache.flink.runtime.state.VoidNamespace;
import org.apache.flink.runtime.state.VoidNamespaceSerializer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;

/** What user code must not do with state ends in an exception, never in a crash (promise P4). */
@Timeout(120)
class MisuseTest {

    private static final int THREADS = 8;
    private static final int OPERATIONS = 30_000;

    @TempDir Path directory;

    private final KeyedBackends backends = new KeyedBackends();
    private AbstractKeyedStateBackend<Integer> backend;
    private long handlesBefore;

    @BeforeEach
    void create() throws Exception {
        NativeLibrary.load();
        handlesBefore = Native.liveHandles();
        backend =
                backends.create(
                        new FerrostateStateBackend().setLocalDirectories(directory.toString()),
                        IntSerializer.INSTANCE,
                        16);
    }

    @AfterEach
    void dispose() {
        backend.dispose();
        backends.close();
        assertThat(Native.liveHandles()).isEqualTo(handlesBefore);
    }

    private <S extends State> S state(StateDescriptor<S, ?> descriptor) throws Exception {
        return backend.getPartitionedState(
                VoidNamespace.INSTANCE, VoidNamespaceSerializer.INSTANCE, descriptor);
    }

    @Test
    void manyThreadsAndDisposeInBetween() throws Exception {
        ValueState<String> value = state(new ValueStateDescriptor<>("value", String.class));
        ListState<String> list = state(new ListStateDescriptor<>("list", String.class));
        MapState<Integer, String> map =
                state(new MapStateDescriptor<>("map", Integer.class, String.class));
        AtomicLong refused = new AtomicLong();
        AtomicLong done = new AtomicLong();
        CountDownLatch half = new CountDownLatch(THREADS);
        ExecutorService threads = Executors.newFixedThreadPool(THREADS);
        try {
            List<Future<?>> futures = new ArrayList<>();
            for (int thread = 0; thread < THREADS; thread++) {
                Random random = new Random(thread);
                futures.add(
                        threads.submit(
                                () -> {
                                    for (int i = 0; i < OPERATIONS; i++) {
                                        if (i == OPERATIONS / 2) {
                                            half.countDown();
                                        }
                                        try {
                                            operate(random, value, list, map);
                                            done.incrementAndGet();
                                        } catch (IllegalStateException expected) {
                                            refused.incrementAndGet();
                                        }
                                    }
                                    return null;
                                }));
            }
            half.await();
            backend.dispose();
            for (Future<?> future : futures) {
                future.get();
            }
        } finally {
            threads.shutdownNow();
        }
        assertThat(done).hasPositiveValue();
        assertThat(refused).hasPositiveValue();
    }

    private void operate(
            Random random,
            ValueState<String> value,
            ListState<String> list,
            MapState<Integer, String> map)
            throws Exception {
        // Now and then so large that the pages grow.
        int length = random.nextInt(50) == 0 ? random.nextInt(30_000) : random.nextInt(30);
        String text = "x".repeat(length);
        backend.setCurrentKey(random.nextInt(20));
        switch (random.nextInt(9)) {
            case 0:
                value.update(text);
                break;
            case 1:
                value.value();
                break;
            case 2:
                value.clear();
                break;
            case 3:
                list.add(text);
                break;
            case 4:
                list.get();
                list.clear();
                break;
            case 5:
                map.put(random.nextInt(300), text);
                break;
            case 6:
                map.get(random.nextInt(300));
                break;
            case 7:
                for (Map.Entry<Integer, String> entry : map.entries()) {
                    entry.getValue();
                }
                break;
            default:
                map.remove(random.nextInt(300));
        }
    }

    @Test
    void stateWithoutAKeyIsRefused() throws Exception {
        ValueState<String> value = state(new ValueStateDescriptor<>("value", String.class));
        assertThatThrownBy(value::value)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("No key set");
    }

    @Test
    void aFunctionMayUseStateWhileItReduces() throws Exception {
        ValueState<String> value = state(new ValueStateDescriptor<>("value", String.class));
        backend.setCurrentKey(1);
        ReducingStateDescriptor<String> descriptor =
                new ReducingStateDescriptor<>(
                        "reducing",
                        (a, b) -> {
                            value.update(a + b);
                            return value.value();
                        },
                        String.class);
        ReducingState<String> reducing = state(descriptor);
        reducing.add("a");
        reducing.add("b");
        assertThat(reducing.get()).isEqualTo("ab");
        assertThat(value.value()).isEqualTo("ab");
    }

    @Test
    void theNameOfTheDefaultColumnFamilyIsRefused() {
        assertThatThrownBy(() -> state(new ValueStateDescriptor<>("default", String.class)))
                .hasMessageContaining("default");
    }

    /** Each would fail a checkpoint or its restore, or share its rows with another state. */
    @Test
    void namesThatCannotBeKeptAreRefused() {
        for (String name : List.of("", "a\0b", "\uD800", "x\uDC00y", "x".repeat(65536))) {
            assertThatThrownBy(() -> state(new ValueStateDescriptor<>(name, String.class)))
                    .hasMessageContaining("A state cannot be named '");
        }
    }

    @Test
    void nullElementsOfListsAreRefusedAndNothingIsWritten() throws Exception {
        ListState<String> list = state(new ListStateDescriptor<>("list", String.class));
        backend.setCurrentKey(1);
        list.add("a");
        List<String> withNull = new ArrayList<>();
        withNull.add("b");
        withNull.add(null);
        assertThatThrownBy(() -> list.add(null)).isInstanceOf(NullPointerException.class);
        assertThatThrownBy(() -> list.addAll(withNull)).isInstanceOf(NullPointerException.class);
        assertThatThrownBy(() -> list.update(withNull)).isInstanceOf(NullPointerException.class);
        assertThat(list.get()).containsExactly("a");
    }
}
