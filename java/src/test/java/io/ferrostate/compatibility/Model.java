package io.ferrostate.compatibility;

import io.ferrostate.compatibility.Backends.Snapshot;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import org.apache.flink.runtime.state.AbstractKeyedStateBackend;
import org.apache.flink.runtime.state.KeyGroupRange;

/**
 * What a {@link ScriptedJob} must have after its rounds, without a job, snapshots or a database: its
 * states on Flink's heap, its timers as a plain collection.
 */
final class Model implements AutoCloseable {

    private final Backends backends;
    private final AbstractKeyedStateBackend<String> heap;
    private final Workload workload;
    private final List<String> keys;
    private final Map<String, Timer> timers = new LinkedHashMap<>();

    Model(Path directory, int maxParallelism) throws Exception {
        KeyGroupRange all = KeyGroupRange.of(0, maxParallelism - 1);
        backends = new Backends(directory, maxParallelism, Snapshot.CANONICAL_SAVEPOINT);
        heap = backends.openHashMap(all, List.of());
        workload = new Workload(heap, maxParallelism).withoutNullNumbers();
        keys = Workload.keys(all, maxParallelism);
        workload.writeUntouched();
    }

    /** Fires what the watermark before the round fires, then does the round. */
    void round(long round) throws Exception {
        watermark(Timer.watermarkBefore(round));
        for (String key : keys) {
            workload.round(key, round, ScriptedOperator.OPERATIONS);
            Timer.ofRound(key, round).forEach(timer -> timers.put(timer.toString(), timer));
            Timer.deletedAfterRound(key, round - 1)
                    .forEach(timer -> timers.remove(timer.toString()));
        }
    }

    void watermark(long watermark) throws Exception {
        for (Timer timer : new ArrayList<>(timers.values())) {
            if (timer.eventTime && timer.timestamp <= watermark) {
                heap.setCurrentKey(timer.key);
                workload.fired(timer.timestamp);
                timers.remove(timer.toString());
            }
        }
    }

    SortedMap<String, String> dump() throws Exception {
        SortedMap<String, String> dump = workload.dump();
        timers.keySet().forEach(timer -> dump.put(timer, ""));
        return dump;
    }

    SortedMap<String, String> dumpAll() throws Exception {
        SortedMap<String, String> all = dump();
        workload.expectedUntouched().forEach((key, kept) -> all.put(key + " | untouched", kept));
        return all;
    }

    @Override
    public void close() throws IOException {
        heap.dispose();
        backends.close();
    }
}
