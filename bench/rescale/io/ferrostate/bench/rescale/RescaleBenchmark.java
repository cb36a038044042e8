package io.ferrostate.bench.rescale;

import io.ferrostate.bench.task.Storage;
import io.ferrostate.bench.task.TaskBackend;

import org.apache.flink.runtime.state.CheckpointStreamFactory;
import org.apache.flink.runtime.state.IncrementalRemoteKeyedStateHandle;
import org.apache.flink.runtime.state.KeyedStateHandle;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
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
 * <p>Arguments, see {@link Arguments}: {@code --size=<MiB> --value=<bytes> --memory=<MiB> --reads=<n> --rounds=<n>
 * --only=<from>:<to> --contenders=A,B --own --settled --cold --scratch=<folder>}.
 */
public final class RescaleBenchmark {

    /** A compaction that waits for the disk looks quiet for a while. */
    private static final int QUIET_PAUSES = 8;

    private static final int[][] RESCALES = {{1, 1}, {1, 2}, {2, 1}, {2, 3}};

    private final Arguments arguments;
    private final Storage storage;
    private final ThreadMXBean threads = ManagementFactory.getThreadMXBean();

    private RescaleBenchmark(Arguments arguments) throws Exception {
        this.arguments = arguments;
        this.storage = new Storage(arguments.scratch);
    }

    public static void main(String[] arguments) throws Exception {
        new RescaleBenchmark(Arguments.parse(arguments)).run();
    }

    private void run() throws Exception {
        List<Contender> contenders = arguments.contenders;
        for (int[] rescale : RESCALES) {
            if (!arguments.only.isEmpty() && !arguments.only.equals(rescale[0] + ":" + rescale[1])) {
                continue;
            }
            Map<Contender, List<IncrementalRemoteKeyedStateHandle>> written =
                    new EnumMap<>(Contender.class);
            for (Contender contender : contenders) {
                Contender writer = arguments.own ? contender.writer() : Contender.ROCKSDB;
                if (!written.containsKey(writer)) {
                    written.put(writer, written(writer, rescale[0]));
                }
                written.put(contender, written.get(writer));
            }
            Map<Contender, List<LocalCopy>> copies = arguments.cold ? copies(written) : Map.of();
            Map<Contender, Measurement> measured = new EnumMap<>(Contender.class);
            for (int round = 0; round < arguments.rounds; round++) {
                for (Contender contender : contenders) {
                    measure(
                            contender,
                            rescale[1],
                            arguments.cold
                                    ? forgotten(copies.get(contender))
                                    : written.get(contender),
                            measured.computeIfAbsent(contender, absent -> new Measurement()));
                }
            }
            print(rescale, written, measured);
        }
    }

    private void print(
            int[] rescale,
            Map<Contender, List<IncrementalRemoteKeyedStateHandle>> written,
            Map<Contender, Measurement> measured) {
        System.out.printf(
                "%d to %d, %d rows; median [least .. most] seconds, ratio%n",
                rescale[0], rescale[1], arguments.keys());
        written.forEach(
                (contender, parts) ->
                        System.out.printf(
                                "  %s restores %d MB in %d files%n",
                                contender.title,
                                parts.stream().mapToLong(part -> part.getStateSize()).sum() / 1_000_000,
                                parts.stream().mapToInt(part -> part.getSharedState().size()).sum()));
        System.out.printf(
                "  %-36s %-34s | %-34s | %-34s | %-8s | %s%n",
                "",
                "first record",
                arguments.reads + " random reads",
                "CPU of the thread meanwhile",
                "process",
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
                            new Subtask(arguments, writer, index, parallelism, List.of())) {
                        subtask.write();
                        for (int quiet = 0; arguments.settled && quiet < QUIET_PAUSES; quiet++) {
                            TaskBackend.settle();
                        }
                        return subtask.checkpoint(storage.id(), location);
                    }
                });
    }

    private Map<Contender, List<LocalCopy>> copies(
            Map<Contender, List<IncrementalRemoteKeyedStateHandle>> written) throws Exception {
        Map<Contender, List<LocalCopy>> copies = new EnumMap<>(Contender.class);
        for (Contender contender : written.keySet()) {
            List<LocalCopy> own = new ArrayList<>();
            for (IncrementalRemoteKeyedStateHandle part : written.get(contender)) {
                Path directory =
                        arguments.scratch.resolveSibling("local").resolve(contender.name());
                own.add(new LocalCopy(part, directory.resolve(UUID.randomUUID().toString())));
            }
            copies.put(contender, own);
        }
        return copies;
    }

    private static List<KeyedStateHandle> forgotten(List<LocalCopy> copies) throws Exception {
        List<KeyedStateHandle> handles = new ArrayList<>();
        for (LocalCopy copy : copies) {
            copy.forget();
            handles.add(copy.handle);
        }
        return handles;
    }

    private void measure(
            Contender contender,
            int parallelism,
            List<? extends KeyedStateHandle> checkpoint,
            Measurement measurement)
            throws Exception {
        CheckpointStreamFactory location = storage.next();
        long started = System.nanoTime();
        List<double[]> subtasks =
                inParallel(
                        parallelism,
                        index -> {
                            try (Subtask subtask =
                                    new Subtask(
                                            arguments, contender, index, parallelism, checkpoint)) {
                                return measured(subtask, started, location);
                            }
                        });
        double[] round = new double[5];
        for (int i = 0; i < 4; i++) {
            int column = i;
            round[i] = subtasks.stream().mapToDouble(one -> one[column]).max().orElseThrow();
        }
        round[4] = subtasks.stream().mapToDouble(one -> one[4]).sum();
        measurement.add(round);
    }

    /** What {@link Measurement#add} takes. */
    private double[] measured(Subtask subtask, long started, CheckpointStreamFactory location)
            throws Exception {
        subtask.read(1, 7);
        double first = secondsSince(started);
        long begun = System.nanoTime();
        long cpu = threads.getCurrentThreadCpuTime();
        long processCpu = TaskBackend.processCpu();
        subtask.read(arguments.reads, 11);
        double cpuOfReads = (threads.getCurrentThreadCpuTime() - cpu) / 1e9;
        double cpuOfProcess = (TaskBackend.processCpu() - processCpu) / 1e9;
        double reads = secondsSince(begun);
        IncrementalRemoteKeyedStateHandle next = subtask.checkpoint(storage.id(), location);
        double megabytes = next.getCheckpointedSize() / 1e6;
        next.discardState();
        return new double[] {first, reads, cpuOfReads, cpuOfProcess, megabytes};
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
