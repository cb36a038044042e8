package io.ferrostate.bench.state;

import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.typeutils.base.DoubleSerializer;
import org.apache.flink.api.common.typeutils.base.LongSerializer;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.infra.Blackhole;

import java.util.HashMap;
import java.util.Map;

/** {@code MapState<Long, Double>} with ten entries a key. */
public class MapCases extends Cases.OfLong {

    private static final int ENTRIES = 10;
    private static final int SMALL_KEYS = 30_000;

    private final Map<Long, Double> ten = new HashMap<>();
    private MapState<Long, Double> state;
    private long turn;

    @Override
    int keys() {
        return space == Space.SMALL ? SMALL_KEYS : super.keys();
    }

    @Override
    void register() throws Exception {
        state =
                subject.state(
                        new MapStateDescriptor<>(
                                "map", LongSerializer.INSTANCE, DoubleSerializer.INSTANCE));
        for (long i = 0; i < ENTRIES; i++) {
            ten.put(i, i * 0.5);
        }
    }

    @Override
    void fill(int key) throws Exception {
        state.putAll(ten);
    }

    private long entry() {
        turn = turn + 7;
        return turn % ENTRIES;
    }

    @Benchmark
    public Double mapGet() throws Exception {
        selectNext();
        return state.get(entry());
    }

    @Benchmark
    public void mapUpdate() throws Exception {
        selectNext();
        state.put(entry(), turn * 0.25);
    }

    @Benchmark
    public void mapAddNew() throws Exception {
        selectNew();
        state.put(entry(), turn * 0.25);
    }

    /** Half of them exist, as in apache/flink-benchmarks. */
    @Benchmark
    public boolean mapContains() throws Exception {
        selectNext();
        return state.contains(entry() << 1);
    }

    @Benchmark
    public boolean mapIsEmpty() throws Exception {
        selectNext();
        return state.isEmpty();
    }

    @Benchmark
    public void mapKeys(Blackhole blackhole) throws Exception {
        selectNext();
        for (Long key : state.keys()) {
            blackhole.consume(key);
        }
    }

    @Benchmark
    public void mapValues(Blackhole blackhole) throws Exception {
        selectNext();
        for (Double value : state.values()) {
            blackhole.consume(value);
        }
    }

    @Benchmark
    public void mapEntries(Blackhole blackhole) throws Exception {
        selectNext();
        for (Map.Entry<Long, Double> entry : state.entries()) {
            blackhole.consume(entry.getKey());
            blackhole.consume(entry.getValue());
        }
    }

    @Benchmark
    public void mapRemoveAndPut() throws Exception {
        selectNext();
        long entry = entry();
        state.remove(entry);
        state.put(entry, 1.5);
    }

    @Benchmark
    public void mapPutAll() throws Exception {
        selectNext();
        state.putAll(ten);
    }
}
