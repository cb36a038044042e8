package io.ferrostate.examples;

import org.apache.flink.api.common.accumulators.LongMaximum;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.functions.RichMapFunction;

/** Passes flights on and publishes how far through the file the job is. */
final class RowCount extends RichMapFunction<Flight, Flight> {

    static final String ACCUMULATOR = "flights";

    private static final long serialVersionUID = 1L;

    private transient LongMaximum position;

    @Override
    public void open(OpenContext context) {
        position = new LongMaximum();
        getRuntimeContext().addAccumulator(ACCUMULATOR, position);
    }

    @Override
    public Flight map(Flight flight) {
        position.add(flight.row + 1L);
        return flight;
    }
}
