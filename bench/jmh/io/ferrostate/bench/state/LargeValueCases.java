package io.ferrostate.bench.state;

import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeutils.base.array.BytePrimitiveArraySerializer;
import org.openjdk.jmh.annotations.Benchmark;

import java.io.IOException;
import java.util.SplittableRandom;

/** {@code ValueState<byte[]>} with values of 100 bytes, half of them random. */
public class LargeValueCases extends Cases.OfLong {

    static final int BYTES = 100;

    private final SplittableRandom random = new SplittableRandom(7);
    private ValueState<byte[]> state;

    static byte[] value(SplittableRandom random) {
        byte[] half = new byte[BYTES / 2];
        random.nextBytes(half);
        return java.util.Arrays.copyOf(half, BYTES);
    }

    @Override
    void register() throws Exception {
        state = subject.state(new ValueStateDescriptor<>("value", BytePrimitiveArraySerializer.INSTANCE));
    }

    @Override
    void fill(int key) throws Exception {
        state.update(value(random));
    }

    @Benchmark
    public byte[] valueGet() throws IOException {
        selectNext();
        return state.value();
    }

    @Benchmark
    public void valueUpdate() throws IOException {
        selectNext();
        state.update(value(random));
    }

    @Benchmark
    public void valueReadModifyWrite() throws IOException {
        selectNext();
        byte[] value = state.value();
        value[0]++;
        state.update(value);
    }
}
