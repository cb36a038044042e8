package io.ferrostate.examples;

/** A run of flights of one aircraft without a long pause. Sums and bounds only, as for delays. */
public class Rotation {

    public String aircraft;
    public int flights;
    public int miles;
    public int firstRow;
    public int lastRow;

    public String aircraft() {
        return aircraft;
    }

    static Rotation of(Flight flight) {
        Rotation rotation = new Rotation();
        rotation.aircraft = flight.aircraft;
        rotation.flights = 1;
        rotation.miles = flight.distance;
        rotation.firstRow = flight.row;
        rotation.lastRow = flight.row;
        return rotation;
    }

    static Rotation join(Rotation left, Rotation right) {
        Rotation both = new Rotation();
        both.aircraft = left.aircraft;
        both.flights = left.flights + right.flights;
        both.miles = left.miles + right.miles;
        both.firstRow = Math.min(left.firstRow, right.firstRow);
        both.lastRow = Math.max(left.lastRow, right.lastRow);
        return both;
    }

    @Override
    public String toString() {
        return "flights=" + flights + " miles=" + miles + " rows=" + firstRow + ".." + lastRow;
    }
}
