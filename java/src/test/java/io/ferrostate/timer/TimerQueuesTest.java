package io.ferrostate.timer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.ferrostate.FerrostateStateBackend;
import io.ferrostate.backend.KeyedBackends;
import io.ferrostate.jni.Native;
import io.ferrostate.jni.NativeLibrary;

import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeutils.TypeSerializerSnapshot;
import org.apache.flink.api.common.typeutils.base.IntSerializer;
import org.apache.flink.api.common.typeutils.base.ListSerializer;
import org.apache.flink.api.common.typeutils.base.TypeSerializerSingleton;
import org.apache.flink.core.memory.DataInputView;
import org.apache.flink.core.memory.DataOutputView;
import org.apache.flink.runtime.state.AbstractKeyedStateBackend;
import org.apache.flink.runtime.state.KeyGroupedInternalPriorityQueue;
import org.apache.flink.runtime.state.VoidNamespace;
import org.apache.flink.runtime.state.VoidNamespaceSerializer;
import org.apache.flink.streaming.api.operators.TimerHeapInternalTimer;
import org.apache.flink.streaming.api.operators.TimerSerializer;
import org.apache.flink.util.CloseableIterator;
import org.apache.flink.util.StateMigrationException;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** What a queue in the database owes those who use it, rightly and wrongly. Its order: QueueModelTest. */
@Timeout(120)
class TimerQueuesTest {

    private static final String NAME = "_timer_state/event_test";

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

    private KeyGroupedInternalPriorityQueue<TimerHeapInternalTimer<Integer, VoidNamespace>> queue() {
        return backend.create(
                NAME,
                new TimerSerializer<>(IntSerializer.INSTANCE, VoidNamespaceSerializer.INSTANCE),
                true);
    }

    private static TimerHeapInternalTimer<Integer, VoidNamespace> timer(long time, int key) {
        return new TimerHeapInternalTimer<>(time, key, VoidNamespace.INSTANCE);
    }

    /** Each timer is moved to later: nobody must meet it there again. */
    @Test
    void iteratingGoesOverTheTimersThereWereWhateverHappensToThem() throws Exception {
        KeyGroupedInternalPriorityQueue<TimerHeapInternalTimer<Integer, VoidNamespace>> queue =
                queue();
        int count = 10_000;
        for (int i = 0; i < count; i++) {
            queue.add(timer(i, i));
        }
        int seen = 0;
        try (CloseableIterator<TimerHeapInternalTimer<Integer, VoidNamespace>> timers =
                queue.iterator()) {
            while (timers.hasNext()) {
                TimerHeapInternalTimer<Integer, VoidNamespace> timer = timers.next();
                assertThat(timer.getTimestamp()).isLessThan(count);
                queue.remove(timer);
                queue.add(timer(count + timer.getTimestamp(), timer.getKey()));
                seen++;
            }
        }
        assertThat(seen).isEqualTo(count);
        assertThat(queue.size()).isEqualTo(count);
        assertThat(queue.peek().getTimestamp()).isEqualTo(count);
    }

    /** Left open, it is closed with the backend: see the count of handles in {@link #dispose}. */
    @Test
    void anIteratorMayBeLeftOpen() {
        KeyGroupedInternalPriorityQueue<TimerHeapInternalTimer<Integer, VoidNamespace>> queue =
                queue();
        for (int i = 0; i < 10_000; i++) {
            queue.add(timer(i, 1));
        }
        CloseableIterator<TimerHeapInternalTimer<Integer, VoidNamespace>> left = queue.iterator();
        assertThat(left.hasNext()).isTrue();
        assertThat(left.next()).isEqualTo(timer(0, 1));
    }

    @Test
    void timersThatComeAndGoBetweenSnapshotsDoNotReachRocksDB() throws Exception {
        KeyGroupedInternalPriorityQueue<TimerHeapInternalTimer<Integer, VoidNamespace>> queue =
                queue();
        for (int i = 0; i < 10_000; i++) {
            queue.add(timer(i, i));
            queue.add(timer(i + 1_000_000, i));
            assertThat(queue.remove(timer(i + 1_000_000, i))).isFalse();
            assertThat(queue.poll()).isEqualTo(timer(i, i));
        }
        queue.add(timer(7, 7));
        assertThat(backend.numKeyValueStateEntries()).isEqualTo(1);
        assertThat(queue.poll()).isEqualTo(timer(7, 7));
        assertThat(backend.numKeyValueStateEntries()).isZero();
    }

    @Test
    void theSameNameIsTheSameQueue() {
        queue().add(timer(1, 1));
        assertThat(queue().peek()).isEqualTo(timer(1, 1));
        assertThat(queue()).isSameAs(queue());
    }

    @Test
    void aNameOfAnotherKindOfStateIsRefused() throws Exception {
        backend.getOrCreateKeyedState(
                VoidNamespaceSerializer.INSTANCE, new ValueStateDescriptor<>(NAME, Integer.class));
        assertThatThrownBy(this::queue)
                .hasRootCauseInstanceOf(StateMigrationException.class)
                .hasStackTraceContaining("'" + NAME + "'");
    }

    /** Timers are keys in RocksDB: they stay as they were written. */
    @Test
    void aSerializerThatCannotReadTheTimersIsRefused() {
        queue().add(timer(1, 1));
        TimerSerializer<List<Integer>, VoidNamespace> lists =
                new TimerSerializer<>(
                        new ListSerializer<>(IntSerializer.INSTANCE),
                        VoidNamespaceSerializer.INSTANCE);
        assertThatThrownBy(() -> backend.create(NAME, lists))
                .hasRootCauseInstanceOf(StateMigrationException.class)
                .hasStackTraceContaining("must not be incompatible")
                .hasStackTraceContaining("'" + NAME + "'");
    }

    @Test
    void afterTheEndThereIsAnException() {
        KeyGroupedInternalPriorityQueue<TimerHeapInternalTimer<Integer, VoidNamespace>> queue =
                queue();
        queue.add(timer(1, 1));
        backend.dispose();
        assertThatThrownBy(() -> queue.add(timer(2, 2)))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("disposed");
        assertThatThrownBy(queue::poll).isInstanceOf(IllegalStateException.class);
    }

    /** A key that registers timers while it is written would garble the timer it belongs to. */
    @Test
    void aSerializerThatTouchesTimersIsTold() {
        KeyGroupedInternalPriorityQueue<TimerHeapInternalTimer<Integer, VoidNamespace>> queue =
                queue();
        KeyGroupedInternalPriorityQueue<TimerHeapInternalTimer<Integer, String>> touching =
                backend.create(
                        "_timer_state/event_touching",
                        new TimerSerializer<>(IntSerializer.INSTANCE, new Touching(queue)));
        assertThatThrownBy(() -> touching.add(new TimerHeapInternalTimer<>(1, 1, "namespace")))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("Serializers must not touch state");
        assertThat(queue.isEmpty()).isTrue();
        assertThat(touching.isEmpty()).isTrue();
    }

    private static final class Touching extends TypeSerializerSingleton<String> {

        private static final long serialVersionUID = 1L;

        private final transient KeyGroupedInternalPriorityQueue<
                        TimerHeapInternalTimer<Integer, VoidNamespace>>
                queue;

        Touching(
                KeyGroupedInternalPriorityQueue<TimerHeapInternalTimer<Integer, VoidNamespace>>
                        queue) {
            this.queue = queue;
        }

        @Override
        public void serialize(String namespace, DataOutputView target) throws IOException {
            queue.add(timer(1, 1));
            target.writeUTF(namespace);
        }

        @Override
        public String deserialize(DataInputView source) throws IOException {
            return source.readUTF();
        }

        @Override
        public String deserialize(String reuse, DataInputView source) throws IOException {
            return deserialize(source);
        }

        @Override
        public void copy(DataInputView source, DataOutputView target) throws IOException {
            target.writeUTF(source.readUTF());
        }

        @Override
        public boolean isImmutableType() {
            return true;
        }

        @Override
        public String createInstance() {
            return "";
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
        public int getLength() {
            return -1;
        }

        @Override
        public TypeSerializerSnapshot<String> snapshotConfiguration() {
            throw new UnsupportedOperationException("no snapshot is taken");
        }
    }

    /** Several threads at once: exceptions, but no crash, and none waits for ever. */
    @Test
    void threadsAtOnceAreTold() throws Exception {
        KeyGroupedInternalPriorityQueue<TimerHeapInternalTimer<Integer, VoidNamespace>> queue =
                queue();
        int threads = 4;
        ExecutorService executor = Executors.newFixedThreadPool(threads);
        CountDownLatch together = new CountDownLatch(threads);
        List<Future<Integer>> told = new ArrayList<>();
        for (int t = 0; t < threads; t++) {
            int first = t * 1_000_000;
            told.add(
                    executor.submit(
                            () -> {
                                together.countDown();
                                together.await();
                                return useAndCountRefusals(queue, first);
                            }));
        }
        int refusals = 0;
        for (Future<Integer> one : told) {
            refusals += one.get();
        }
        executor.shutdown();
        assertThat(refusals).isPositive();
    }

    private static int useAndCountRefusals(
            KeyGroupedInternalPriorityQueue<TimerHeapInternalTimer<Integer, VoidNamespace>> queue,
            int first) {
        int refusals = 0;
        for (int i = 0; i < 50_000; i++) {
            try {
                queue.add(timer(i, first + i));
                if (i % 3 == 0) {
                    queue.poll();
                }
            } catch (RuntimeException refused) {
                refusals++;
            }
        }
        return refusals;
    }
}
