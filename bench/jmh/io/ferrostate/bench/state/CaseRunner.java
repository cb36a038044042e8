package io.ferrostate.bench.state;

import io.ferrostate.bench.measure.Child;
import io.ferrostate.bench.measure.CpuTime;
import io.ferrostate.bench.measure.Spread;

import org.openjdk.jmh.results.Result;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.runner.options.VerboseMode;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * The JVM of one contender: measures the cases of one class with JMH, on a state that is filled once,
 * and prints {@code RESULT <case> <CPU ns of the thread> <CPU ns of the process>}.
 *
 * <p>JMH's own forks would fill the state anew for every case.
 */
public final class CaseRunner {

    private CaseRunner() {}

    /** Arguments: class, regex of cases, contender, space, full, warmups, iterations, milliseconds. */
    public static void main(String[] arguments) throws Exception {
        System.setProperty("jmh.ignoreLock", "true");
        TimeValue time = TimeValue.milliseconds(Integer.parseInt(arguments[7]));
        OptionsBuilder options = new OptionsBuilder();
        options.include('^' + arguments[0].replace(".", "\\.") + "\\.(" + arguments[1] + ")$")
                .param("contender", arguments[2])
                .param("space", arguments[3])
                .param("full", arguments[4])
                .forks(0)
                .warmupIterations(Integer.parseInt(arguments[5]))
                .warmupTime(time)
                .measurementIterations(Integer.parseInt(arguments[6]))
                .measurementTime(time)
                .addProfiler(CpuTime.class)
                .shouldFailOnError(true)
                .verbosity(VerboseMode.SILENT);
        for (RunResult run : new Runner(options.build()).run()) {
            String name = run.getParams().getBenchmark();
            System.out.printf(
                    Locale.ROOT,
                    "%s %s %.1f %.1f%n",
                    Child.RESULT,
                    name.substring(name.lastIndexOf('.') + 1),
                    median(run, CpuTime.NAME),
                    median(run, CpuTime.PROCESS));
        }
        Cases.close();
        // Some contenders leave threads behind.
        System.exit(0);
    }

    private static double median(RunResult run, String label) {
        List<Double> values = new ArrayList<>();
        run.getBenchmarkResults()
                .forEach(
                        fork ->
                                fork.getIterationResults()
                                        .forEach(
                                                iteration -> {
                                                    for (Result<?> result :
                                                            iteration.getSecondaryResults().values()) {
                                                        if (result.getLabel().endsWith(label)) {
                                                            values.add(result.getScore());
                                                        }
                                                    }
                                                }));
        return Spread.of(values).median;
    }
}
