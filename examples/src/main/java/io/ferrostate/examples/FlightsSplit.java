package io.ferrostate.examples;

import org.apache.flink.api.connector.source.lib.util.IteratorSourceSplit;

import java.util.Iterator;
import java.util.NoSuchElementException;

/**
 * Every {@code step}-th flight from {@code next} on: what one reader still has to read, and so its
 * position in a checkpoint. The flights of a split are in the order of event time.
 */
final class FlightsSplit implements IteratorSourceSplit<Flight, FlightsSplit.Rows> {

    final String path;
    final int next;
    final int step;
    final int end;

    FlightsSplit(String path, int next, int step, int end) {
        this.path = path;
        this.next = next;
        this.step = step;
        this.end = end;
    }

    @Override
    public String splitId() {
        return next % step + " of " + step;
    }

    @Override
    public Rows getIterator() {
        return new Rows(FlightsFile.load(path), next);
    }

    @Override
    public IteratorSourceSplit<Flight, Rows> getUpdatedSplitForIterator(Rows rows) {
        return new FlightsSplit(path, rows.position, step, end);
    }

    /** Walks over the flights of this split. */
    final class Rows implements Iterator<Flight> {

        private final Flight[] flights;
        private int position;

        private Rows(Flight[] flights, int position) {
            this.flights = flights;
            this.position = position;
        }

        /** The row of the next flight. */
        int position() {
            return position;
        }

        @Override
        public boolean hasNext() {
            return position < end;
        }

        @Override
        public Flight next() {
            if (!hasNext()) {
                throw new NoSuchElementException("after the last flight of split " + splitId());
            }
            Flight flight = flights[position];
            position += step;
            return flight;
        }
    }
}
