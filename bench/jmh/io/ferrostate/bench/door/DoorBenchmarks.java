package io.ferrostate.bench.door;

import io.ferrostate.bench.measure.Spread;

import org.openjdk.jmh.runner.RunnerException;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Pattern;

/** `make bench-door`: runs the comparisons and prints them as ratios with their spread. */
public final class DoorBenchmarks {

    private final Arguments arguments;
    private final List<Comparison> comparisons;
    private final Rounds rounds;
    private final Map<Comparison.Case, List<Double>> times = new HashMap<>();

    private DoorBenchmarks(Arguments arguments) {
        this.arguments = arguments;
        comparisons = new ArrayList<>();
        for (Comparison comparison : Comparisons.of(arguments.full, arguments.library.isFile())) {
            if (arguments.only.matcher(comparison.title).find()) {
                comparisons.add(comparison);
            }
        }
        rounds =
                arguments.full
                        ? new Rounds(5, 6, 200, jvmOptions())
                        : new Rounds(3, 4, 100, jvmOptions());
    }

    public static void main(String[] args) throws Exception {
        System.setProperty("jmh.ignoreLock", "true");
        new DoorBenchmarks(Arguments.parse(args)).run();
    }

    private List<String> jvmOptions() {
        return List.of(
                // Compiled when it is due, however busy the machine is.
                "-Xbatch",
                "-Xms512m",
                "-Xmx512m",
                "-XX:+UseG1GC",
                "-D" + Door.LIBRARY_PROPERTY + '=' + arguments.door,
                "-Dferrostate.library=" + arguments.library,
                "-Djava.io.tmpdir=" + arguments.scratch, // frocksdbjni unpacks itself there
                "-D" + DatabaseBenchmark.SCRATCH_PROPERTY + '=' + arguments.scratch);
    }

    private void run() throws RunnerException, IOException {
        Files.createDirectories(arguments.scratch);
        for (int round = 1; round <= arguments.rounds; round++) {
            for (Comparison comparison : comparisons) {
                System.err.printf("round %d of %d: %s%n", round, arguments.rounds, comparison.title);
                for (Comparison.Case benchmark : comparison.cases) {
                    double time = rounds.run(benchmark);
                    times.computeIfAbsent(benchmark, b -> new ArrayList<>()).add(time);
                }
            }
        }
        String report = report();
        Files.write(arguments.report, report.getBytes(StandardCharsets.UTF_8));
        System.out.print(report);
        System.out.println("written to " + arguments.report);
    }

    private String report() {
        StringBuilder text = new StringBuilder();
        text.append(
                String.format(
                        "CPU time of the calling thread; ratio to the first line of each block, "
                                + "median (least-most) of %d rounds%n",
                        arguments.rounds));
        for (Comparison comparison : comparisons) {
            text.append(String.format("%n%-58s %9s   %s%n", comparison.title, "ns", "ratio"));
            List<Double> first = times.get(comparison.cases.get(0));
            for (Comparison.Case benchmark : comparison.cases) {
                text.append(line(benchmark.label, times.get(benchmark), first));
            }
        }
        return text.toString();
    }

    private static String line(String label, List<Double> times, List<Double> first) {
        List<Double> ratios = new ArrayList<>();
        for (int round = 0; round < times.size(); round++) {
            ratios.add(times.get(round) / first.get(round));
        }
        Spread ratio = Spread.of(ratios);
        return String.format(
                Locale.ROOT,
                "  %-56s %9.1f   %6.2f (%.2f-%.2f)%n",
                label, Spread.of(times).median, ratio.median, ratio.least, ratio.most);
    }

    /** What bench/run passes. */
    private static final class Arguments {

        private boolean full;
        private int rounds = 2;
        private Pattern only = Pattern.compile("");
        private File door = new File("");
        private File library = new File("");
        private Path report = Path.of("door.txt");
        private Path scratch = Path.of("scratch");

        static Arguments parse(String[] args) {
            Arguments arguments = new Arguments();
            for (String arg : args) {
                String[] parts = arg.split("=", 2);
                arguments.set(parts[0], parts.length > 1 ? parts[1] : "");
            }
            if (!arguments.door.isFile()) {
                throw new IllegalArgumentException("--door=" + arguments.door + ": no such library");
            }
            return arguments;
        }

        private void set(String name, String value) {
            switch (name) {
                case "quick":
                    break;
                case "full":
                    full = true;
                    rounds = 3;
                    break;
                case "--rounds":
                    rounds = Integer.parseInt(value);
                    break;
                case "--only":
                    only = Pattern.compile(value);
                    break;
                case "--door":
                    door = new File(value);
                    break;
                case "--library":
                    library = new File(value);
                    break;
                case "--report":
                    report = Path.of(value);
                    break;
                case "--scratch":
                    scratch = Path.of(value);
                    break;
                default:
                    throw new IllegalArgumentException(
                            name + ": use quick, full, --rounds=N or --only=<regular expression for titles>");
            }
        }
    }
}
