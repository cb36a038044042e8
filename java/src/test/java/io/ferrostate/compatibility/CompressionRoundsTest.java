package io.ferrostate.compatibility;

import static org.assertj.core.api.Assertions.assertThat;

import io.ferrostate.FerrostateOptions;
import io.ferrostate.FerrostateOptions.Compression;
import io.ferrostate.compatibility.Backends.Kind;
import io.ferrostate.compatibility.Backends.Snapshot;

import org.apache.flink.runtime.state.AbstractKeyedStateBackend;
import org.apache.flink.runtime.state.IncrementalKeyedStateHandle.HandleAndLocalPath;
import org.apache.flink.runtime.state.IncrementalRemoteKeyedStateHandle;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.filesystem.FileStateHandle;
import org.apache.flink.runtime.state.ttl.MockTtlTimeProvider;
import org.apache.flink.state.rocksdb.RocksDBConfigurableOptions;

import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.rocksdb.CompressionType;
import org.rocksdb.Options;
import org.rocksdb.RocksDBException;
import org.rocksdb.SstFileReader;

import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;

/**
 * Flink's RocksDB backend and Ferrostate in turns on one incremental state, for many rounds with updates,
 * expiring values and other parallelisms on the way, for each compression of their files and for key
 * groups of one byte and of two. State is compared with that of the heap.
 */
@Timeout(120)
class CompressionRoundsTest {

    private static final int[] PARALLELISMS = {1, 2, 2, 3, 1, 1, 3, 2, 2, 1};
    private static final int OPERATIONS_PER_KEY = 12;

    @TempDir Path directory;

    private final MockTtlTimeProvider clock = new MockTtlTimeProvider();

    @ParameterizedTest(name = "RocksDB: {0}, Ferrostate: {1}, {2} key groups")
    @CsvSource({
        "NO_COMPRESSION, NO_COMPRESSION, 128",
        "NO_COMPRESSION, NO_COMPRESSION, 129",
        "SNAPPY_COMPRESSION, SNAPPY_COMPRESSION, 128",
        "SNAPPY_COMPRESSION, SNAPPY_COMPRESSION, 129",
        "LZ4_COMPRESSION, LZ4_COMPRESSION, 128",
        "LZ4_COMPRESSION, LZ4_COMPRESSION, 129",
        "ZSTD_COMPRESSION, ZSTD_COMPRESSION, 128",
        "ZSTD_COMPRESSION, ZSTD_COMPRESSION, 129",
        "ZSTD_COMPRESSION, LZ4_COMPRESSION, 128",
    })
    void inTurns(CompressionType rocksDB, Compression ferrostate, int maxParallelism)
            throws Exception {
        try (Backends backends =
                new Backends(directory, maxParallelism, Snapshot.INCREMENTAL)
                        .clock(clock)
                        .set(RocksDBConfigurableOptions.COMPRESSION_PER_LEVEL, List.of(rocksDB))
                        .set(FerrostateOptions.COMPRESSION_PER_LEVEL, List.of(ferrostate))) {
            AbstractKeyedStateBackend<String> heap =
                    backends.openHashMap(KeyGroupRange.of(0, maxParallelism - 1), List.of());
            Workload model = new Workload(heap, maxParallelism);
            model.writeUntouched();
            assertThat(rounds(backends, maxParallelism, model))
                    .isEqualTo(new TreeSet<>(List.of(name(rocksDB), name(ferrostate))));
            heap.dispose();
        }
    }

    /** Returns the compressions of all files that there were. */
    private Set<String> rounds(Backends backends, int maxParallelism, Workload model)
            throws Exception {
        Set<String> compressions = new TreeSet<>();
        List<KeyedStateHandle> handles = List.of();
        for (int round = 0; round < PARALLELISMS.length; round++) {
            Kind kind = round % 2 == 0 ? Kind.ROCKSDB : Kind.FERROSTATE;
            try (Subtasks subtasks =
                    new Subtasks(backends, kind, PARALLELISMS[round], maxParallelism, handles)) {
                assertThat(subtasks.dump())
                        .as("round %d, restored by %s", round, kind)
                        .isEqualTo(model.dump());
                clock.time += AllStates.TIME_TO_LIVE.toMillis() * 2 / 5;
                model.round(round, OPERATIONS_PER_KEY);
                for (AbstractKeyedStateBackend<String> subtask : subtasks.all) {
                    Workload workload = subtasks.workload(subtask);
                    if (round == 0) {
                        workload.writeUntouched();
                    }
                    workload.round(round, OPERATIONS_PER_KEY);
                    if (round == PARALLELISMS.length - 1) {
                        assertThat(workload.untouched()).isEqualTo(workload.expectedUntouched());
                    }
                }
                assertThat(subtasks.dump()).hasSizeGreaterThan(300).isEqualTo(model.dump());
                handles = subtasks.snapshot();
                compressions.addAll(compressionsOf(handles));
            }
        }
        return compressions;
    }

    private static String name(Enum<?> compression) {
        String name = compression.name();
        return name.replace("_COMPRESSION", name.startsWith("NO_") ? "COMPRESSION" : "");
    }

    /** As the files themselves say. */
    private static Set<String> compressionsOf(List<KeyedStateHandle> handles) throws Exception {
        Set<String> names = new TreeSet<>();
        for (KeyedStateHandle handle : handles) {
            for (HandleAndLocalPath file :
                    ((IncrementalRemoteKeyedStateHandle) handle).getSharedState()) {
                if (file.getHandle() instanceof FileStateHandle) { // not one in _metadata
                    names.add(compression((FileStateHandle) file.getHandle()));
                }
            }
        }
        return names;
    }

    private static String compression(FileStateHandle file) throws RocksDBException {
        try (Options options = new Options();
                SstFileReader reader = new SstFileReader(options)) {
            reader.open(file.getFilePath().getPath());
            return reader.getTableProperties().getCompressionName().toUpperCase(Locale.ROOT);
        }
    }
}
