package io.ferrostate.examples;

import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.runtime.jobgraph.SavepointRestoreSettings;
import org.apache.flink.util.FileUtils;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Locale;

import static org.apache.flink.core.execution.RecoveryClaimMode.CLAIM;

/**
 * The demo: the flights job on the backend under test is killed and restores itself, then is
 * cancelled and resumed in a new cluster; each time its rows must be those of the same job on
 * Flink's hashmap backend without failures. Phases only: each part of the work is another class.
 */
public final class FlightsDemo {

    private static final int NO_LIMIT = 0;

    private final DemoOptions options;
    private final Path work;
    private final Console console;
    private final Path expected;

    private FlightsDemo(DemoOptions options, Path work, Console console) throws Exception {
        this.options = options;
        this.work = work;
        this.console = console;
        Files.createDirectories(work.resolve("tmp"));
        expected = resultsOf("expected");
    }

    /** Exit code 0: identical. 1: not, or failed. 2: the command line was wrong. */
    public static void main(String[] arguments) {
        int code;
        try {
            DemoOptions options = DemoOptions.parse(Arrays.asList(arguments));
            boolean isTerminal = System.console() != null;
            code = run(options, new Console(System.out, isTerminal)) ? 0 : 1;
        } catch (IllegalArgumentException e) {
            System.err.println(e.getMessage() + System.lineSeparator() + DemoOptions.USAGE);
            code = 2;
        } catch (Exception e) {
            System.err.println("The demo failed: " + e);
            e.printStackTrace();
            code = 1;
        }
        System.exit(code);
    }

    /** Runs all phases; true if every row was identical in each. */
    static boolean run(DemoOptions options, Console console) throws Exception {
        Path work =
                options.keep != null
                        ? Files.createDirectories(options.keep)
                        : Files.createTempDirectory("ferrostate-demo");
        if (options.keep == null) {
            // At the very end, Ctrl-C included.
            Runtime.getRuntime()
                    .addShutdownHook(
                            new Thread(() -> FileUtils.deleteDirectoryQuietly(work.toFile())));
        }
        return new FlightsDemo(options, work, console).phases();
    }

    private boolean phases() throws Exception {
        reference();
        Path killed = killedAndRestored();
        if (!isIdentical(killed)) {
            return false;
        }
        Path resumed = cancelledAndResumed();
        return isIdentical(resumed);
    }

    private void reference() throws Exception {
        headline("1 of 3", "hashmap, without failures");
        try (DemoCluster cluster = DemoCluster.withoutCheckpoints(Backend.HASHMAP, work)) {
            JobGraph job = job(cluster, expected, NO_LIMIT, options.rows, 0);
            submit(cluster, job, "expected", new CheckpointTable(console)).untilFinished();
        }
    }

    private Path killedAndRestored() throws Exception {
        headline("2 of 3", options.backend + ", killed " + options.failures + " x and restored");
        Path results = resultsOf("killed");
        int firstKill = options.rows / (options.failures + 1);
        CheckpointTable table = new CheckpointTable(console);
        try (DemoCluster cluster = cluster(options.backend, options.failures)) {
            JobGraph job = job(cluster, results, options.perSecond, firstKill, options.failures);
            JobRun run = submit(cluster, job, "killed", table);
            run.untilFinished();
            if (run.restores() != options.failures) {
                throw new IllegalStateException(
                        "Restored " + run.restores() + " times, not " + options.failures);
            }
        }
        table.summary();
        return results;
    }

    private Path cancelledAndResumed() throws Exception {
        headline(
                "3 of 3",
                options.backend + ", cancelled and resumed in a new cluster" + elsewhere());
        Path results = resultsOf("resumed");
        CheckpointTable table = new CheckpointTable(console);
        int half = options.rows / 2;
        String retained;
        try (DemoCluster cluster = cluster(options.backend, 0)) {
            JobGraph job = job(cluster, results, options.perSecond, half, 0);
            retained = submit(cluster, job, "to be cancelled", table).cancelAt(half);
        }
        try (DemoCluster cluster = cluster(options.resumeOn(), 0)) {
            JobGraph job = job(cluster, results, options.perSecond, options.rows, 0);
            job.setSavepointRestoreSettings(
                    SavepointRestoreSettings.forPath(retained, false, CLAIM));
            JobRun run = submit(cluster, job, "resumed", table);
            run.untilFinished();
            if (run.restores() != 1) {
                throw new IllegalStateException("The job did not resume from " + retained);
            }
        }
        table.summary();
        return results;
    }

    private DemoCluster cluster(Backend backend, int restarts) throws Exception {
        return DemoCluster.withCheckpoints(backend, work, options.intervalMillis, restarts);
    }

    private String elsewhere() {
        return options.resumeOn == null ? "" : " on " + options.resumeOn;
    }

    private JobGraph job(
            DemoCluster cluster, Path results, int perSecond, int holdAt, int failures) {
        String flights = options.flights.toString();
        return new FlightsJob(
                        new FlightsSource(flights, options.rows, perSecond, holdAt),
                        new InducedFailure(failures, options.rows),
                        results)
                .graph(cluster.configuration());
    }

    private JobRun submit(DemoCluster cluster, JobGraph job, String phase, CheckpointTable table)
            throws Exception {
        return JobRun.submit(
                cluster.miniCluster(), job, phase, options.rows, console, table);
    }

    private Path resultsOf(String phase) throws Exception {
        Path results = work.resolve("results-" + phase);
        FileUtils.deleteDirectory(results.toFile());
        return Files.createDirectories(results);
    }

    private boolean isIdentical(Path results) throws Exception {
        Comparison comparison = Comparison.of(expected, results);
        if (comparison.isIdentical()) {
            console.line(String.format(Locale.ROOT, "identical: %d rows", comparison.rows()));
        } else {
            console.line(comparison.report());
        }
        return comparison.isIdentical();
    }

    private void headline(String number, String text) {
        console.line("");
        console.line("== " + number + ": " + text);
    }
}
