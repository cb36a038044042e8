package io.ferrostate.bench.measure;

import org.openjdk.jmh.infra.BenchmarkParams;
import org.openjdk.jmh.infra.IterationParams;
import org.openjdk.jmh.profile.InternalProfiler;
import org.openjdk.jmh.results.AggregationPolicy;
import org.openjdk.jmh.results.IterationResult;
import org.openjdk.jmh.results.Result;
import org.openjdk.jmh.results.ScalarResult;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.Collection;
import java.util.List;

/**
 * CPU nanoseconds of JMH's worker threads, and of the whole process, for each operation: what JMH's
 * own times do not say on a machine that does other things as well.
 */
public final class CpuTime implements InternalProfiler {

    public static final String NAME = "cpu";
    public static final String PROCESS = "process";

    private final ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    private final com.sun.management.OperatingSystemMXBean system =
            (com.sun.management.OperatingSystemMXBean)
                    ManagementFactory.getOperatingSystemMXBean();
    private long workersBefore;
    private long processBefore;

    @Override
    public String getDescription() {
        return "CPU time of the workers and of the process per operation";
    }

    @Override
    public void beforeIteration(BenchmarkParams benchmark, IterationParams iteration) {
        workersBefore = workers();
        processBefore = system.getProcessCpuTime();
    }

    @Override
    public Collection<? extends Result<?>> afterIteration(
            BenchmarkParams benchmark, IterationParams iteration, IterationResult result) {
        long operations = result.getMetadata().getAllOps();
        return List.of(
                perOperation(NAME, workers() - workersBefore, operations),
                perOperation(PROCESS, system.getProcessCpuTime() - processBefore, operations));
    }

    private static ScalarResult perOperation(String name, long nanos, long operations) {
        return new ScalarResult(name, (double) nanos / operations, "ns/op", AggregationPolicy.AVG);
    }

    /** CPU time of all workers so far. */
    private long workers() {
        long sum = 0;
        for (long id : threads.getAllThreadIds()) {
            var thread = threads.getThreadInfo(id);
            if (thread != null && thread.getThreadName().contains("jmh-worker")) {
                sum += Math.max(0, threads.getThreadCpuTime(id));
            }
        }
        return sum;
    }
}
