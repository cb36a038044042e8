package io.ferrostate.bench.state;

import org.apache.flink.api.common.state.StateTtlConfig;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeutils.base.LongSerializer;
import org.openjdk.jmh.annotations.Benchmark;

import java.io.IOException;
import java.time.Duration;

/** {@code ValueState<Long>} with a time to live of an hour. */
public class TtlCases extends Cases.OfLong {

    private ValueState<Long> state;
    private long value;

    @Override
    void register() throws Exception {
        ValueStateDescriptor<Long> descriptor =
                new ValueStateDescriptor<>("ttl", LongSerializer.INSTANCE);
        descriptor.enableTimeToLive(StateTtlConfig.newBuilder(Duration.ofHours(1)).build());
        state = subject.state(descriptor);
    }

    @Override
    void fill(int key) throws Exception {
        state.update((long) key);
    }

    @Benchmark
    public Long ttlValueGet() throws IOException {
        selectNext();
        return state.value();
    }

    @Benchmark
    public void ttlValueUpdate() throws IOException {
        selectNext();
        state.update(++value);
    }
}
