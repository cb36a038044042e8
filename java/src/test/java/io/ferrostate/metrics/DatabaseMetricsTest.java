package io.ferrostate.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import io.ferrostate.FerrostateOptions;
import io.ferrostate.FerrostateStateBackend;
import io.ferrostate.backend.KeyedBackends;
import io.ferrostate.backend.NamedMetrics;

import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeutils.base.IntSerializer;
import org.apache.flink.api.common.typeutils.base.LongSerializer;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.metrics.Gauge;
import org.apache.flink.runtime.state.AbstractKeyedStateBackend;
import org.apache.flink.runtime.state.AbstractStateBackend;
import org.apache.flink.runtime.state.ConfigurableStateBackend;
import org.apache.flink.runtime.state.VoidNamespace;
import org.apache.flink.runtime.state.VoidNamespaceSerializer;
import org.apache.flink.state.rocksdb.EmbeddedRocksDBStateBackend;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.math.BigInteger;
import java.nio.file.Path;
import java.util.Map;
import java.util.function.Predicate;

/**
 * The options {@code state.backend.rocksdb.metrics.*} as a user has them: with Ferrostate the same
 * metrics under the same names, whose values are RocksDB's, before and after the task's end.
 */
@Timeout(60)
class DatabaseMetricsTest {

    private static final String TICKER = "rocksdb.bytes_written";

    @TempDir Path directory;

    private final KeyedBackends backends = new KeyedBackends();

    @AfterEach
    void end() throws Exception {
        backends.close();
    }

    @ParameterizedTest(name = "column family as variable: {0}")
    @ValueSource(booleans = {true, false})
    void namesAreThoseOfFlinksRocksDB(boolean asVariable) throws Exception {
        Configuration configuration = everything();
        configuration.setString(
                "state.backend.rocksdb.metrics.column-family-as-variable", "" + asVariable);
        Map<String, Gauge<?>> expected =
                of(new EmbeddedRocksDBStateBackend(), configuration, backend -> false);
        Map<String, Gauge<?>> metrics = of(ferrostate(), configuration, backend -> false);

        assertThat(expected).hasSizeGreaterThan(40);
        metrics.keySet().removeIf(name -> name.startsWith("ferrostate."));
        assertThat(metrics.keySet()).isEqualTo(expected.keySet());
    }

    @Test
    void allAreOffByDefaultButThoseOfTheBuffer() throws Exception {
        assertThat(of(ferrostate(), new Configuration(), backend -> false).keySet())
                .hasSize(MetricOptions.BUFFER_COUNTERS.size())
                .allMatch(name -> name.startsWith("ferrostate.buffer-"));
        Configuration without = new Configuration();
        without.set(FerrostateOptions.BUFFER_ENABLED, false);
        assertThat(of(ferrostate(), without, backend -> false)).isEmpty();
    }

    @Test
    void valuesAreRocksDBsAndStayAfterTheEnd() throws Exception {
        Map<String, Gauge<?>> metrics = of(ferrostate(), everything(), this::writeAndRead);

        metrics.values().forEach(Gauge::getValue);
        assertThat(value(metrics, "v.rocksdb.estimate-num-keys")).isEqualTo(1000);
        assertThat(value(metrics, "w.rocksdb.estimate-num-keys")).isZero();
        assertThat(value(metrics, "v.rocksdb.num-files-at-level0")).isZero();
        assertThat(value(metrics, "v.rocksdb.block-cache-capacity")).isPositive();
        assertThat(value(metrics, TICKER)).isGreaterThan(1000 * 16);
        assertThat(value(metrics, "ferrostate.buffer-hits")).isGreaterThanOrEqualTo(1000);
        assertThat(value(metrics, "ferrostate.buffer-bytes")).isPositive();
    }

    /** True so that the metrics are read once while the backend lives. */
    private boolean writeAndRead(AbstractKeyedStateBackend<Integer> backend) throws Exception {
        ValueState<Long> value = value(backend, "v");
        value(backend, "w");
        for (int key = 0; key < 1000; key++) {
            backend.setCurrentKey(key);
            value.update((long) key);
            assertThat(value.value()).isEqualTo(key);
        }
        // Whoever lists keys writes what the buffer has.
        assertThat(backend.getKeys("v", VoidNamespace.INSTANCE).count()).isEqualTo(1000);
        return true;
    }

    private interface Work {
        boolean run(AbstractKeyedStateBackend<Integer> backend) throws Exception;
    }

    private Map<String, Gauge<?>> of(
            ConfigurableStateBackend stateBackend, Configuration configuration, Work work)
            throws Exception {
        NamedMetrics metrics = new NamedMetrics();
        AbstractKeyedStateBackend<Integer> backend =
                backends.create(
                        (AbstractStateBackend)
                                stateBackend.configure(
                                        configuration, getClass().getClassLoader()),
                        IntSerializer.INSTANCE,
                        16,
                        metrics);
        value(backend, "v");
        if (work.run(backend)) {
            metrics.gauges().values().forEach(Gauge::getValue);
        }
        backend.dispose();
        return metrics.gauges();
    }

    private FerrostateStateBackend ferrostate() {
        return new FerrostateStateBackend().setLocalDirectories(directory.toString());
    }

    private static Configuration everything() {
        Configuration configuration = new Configuration();
        MetricOptions.all().stream()
                .filter(Predicate.not(MetricOptions.COLUMN_FAMILY_AS_VARIABLE::equals))
                .map(option -> option.fallbackKeys().iterator().next().getKey())
                .forEach(key -> configuration.setString(key, "true"));
        return configuration;
    }

    private static ValueState<Long> value(AbstractKeyedStateBackend<Integer> backend, String name)
            throws Exception {
        return backend.getPartitionedState(
                VoidNamespace.INSTANCE,
                VoidNamespaceSerializer.INSTANCE,
                new ValueStateDescriptor<>(name, LongSerializer.INSTANCE));
    }

    private static long value(Map<String, Gauge<?>> metrics, String name) {
        assertThat(metrics).containsKey(name);
        return ((BigInteger) metrics.get(name).getValue()).longValueExact();
    }
}
