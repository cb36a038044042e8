package io.ferrostate.bench.rescale;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;

/** The rounds of one contender at one rescale. */
final class Measurement {

    private final List<Double> firstRecord = new ArrayList<>();
    private final List<Double> reads = new ArrayList<>();
    private final List<Double> cpu = new ArrayList<>();
    private final List<Double> processCpu = new ArrayList<>();
    private final List<Double> uploaded = new ArrayList<>();

    /** Seconds, and megabytes at the end. */
    void add(double[] round) {
        firstRecord.add(round[0]);
        reads.add(round[1]);
        cpu.add(round[2]);
        processCpu.add(round[3]);
        uploaded.add(round[4]);
    }

    private static double median(List<Double> values) {
        List<Double> sorted = new ArrayList<>(values);
        Collections.sort(sorted);
        int middle = sorted.size() / 2;
        return sorted.size() % 2 == 1
                ? sorted.get(middle)
                : (sorted.get(middle - 1) + sorted.get(middle)) / 2;
    }

    private static String column(List<Double> values, List<Double> one) {
        return String.format(
                Locale.ROOT,
                "%8.2f [%6.2f .. %6.2f] %6.1fx",
                median(values),
                Collections.min(values),
                Collections.max(values),
                median(values) / median(one));
    }

    String row(String title, Measurement one) {
        return String.format(
                Locale.ROOT,
                "  %-36s %s | %s | %s | %8.2f | %9.1f",
                title,
                column(firstRecord, one.firstRecord),
                column(reads, one.reads),
                column(cpu, one.cpu),
                median(processCpu),
                median(uploaded));
    }
}
