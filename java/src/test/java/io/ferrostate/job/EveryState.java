package io.ferrostate.job;

import java.util.Arrays;
import java.util.List;
import java.util.TreeMap;
import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.AggregatingState;
import org.apache.flink.api.common.state.AggregatingStateDescriptor;
import org.apache.flink.api.common.state.CheckpointListener;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.ReducingState;
import org.apache.flink.api.common.state.ReducingStateDescriptor;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.Collector;

/**
 * Keeps something in every kind of state and in timers, and says all of it when the input has ended:
 * one line for each key, the same on every correct backend. Fails as {@link FailOnce} says.
 */
final class EveryState extends KeyedProcessFunction<Integer, Long, String>
        implements CheckpointListener {

    private static final long serialVersionUID = 1L;

    /** The last timer: fires with the watermark that ends the input. */
    static final long END = Long.MAX_VALUE - 1;

    private transient ValueState<Long> count;
    private transient ValueState<Long> fired;
    private transient ListState<Long> list;
    private transient MapState<Long, String> map;
    private transient ReducingState<Long> highest;
    private transient AggregatingState<Long, Double> mean;

    @Override
    public void open(OpenContext context) {
        count = getRuntimeContext().getState(new ValueStateDescriptor<>("count", Types.LONG));
        fired = getRuntimeContext().getState(new ValueStateDescriptor<>("fired", Types.LONG));
        list = getRuntimeContext().getListState(new ListStateDescriptor<>("list", Types.LONG));
        map =
                getRuntimeContext()
                        .getMapState(new MapStateDescriptor<>("map", Types.LONG, Types.STRING));
        highest =
                getRuntimeContext()
                        .getReducingState(
                                new ReducingStateDescriptor<>("highest", Long::max, Types.LONG));
        mean =
                getRuntimeContext()
                        .getAggregatingState(
                                new AggregatingStateDescriptor<>(
                                        "mean", new Mean(), Types.LIST(Types.LONG)));
    }

    @Override
    public void processElement(Long number, Context context, Collector<String> out)
            throws Exception {
        count.update(count.value() == null ? 1 : count.value() + 1);
        if (number % 50 == 0) {
            list.clear();
        }
        list.add(number);
        map.put(number % 7, "n" + number);
        if (number % 11 == 0) {
            map.remove(number % 5);
        }
        highest.add(number);
        mean.add(number);
        context.timerService().registerEventTimeTimer((number / 20 + 1) * 20);
        context.timerService().registerEventTimeTimer(END);
        if (number % 13 == 0) {
            context.timerService().deleteEventTimeTimer((number / 20 + 1) * 20);
        }
    }

    @Override
    public void onTimer(long timestamp, OnTimerContext context, Collector<String> out)
            throws Exception {
        fired.update(fired.value() == null ? 1 : fired.value() + 1);
        if (timestamp == END) {
            TreeMap<Long, String> entries = new TreeMap<>();
            map.entries().forEach(entry -> entries.put(entry.getKey(), entry.getValue()));
            out.collect(
                    context.getCurrentKey()
                            + ": " + count.value()
                            + " " + fired.value()
                            + " " + list.get()
                            + " " + entries
                            + " " + highest.get()
                            + " " + mean.get());
        }
    }

    @Override
    public void notifyCheckpointComplete(long checkpointId) {
        FailOnce.confirmed();
    }

    /** Number and sum. */
    static final class Mean implements AggregateFunction<Long, List<Long>, Double> {
        private static final long serialVersionUID = 1L;

        @Override
        public List<Long> createAccumulator() {
            return Arrays.asList(0L, 0L);
        }

        @Override
        public List<Long> add(Long value, List<Long> mean) {
            return Arrays.asList(mean.get(0) + 1, mean.get(1) + value);
        }

        @Override
        public Double getResult(List<Long> mean) {
            return mean.get(1) / (double) mean.get(0);
        }

        @Override
        public List<Long> merge(List<Long> a, List<Long> b) {
            return Arrays.asList(a.get(0) + b.get(0), a.get(1) + b.get(1));
        }
    }
}
