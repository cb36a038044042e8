package io.ferrostate.job;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.CheckpointListener;
import org.apache.flink.api.common.state.v2.AggregatingState;
import org.apache.flink.api.common.state.v2.AggregatingStateDescriptor;
import org.apache.flink.api.common.state.v2.ListState;
import org.apache.flink.api.common.state.v2.ListStateDescriptor;
import org.apache.flink.api.common.state.v2.MapState;
import org.apache.flink.api.common.state.v2.MapStateDescriptor;
import org.apache.flink.api.common.state.v2.ReducingState;
import org.apache.flink.api.common.state.v2.ReducingStateDescriptor;
import org.apache.flink.api.common.state.v2.StateFuture;
import org.apache.flink.api.common.state.v2.StateIterator;
import org.apache.flink.api.common.state.v2.ValueState;
import org.apache.flink.api.common.state.v2.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.Collector;

/** {@link EveryState} written with the asynchronous state API: says the same. */
final class EveryStateV2 extends KeyedProcessFunction<Integer, Long, String>
        implements CheckpointListener {

    private static final long serialVersionUID = 1L;

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
                                        "mean", new EveryState.Mean(), Types.LIST(Types.LONG)));
    }

    @Override
    public void processElement(Long number, Context context, Collector<String> out)
            throws Exception {
        context.timerService().registerEventTimeTimer((number / 20 + 1) * 20);
        context.timerService().registerEventTimeTimer(EveryState.END);
        if (number % 13 == 0) {
            context.timerService().deleteEventTimeTimer((number / 20 + 1) * 20);
        }
        increment(count);
        if (number % 50 == 0) {
            list.asyncClear().thenAccept(done -> list.asyncAdd(number));
        } else {
            list.asyncAdd(number);
        }
        map.asyncPut(number % 7, "n" + number)
                .thenAccept(
                        done -> {
                            if (number % 11 == 0) {
                                map.asyncRemove(number % 5);
                            }
                        });
        highest.asyncAdd(number);
        mean.asyncAdd(number);
    }

    private static StateFuture<Void> increment(ValueState<Long> state) {
        return state.asyncValue()
                .thenCompose(value -> state.asyncUpdate(value == null ? 1 : value + 1));
    }

    @Override
    public void onTimer(long timestamp, OnTimerContext context, Collector<String> out) {
        StateFuture<Void> incremented = increment(fired);
        if (timestamp != EveryState.END) {
            return;
        }
        int key = context.getCurrentKey();
        List<Object> parts = new ArrayList<>();
        List<Long> elements = new ArrayList<>();
        TreeMap<Long, String> entries = new TreeMap<>();
        incremented
                .thenCompose(done -> count.asyncValue())
                .thenCompose(value -> add(parts, value, fired.asyncValue()))
                .thenCompose(value -> add(parts, value, list.asyncGet()))
                .thenCompose(values -> drain(values, elements, map.asyncEntries()))
                .thenCompose(values -> drainEntries(values, entries, highest.asyncGet()))
                .thenCompose(value -> add(parts, value, mean.asyncGet()))
                .thenAccept(
                        value ->
                                out.collect(
                                        key
                                                + ": " + parts.get(0)
                                                + " " + parts.get(1)
                                                + " " + elements
                                                + " " + entries
                                                + " " + parts.get(2)
                                                + " " + value));
    }

    private static <T> StateFuture<T> add(List<Object> parts, Object part, StateFuture<T> next) {
        parts.add(part);
        return next;
    }

    private static <T> StateFuture<T> drain(
            StateIterator<Long> values, List<Long> into, StateFuture<T> next) {
        return values.onNext(
                        value -> {
                            into.add(value);
                        })
                .thenCompose(done -> next);
    }

    private static <T> StateFuture<T> drainEntries(
            StateIterator<Map.Entry<Long, String>> values,
            Map<Long, String> into,
            StateFuture<T> next) {
        return values.onNext(
                        entry -> {
                            into.put(entry.getKey(), entry.getValue());
                        })
                .thenCompose(done -> next);
    }

    @Override
    public void notifyCheckpointComplete(long checkpointId) {
        FailOnce.confirmed();
    }
}
