package io.ferrostate.bench.jobs;

import io.ferrostate.bench.measure.Child;
import io.ferrostate.bench.measure.Spread;
import io.ferrostate.bench.state.Contender;

import org.apache.flink.util.FileUtils;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;

/** {@code bench/run jobs}: whole jobs in a mini cluster on every backend, in turns in one run. */
public final class JobBenchmarks {

    private long events = 2_000_000;
    private int rounds = 1;
    private Pattern only = Pattern.compile("");
    private Set<Contender> contenders = EnumSet.allOf(Contender.class);
    private Path scratch = Path.of("scratch");
    private final List<String> jvm = new ArrayList<>(List.of("-Xmx4g"));

    public static void main(String[] args) throws Exception {
        JobBenchmarks benchmarks = new JobBenchmarks();
        for (String arg : args) {
            String[] parts = arg.split("=", 2);
            benchmarks.set(parts[0], parts.length > 1 ? parts[1] : "");
        }
        benchmarks.run();
    }

    private void set(String name, String value) {
        switch (name) {
            case "quick":
                break;
            case "full":
                events = 10_000_000;
                rounds = 3;
                break;
            case "--events":
                events = Long.parseLong(value);
                break;
            case "--rounds":
                rounds = Integer.parseInt(value);
                break;
            case "--only":
                only = Pattern.compile(value);
                break;
            case "--contenders":
                contenders = Contender.parse(value);
                break;
            case "--scratch":
                scratch = Path.of(value);
                break;
            case "--jvm":
                jvm.add(value);
                break;
            default:
                throw new IllegalArgumentException(
                        name
                                + ": use quick, full, --events=N, --rounds=N, --only=<regex of jobs> or"
                                + " --contenders=FERROSTATE,ROCKSDB");
        }
    }

    private void run() throws IOException, InterruptedException {
        for (Job job : Job.values()) {
            if (only.matcher(job.name()).find()) {
                measure(job);
            }
        }
    }

    private void measure(Job job) throws IOException, InterruptedException {
        Map<Contender, List<double[]>> measured = new EnumMap<>(Contender.class);
        for (int round = 1; round <= rounds; round++) {
            for (Contender contender : contenders) {
                System.err.printf("round %d of %d: %s: %s%n", round, rounds, job, contender.title);
                measured.computeIfAbsent(contender, one -> new ArrayList<>())
                        .add(measure(job, contender));
            }
        }
        System.out.printf(
                "%n== %s, %d events; median (least-most) of %d; above 1: Ferrostate is faster%n",
                job.title, events, rounds);
        System.out.printf("  %-24s %12s %22s   %s%n", "", "events/s", "", "events/s of CPU time");
        measured.forEach(
                (contender, results) ->
                        System.out.printf(
                                "  %-24s %s   %s%n",
                                contender.title,
                                column(results, measured.get(Contender.FERROSTATE), 0),
                                column(results, measured.get(Contender.FERROSTATE), 1)));
    }

    private String column(List<double[]> results, List<double[]> ours, int index) {
        List<Double> rates = new ArrayList<>();
        List<Double> ratios = new ArrayList<>();
        for (int i = 0; i < results.size(); i++) {
            rates.add(events / results.get(i)[index]);
            ratios.add(ours == null ? 1 : results.get(i)[index] / ours.get(i)[index]);
        }
        return String.format(
                Locale.ROOT, "%12.0f %s", Spread.of(rates).median, Spread.ofRatios(ratios));
    }

    private double[] measure(Job job, Contender contender)
            throws IOException, InterruptedException {
        Path directory = Files.createTempDirectory(Files.createDirectories(scratch), "job");
        try {
            List<String[]> results =
                    Child.run(
                            jvm,
                            JobRunner.class,
                            directory,
                            job.name(),
                            contender.name(),
                            Long.toString(events),
                            directory.toString());
            String[] result = results.get(0);
            return new double[] {Double.parseDouble(result[1]), Double.parseDouble(result[2])};
        } finally {
            FileUtils.deleteDirectory(directory.toFile());
        }
    }
}
