package io.ferrostate.bench.state;

import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeutils.base.LongSerializer;
import org.openjdk.jmh.annotations.Benchmark;

import java.io.IOException;

/** {@code ValueState<Long>}. */
public class ValueCases extends Cases.OfLong {

    private ValueState<Long> state;
    private long value;

    @Override
    void register() throws Exception {
        state = subject.state(new ValueStateDescriptor<>("value", LongSerializer.INSTANCE));
    }

    @Override
    void fill(int key) throws Exception {
        state.update((long) key);
    }

    @Benchmark
    public Long valueGet() throws IOException {
        selectNext();
        return state.value();
    }

    @Benchmark
    public void valueUpdate() throws IOException {
        selectNext();
        state.update(++value);
    }

    @Benchmark
    public void valueReadModifyWrite() throws IOException {
        selectNext();
        state.update(state.value() + 1);
    }

    @Benchmark
    public void valueAdd() throws IOException {
        selectNew();
        state.update(++value);
    }

    @Benchmark
    public Long valueGetAbsent() throws IOException {
        select(-1 - selectNext());
        return state.value();
    }
}
