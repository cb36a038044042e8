package io.ferrostate.bench.rescale;

import io.ferrostate.bench.task.Storage;

import org.apache.flink.runtime.state.CheckpointStreamFactory;
import org.apache.flink.runtime.state.IncrementalRemoteKeyedStateHandle;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Collectors;

/**
 * How long a restore at the same and at another parallelism takes: until the slowest subtask has processed its first
 * record, how long 20,000 random reads take then; and what the first checkpoint then uploads. All
 * contenders restore the same files, in one run, in turns.
 *
 * <p>Arguments: {@code --size=<MiB> --reads=<n> --rounds=<n> --only=<from>:<to> --contenders=A,B --cold --own
 * --scratch=<folder>}. Cold: the kernel forgets all files before the reads begin (as root). Own: each restores what it wrote
 * itself, not what Flink's backend wrote.
 */
public final class RescaleBenchmark {

    private static final int[][] RESCALES = {{1, 1}, {1, 2}, {2, 1}, {2, 3}};

    private final long keys;
    private final int reads;
    private final int rounds;
    private final boolean cold;
    private final boolean own;
    private final Storage storage;
    private final ThreadMXBean threads = ManagementFactory.getThreadMXBean();

    private RescaleBenchmark(long size, int reads, int rounds, boolean cold, boolean own, Path scratch)
            throws Exception {
        this.keys = Subtask.keysOf(size);
        this.reads = reads;
        this.rounds = rounds;
        this.cold = cold;
        this.own = own;
        this.storage = new Storage(scratch);
    }

    public static void main(String[] arguments) throws Exception {
        long size = 1024;
        int reads = 20_000;
        int rounds = 3;
        boolean cold = false;
        boolean own = false;
        String only = "";
        List<Contender> contenders = List.of(Contender.values());
        String scratch = System.getProperty("java.io.tmpdir");
        for (String argument : arguments) {
            String value = argument.substring(argument.indexOf('=') + 1);
            if (argument.startsWith("--size=")) {
                size = Long.parseLong(value);
            } else if (argument.startsWith("--reads=")) {
                reads = Integer.parseInt(value);
            } else if (argument.startsWith("--rounds=")) {
                rounds = Integer.parseInt(value);
            } else if (argument.equals("--cold")) {
                cold = true;
            } else if (argument.equals("--own")) {
                own = true;
            } else if (argument.startsWith("--only=")) {
                only = value;
            } else if (argument.startsWith("--contenders=")) {
                contenders =
                        Arrays.stream(value.split(","))
                                .map(Contender::valueOf)
                                .collect(Collectors.toList());
            } else if (argument.startsWith("--scratch=")) {
                scratch = value;
            } else {
                throw new IllegalArgumentException("Unknown argument " + argument);
            }
        }
        new RescaleBenchmark(size << 20, reads, rounds, cold, own, Path.of(scratch)).run(only, contenders);
    }

    private void run(String only, List<Contender> contenders) throws Exception {
        for (int[] rescale : RESCALES) {
            if (!only.isEmpty() && !only.equals(rescale[0] + ":" + rescale[1])) {
                continue;
            }
            Map<Contender, List<IncrementalRemoteKeyedStateHandle>> written =
                    new EnumMap<>(Contender.class);
            for (Contender contender : contenders) {
                Contender writer = own ? contender : Contender.ROCKSDB;
                if (!written.containsKey(writer)) {
                    written.put(writer, written(writer, rescale[0]));
                }
                written.put(contender, written.get(writer));
            }
            Map<Contender, Measurement> measured = new EnumMap<>(Contender.class);
            for (int round = 0; round < rounds; round++) {
                for (Contender contender : contenders) {
                    measure(
                            contender,
                            rescale[1],
                            written.get(contender),
                            measured.computeIfAbsent(contender, absent -> new Measurement()));
                }
            }
            print(rescale, written.get(contenders.get(0)), measured);
        }
    }

    private void print(
            int[] rescale,
            List<IncrementalRemoteKeyedStateHandle> checkpoint,
            Map<Contender, Measurement> measured) {
        System.out.printf(
                "%d to %d, %d rows, %d MB in %d files; median [least .. most] seconds, ratio%n",
                rescale[0],
                rescale[1],
                keys,
                checkpoint.stream().mapToLong(handle -> handle.getStateSize()).sum() / 1_000_000,
                checkpoint.stream().mapToInt(handle -> handle.getSharedState().size()).sum());
        System.out.printf(
                "  %-36s %-34s | %-34s | %-34s | %s%n",
                "",
                "first record",
                reads + " random reads",
                "CPU of the thread meanwhile",
                "MB in the first checkpoint");
        measured.forEach(
                (contender, one) ->
                        System.out.println(
                                one.row(contender.title, measured.get(Contender.FERROSTATE))));
    }

    /** A checkpoint of a job of that parallelism. */
    private List<IncrementalRemoteKeyedStateHandle> written(Contender writer, int parallelism)
            throws Exception {
        CheckpointStreamFactory location = storage.next();
        return inParallel(
                parallelism,
                index -> {
                    try (Subtask subtask =
                            new Subtask(writer, index, parallelism, List.of())) {
                        subtask.write(keys);
                        return subtask.checkpoint(storage.id(), location);
                    }
                });
    }

    private void measure(
            Contender contender,
            int parallelism,
            List<IncrementalRemoteKeyedStateHandle> checkpoint,
            Measurement measurement)
            throws Exception {
        CheckpointStreamFactory location = storage.next();
        long started = System.nanoTime();
        List<double[]> subtasks =
                inParallel(
                        parallelism,
                        index -> {
                            try (Subtask subtask =
                                    new Subtask(contender, index, parallelism, checkpoint)) {
                                subtask.read(keys, 1, 7);
                                double first = secondsSince(started);
                                forgetFiles();
                                long begun = System.nanoTime();
                                long cpu = threads.getCurrentThreadCpuTime();
                                subtask.read(keys, reads, 11);
                                double cpuOfReads =
                                        (threads.getCurrentThreadCpuTime() - cpu) / 1e9;
                                double reads = secondsSince(begun);
                                IncrementalRemoteKeyedStateHandle next =
                                        subtask.checkpoint(storage.id(), location);
                                double megabytes = next.getCheckpointedSize() / 1e6;
                                next.discardState();
                                return new double[] {first, reads, megabytes, cpuOfReads};
                            }
                        });
        measurement.add(
                subtasks.stream().mapToDouble(one -> one[0]).max().orElseThrow(),
                subtasks.stream().mapToDouble(one -> one[1]).max().orElseThrow(),
                subtasks.stream().mapToDouble(one -> one[3]).max().orElseThrow(),
                subtasks.stream().mapToDouble(one -> one[2]).sum());
    }

    private void forgetFiles() throws Exception {
        if (cold) {
            Process process =
                    new ProcessBuilder("sh", "-c", "sync; echo 3 > /proc/sys/vm/drop_caches").start();
            if (process.waitFor() != 0) {
                throw new IllegalStateException("--cold is for root.");
            }
        }
    }

    private static double secondsSince(long nanos) {
        return (System.nanoTime() - nanos) / 1e9;
    }

    /** What a subtask does. */
    private interface Body<T> {
        T run(int index) throws Exception;
    }

    private static <T> List<T> inParallel(int parallelism, Body<T> body) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(parallelism);
        try {
            List<Callable<T>> calls = new ArrayList<>();
            for (int i = 0; i < parallelism; i++) {
                int index = i;
                calls.add(() -> body.run(index));
            }
            List<T> results = new ArrayList<>();
            for (Future<T> result :
                    threads.invokeAll(calls).stream().collect(Collectors.toList())) {
                results.add(result.get());
            }
            return results;
        } finally {
            threads.shutdownNow();
        }
    }
}
