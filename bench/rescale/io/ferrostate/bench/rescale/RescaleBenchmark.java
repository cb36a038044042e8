package io.ferrostate.bench.rescale;

import org.apache.flink.api.common.JobID;
import org.apache.flink.runtime.state.CheckpointStreamFactory;
import org.apache.flink.runtime.state.IncrementalRemoteKeyedStateHandle;
import org.apache.flink.runtime.state.filesystem.FsCheckpointStorageAccess;

import java.nio.file.Path;
import java.util.ArrayList;
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
 * record, and until it has done 20,000 random reads; and what the first checkpoint then uploads. All
 * contenders restore the same files, in one run, in turns.
 *
 * <p>Arguments: {@code --size=<MiB> --reads=<n> --rounds=<n> --scratch=<folder>}.
 */
public final class RescaleBenchmark {

    private static final int[][] RESCALES = {{1, 1}, {1, 2}, {2, 1}, {2, 3}};

    private final long keys;
    private final int reads;
    private final int rounds;
    private final FsCheckpointStorageAccess storage;
    private long checkpointId;

    private RescaleBenchmark(long size, int reads, int rounds, Path scratch) throws Exception {
        this.keys = Subtask.keysOf(size);
        this.reads = reads;
        this.rounds = rounds;
        this.storage =
                new FsCheckpointStorageAccess(
                        new org.apache.flink.core.fs.Path(scratch.toUri()),
                        null,
                        new JobID(),
                        20 << 10,
                        16 << 10);
        storage.initializeBaseLocationsForCheckpoint();
    }

    public static void main(String[] arguments) throws Exception {
        long size = 1024;
        int reads = 20_000;
        int rounds = 3;
        String scratch = System.getProperty("java.io.tmpdir");
        for (String argument : arguments) {
            String value = argument.substring(argument.indexOf('=') + 1);
            if (argument.startsWith("--size=")) {
                size = Long.parseLong(value);
            } else if (argument.startsWith("--reads=")) {
                reads = Integer.parseInt(value);
            } else if (argument.startsWith("--rounds=")) {
                rounds = Integer.parseInt(value);
            } else if (argument.startsWith("--scratch=")) {
                scratch = value;
            } else {
                throw new IllegalArgumentException("Unknown argument " + argument);
            }
        }
        new RescaleBenchmark(size << 20, reads, rounds, Path.of(scratch)).run();
    }

    private void run() throws Exception {
        for (int[] rescale : RESCALES) {
            List<IncrementalRemoteKeyedStateHandle> checkpoint = written(rescale[0]);
            Map<Contender, Measurement> measured = new EnumMap<>(Contender.class);
            for (int round = 0; round < rounds; round++) {
                for (Contender contender : Contender.values()) {
                    measure(
                            contender,
                            rescale[1],
                            checkpoint,
                            measured.computeIfAbsent(contender, absent -> new Measurement()));
                }
            }
            print(rescale, checkpoint, measured);
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
                "  %-36s %-34s | %-34s | %s%n",
                "", "first record", reads + " random reads", "MB in the first checkpoint");
        measured.forEach(
                (contender, one) ->
                        System.out.println(
                                one.row(contender.title, measured.get(Contender.FERROSTATE))));
    }

    /** A checkpoint of a job of that parallelism, written by Flink's backend with its defaults. */
    private List<IncrementalRemoteKeyedStateHandle> written(int parallelism) throws Exception {
        CheckpointStreamFactory location = nextLocation();
        return inParallel(
                parallelism,
                index -> {
                    try (Subtask subtask =
                            new Subtask(Contender.ROCKSDB, index, parallelism, List.of())) {
                        subtask.write(keys);
                        return subtask.checkpoint(checkpointId, location);
                    }
                });
    }

    private CheckpointStreamFactory nextLocation() throws Exception {
        return (CheckpointStreamFactory)
                storage.initializeLocationForCheckpoint(++checkpointId);
    }

    private void measure(
            Contender contender,
            int parallelism,
            List<IncrementalRemoteKeyedStateHandle> checkpoint,
            Measurement measurement)
            throws Exception {
        CheckpointStreamFactory location = nextLocation();
        long started = System.nanoTime();
        List<double[]> subtasks =
                inParallel(
                        parallelism,
                        index -> {
                            try (Subtask subtask =
                                    new Subtask(contender, index, parallelism, checkpoint)) {
                                subtask.read(keys, 1, 7);
                                double first = secondsSince(started);
                                subtask.read(keys, reads, 11);
                                double reads = secondsSince(started);
                                IncrementalRemoteKeyedStateHandle next =
                                        subtask.checkpoint(checkpointId, location);
                                double megabytes = next.getCheckpointedSize() / 1e6;
                                next.discardState();
                                return new double[] {first, reads, megabytes};
                            }
                        });
        measurement.add(
                subtasks.stream().mapToDouble(one -> one[0]).max().orElseThrow(),
                subtasks.stream().mapToDouble(one -> one[1]).max().orElseThrow(),
                subtasks.stream().mapToDouble(one -> one[2]).sum());
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
