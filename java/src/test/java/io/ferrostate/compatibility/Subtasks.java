package io.ferrostate.compatibility;

import io.ferrostate.compatibility.Backends.Kind;

import org.apache.flink.runtime.state.AbstractKeyedStateBackend;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.KeyGroupRangeAssignment;
import org.apache.flink.runtime.state.KeyedStateHandle;

import java.util.ArrayList;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;

/** The backends of all subtasks of an operator, restored from a snapshot at any parallelism. */
final class Subtasks implements AutoCloseable {

    private final Backends backends;
    private final int maxParallelism;
    final List<AbstractKeyedStateBackend<String>> all = new ArrayList<>();

    Subtasks(
            Backends backends,
            Kind kind,
            int parallelism,
            int maxParallelism,
            List<KeyedStateHandle> handles)
            throws Exception {
        this.backends = backends;
        this.maxParallelism = maxParallelism;
        try {
            for (int subtask = 0; subtask < parallelism; subtask++) {
                KeyGroupRange range =
                        KeyGroupRangeAssignment.computeKeyGroupRangeForOperatorIndex(
                                maxParallelism, parallelism, subtask);
                all.add(backends.open(kind, range, of(range, handles)));
            }
        } catch (Throwable failure) {
            close();
            throw failure;
        }
    }

    private static List<KeyedStateHandle> of(KeyGroupRange range, List<KeyedStateHandle> handles) {
        List<KeyedStateHandle> wanted = new ArrayList<>();
        for (KeyedStateHandle handle : handles) {
            KeyedStateHandle intersection = handle.getIntersection(range);
            if (intersection != null) {
                wanted.add(intersection);
            }
        }
        return wanted;
    }

    Workload workload(AbstractKeyedStateBackend<String> subtask) {
        return new Workload(subtask, maxParallelism);
    }

    SortedMap<String, String> dump() throws Exception {
        SortedMap<String, String> dump = new TreeMap<>();
        for (AbstractKeyedStateBackend<String> subtask : all) {
            for (var entry : workload(subtask).dump().entrySet()) {
                if (dump.put(entry.getKey(), entry.getValue()) != null) {
                    throw new AssertionError("two subtasks have " + entry.getKey());
                }
            }
        }
        return dump;
    }

    /** A completed snapshot of all of them. */
    List<KeyedStateHandle> snapshot() throws Exception {
        return backends.snapshotAll(all);
    }

    @Override
    public void close() {
        all.forEach(AbstractKeyedStateBackend::dispose);
        all.clear();
    }
}
