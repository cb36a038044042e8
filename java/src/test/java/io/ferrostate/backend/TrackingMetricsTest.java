package io.ferrostate.backend;

import static org.assertj.core.api.Assertions.assertThat;

import io.ferrostate.FerrostateStateBackend;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.State;
import org.apache.flink.api.common.state.StateDescriptor;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeutils.base.IntSerializer;
import org.apache.flink.api.common.typeutils.base.LongSerializer;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.state.AbstractKeyedStateBackend;

import org.apache.flink.runtime.state.AbstractStateBackend;
import org.apache.flink.runtime.state.ConfigurableStateBackend;
import org.apache.flink.runtime.state.VoidNamespace;
import org.apache.flink.runtime.state.VoidNamespaceSerializer;
import org.apache.flink.runtime.state.hashmap.HashMapStateBackend;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * The options {@code state.latency-track.*} and {@code state.size-track.*} as a user writes them: the
 * same histograms with the same numbers of samples as on the hashmap backend, and none when off.
 */
@Timeout(60)
class TrackingMetricsTest {

    private static final int RECORDS = 300;

    @TempDir Path directory;

    @ParameterizedTest(name = "latency={0}, size={1}")
    @CsvSource({"true, true", "true, false", "false, true", "false, false"})
    void histogramsAreThoseOfTheHashMapBackend(boolean latency, boolean size) throws Exception {
        Configuration configuration = new Configuration();
        configuration.setString("state.latency-track.keyed-state-enabled", "" + latency);
        configuration.setString("state.latency-track.sample-interval", "7");
        configuration.setString("state.latency-track.state-name-as-variable", "true");
        configuration.setString("state.size-track.keyed-state-enabled", "" + size);
        configuration.setString("state.size-track.sample-interval", "5");
        configuration.setString("state.size-track.state-name-as-variable", "false");

        Map<String, Long> expected = samples(new HashMapStateBackend(), configuration);
        assertThat(expected.isEmpty()).isEqualTo(!latency && !size);
        assertThat(
                        samples(
                                new FerrostateStateBackend()
                                        .setLocalDirectories(directory.toString()),
                                configuration))
                .isEqualTo(expected);
    }

    private static Map<String, Long> samples(
            ConfigurableStateBackend stateBackend, Configuration configuration) throws Exception {
        NamedMetrics metrics = new NamedMetrics();
        try (KeyedBackends backends = new KeyedBackends()) {
            AbstractKeyedStateBackend<Integer> backend =
                    backends.create(
                            (AbstractStateBackend)
                                    stateBackend.configure(
                                            configuration,
                                            TrackingMetricsTest.class.getClassLoader()),
                            IntSerializer.INSTANCE,
                            16,
                            metrics);
            work(backend);
            backend.dispose();
        }
        Map<String, Long> samples = new TreeMap<>();
        metrics.histograms().forEach((name, histogram) -> samples.put(name, histogram.getCount()));
        return samples;
    }

    private static void work(AbstractKeyedStateBackend<Integer> backend) throws Exception {
        ValueState<Long> value =
                state(backend, new ValueStateDescriptor<>("v", LongSerializer.INSTANCE));
        ListState<Long> list =
                state(backend, new ListStateDescriptor<>("l", LongSerializer.INSTANCE));
        MapState<Long, Long> map =
                state(
                        backend,
                        new MapStateDescriptor<>(
                                "m", LongSerializer.INSTANCE, LongSerializer.INSTANCE));
        for (int i = 0; i < RECORDS; i++) {
            backend.setCurrentKey(i % 10);
            value.update(value.value() == null ? 1 : value.value() + i);
            list.add((long) i);
            list.get();
            map.put((long) i % 3, (long) i);
            map.get((long) i % 4);
            map.contains(5L);
        }
    }

    private static <S extends State> S state(
            AbstractKeyedStateBackend<Integer> backend, StateDescriptor<S, ?> descriptor)
            throws Exception {
        return backend.getPartitionedState(
                VoidNamespace.INSTANCE, VoidNamespaceSerializer.INSTANCE, descriptor);
    }
}
