package io.ferrostate.model;

import io.ferrostate.backend.KeyedBackends;
import io.ferrostate.backend.Snapshots;

import org.apache.flink.runtime.checkpoint.CheckpointOptions;
import org.apache.flink.runtime.state.AbstractKeyedStateBackend;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.KeyGroupRangeAssignment;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.ttl.MockTtlTimeProvider;
import org.apache.flink.util.IOUtils;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/**
 * An operator of one engine at one parallelism after the other. A subtask that is not operated on asks
 * for no state, so that its snapshots have what was restored and nothing new.
 */
final class Subtasks implements AutoCloseable {

    private final Engine engine;
    private final Layout layout;
    private final MockTtlTimeProvider time;
    private final long seed;
    private final Path directory;
    private final KeyedBackends backends = new KeyedBackends();
    private final Snapshots snapshots;

    private final List<AbstractKeyedStateBackend<Object>> subtasks = new ArrayList<>();
    private final List<States> states = new ArrayList<>();
    private final List<Timers> timers = new ArrayList<>();

    Subtasks(Engine engine, Layout layout, MockTtlTimeProvider time, long seed, Path directory)
            throws Exception {
        this.engine = engine;
        this.layout = layout;
        this.time = time;
        this.seed = seed;
        this.directory = directory;
        this.snapshots = new Snapshots(directory.resolve("checkpoints of " + engine));
    }

    void restart(int parallelism, List<KeyedStateHandle> handles) throws Exception {
        dispose();
        for (int i = 0; i < parallelism; i++) {
            KeyGroupRange range =
                    KeyGroupRangeAssignment.computeKeyGroupRangeForOperatorIndex(
                            layout.keyGroups, parallelism, i);
            subtasks.add(
                    backends.create(
                            engine.create(directory, new Random(seed)),
                            layout.keySerializer,
                            layout.keyGroups,
                            range,
                            time,
                            of(range, handles)));
            states.add(null);
            timers.add(null);
        }
    }

    private static KeyedStateHandle[] of(KeyGroupRange range, List<KeyedStateHandle> handles) {
        return handles.stream()
                .map(handle -> handle.getIntersection(range))
                .filter(handle -> handle != null)
                .toArray(KeyedStateHandle[]::new);
    }

    boolean hasKeys(int subtask) {
        return !layout.keys(subtasks.get(subtask).getKeyGroupRange()).isEmpty();
    }

    Object operate(int subtask, Random random) throws Exception {
        ask(subtask);
        return random.nextInt(8) == 0
                ? timers.get(subtask).operate(random)
                : states.get(subtask).operate(random);
    }

    String content(int subtask) throws Exception {
        ask(subtask);
        return states.get(subtask).content() + "\n" + timers.get(subtask).content();
    }

    private void ask(int subtask) throws Exception {
        if (states.get(subtask) == null) {
            states.set(subtask, new States(layout, subtasks.get(subtask), seed, false));
            timers.set(subtask, new Timers(layout, subtasks.get(subtask)));
        }
    }

    void compact(int subtask) throws Exception {
        KeyedBackends.compact(subtasks.get(subtask));
    }

    List<KeyedStateHandle> checkpoint(CheckpointOptions options) throws Exception {
        return snapshots.checkpointAll(subtasks, options);
    }

    List<KeyedStateHandle> savepoint() throws Exception {
        List<KeyedStateHandle> handles = new ArrayList<>();
        for (AbstractKeyedStateBackend<Object> subtask : subtasks) {
            KeyedStateHandle handle = snapshots.savepoint(subtask);
            if (handle != null) {
                handles.add(handle);
            }
        }
        return handles;
    }

    private void dispose() {
        subtasks.forEach(AbstractKeyedStateBackend::dispose);
        subtasks.clear();
        states.clear();
        timers.clear();
    }

    @Override
    public void close() {
        dispose();
        IOUtils.closeAllQuietly(snapshots, backends);
    }
}
