package io.ferrostate.savepoint;

import static org.assertj.core.api.Assertions.assertThat;

import io.ferrostate.FerrostateStateBackend;
import io.ferrostate.backend.KeyedBackends;
import io.ferrostate.checkpoint.CheckpointFiles;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.RunnableFuture;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeutils.base.IntSerializer;
import org.apache.flink.api.common.typeutils.base.StringSerializer;
import org.apache.flink.core.fs.CloseableRegistry;
import org.apache.flink.runtime.checkpoint.CheckpointOptions;
import org.apache.flink.runtime.state.AbstractKeyedStateBackend;
import org.apache.flink.runtime.state.AbstractStateBackend;
import org.apache.flink.runtime.state.FullSnapshotResources;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.SavepointResources;
import org.apache.flink.runtime.state.SavepointSnapshotStrategy;
import org.apache.flink.runtime.state.SnapshotResult;
import org.apache.flink.runtime.state.SnapshotStrategyRunner;
import org.apache.flink.runtime.state.VoidNamespace;
import org.apache.flink.runtime.state.VoidNamespaceSerializer;
import org.apache.flink.runtime.state.hashmap.HashMapStateBackend;
import org.apache.flink.state.rocksdb.EmbeddedRocksDBStateBackend;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * {@code execution.checkpointing.snapshot-compression}: canonical savepoints with compressed key groups
 * go from each backend to each other, and checkpoints that are database files are none the worse.
 */
@Timeout(60)
class SnapshotCompressionTest {

    private static final int KEY_GROUPS = 16;
    private static final int KEYS = 500;

    @TempDir Path directory;

    enum Kind {
        FERROSTATE,
        ROCKSDB,
        HASHMAP
    }

    @ParameterizedTest(name = "{0} to {1}")
    @CsvSource({
        "FERROSTATE, FERROSTATE",
        "FERROSTATE, ROCKSDB",
        "FERROSTATE, HASHMAP",
        "ROCKSDB, FERROSTATE",
        "HASHMAP, FERROSTATE"
    })
    void compressedSavepointsGoFromBackendToBackend(Kind from, Kind to) throws Exception {
        KeyedStateHandle savepoint = write(from, true, true);
        assertThat(read(to, savepoint)).hasSize(2 * KEYS).isEqualTo(expected());
    }

    @Test
    void itCompresses() throws Exception {
        long plain = write(Kind.FERROSTATE, false, true).getStateSize();
        long compressed = write(Kind.FERROSTATE, true, true).getStateSize();
        assertThat(compressed).isLessThan(plain / 2);
        assertThat(compressed)
                .as("as small as that of Flink's RocksDB backend")
                .isEqualTo(write(Kind.ROCKSDB, true, true).getStateSize());
    }

    @ParameterizedTest(name = "compression={0}")
    @ValueSource(booleans = {false, true})
    void checkpointsOfDatabaseFiles(boolean compression) throws Exception {
        assertThat(read(Kind.FERROSTATE, write(Kind.FERROSTATE, compression, false)))
                .isEqualTo(expected());
        assertThat(read(Kind.ROCKSDB, write(Kind.FERROSTATE, compression, false)))
                .isEqualTo(expected());
    }

    private AbstractStateBackend backend(Kind kind) throws Exception {
        String local = Files.createTempDirectory(directory, "local").toString();
        switch (kind) {
            case FERROSTATE:
                return new FerrostateStateBackend(true).setLocalDirectories(local);
            case ROCKSDB:
                EmbeddedRocksDBStateBackend rocksDB = new EmbeddedRocksDBStateBackend(true);
                rocksDB.setDbStoragePath(local);
                return rocksDB;
            default:
                return new HashMapStateBackend();
        }
    }

    private KeyedStateHandle write(Kind kind, boolean compression, boolean savepoint)
            throws Exception {
        try (KeyedBackends backends = new KeyedBackends()) {
            backends.environment().getExecutionConfig().setUseSnapshotCompression(compression);
            AbstractKeyedStateBackend<Integer> backend =
                    backends.create(backend(kind), IntSerializer.INSTANCE, KEY_GROUPS);
            ValueState<String> value = value(backend);
            MapState<Integer, String> map = map(backend);
            for (int key = 0; key < KEYS; key++) {
                backend.setCurrentKey(key);
                value.update(text(key));
                map.put(key % 3, text(-key));
            }
            KeyedStateHandle handle = savepoint ? savepoint(backend) : checkpoint(backend);
            backend.dispose();
            return handle;
        }
    }

    private static String text(int number) {
        return "the same text for all, so that it can be compressed well: " + number;
    }

    private static Map<String, String> expected() {
        Map<String, String> expected = new TreeMap<>();
        for (int key = 0; key < KEYS; key++) {
            expected.put("value " + key, text(key));
            expected.put("map " + key, text(-key));
        }
        return expected;
    }

    private Map<String, String> read(Kind kind, KeyedStateHandle handle) throws Exception {
        Map<String, String> found = new TreeMap<>();
        try (KeyedBackends backends = new KeyedBackends()) {
            AbstractKeyedStateBackend<Integer> backend =
                    backends.create(backend(kind), IntSerializer.INSTANCE, KEY_GROUPS, handle);
            ValueState<String> value = value(backend);
            MapState<Integer, String> map = map(backend);
            for (int key = 0; key < KEYS; key++) {
                backend.setCurrentKey(key);
                found.put("value " + key, value.value());
                found.put("map " + key, map.get(key % 3));
            }
            backend.dispose();
        }
        return found;
    }

    private static ValueState<String> value(AbstractKeyedStateBackend<Integer> backend)
            throws Exception {
        return backend.getPartitionedState(
                VoidNamespace.INSTANCE,
                VoidNamespaceSerializer.INSTANCE,
                new ValueStateDescriptor<>("value", StringSerializer.INSTANCE));
    }

    private static MapState<Integer, String> map(AbstractKeyedStateBackend<Integer> backend)
            throws Exception {
        return backend.getPartitionedState(
                VoidNamespace.INSTANCE,
                VoidNamespaceSerializer.INSTANCE,
                new MapStateDescriptor<>(
                        "map", IntSerializer.INSTANCE, StringSerializer.INSTANCE));
    }

    private KeyedStateHandle savepoint(AbstractKeyedStateBackend<Integer> backend)
            throws Exception {
        SavepointResources<Integer> resources = backend.savepoint();
        return finish(
                new SnapshotStrategyRunner<KeyedStateHandle, FullSnapshotResources<Integer>>(
                                "canonical savepoint",
                                new SavepointSnapshotStrategy<>(resources.getSnapshotResources()),
                                new CloseableRegistry(),
                                resources.getPreferredSnapshotExecutionType())
                        .snapshot(
                                1,
                                0,
                                files().location(1),
                                CheckpointOptions.forCheckpointWithDefaultLocation()));
    }

    private KeyedStateHandle checkpoint(AbstractKeyedStateBackend<Integer> backend)
            throws Exception {
        return finish(
                backend.snapshot(1, 0, files().location(1), CheckpointFiles.CHECKPOINT));
    }

    private CheckpointFiles files() throws Exception {
        return new CheckpointFiles(Files.createTempDirectory(directory, "checkpoints"), 0);
    }

    private static KeyedStateHandle finish(
            RunnableFuture<SnapshotResult<KeyedStateHandle>> snapshot) throws Exception {
        snapshot.run();
        return snapshot.get().getJobManagerOwnedSnapshot();
    }
}
