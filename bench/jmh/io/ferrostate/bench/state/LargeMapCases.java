package io.ferrostate.bench.state;

import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.typeutils.base.LongSerializer;
import org.apache.flink.api.common.typeutils.base.array.BytePrimitiveArraySerializer;
import org.openjdk.jmh.annotations.Benchmark;

import java.util.SplittableRandom;

/** {@code MapState<Long, byte[]>}: as many entries as the space has keys, ten a key, 100 bytes each. */
public class LargeMapCases extends Cases.OfLong {

    private static final int ENTRIES = 10;

    private final SplittableRandom random = new SplittableRandom(7);
    private MapState<Long, byte[]> state;
    private long turn;

    @Override
    int keys() {
        return super.keys() / ENTRIES;
    }

    @Override
    void register() throws Exception {
        state =
                subject.state(
                        new MapStateDescriptor<>(
                                "map", LongSerializer.INSTANCE, BytePrimitiveArraySerializer.INSTANCE));
    }

    @Override
    void fill(int key) throws Exception {
        for (long entry = 0; entry < ENTRIES; entry++) {
            state.put(entry, LargeValueCases.value(random));
        }
    }

    private long entry() {
        turn = turn + 7;
        return turn % ENTRIES;
    }

    @Benchmark
    public byte[] mapGet() throws Exception {
        selectNext();
        return state.get(entry());
    }

    @Benchmark
    public void mapUpdate() throws Exception {
        selectNext();
        state.put(entry(), LargeValueCases.value(random));
    }

    @Benchmark
    public int mapEntries() throws Exception {
        selectNext();
        int bytes = 0;
        for (byte[] value : state.values()) {
            bytes += value.length;
        }
        return bytes;
    }
}
