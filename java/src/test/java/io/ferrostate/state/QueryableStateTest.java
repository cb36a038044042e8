package io.ferrostate.state;

import static org.assertj.core.api.Assertions.assertThat;

import io.ferrostate.FerrostateStateBackend;
import io.ferrostate.backend.KeyedBackends;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.api.common.state.AggregatingStateDescriptor;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.ReducingStateDescriptor;
import org.apache.flink.api.common.state.State;
import org.apache.flink.api.common.state.StateDescriptor;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeutils.base.IntSerializer;
import org.apache.flink.api.common.typeutils.base.LongSerializer;
import org.apache.flink.api.common.typeutils.base.StringSerializer;
import org.apache.flink.queryablestate.KvStateID;
import org.apache.flink.queryablestate.client.state.serialization.KvStateSerializer;
import org.apache.flink.runtime.jobgraph.JobVertexID;
import org.apache.flink.runtime.query.KvStateEntry;
import org.apache.flink.runtime.query.KvStateInfo;
import org.apache.flink.runtime.query.KvStateRegistry;
import org.apache.flink.runtime.query.KvStateRegistryListener;
import org.apache.flink.runtime.state.AbstractKeyedStateBackend;
import org.apache.flink.runtime.state.AbstractStateBackend;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.hashmap.HashMapStateBackend;
import org.apache.flink.runtime.state.internal.InternalAggregatingState;
import org.apache.flink.runtime.state.internal.InternalListState;
import org.apache.flink.runtime.state.internal.InternalMapState;
import org.apache.flink.runtime.state.internal.InternalReducingState;
import org.apache.flink.runtime.state.internal.InternalValueState;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * State that is queried from outside of the task, through Flink's registry and on another thread:
 * the same bytes as from the hashmap backend, also while the task goes on writing.
 */
@Timeout(60)
@SuppressWarnings("deprecation") // queryable state is, in Flink
class QueryableStateTest {

    private static final int KEY_GROUPS = 16;
    private static final int KEYS = 50;
    private static final String[] NAMESPACES = {"", "other"};

    @TempDir Path directory;

    @Test
    void answersAsTheHashMapBackendDoes() throws Exception {
        Map<String, String> expected = answers(new HashMapStateBackend());
        assertThat(expected.values()).contains("null").doesNotContain("");
        assertThat(expected).hasSize(5 * (KEYS + 1) * NAMESPACES.length);
        assertThat(answers(ferrostate())).isEqualTo(expected);
    }

    @Test
    void aQueryDoesNotDisturbTheTaskNorTheTaskAQuery() throws Exception {
        long updates = 20_000;
        try (Queried queried = new Queried(ferrostate())) {
            InternalValueState<Integer, String, Long> state =
                    queried.state(
                            new ValueStateDescriptor<>("counter", LongSerializer.INSTANCE));
            queried.backend.setCurrentKey(1);
            state.setCurrentNamespace("");
            state.update(0L);
            AtomicBoolean written = new AtomicBoolean();
            CompletableFuture<Long> reader =
                    CompletableFuture.supplyAsync(
                            () -> {
                                long last = 0;
                                long reads = 0;
                                while (!written.get() || reads < 100) {
                                    long now = KEY_1.read(queried);
                                    assertThat(now).isGreaterThanOrEqualTo(last);
                                    last = now;
                                    reads++;
                                }
                                return KEY_1.read(queried);
                            });
            for (long i = 1; i <= updates; i++) {
                queried.backend.setCurrentKey(2); // other keys too: each moves the task's page
                state.update(-i);
                queried.backend.setCurrentKey(1);
                assertThat(state.value()).isEqualTo(i - 1);
                state.update(i);
            }
            written.set(true);
            assertThat(reader.get()).isEqualTo(updates);
        }
    }

    private interface Reader {
        long read(Queried queried);
    }

    private static final Reader KEY_1 =
            queried -> {
                try {
                    byte[] bytes = queried.query("counter", 1, "");
                    return KvStateSerializer.deserializeValue(bytes, LongSerializer.INSTANCE);
                } catch (Exception e) {
                    throw new IllegalStateException(e);
                }
            };

    private AbstractStateBackend ferrostate() {
        return new FerrostateStateBackend().setLocalDirectories(directory.toString());
    }

    /** The answer for each state, key and namespace; the last key was never written. */
    private static Map<String, String> answers(AbstractStateBackend stateBackend)
            throws Exception {
        Map<String, String> answers = new LinkedHashMap<>();
        try (Queried queried = new Queried(stateBackend)) {
            fill(queried);
            for (String name : queried.published.keySet()) {
                for (int key = 0; key <= KEYS; key++) {
                    for (String namespace : NAMESPACES) {
                        byte[] bytes = queried.query(name, key, namespace);
                        answers.put(
                                name + " " + key + " " + namespace,
                                bytes == null ? "null" : text(name, bytes));
                    }
                }
            }
        }
        return answers;
    }

    /** Maps are compared by content: their order is each backend's own. */
    private static String text(String name, byte[] bytes) throws Exception {
        return name.equals("map")
                ? new TreeMap<>(
                                KvStateSerializer.deserializeMap(
                                        bytes, IntSerializer.INSTANCE, StringSerializer.INSTANCE))
                        .toString()
                : Arrays.toString(bytes);
    }

    private static void fill(Queried queried) throws Exception {
        InternalValueState<Integer, String, Long> value =
                queried.state(new ValueStateDescriptor<>("value", LongSerializer.INSTANCE));
        InternalListState<Integer, String, String> list =
                queried.state(new ListStateDescriptor<>("list", StringSerializer.INSTANCE));
        InternalMapState<Integer, String, Integer, String> map =
                queried.state(
                        new MapStateDescriptor<>(
                                "map", IntSerializer.INSTANCE, StringSerializer.INSTANCE));
        InternalReducingState<Integer, String, Long> reducing =
                queried.state(
                        new ReducingStateDescriptor<>(
                                "reducing", Long::sum, LongSerializer.INSTANCE));
        InternalAggregatingState<Integer, String, Long, Long, String> aggregating =
                queried.state(
                        new AggregatingStateDescriptor<>(
                                "aggregating", new Total(), LongSerializer.INSTANCE));
        for (int key = 0; key < KEYS; key++) {
            queried.backend.setCurrentKey(key);
            for (String namespace : NAMESPACES) {
                value.setCurrentNamespace(namespace);
                list.setCurrentNamespace(namespace);
                map.setCurrentNamespace(namespace);
                reducing.setCurrentNamespace(namespace);
                aggregating.setCurrentNamespace(namespace);
                if (key % 7 != 3) { // some stay empty
                    value.update((long) key);
                    for (long i = 0; i <= key % 4; i++) {
                        list.add(namespace + i);
                        map.put((int) i, i == 2 ? null : "v" + i);
                        reducing.add(i);
                        aggregating.add(i);
                    }
                }
            }
        }
    }

    private static final class Total implements AggregateFunction<Long, Long, String> {
        private static final long serialVersionUID = 1L;

        @Override
        public Long createAccumulator() {
            return 0L;
        }

        @Override
        public Long add(Long value, Long total) {
            return total + value;
        }

        @Override
        public String getResult(Long total) {
            return "total " + total;
        }

        @Override
        public Long merge(Long a, Long b) {
            return a + b;
        }
    }

    /** A keyed backend whose states are published, with what a query server would know of them. */
    private static final class Queried implements AutoCloseable, KvStateRegistryListener {
        private final KeyedBackends backends = new KeyedBackends();
        private final KvStateRegistry registry = new KvStateRegistry();
        private final Map<String, KvStateID> published = new LinkedHashMap<>();
        private final AbstractKeyedStateBackend<Integer> backend;

        Queried(AbstractStateBackend stateBackend) throws Exception {
            JobID job = new JobID();
            registry.registerListener(job, this);
            backend =
                    backends.create(
                            stateBackend,
                            IntSerializer.INSTANCE,
                            KEY_GROUPS,
                            registry.createTaskRegistry(job, new JobVertexID()));
        }

        @SuppressWarnings("unchecked")
        <S extends State, IS> IS state(StateDescriptor<S, ?> descriptor) throws Exception {
            descriptor.setQueryable(descriptor.getName());
            return (IS) backend.getPartitionedState("", StringSerializer.INSTANCE, descriptor);
        }

        byte[] query(String name, int key, String namespace) throws Exception {
            return query(registry.getKvState(published.get(name)), key, namespace);
        }

        @SuppressWarnings("unchecked")
        private static <V> byte[] query(KvStateEntry<?, ?, V> entry, int key, String namespace)
                throws Exception {
            KvStateEntry<Integer, String, V> typed = (KvStateEntry<Integer, String, V>) entry;
            KvStateInfo<Integer, String, V> info = typed.getInfoForCurrentThread();
            return typed.getState()
                    .getSerializedValue(
                            KvStateSerializer.serializeKeyAndNamespace(
                                    key,
                                    info.getKeySerializer(),
                                    namespace,
                                    info.getNamespaceSerializer()),
                            info.getKeySerializer(),
                            info.getNamespaceSerializer(),
                            info.getStateValueSerializer());
        }

        @Override
        public void notifyKvStateRegistered(
                JobID jobId,
                JobVertexID jobVertexId,
                KeyGroupRange keyGroupRange,
                String registrationName,
                KvStateID kvStateId) {
            published.put(registrationName, kvStateId);
        }

        @Override
        public void notifyKvStateUnregistered(
                JobID jobId,
                JobVertexID jobVertexId,
                KeyGroupRange keyGroupRange,
                String registrationName) {
            published.remove(registrationName);
        }

        @Override
        public void close() {
            backend.dispose();
            backends.close();
            assertThat(published).as("states that are still published").isEmpty();
        }
    }
}
