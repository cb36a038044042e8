package io.ferrostate.examples;

import org.apache.flink.api.common.functions.AggregateFunction;

/**
 * Running figures about departures, as an accumulator: whole numbers only, so that the order of
 * adding cannot show in the result.
 */
public class Delays {

    public int flights;
    public int cancelled;
    public long minutes;
    public int worst;

    void add(Flight flight) {
        if (flight.cancelled) {
            cancelled++;
            return;
        }
        worst = flights == 0 ? flight.departureDelay : Math.max(worst, flight.departureDelay);
        minutes += flight.departureDelay;
        flights++;
    }

    private void add(Delays other) {
        if (other.flights > 0) {
            worst = flights == 0 ? other.worst : Math.max(worst, other.worst);
        }
        minutes += other.minutes;
        flights += other.flights;
        cancelled += other.cancelled;
    }

    @Override
    public String toString() {
        return "flights=" + flights + " cancelled=" + cancelled + " minutes=" + minutes
                + " worst=" + worst;
    }

    /** Adds up flights; the result is the text of the figures. */
    static final class Aggregate implements AggregateFunction<Flight, Delays, String> {

        private static final long serialVersionUID = 1L;

        @Override
        public Delays createAccumulator() {
            return new Delays();
        }

        @Override
        public Delays add(Flight flight, Delays delays) {
            delays.add(flight);
            return delays;
        }

        @Override
        public String getResult(Delays delays) {
            return delays.toString();
        }

        @Override
        public Delays merge(Delays left, Delays right) {
            left.add(right);
            return left;
        }
    }
}
