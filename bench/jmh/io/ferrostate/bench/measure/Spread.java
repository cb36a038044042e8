package io.ferrostate.bench.measure;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;

/** Median and ends of a few values. */
public final class Spread {

    public final double least;
    public final double median;
    public final double most;

    private Spread(double least, double median, double most) {
        this.least = least;
        this.median = median;
        this.most = most;
    }

    public static Spread of(List<Double> values) {
        List<Double> sorted = new ArrayList<>(values);
        Collections.sort(sorted);
        int size = sorted.size();
        double median = (sorted.get((size - 1) / 2) + sorted.get(size / 2)) / 2;
        return new Spread(sorted.get(0), median, sorted.get(size - 1));
    }

    /** Ratios as reports have them: the median, and the ends if there is more than one. */
    public static String ofRatios(List<Double> ratios) {
        Spread spread = of(ratios);
        String median = String.format(Locale.ROOT, "%6.2fx", spread.median);
        return ratios.size() == 1
                ? median
                : median + String.format(Locale.ROOT, " (%.2f-%.2f)", spread.least, spread.most);
    }
}
