package io.ferrostate.examples;

import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.AggregatingState;
import org.apache.flink.api.common.state.AggregatingStateDescriptor;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.ReducingState;
import org.apache.flink.api.common.state.ReducingStateDescriptor;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.util.Collector;

import java.time.Duration;
import java.time.Instant;
import java.util.zip.CRC32;

import static java.nio.charset.StandardCharsets.UTF_8;

/**
 * Per aircraft: the last position (value), running delays (aggregating), miles flown (reducing) and
 * the log book of the year (list, appended to). One row a flight, and one for each ten days with
 * the digest of the whole log book.
 */
final class AircraftLog extends InEventTimeOrder {

    private static final long serialVersionUID = 1L;
    private static final Duration PERIOD = Duration.ofDays(10);

    private transient ValueState<Position> position;
    private transient AggregatingState<Flight, String> delays;
    private transient ReducingState<Long> miles;
    private transient ListState<String> log;

    @Override
    public void open(OpenContext context) throws Exception {
        super.open(context);
        position =
                getRuntimeContext()
                        .getState(
                                new ValueStateDescriptor<>(
                                        "position", Types.POJO(Position.class)));
        delays =
                getRuntimeContext()
                        .getAggregatingState(
                                new AggregatingStateDescriptor<>(
                                        "delays",
                                        new Delays.Aggregate(),
                                        Types.POJO(Delays.class)));
        miles =
                getRuntimeContext()
                        .getReducingState(
                                new ReducingStateDescriptor<>("miles", Long::sum, Types.LONG));
        log = getRuntimeContext().getListState(new ListStateDescriptor<>("log", Types.STRING));
    }

    @Override
    void inOrder(Flight flight, Context context, Collector<String> rows) throws Exception {
        Position before = position.value();
        delays.add(flight);
        log.add(entry(flight));
        if (!flight.cancelled) {
            miles.add((long) flight.distance);
            position.update(Position.after(flight));
        }
        remindAtEndOf(PERIOD, flight, context);
        rows.collect(
                "aircraft " + flight.aircraft + ' ' + Instant.ofEpochMilli(flight.time)
                        + " from " + before + " to " + flight.destination
                        + " miles=" + miles.get() + ' ' + delays.get());
    }

    @Override
    void endOfPeriod(String aircraft, long time, Collector<String> rows) throws Exception {
        CRC32 digest = new CRC32();
        int entries = 0;
        for (String entry : log.get()) {
            digest.update(entry.getBytes(UTF_8));
            entries++;
        }
        rows.collect(
                "log " + aircraft + ' ' + Instant.ofEpochMilli(time) + " entries=" + entries
                        + " digest=" + Long.toHexString(digest.getValue()));
    }

    private static String entry(Flight flight) {
        return flight.row + " " + flight.carrier + flight.number + ' ' + flight.route()
                + (flight.cancelled ? " cancelled" : " +" + flight.departureDelay);
    }

    /** Where an aircraft was seen last. */
    public static class Position {

        public String airport;
        public long since;

        static Position after(Flight flight) {
            Position position = new Position();
            position.airport = flight.destination;
            position.since = flight.time;
            return position;
        }

        @Override
        public String toString() {
            return airport + '@' + since / 60_000;
        }
    }
}
