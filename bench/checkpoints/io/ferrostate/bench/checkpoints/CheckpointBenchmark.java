package io.ferrostate.bench.checkpoints;

import io.ferrostate.bench.measure.Spread;
import io.ferrostate.bench.state.Contender;
import io.ferrostate.bench.state.Space;
import io.ferrostate.bench.task.Storage;
import io.ferrostate.bench.task.TaskBackend;

import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeutils.base.IntSerializer;
import org.apache.flink.api.common.typeutils.base.array.BytePrimitiveArraySerializer;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.checkpoint.CheckpointOptions;
import org.apache.flink.runtime.state.CheckpointStreamFactory;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.SnapshotResult;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.RunnableFuture;

/**
 * What an incremental checkpoint costs after so many updates of a state of a million keys: how long
 * the task stands still (synchronous part), how long the rest takes, and what is uploaded.
 *
 * <p>Arguments: {@code --checkpoints=<n> --scratch=<folder>}.
 */
public final class CheckpointBenchmark {

    private static final long MANAGED_MEMORY = 128L << 20;
    private static final int VALUE_BYTES = 100;
    private static final int[] UPDATES = {1_000, 100_000, 1_000_000};
    private static final Space[] SPACES = {Space.LARGE, Space.ZIPF};

    private final Storage storage;
    private final int checkpoints;

    private CheckpointBenchmark(int checkpoints, Path scratch) throws Exception {
        this.checkpoints = checkpoints;
        this.storage = new Storage(scratch);
    }

    public static void main(String[] arguments) throws Exception {
        int checkpoints = 7;
        String scratch = System.getProperty("java.io.tmpdir");
        for (String argument : arguments) {
            String value = argument.substring(argument.indexOf('=') + 1);
            if (argument.startsWith("--checkpoints=")) {
                checkpoints = Integer.parseInt(value);
            } else if (argument.startsWith("--scratch=")) {
                scratch = value;
            } else {
                throw new IllegalArgumentException("Unknown argument " + argument);
            }
        }
        new CheckpointBenchmark(checkpoints, Path.of(scratch)).run();
    }

    private static Map<String, Configuration> contenders() {
        Map<String, Configuration> contenders = new LinkedHashMap<>();
        contenders.put("Ferrostate", Contender.FERROSTATE.options());
        Configuration without = Contender.FERROSTATE.options();
        without.setString("state.backend.ferrostate.buffer.enabled", "false");
        contenders.put("Ferrostate without the write buffer", without);
        contenders.put("RocksDB, its defaults", Contender.ROCKSDB.options());
        return contenders;
    }

    private void run() throws Exception {
        for (Space space : SPACES) {
            Map<String, Map<Integer, Cost>> costs = new LinkedHashMap<>();
            for (Map.Entry<String, Configuration> contender : contenders().entrySet()) {
                costs.put(contender.getKey(), costs(contender.getValue(), space));
            }
            for (int updates : UPDATES) {
                print(space, updates, costs);
            }
        }
    }

    private static void print(Space space, int updates, Map<String, Map<Integer, Cost>> costs) {
        System.out.printf(
                Locale.ROOT,
                "%,d updates (%s) between checkpoints; median [least .. most]%n",
                updates,
                space == Space.ZIPF ? "Zipf 1.0" : "uniform");
        System.out.printf(
                "  %-36s %-30s %-30s %s%n", "", "synchronous ms", "the rest ms", "MB uploaded");
        costs.forEach((title, all) -> System.out.println(all.get(updates).row(title)));
    }

    private Map<Integer, Cost> costs(Configuration options, Space space) throws Exception {
        Map<Integer, Cost> costs = new LinkedHashMap<>();
        int[] order = space.order(false);
        try (TaskBackend<Integer> backend =
                new TaskBackend<>(options, MANAGED_MEMORY, IntSerializer.INSTANCE)) {
            ValueState<byte[]> state =
                    backend.state(
                            new ValueStateDescriptor<>(
                                    "values", BytePrimitiveArraySerializer.INSTANCE));
            Random random = new Random(1);
            for (int key = 0; key < space.keys(false); key++) {
                update(backend, state, key, random);
            }
            checkpoint(backend, new Cost());
            int next = 0;
            for (int updates : UPDATES) {
                Cost cost = costs.computeIfAbsent(updates, absent -> new Cost());
                for (int i = 0; i < checkpoints; i++) {
                    for (int done = 0; done < updates; done++) {
                        next = (next + 1) % order.length;
                        update(backend, state, order[next], random);
                    }
                    checkpoint(backend, cost);
                }
            }
        }
        return costs;
    }

    private static void update(
            TaskBackend<Integer> backend, ValueState<byte[]> state, int key, Random random)
            throws Exception {
        byte[] value = new byte[VALUE_BYTES];
        byte[] half = new byte[VALUE_BYTES / 2];
        random.nextBytes(half);
        System.arraycopy(half, 0, value, 0, half.length);
        backend.keyed.setCurrentKey(key);
        state.update(value);
    }

    private void checkpoint(TaskBackend<Integer> backend, Cost cost) throws Exception {
        CheckpointStreamFactory location = storage.next();
        long started = System.nanoTime();
        RunnableFuture<SnapshotResult<KeyedStateHandle>> running =
                backend.keyed.snapshot(
                        storage.id(),
                        0L,
                        location,
                        CheckpointOptions.forCheckpointWithDefaultLocation());
        long goesOn = System.nanoTime();
        running.run();
        KeyedStateHandle handle = running.get().getJobManagerOwnedSnapshot();
        cost.add(goesOn - started, System.nanoTime() - goesOn, handle.getCheckpointedSize());
        backend.keyed.notifyCheckpointComplete(storage.id());
    }

    /** The checkpoints of one contender after so many updates. */
    private static final class Cost {
        private final List<Double> synchronous = new ArrayList<>();
        private final List<Double> rest = new ArrayList<>();
        private final List<Double> uploaded = new ArrayList<>();

        void add(long synchronousNanos, long restNanos, long uploadedBytes) {
            synchronous.add(synchronousNanos / 1e6);
            rest.add(restNanos / 1e6);
            uploaded.add(uploadedBytes / 1e6);
        }

        String row(String title) {
            return String.format(
                    "  %-36s %-30s %-30s %s",
                    title, column(synchronous), column(rest), column(uploaded));
        }

        private static String column(List<Double> values) {
            Spread spread = Spread.of(values);
            return String.format(
                    Locale.ROOT, "%.1f [%.1f .. %.1f]", spread.median, spread.least, spread.most);
        }
    }
}
