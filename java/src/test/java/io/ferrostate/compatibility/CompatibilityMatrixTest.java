package io.ferrostate.compatibility;

import static org.assertj.core.api.Assertions.assertThat;

import io.ferrostate.compatibility.ScriptedJob.Settings;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.SortedMap;
import org.apache.flink.core.execution.RecoveryClaimMode;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Every kind of snapshot, from backend to backend, at the same, a higher and a lower parallelism, in
 * both claim modes: a job that is restored so has all state of all keys, goes on, fails and has it
 * again. A snapshot that is not claimed stays as it is, one that is claimed goes with the job.
 */
@Timeout(60)
class CompatibilityMatrixTest {

    private static final int KEY_GROUPS = 128;

    @TempDir static Path modelDirectory;
    private static MiniCluster cluster;
    private static SortedMap<String, String> written;
    private static SortedMap<String, String> continued;
    private static SortedMap<String, String> atTheEnd;

    @TempDir Path directory;

    /** The parallelism of the first job and of those that are restored. */
    enum Rescale {
        SAME(2, 2),
        OUT(2, 3),
        IN(3, 2);

        private final int before;
        private final int after;

        Rescale(int before, int after) {
            this.before = before;
            this.after = after;
        }
    }

    @BeforeAll
    static void start() throws Exception {
        try (Model model = new Model(modelDirectory, KEY_GROUPS)) {
            model.round(1);
            model.round(2);
            written = model.dump();
            model.round(3);
            continued = model.dump();
            model.round(4);
            atTheEnd = model.dumpAll();
        }
        cluster = TestCluster.start();
    }

    @AfterAll
    static void stop() throws Exception {
        cluster.close();
    }

    static Collection<Arguments> cells() {
        List<Arguments> cells = new ArrayList<>();
        for (SnapshotKind kind : SnapshotKind.values()) {
            for (BackendType[] pair : pairs(kind)) {
                for (Rescale rescale : Rescale.values()) {
                    for (RecoveryClaimMode mode :
                            List.of(RecoveryClaimMode.CLAIM, RecoveryClaimMode.NO_CLAIM)) {
                        cells.add(Arguments.of(kind, pair[0], pair[1], rescale, mode));
                    }
                }
            }
        }
        return cells;
    }

    private static List<BackendType[]> pairs(SnapshotKind kind) {
        List<BackendType[]> pairs = new ArrayList<>();
        pairs.add(new BackendType[] {BackendType.FERROSTATE, BackendType.FERROSTATE});
        pairs.add(new BackendType[] {BackendType.FERROSTATE, BackendType.ROCKSDB});
        pairs.add(new BackendType[] {BackendType.ROCKSDB, BackendType.FERROSTATE});
        if (kind == SnapshotKind.CANONICAL_SAVEPOINT) {
            pairs.add(new BackendType[] {BackendType.FERROSTATE, BackendType.HASHMAP});
            pairs.add(new BackendType[] {BackendType.HASHMAP, BackendType.FERROSTATE});
        }
        return pairs;
    }

    @ParameterizedTest(name = "{0}, {1} to {2}, {3}, {4}")
    @MethodSource("cells")
    void cell(
            SnapshotKind kind,
            BackendType from,
            BackendType to,
            Rescale rescale,
            RecoveryClaimMode mode)
            throws Exception {
        Settings writer =
                new Settings(
                        from.value, rescale.before, KEY_GROUPS, directory.resolve("checkpoints"));
        Path snapshot = kind.write(cluster, writer, directory.resolve("savepoints"), 2);
        SortedMap<Path, String> files = SnapshotFiles.digests(snapshot);
        boolean tableFiles = kind != SnapshotKind.CANONICAL_SAVEPOINT;
        assertThat(files).hasSizeGreaterThan(tableFiles ? 30 : 2);
        // FLINK-39964: of these references RocksDB's checkpoint cannot be restored from its _metadata.
        boolean broken =
                kind == SnapshotKind.NATIVE_SAVEPOINT
                        && to == BackendType.ROCKSDB
                        && mode == RecoveryClaimMode.CLAIM;
        Set<Path> nextFiles = goOn(to, rescale.after, snapshot, mode, !broken);
        if (mode == RecoveryClaimMode.NO_CLAIM) {
            assertThat(nextFiles).doesNotContainAnyElementsOf(files.keySet());
        } else if (kind == SnapshotKind.CHECKPOINT && rescale == Rescale.SAME) {
            assertThat(nextFiles).containsAnyElementsOf(files.keySet());
        }
        if (mode == RecoveryClaimMode.NO_CLAIM) {
            SnapshotFiles.awaitNoneBelow(directory.resolve("restored"));
            assertThat(SnapshotFiles.digests(snapshot)).isEqualTo(files);
            try (ScriptedJob again = restored(to, rescale.after, snapshot, mode)) {
                assertThat(again.dump()).isEqualTo(written);
                again.cancel();
            }
            // What it left is not looked at: Flink keeps files of a checkpoint that was acknowledged
            // while the job was cancelled, as long as the restored snapshot is its oldest.
            assertThat(SnapshotFiles.digests(snapshot)).isEqualTo(files);
        } else {
            SnapshotFiles.awaitNoneBelow(directory);
        }
    }

    private ScriptedJob restored(
            BackendType backend, int parallelism, Path snapshot, RecoveryClaimMode mode)
            throws Exception {
        return new ScriptedJob(
                cluster,
                new Settings(
                                backend.value,
                                parallelism,
                                KEY_GROUPS,
                                directory.resolve("restored"))
                        .restore(snapshot.toUri().toString(), mode));
    }

    /**
     * All is there, goes on, and is there again after a failure; the job leaves nothing of its own.
     * Returns the files of its first checkpoint, if they are to be there.
     */
    private Set<Path> goOn(
            BackendType backend,
            int parallelism,
            Path snapshot,
            RecoveryClaimMode mode,
            boolean listFiles)
            throws Exception {
        try (ScriptedJob job = restored(backend, parallelism, snapshot, mode)) {
            assertThat(job.dump()).isEqualTo(written);
            Path first = job.checkpoint();
            Set<Path> files = listFiles ? SnapshotFiles.digests(first).keySet() : Set.of();
            job.round(3);
            assertThat(job.dump()).isEqualTo(continued);
            job.checkpoint();
            job.round(9); // is lost
            job.fail();
            assertThat(job.dump()).isEqualTo(continued);
            job.round(4);
            assertThat(job.dumpAll()).isEqualTo(atTheEnd);
            job.checkpoint();
            job.cancel();
            return files;
        }
    }
}
