package io.ferrostate.bench.state;

import io.ferrostate.bench.measure.Spread;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Results as a table: one line a case, for each contender the time and Ferrostate's advantage. */
final class StateReport {

    private static final String HEAD =
            "CPU time of the calling thread, ns per operation; how many times Ferrostate's that is%n"
                    + "(median of %d rounds, in brackets least and most; above 1: Ferrostate is faster);%n"
                    + "the same ratio of the CPU time of the whole process (compaction, garbage collection)%n";

    private final Map<String, Map<String, Map<Contender, List<double[]>>>> groups =
            new LinkedHashMap<>();

    /** {@code result}: RESULT, name of the case, ns of the thread, ns of the process. */
    void add(Group group, Contender contender, String[] result) {
        groups.computeIfAbsent(group.title(), title -> new LinkedHashMap<>())
                .computeIfAbsent(result[1], name -> new EnumMap<>(Contender.class))
                .computeIfAbsent(contender, one -> new ArrayList<>())
                .add(new double[] {Double.parseDouble(result[2]), Double.parseDouble(result[3])});
    }

    boolean isEmpty() {
        return groups.isEmpty();
    }

    String text(int rounds) {
        StringBuilder text = new StringBuilder(String.format(HEAD, rounds));
        groups.forEach(
                (title, cases) -> {
                    text.append(String.format("%n== %s%n", title));
                    cases.forEach((name, measured) -> append(text, name, measured));
                });
        return text.toString();
    }

    private static void append(
            StringBuilder text, String name, Map<Contender, List<double[]>> measured) {
        text.append(name).append(System.lineSeparator());
        List<double[]> ours = measured.get(Contender.FERROSTATE);
        measured.forEach(
                (contender, rounds) ->
                        text.append(
                                String.format(
                                        Locale.ROOT,
                                        "  %-24s %10.0f   %s   %s%n",
                                        contender.title,
                                        Spread.of(column(rounds, 0)).median,
                                        ratio(rounds, ours, 0),
                                        ratio(rounds, ours, 1))));
    }

    private static List<Double> column(List<double[]> rounds, int index) {
        List<Double> column = new ArrayList<>();
        rounds.forEach(round -> column.add(round[index]));
        return column;
    }

    private static String ratio(List<double[]> theirs, List<double[]> ours, int index) {
        if (ours == null) {
            return "";
        }
        List<Double> ratios = new ArrayList<>();
        for (int i = 0; i < Math.min(theirs.size(), ours.size()); i++) {
            ratios.add(theirs.get(i)[index] / ours.get(i)[index]);
        }
        return Spread.ofRatios(ratios);
    }
}
