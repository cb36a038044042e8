package io.ferrostate.examples;

import org.apache.flink.streaming.api.functions.windowing.WindowFunction;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.util.Collector;

import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * A bank: the departures of one carrier at one airport without a longer pause. The window keeps the
 * flights themselves, as a list; they are put in order here because a window has none.
 */
final class DepartureBank implements WindowFunction<Flight, String, String, TimeWindow> {

    private static final long serialVersionUID = 1L;

    @Override
    public void apply(
            String key, TimeWindow window, Iterable<Flight> content, Collector<String> rows) {
        List<Flight> flights = new ArrayList<>();
        content.forEach(flights::add);
        flights.sort(Comparator.comparingInt(flight -> flight.row));
        StringBuilder row = new StringBuilder("bank ").append(key).append(' ');
        row.append(Instant.ofEpochMilli(window.getStart())).append(" to ");
        row.append(Instant.ofEpochMilli(window.getEnd()));
        for (Flight flight : flights) {
            row.append(' ').append(flight.number).append('-').append(flight.destination);
        }
        rows.collect(row.toString());
    }
}
