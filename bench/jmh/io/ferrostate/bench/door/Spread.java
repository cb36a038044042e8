package io.ferrostate.bench.door;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** Median and ends of a few values. */
final class Spread {

    final double least;
    final double median;
    final double most;

    private Spread(double least, double median, double most) {
        this.least = least;
        this.median = median;
        this.most = most;
    }

    static Spread of(List<Double> values) {
        List<Double> sorted = new ArrayList<>(values);
        Collections.sort(sorted);
        int size = sorted.size();
        double median = (sorted.get((size - 1) / 2) + sorted.get(size / 2)) / 2;
        return new Spread(sorted.get(0), median, sorted.get(size - 1));
    }
}
