package io.ferrostate.bench.door;

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
import java.util.Collections;

/**
 * CPU nanoseconds of JMH's worker threads for each operation: what JMH's own times do not say on a
 * machine that does other things as well.
 */
public final class CpuTime implements InternalProfiler {

    static final String NAME = "cpu";

    private final ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    private long before;

    @Override
    public String getDescription() {
        return "CPU time of the workers per operation";
    }

    @Override
    public void beforeIteration(BenchmarkParams benchmark, IterationParams iteration) {
        before = workers();
    }

    @Override
    public Collection<? extends Result<?>> afterIteration(
            BenchmarkParams benchmark, IterationParams iteration, IterationResult result) {
        double perOperation = (double) (workers() - before) / result.getMetadata().getAllOps();
        return Collections.singleton(
                new ScalarResult(NAME, perOperation, "ns/op", AggregationPolicy.AVG));
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
