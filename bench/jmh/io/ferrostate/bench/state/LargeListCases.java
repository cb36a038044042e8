package io.ferrostate.bench.state;

import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.typeutils.base.array.BytePrimitiveArraySerializer;
import org.openjdk.jmh.annotations.Benchmark;

import java.util.SplittableRandom;

/** {@code ListState<byte[]>} with elements of 100 bytes. */
public class LargeListCases extends Cases.OfLong {

    private final SplittableRandom random = new SplittableRandom(7);
    private ListState<byte[]> state;

    @Override
    void register() throws Exception {
        state = subject.state(new ListStateDescriptor<>("list", BytePrimitiveArraySerializer.INSTANCE));
    }

    @Override
    void fill(int key) throws Exception {
        state.add(LargeValueCases.value(random));
    }

    @Benchmark
    public void listAppend() throws Exception {
        selectNext();
        state.add(LargeValueCases.value(random));
    }
}
