package io.ferrostate.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import io.ferrostate.FerrostateStateBackend;
import io.ferrostate.backend.KeyedBackends;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.api.common.state.v2.ListStateDescriptor;
import org.apache.flink.api.common.state.v2.MapStateDescriptor;
import org.apache.flink.api.common.state.v2.ReducingStateDescriptor;
import org.apache.flink.api.common.state.v2.AggregatingStateDescriptor;
import org.apache.flink.api.common.state.v2.StateFuture;
import org.apache.flink.api.common.state.v2.StateIterator;
import org.apache.flink.api.common.state.v2.ValueStateDescriptor;
import org.apache.flink.api.common.typeutils.base.IntSerializer;
import org.apache.flink.api.common.typeutils.base.LongSerializer;
import org.apache.flink.api.common.typeutils.base.StringSerializer;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.state.AbstractKeyedStateBackend;
import org.apache.flink.runtime.state.AbstractStateBackend;
import org.apache.flink.runtime.state.hashmap.HashMapStateBackend;
import org.apache.flink.runtime.state.v2.adaptor.AsyncKeyedStateBackendAdaptor;
import org.apache.flink.runtime.state.v2.internal.InternalAggregatingState;
import org.apache.flink.runtime.state.v2.internal.InternalListState;
import org.apache.flink.runtime.state.v2.internal.InternalMapState;
import org.apache.flink.runtime.state.v2.internal.InternalReducingState;
import org.apache.flink.runtime.state.v2.internal.InternalValueState;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * The asynchronous state API on a backend that has none of its own: Flink's adaptor calls the
 * synchronous states. Random operations of each kind of state through the adaptor, synchronous and
 * asynchronous ones mixed, give the same answers as on the hashmap backend.
 *
 * <p>Ours, since Flink's own AsyncKeyedStateBackendAdaptorTest makes its heap backend in a private
 * method and cannot be pointed elsewhere.
 */
@Timeout(60)
abstract class V2AdaptorConformance {

    private static final int OPERATIONS = 3_000;
    private static final int KEYS = 7;
    private static final String[] NAMESPACES = {"", "a", "b"};

    @TempDir Path directory;

    abstract AbstractStateBackend subject(Path localDirectory);

    static class FerrostateConformanceTest extends V2AdaptorConformance {
        @Override
        AbstractStateBackend subject(Path localDirectory) {
            return new FerrostateStateBackend(true)
                    .setLocalDirectories(localDirectory.toString())
                    .configure(new Configuration(), getClass().getClassLoader());
        }
    }

    static class RocksDBBaselineTest extends V2AdaptorConformance {
        @Override
        AbstractStateBackend subject(Path localDirectory) {
            return RocksDBSubject.create(true, localDirectory);
        }
    }

    @Test
    void valueState() throws Exception {
        same(
                (backend, random, seen) -> {
                    InternalValueState<Integer, String, Long> state =
                            backend.createStateInternal(
                                    "",
                                    StringSerializer.INSTANCE,
                                    new ValueStateDescriptor<>("value", LongSerializer.INSTANCE));
                    for (int i = 0; i < OPERATIONS; i++) {
                        moveTo(backend, random);
                        state.setCurrentNamespace(namespace(random));
                        long value = random.nextLong();
                        switch (random.nextInt(6)) {
                            case 0: state.asyncUpdate(value); break;
                            case 1: state.update(value); break;
                            case 2: answer(state.asyncValue(), seen); break;
                            case 3: seen.add("" + state.value()); break;
                            case 4: state.asyncClear(); break;
                            default: state.update(value); seen.add("" + state.value());
                        }
                    }
                });
    }

    @Test
    void listState() throws Exception {
        same(
                (backend, random, seen) -> {
                    InternalListState<Integer, String, Long> state =
                            backend.createStateInternal(
                                    "",
                                    StringSerializer.INSTANCE,
                                    new ListStateDescriptor<>("list", LongSerializer.INSTANCE));
                    for (int i = 0; i < OPERATIONS; i++) {
                        moveTo(backend, random);
                        state.setCurrentNamespace(namespace(random));
                        List<Long> values = Arrays.asList(random.nextLong(), (long) i);
                        switch (random.nextInt(9)) {
                            case 0: state.asyncAdd((long) i); break;
                            case 1: state.add((long) i); break;
                            case 2: state.asyncAddAll(values); break;
                            case 3: state.asyncUpdate(values); break;
                            case 4: state.update(values); break;
                            case 5: elements(state.asyncGet(), seen); break;
                            case 6: seen.add("" + state.get()); break;
                            case 7: state.asyncClear(); break;
                            default: state.asyncMergeNamespaces("", Arrays.asList("a", "b"));
                        }
                    }
                });
    }

    @Test
    void mapState() throws Exception {
        same(
                (backend, random, seen) -> {
                    InternalMapState<Integer, String, Integer, String> state =
                            backend.createStateInternal(
                                    "",
                                    StringSerializer.INSTANCE,
                                    new MapStateDescriptor<>(
                                            "map",
                                            IntSerializer.INSTANCE,
                                            StringSerializer.INSTANCE));
                    for (int i = 0; i < OPERATIONS; i++) {
                        moveTo(backend, random);
                        state.setCurrentNamespace(namespace(random));
                        int key = random.nextInt(20);
                        switch (random.nextInt(13)) {
                            case 0: state.asyncPut(key, "v" + i); break;
                            case 1: state.put(key, "v" + i); break;
                            case 2: state.asyncPutAll(Map.of(key, "v", key + 1, "w" + i)); break;
                            case 3: state.asyncRemove(key); break;
                            case 4: state.remove(key); break;
                            case 5: answer(state.asyncGet(key), seen); break;
                            case 6: answer(state.asyncContains(key), seen); break;
                            case 7: answer(state.asyncIsEmpty(), seen); break;
                            case 8: entries(state.asyncEntries(), seen); break;
                            case 9: sorted(state.asyncKeys(), seen); break;
                            case 10: sorted(state.asyncValues(), seen); break;
                            case 11: seen.add(state.contains(key) + " " + state.isEmpty()); break;
                            default:
                                if (random.nextInt(5) == 0) {
                                    state.asyncClear();
                                }
                        }
                    }
                });
    }

    @Test
    void reducingState() throws Exception {
        same(
                (backend, random, seen) -> {
                    InternalReducingState<Integer, String, Long> state =
                            backend.createStateInternal(
                                    "",
                                    StringSerializer.INSTANCE,
                                    new ReducingStateDescriptor<>(
                                            "sum", Long::sum, LongSerializer.INSTANCE));
                    for (int i = 0; i < OPERATIONS; i++) {
                        moveTo(backend, random);
                        state.setCurrentNamespace(namespace(random));
                        switch (random.nextInt(6)) {
                            case 0: state.asyncAdd((long) i); break;
                            case 1: state.add((long) i); break;
                            case 2: answer(state.asyncGet(), seen); break;
                            case 3: seen.add("" + state.get()); break;
                            case 4: state.asyncMergeNamespaces("", Arrays.asList("a", "b")); break;
                            default: state.asyncClear();
                        }
                    }
                });
    }

    @Test
    void aggregatingState() throws Exception {
        same(
                (backend, random, seen) -> {
                    InternalAggregatingState<Integer, String, Integer, String, Integer> state =
                            backend.createStateInternal(
                                    "",
                                    StringSerializer.INSTANCE,
                                    new AggregatingStateDescriptor<>(
                                            "sum", new Sum(), StringSerializer.INSTANCE));
                    for (int i = 0; i < OPERATIONS; i++) {
                        moveTo(backend, random);
                        state.setCurrentNamespace(namespace(random));
                        switch (random.nextInt(7)) {
                            case 0: state.asyncAdd(i); break;
                            case 1: state.add(i); break;
                            case 2: answer(state.asyncGet(), seen); break;
                            case 3: answer(state.asyncGetInternal(), seen); break;
                            case 4: state.asyncUpdateInternal("" + 7 * i); break;
                            case 5: state.asyncMergeNamespaces("", Arrays.asList("a", "b")); break;
                            default: state.asyncClear();
                        }
                    }
                });
    }

    // ---- the comparison ------------------------------------------------------------------------

    /** What is done; the same random numbers lead to the same operations on each backend. */
    private interface Script {
        void run(
                AsyncKeyedStateBackendAdaptor<Integer> backend, Random random, List<String> seen)
                throws Exception;
    }

    private void same(Script script) throws Exception {
        for (long seed = 1; seed <= 3; seed++) {
            List<String> expected = run(script, new HashMapStateBackend(), seed);
            assertThat(expected).hasSizeGreaterThan(OPERATIONS / 7);
            assertThat(run(script, subject(directory), seed)).as("seed " + seed).isEqualTo(expected);
        }
    }

    private static List<String> run(Script script, AbstractStateBackend backend, long seed)
            throws Exception {
        List<String> seen = new ArrayList<>();
        try (KeyedBackends backends = new KeyedBackends()) {
            AbstractKeyedStateBackend<Integer> keyed =
                    backends.create(backend, IntSerializer.INSTANCE, 16);
            try {
                script.run(new AsyncKeyedStateBackendAdaptor<>(keyed), new Random(seed), seen);
            } finally {
                keyed.dispose();
            }
        }
        return seen;
    }

    private static void moveTo(AsyncKeyedStateBackendAdaptor<Integer> backend, Random random) {
        backend.getKeyedStateBackend().setCurrentKey(random.nextInt(KEYS));
    }

    private static String namespace(Random random) {
        return NAMESPACES[random.nextInt(NAMESPACES.length)];
    }

    private static void answer(StateFuture<?> future, List<String> seen) {
        future.thenAccept(value -> seen.add("" + value));
    }

    private static <T> void elements(StateFuture<StateIterator<T>> future, List<String> seen) {
        List<T> elements = new ArrayList<>();
        future.thenAccept(
                iterator -> {
                    iterator.onNext(
                            element -> {
                                elements.add(element);
                            });
                    seen.add(elements + " " + iterator.isEmpty());
                });
    }

    private static <T extends Comparable<T>> void sorted(
            StateFuture<StateIterator<T>> future, List<String> seen) {
        List<T> elements = new ArrayList<>();
        future.thenAccept(
                iterator -> {
                    iterator.onNext(
                            element -> {
                                elements.add(element);
                            });
                    elements.sort(null);
                    seen.add("" + elements);
                });
    }

    private static <V> void entries(
            StateFuture<StateIterator<Map.Entry<Integer, V>>> future, List<String> seen) {
        Map<Integer, V> entries = new TreeMap<>();
        future.thenAccept(
                iterator -> {
                    iterator.onNext(
                            entry -> {
                                entries.put(entry.getKey(), entry.getValue());
                            });
                    seen.add("" + entries);
                });
    }

    /**
     * Adds numbers up in a text and gives the sum's remainder: the three types differ, and the order of
     * merging, which is each backend's own, does not matter.
     */
    private static final class Sum implements AggregateFunction<Integer, String, Integer> {
        private static final long serialVersionUID = 1L;

        @Override
        public String createAccumulator() {
            return "0";
        }

        @Override
        public String add(Integer value, String accumulator) {
            return merge(accumulator, "" + value);
        }

        @Override
        public Integer getResult(String accumulator) {
            return (int) (Long.parseLong(accumulator) % 1_000);
        }

        @Override
        public String merge(String a, String b) {
            return "" + (Long.parseLong(a) + Long.parseLong(b));
        }
    }
}
