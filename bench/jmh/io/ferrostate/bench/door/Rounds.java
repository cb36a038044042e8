package io.ferrostate.bench.door;

import io.ferrostate.bench.measure.CpuTime;
import io.ferrostate.bench.measure.Spread;

import org.openjdk.jmh.results.IterationResult;
import org.openjdk.jmh.results.Result;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.ChainedOptionsBuilder;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.runner.options.VerboseMode;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;

/**
 * Runs a case once in a JVM of its own and gives its CPU time. Cases that are compared run one after
 * the other and in several rounds, so that a machine that changes its speed changes it for all.
 */
final class Rounds {

    private final int warmups;
    private final int iterations;
    private final int milliseconds;
    private final String[] jvmOptions;

    Rounds(int warmups, int iterations, int milliseconds, List<String> jvmOptions) {
        this.warmups = warmups;
        this.iterations = iterations;
        this.milliseconds = milliseconds;
        this.jvmOptions = jvmOptions.toArray(new String[0]);
    }

    /** CPU nanoseconds of one operation: the median of the iterations. */
    double run(Comparison.Case benchmark) throws RunnerException {
        ChainedOptionsBuilder options =
                new OptionsBuilder()
                        .include('^' + Pattern.quote(benchmark.method) + '$')
                        .forks(1)
                        .warmupIterations(warmups)
                        .warmupTime(TimeValue.milliseconds(milliseconds))
                        .measurementIterations(iterations)
                        .measurementTime(TimeValue.milliseconds(milliseconds))
                        .addProfiler(CpuTime.class)
                        .jvmArgsAppend(jvmOptions)
                        .shouldFailOnError(true)
                        .verbosity(VerboseMode.SILENT);
        benchmark.parameters.forEach(options::param);
        List<Double> times = new ArrayList<>();
        for (RunResult run : new Runner(options.build()).run()) {
            run.getBenchmarkResults()
                    .forEach(fork -> fork.getIterationResults().forEach(i -> times.add(cpu(i))));
        }
        if (times.isEmpty()) {
            throw new RunnerException(benchmark.method + " gave no result");
        }
        return Spread.of(times).median;
    }

    private static double cpu(IterationResult iteration) {
        for (Result<?> result : iteration.getSecondaryResults().values()) {
            if (result.getLabel().endsWith(CpuTime.NAME)) {
                return result.getScore();
            }
        }
        throw new IllegalStateException("no CPU time was measured");
    }
}
