package io.ferrostate.compatibility;

import static org.assertj.core.api.Assertions.assertThat;

import io.ferrostate.compatibility.ScriptedJob.Settings;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.flink.core.execution.RecoveryClaimMode;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.state.IncrementalKeyedStateHandle.HandleAndLocalPath;
import org.apache.flink.runtime.state.IncrementalRemoteKeyedStateHandle;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.filesystem.FileStateHandle;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.rocksdb.Options;
import org.rocksdb.SstFileReader;
import org.rocksdb.TableProperties;

/**
 * The snapshots in {@code golden/}, written by former versions of Ferrostate and by Flink's RocksDB
 * backend: jobs restored from them have all of their state and go on with it.
 */
@Timeout(60)
class GoldenSnapshotTest {

    private static final int TABLE_FORMAT_VERSION = 5;

    private static Path golden;
    private static MiniCluster cluster;

    @TempDir Path directory;

    @BeforeAll
    static void start() throws Exception {
        cluster = TestCluster.start();
    }

    @AfterAll
    static void stop() throws Exception {
        cluster.close();
    }

    private static List<Path> writers() throws Exception {
        golden = Path.of(GoldenSnapshotTest.class.getResource("/golden").toURI());
        try (Stream<Path> found = Files.list(golden)) {
            return found.filter(Files::isDirectory).sorted().collect(Collectors.toList());
        }
    }

    static Collection<Arguments> restores() throws Exception {
        List<Arguments> restores = new ArrayList<>();
        for (Path writer : writers()) {
            String name = writer.getFileName().toString();
            for (SnapshotKind kind : SnapshotKind.values()) {
                for (BackendType reader : readers(name, kind)) {
                    for (int parallelism = 1; parallelism <= TestCluster.SLOTS; parallelism++) {
                        restores.add(Arguments.of(name, kind, reader, parallelism));
                    }
                }
            }
        }
        return restores;
    }

    /** Ferrostate reads all there is, Flink's backends what Ferrostate wrote. */
    private static List<BackendType> readers(String writer, SnapshotKind kind) {
        if (!writer.startsWith("ferrostate")) {
            return List.of(BackendType.FERROSTATE);
        }
        return kind == SnapshotKind.CANONICAL_SAVEPOINT
                ? List.of(BackendType.values())
                : List.of(BackendType.FERROSTATE, BackendType.ROCKSDB);
    }

    @ParameterizedTest(name = "{1} of {0}, restored by {2} in {3} subtasks")
    @MethodSource("restores")
    void hasAllState(String writer, SnapshotKind kind, BackendType reader, int parallelism)
            throws Exception {
        Path from = golden.resolve(writer);
        Path snapshot = GoldenSnapshots.unpack(from, kind.fileName(), directory.resolve("golden"));
        Settings settings =
                new Settings(
                                reader.value,
                                parallelism,
                                WriteGoldenSnapshots.MAX_PARALLELISM,
                                directory.resolve("checkpoints"))
                        .restore(snapshot.toUri().toString(), RecoveryClaimMode.NO_CLAIM);
        try (ScriptedJob job = new ScriptedJob(cluster, settings)) {
            SortedMap<String, String> found = job.dumpAll();
            assertThat(found)
                    .hasSizeGreaterThan(1_000)
                    .isEqualTo(GoldenSnapshots.expected(from));
            job.round(WriteGoldenSnapshots.ROUNDS + 1);
            assertThat(job.dumpAll()).isNotEqualTo(found);
            job.checkpoint();
            job.cancel();
        }
    }

    static Collection<Arguments> databases() throws Exception {
        List<Arguments> databases = new ArrayList<>();
        for (Path writer : writers()) {
            databases.add(Arguments.of(writer.getFileName().toString()));
        }
        return databases;
    }

    /** Several files a column family, lists as merge operands, in the table format that is pinned. */
    @ParameterizedTest(name = "{0}")
    @MethodSource("databases")
    void tableFilesAreWhatRocksDBOfFlinkReads(String writer) throws Exception {
        Path snapshot =
                GoldenSnapshots.unpack(
                        golden.resolve(writer),
                        SnapshotKind.NATIVE_SAVEPOINT.fileName(),
                        directory.resolve("golden"));
        for (KeyedStateHandle handle : SnapshotFiles.keyedState(snapshot)) {
            Map<String, Integer> filesByState = new TreeMap<>();
            Map<String, Long> operandsByState = new TreeMap<>();
            for (HandleAndLocalPath file :
                    ((IncrementalRemoteKeyedStateHandle) handle).getSharedState()) {
                Path path =
                        Path.of(((FileStateHandle) file.getHandle()).getFilePath().getPath());
                assertThat(formatVersion(path)).isEqualTo(TABLE_FORMAT_VERSION);
                try (Options options = new Options();
                        SstFileReader reader = new SstFileReader(options)) {
                    reader.open(path.toString());
                    reader.verifyChecksum();
                    TableProperties table = reader.getTableProperties();
                    String state = new String(table.getColumnFamilyName());
                    filesByState.merge(state, 1, Integer::sum);
                    operandsByState.merge(state, table.getNumMergeOperands(), Long::sum);
                }
            }
            assertThat(filesByState).hasSize(16).containsKey("_timer_state/event_windows");
            filesByState.remove(AllStates.UNTOUCHED.getName());
            assertThat(filesByState.values()).allMatch(files -> files > 1);
            assertThat(operandsByState.get(AllStates.TEXTS.getName())).isPositive();
            assertThat(operandsByState.get(AllStates.TTL_LIST.getName())).isPositive();
        }
    }

    /** The last bytes of a table file: format version (4 bytes), magic number (8). */
    private static int formatVersion(Path file) throws Exception {
        byte[] bytes = Files.readAllBytes(file);
        return ByteBuffer.wrap(bytes)
                .order(ByteOrder.LITTLE_ENDIAN)
                .getInt(bytes.length - Integer.BYTES - Long.BYTES);
    }
}
