package io.ferrostate.model;

import io.ferrostate.backend.KeyedBackends;
import io.ferrostate.backend.Snapshots;

import org.apache.flink.runtime.checkpoint.CheckpointType;
import org.apache.flink.runtime.state.AbstractKeyedStateBackend;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.ttl.MockTtlTimeProvider;
import org.apache.flink.util.IOUtils;

import java.nio.file.Path;
import java.util.Random;

/** One backend of the comparison, through all its restarts. */
final class Side implements AutoCloseable {

    private final Engine engine;
    private final Layout layout;
    private final MockTtlTimeProvider time;
    private final long seed;
    private final boolean cleanSnapshots;
    private final Path directory;
    private final KeyedBackends backends = new KeyedBackends();
    private final Snapshots snapshots;

    private AbstractKeyedStateBackend<Object> backend;
    private States states;
    private Timers timers;

    Side(
            Engine engine,
            Layout layout,
            MockTtlTimeProvider time,
            long seed,
            boolean cleanSnapshots,
            Path directory)
            throws Exception {
        this.engine = engine;
        this.layout = layout;
        this.time = time;
        this.seed = seed;
        this.cleanSnapshots = cleanSnapshots;
        this.directory = directory;
        this.snapshots = new Snapshots(directory.resolve("checkpoints of " + engine));
        restart();
    }

    private AbstractKeyedStateBackend<Object> open(
            KeyGroupRange range, KeyedStateHandle... handles) throws Exception {
        return backends.create(
                engine.create(directory, new Random(seed)),
                layout.keySerializer,
                layout.keyGroups,
                range,
                time,
                handles);
    }

    /** Goes on with what the handles hold, and with nothing else. */
    void restart(KeyedStateHandle... handles) throws Exception {
        if (backend != null) {
            backend.dispose();
        }
        backend = open(KeyGroupRange.of(0, layout.keyGroups - 1), handles);
        states = new States(layout, backend, seed, cleanSnapshots);
        timers = new Timers(layout, backend);
    }

    Object operate(Random random) {
        try {
            return random.nextInt(8) == 0 ? timers.operate(random) : states.operate(random);
        } catch (Exception failure) {
            throw new IllegalStateException(engine + " failed", failure);
        }
    }

    KeyedStateHandle checkpoint() throws Exception {
        return snapshots.checkpoint(backend);
    }

    KeyedStateHandle savepoint() throws Exception {
        return snapshots.savepoint(backend);
    }

    /** The same state after its key groups went through two backends. */
    KeyedStateHandle[] throughHalves(KeyedStateHandle handle) throws Exception {
        int middle = layout.keyGroups / 2;
        return new KeyedStateHandle[] {
            through(KeyGroupRange.of(middle, layout.keyGroups - 1), handle),
            through(KeyGroupRange.of(0, middle - 1), handle)
        };
    }

    private KeyedStateHandle through(KeyGroupRange range, KeyedStateHandle handle)
            throws Exception {
        AbstractKeyedStateBackend<Object> part = open(range, handle.getIntersection(range));
        try {
            return snapshots.checkpoint(part);
        } finally {
            part.dispose();
        }
    }

    boolean keepsTimersApart() {
        return backend.requiresLegacySynchronousTimerSnapshots(CheckpointType.CHECKPOINT);
    }

    States states() {
        return states;
    }

    Timers timers() {
        return timers;
    }

    @Override
    public void close() {
        backend.dispose();
        IOUtils.closeAllQuietly(snapshots, backends);
    }
}
