package io.ferrostate.bench.state;

import org.apache.flink.api.common.state.AggregatingState;
import org.apache.flink.api.common.state.AggregatingStateDescriptor;
import org.apache.flink.api.common.state.ReducingState;
import org.apache.flink.api.common.state.ReducingStateDescriptor;
import org.apache.flink.api.common.typeutils.base.LongSerializer;
import org.openjdk.jmh.annotations.Benchmark;

/** {@code ReducingState<Long>} and {@code AggregatingState<Long, Long>}: sums. */
public class FoldCases extends Cases.OfLong {

    private ReducingState<Long> reducing;
    private AggregatingState<Long, Long> aggregating;
    private long value;

    @Override
    void register() throws Exception {
        reducing =
                subject.state(
                        new ReducingStateDescriptor<>("reducing", Long::sum, LongSerializer.INSTANCE));
        aggregating =
                subject.state(
                        new AggregatingStateDescriptor<>(
                                "aggregating", new Sum(), LongSerializer.INSTANCE));
    }

    @Override
    void fill(int key) throws Exception {
        reducing.add((long) key);
        aggregating.add((long) key);
    }

    @Benchmark
    public void reducingAdd() throws Exception {
        selectNext();
        reducing.add(++value);
    }

    @Benchmark
    public void aggregatingAdd() throws Exception {
        selectNext();
        aggregating.add(++value);
    }

    @Benchmark
    public Long aggregatingGet() throws Exception {
        selectNext();
        return aggregating.get();
    }
}
