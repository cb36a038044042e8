package io.ferrostate.bench.jobs;

import io.ferrostate.bench.measure.Child;
import io.ferrostate.bench.state.Contender;

import org.apache.flink.configuration.CheckpointingOptions;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.MemorySize;
import org.apache.flink.configuration.RestOptions;
import org.apache.flink.configuration.TaskManagerOptions;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;

/**
 * The JVM of one contender: runs one job in a mini cluster, a short one first to warm up, and prints
 * {@code RESULT <seconds> <CPU seconds of the process>} of the long one. Checkpoints are taken meanwhile.
 */
public final class JobRunner {

    private static final long WARM_UP = 10;

    private JobRunner() {}

    /** Arguments: job, contender, events, scratch. */
    public static void main(String[] arguments) throws Exception {
        Job job = Job.valueOf(arguments[0]);
        Contender contender = Contender.valueOf(arguments[1]);
        long events = Long.parseLong(arguments[2]);
        Path scratch = Path.of(arguments[3]);
        job.run(environment(contender, scratch.resolve("warm-up")), events / WARM_UP);
        long started = System.nanoTime();
        long cpu = cpu();
        job.run(environment(contender, scratch.resolve("checkpoints")), events);
        System.out.printf(
                Locale.ROOT,
                "%s %.3f %.3f%n",
                Child.RESULT,
                (System.nanoTime() - started) / 1e9,
                (cpu() - cpu) / 1e9);
        System.exit(0);
    }

    private static StreamExecutionEnvironment environment(Contender contender, Path checkpoints) {
        Configuration options = contender.options();
        options.set(CheckpointingOptions.CHECKPOINT_STORAGE, "filesystem");
        options.set(CheckpointingOptions.CHECKPOINTS_DIRECTORY, checkpoints.toUri().toString());
        options.set(CheckpointingOptions.CHECKPOINTING_INTERVAL, Duration.ofSeconds(2));
        options.set(TaskManagerOptions.MANAGED_MEMORY_SIZE, MemorySize.ofMebiBytes(256));
        options.set(RestOptions.BIND_PORT, "0");
        StreamExecutionEnvironment env =
                StreamExecutionEnvironment.getExecutionEnvironment(options);
        env.setParallelism(1);
        return env;
    }

    private static long cpu() {
        return ((com.sun.management.OperatingSystemMXBean)
                        ManagementFactory.getOperatingSystemMXBean())
                .getProcessCpuTime();
    }
}
