package io.ferrostate.examples;

import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.Collector;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * Hands the flights of a key on in the order of event time, whatever order they arrive in: they
 * wait in a map state (time to flights) for the timer of their time. So results do not depend on
 * how the two sources interleave. What happens with a flight is the subclass's.
 */
abstract class InEventTimeOrder extends KeyedProcessFunction<String, Flight, String> {

    private static final long serialVersionUID = 1L;

    private transient MapState<Long, List<Flight>> waiting;

    @Override
    public void open(OpenContext context) throws Exception {
        waiting =
                getRuntimeContext()
                        .getMapState(
                                new MapStateDescriptor<>(
                                        "waiting",
                                        Types.LONG,
                                        Types.LIST(Types.POJO(Flight.class))));
    }

    @Override
    public void processElement(Flight flight, Context context, Collector<String> rows)
            throws Exception {
        List<Flight> sameTime = waiting.get(flight.time);
        if (sameTime == null) {
            sameTime = new ArrayList<>(1);
            context.timerService().registerEventTimeTimer(flight.time);
        }
        sameTime.add(flight);
        waiting.put(flight.time, sameTime);
    }

    @Override
    public void onTimer(long time, OnTimerContext context, Collector<String> rows)
            throws Exception {
        List<Flight> due = waiting.get(time);
        if (due == null) {
            endOfPeriod(context.getCurrentKey(), time, rows);
            return;
        }
        waiting.remove(time);
        due.sort(Comparator.comparingInt(flight -> flight.row));
        for (Flight flight : due) {
            inOrder(flight, context, rows);
        }
    }

    abstract void inOrder(Flight flight, Context context, Collector<String> rows)
            throws Exception;

    /** Called at the last millisecond of a period that {@link #remindAtEndOf} was asked for. */
    abstract void endOfPeriod(String key, long time, Collector<String> rows) throws Exception;

    /**
     * Flights are at full minutes, ends of periods one millisecond before: one timer never means
     * both.
     */
    final void remindAtEndOf(Duration period, Flight flight, Context context) {
        long length = period.toMillis();
        context.timerService().registerEventTimeTimer(flight.time / length * length + length - 1);
    }
}
