package org.apache.flink.runtime.state.metrics;

import io.ferrostate.FerrostateStateBackend;
import io.ferrostate.backend.KeyedBackends;
import java.io.IOException;
import java.io.UncheckedIOException;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.StateLatencyTrackOptions;
import org.apache.flink.configuration.StateSizeTrackOptions;
import org.apache.flink.runtime.state.AbstractKeyedStateBackend;
import org.apache.flink.runtime.state.AbstractStateBackend;
import org.apache.flink.state.rocksdb.EmbeddedRocksDBStateBackend;

/**
 * Flink's own tests of latency and size tracking, on Ferrostate and on Flink's RocksDB backend. They
 * are package-private, which is why this file is in their package; no test of our own belongs here.
 */
@SuppressWarnings({"unchecked", "rawtypes"}) // the overridden methods are declared so
final class MetricsConformance {

    private static final int KEY_GROUPS = 128;

    private MetricsConformance() {}

    static class ValueStateFerrostateConformanceTest extends MetricsTrackingValueStateTest {
        @Override
        protected AbstractKeyedStateBackend<Integer> createKeyedBackend(
                TypeSerializer<Integer> keySerializer) {
            return ferrostate(keySerializer);
        }
    }

    static class ListStateFerrostateConformanceTest extends MetricsTrackingListStateTest {
        @Override
        protected AbstractKeyedStateBackend<Integer> createKeyedBackend(
                TypeSerializer<Integer> keySerializer) {
            return ferrostate(keySerializer);
        }
    }

    static class MapStateFerrostateConformanceTest extends MetricsTrackingMapStateTest {
        @Override
        protected AbstractKeyedStateBackend<Integer> createKeyedBackend(
                TypeSerializer<Integer> keySerializer) {
            return ferrostate(keySerializer);
        }

        @Override
        MapStateDescriptor<Integer, Double> getStateDescriptor() {
            return (MapStateDescriptor) longKeys();
        }
    }

    static class ReducingStateFerrostateConformanceTest extends MetricsTrackingReducingStateTest {
        @Override
        protected AbstractKeyedStateBackend<Integer> createKeyedBackend(
                TypeSerializer<Integer> keySerializer) {
            return ferrostate(keySerializer);
        }
    }

    static class AggregatingStateFerrostateConformanceTest
            extends MetricsTrackingAggregatingStateTest {
        @Override
        protected AbstractKeyedStateBackend<Integer> createKeyedBackend(
                TypeSerializer<Integer> keySerializer) {
            return ferrostate(keySerializer);
        }
    }

    static class ValueStateRocksDBBaselineTest extends MetricsTrackingValueStateTest {
        @Override
        protected AbstractKeyedStateBackend<Integer> createKeyedBackend(
                TypeSerializer<Integer> keySerializer) {
            return rocksDB(keySerializer);
        }
    }

    static class ListStateRocksDBBaselineTest extends MetricsTrackingListStateTest {
        @Override
        protected AbstractKeyedStateBackend<Integer> createKeyedBackend(
                TypeSerializer<Integer> keySerializer) {
            return rocksDB(keySerializer);
        }
    }

    static class MapStateRocksDBBaselineTest extends MetricsTrackingMapStateTest {
        @Override
        protected AbstractKeyedStateBackend<Integer> createKeyedBackend(
                TypeSerializer<Integer> keySerializer) {
            return rocksDB(keySerializer);
        }

        @Override
        MapStateDescriptor<Integer, Double> getStateDescriptor() {
            return (MapStateDescriptor) longKeys();
        }
    }

    static class ReducingStateRocksDBBaselineTest extends MetricsTrackingReducingStateTest {
        @Override
        protected AbstractKeyedStateBackend<Integer> createKeyedBackend(
                TypeSerializer<Integer> keySerializer) {
            return rocksDB(keySerializer);
        }
    }

    static class AggregatingStateRocksDBBaselineTest extends MetricsTrackingAggregatingStateTest {
        @Override
        protected AbstractKeyedStateBackend<Integer> createKeyedBackend(
                TypeSerializer<Integer> keySerializer) {
            return rocksDB(keySerializer);
        }
    }

    /** Flink's map test declares Integer keys and puts Longs, which only the heap does not mind. */
    private static MapStateDescriptor<Long, Double> longKeys() {
        return new MapStateDescriptor<>(
                "map", Long.class, Double.class);
    }

    private static AbstractKeyedStateBackend<Integer> ferrostate(TypeSerializer<Integer> keys) {
        return create(
                new FerrostateStateBackend().configure(tracking(), classLoader()), keys);
    }

    private static AbstractKeyedStateBackend<Integer> rocksDB(TypeSerializer<Integer> keys) {
        return create(
                new EmbeddedRocksDBStateBackend().configure(tracking(), classLoader()), keys);
    }

    private static AbstractKeyedStateBackend<Integer> create(
            AbstractStateBackend backend, TypeSerializer<Integer> keys) {
        try {
            // The tests dispose of the backend; its environment holds nothing outside of the heap.
            return new KeyedBackends().create(backend, keys, KEY_GROUPS);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static Configuration tracking() {
        int history = 1_000_000;
        return new Configuration()
                .set(StateLatencyTrackOptions.LATENCY_TRACK_ENABLED, true)
                .set(StateSizeTrackOptions.SIZE_TRACK_ENABLED, true)
                .set(
                        StateLatencyTrackOptions.LATENCY_TRACK_SAMPLE_INTERVAL,
                        MetricsTrackingStateTestBase.SAMPLE_INTERVAL)
                .set(
                        StateSizeTrackOptions.SIZE_TRACK_SAMPLE_INTERVAL,
                        MetricsTrackingStateTestBase.SAMPLE_INTERVAL)
                .set(StateLatencyTrackOptions.LATENCY_TRACK_HISTORY_SIZE, history)
                .set(StateSizeTrackOptions.SIZE_TRACK_HISTORY_SIZE, history);
    }

    private static ClassLoader classLoader() {
        return MetricsConformance.class.getClassLoader();
    }
}
