package io.ferrostate.examples;

import org.apache.flink.api.common.functions.RichMapFunction;
import org.apache.flink.api.common.state.CheckpointListener;

/**
 * Passes flights on and kills the job {@code times} times, evenly over the year, each time once a
 * checkpoint of the current attempt is complete. Keeps no state: the attempt number says how often
 * it has happened.
 */
final class InducedFailure extends RichMapFunction<Flight, Flight> implements CheckpointListener {

    private static final long serialVersionUID = 1L;

    private final int times;
    private final int rows;

    private transient volatile boolean hasCheckpoint;

    InducedFailure(int times, int rows) {
        this.times = times;
        this.rows = rows;
    }

    @Override
    public Flight map(Flight flight) {
        int attempt = getRuntimeContext().getTaskInfo().getAttemptNumber();
        if (attempt < times && hasCheckpoint && flight.row >= rows / (times + 1) * (attempt + 1)) {
            throw new Killed("induced at flight " + flight.row);
        }
        return flight;
    }

    @Override
    public void notifyCheckpointComplete(long checkpointId) {
        hasCheckpoint = true;
    }

    /** The induced failure, told apart from any other by its class. */
    static final class Killed extends RuntimeException {

        private static final long serialVersionUID = 1L;

        Killed(String message) {
            super(message);
        }
    }
}
