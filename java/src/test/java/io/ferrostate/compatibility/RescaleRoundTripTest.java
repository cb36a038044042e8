package io.ferrostate.compatibility;

import static org.assertj.core.api.Assertions.assertThat;

import io.ferrostate.compatibility.Backends.Kind;
import io.ferrostate.compatibility.Backends.Snapshot;

import org.apache.flink.runtime.state.AbstractKeyedStateBackend;
import org.apache.flink.runtime.state.KeyedStateHandle;

import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * A job that is restored at one parallelism after the other, by Ferrostate alone or by Flink's RocksDB
 * backend and Ferrostate in turns: each snapshot is taken right after a rescale, with nothing
 * compacted yet and some rows still in memory. All state is compared each time.
 */
@Timeout(300)
class RescaleRoundTripTest {

    private static final int[] PARALLELISMS = {1, 2, 3, 1, 8, 3, 2, 1};
    private static final int OPERATIONS = 600;

    @TempDir Path directory;

    private SortedMap<String, String> expected = new TreeMap<>();

    static Collection<Arguments> variants() {
        List<Arguments> variants = new ArrayList<>();
        for (Snapshot snapshot : List.of(Snapshot.INCREMENTAL, Snapshot.NATIVE_SAVEPOINT)) {
            for (boolean inTurns : new boolean[] {false, true}) {
                variants.add(Arguments.of(snapshot, inTurns, 128));
            }
        }
        variants.add(Arguments.of(Snapshot.INCREMENTAL, true, 129));
        variants.add(Arguments.of(Snapshot.FULL, true, 129));
        return variants;
    }

    @ParameterizedTest
    @MethodSource("variants")
    void stateStaysWhole(Snapshot snapshot, boolean inTurns, int maxParallelism) throws Exception {
        try (Backends backends = new Backends(directory, maxParallelism, snapshot)) {
            List<KeyedStateHandle> handles = List.of();
            for (int round = 0; round < PARALLELISMS.length; round++) {
                Kind kind = inTurns && round % 2 == 0 ? Kind.ROCKSDB : Kind.FERROSTATE;
                handles = round(backends, kind, round, maxParallelism, handles);
            }
            assertThat(expected).hasSizeGreaterThan(400);
        }
    }

    /** Restores, compares, changes, and takes the next snapshot. */
    private List<KeyedStateHandle> round(
            Backends backends,
            Kind kind,
            int round,
            int maxParallelism,
            List<KeyedStateHandle> handles)
            throws Exception {
        try (Subtasks subtasks =
                new Subtasks(backends, kind, PARALLELISMS[round], maxParallelism, handles)) {
            assertThat(subtasks.dump()).as("round %d on %s", round, kind).isEqualTo(expected);
            for (AbstractKeyedStateBackend<String> subtask : subtasks.all) {
                subtasks.workload(subtask).run(round, OPERATIONS / PARALLELISMS[round]);
            }
            expected = subtasks.dump();
            return subtasks.snapshot();
        }
    }
}
