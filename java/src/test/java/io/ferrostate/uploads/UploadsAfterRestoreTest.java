package io.ferrostate.uploads;

import static org.assertj.core.api.Assertions.assertThat;

import io.ferrostate.jni.Native;
import io.ferrostate.jni.NativeLibrary;

import org.apache.flink.runtime.state.IncrementalRemoteKeyedStateHandle;
import org.apache.flink.runtime.state.KeyedStateHandle;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.nio.file.Path;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/**
 * A25: what the first checkpoint uploads after each kind of restore, on small data beside Flink's RocksDB
 * backend. {@link UploadTable} prints the same for larger data.
 */
@Timeout(120)
class UploadsAfterRestoreTest {

    private static final long STATE = 4 << 20;

    /** MANIFEST, OPTIONS, the meta file, a file of nothing but deletions: what is new in any case. */
    private static final long SMALL = 96 << 10;

    @TempDir Path directory;

    private long liveHandles;
    private Uploads uploads;
    private List<KeyedStateHandle> from;
    private int parallelism;

    @BeforeEach
    void open() throws Exception {
        NativeLibrary.load();
        liveHandles = Native.liveHandles();
        uploads = new Uploads(directory, STATE);
    }

    @AfterEach
    void close() throws Exception {
        uploads.close();
        assertThat(Native.liveHandles()).isEqualTo(liveHandles);
    }

    private void write(Restored kind, int before, int after) throws Exception {
        from = uploads.written(kind, before);
        parallelism = after;
    }

    private Map<Contender, Moved> firstCheckpoints(boolean claim) throws Exception {
        Map<Contender, Moved> moved = new EnumMap<>(Contender.class);
        for (Contender contender : Contender.values()) {
            Moved one = uploads.firstCheckpoint(contender, from, parallelism, claim);
            moved.put(contender, one);
            // Whether copied or uploaded: Flink shows what is new.
            assertThat(one.uploaded + one.duplicated)
                    .as("%s: %s", contender.title, one)
                    .isEqualTo(one.checkpointedSize);
        }
        return moved;
    }

    /** Bytes of the files that hold the state. */
    private long tableBytes() {
        return from.stream()
                .map(IncrementalRemoteKeyedStateHandle.class::cast)
                .flatMap(handle -> handle.getSharedState().stream())
                .mapToLong(file -> file.getHandle().getStateSize())
                .sum();
    }

    private static void assertMoved(
            Moved moved, String what, long uploadedAtMost, long duplicated, long referred) {
        assertThat(moved.uploaded).as("%s: %s", what, moved).isLessThanOrEqualTo(uploadedAtMost);
        assertThat(moved.duplicated).as("%s: %s", what, moved).isEqualTo(duplicated);
        assertThat(moved.referred).as("%s: %s", what, moved).isEqualTo(referred);
    }

    /** Copied out of a native savepoint, since Flink cannot write a reference to its files. */
    private static void assertTakenOver(
            Moved moved, String what, long uploadedAtMost, long bytes, Restored from) {
        boolean copied = from == Restored.NATIVE;
        assertMoved(moved, what, uploadedAtMost, copied ? bytes : 0, copied ? 0 : bytes);
    }

    private static void assertUploadsAll(Moved moved, String what, long atLeast) {
        assertThat(moved.uploaded).as("%s: %s", what, moved).isGreaterThanOrEqualTo(atLeast);
        assertThat(moved.duplicated + moved.referred).as("%s: %s", what, moved).isZero();
    }

    @ParameterizedTest
    @CsvSource({"CHECKPOINT_FILES", "NATIVE"})
    void atTheSameParallelism(Restored kind) throws Exception {
        write(kind, 1, 1);
        long all = tableBytes();
        Map<Contender, Moved> claimed = firstCheckpoints(true);
        assertTakenOver(claimed.get(Contender.FERROSTATE), "CLAIM", SMALL, all, kind);
        assertMoved(claimed.get(Contender.ROCKSDB), "RocksDB, CLAIM", SMALL, 0, all);
        Map<Contender, Moved> full = firstCheckpoints(false);
        assertMoved(full.get(Contender.FERROSTATE), "NO_CLAIM", SMALL, all, 0);
        assertUploadsAll(full.get(Contender.ROCKSDB), "RocksDB, NO_CLAIM", all);
    }

    @ParameterizedTest
    @CsvSource({"CHECKPOINT_FILES", "NATIVE"})
    void afterAScaleIn(Restored kind) throws Exception {
        write(kind, 2, 1);
        long all = tableBytes();
        Map<Contender, Moved> claimed = firstCheckpoints(true);
        assertTakenOver(claimed.get(Contender.FERROSTATE), "CLAIM", SMALL, all, kind);
        Map<Contender, Moved> full = firstCheckpoints(false);
        assertMoved(full.get(Contender.FERROSTATE), "NO_CLAIM", SMALL, all, 0);
        for (Map<Contender, Moved> moved : List.of(claimed, full)) {
            assertUploadsAll(moved.get(Contender.ROCKSDB), "RocksDB", STATE);
            assertUploadsAll(moved.get(Contender.ROCKSDB_INGEST), "RocksDB, ingest on", STATE);
        }
    }

    @ParameterizedTest
    @CsvSource({
        "CHECKPOINT_FILES, 1, 2",
        "CHECKPOINT_FILES, 2, 3",
        "NATIVE, 1, 2",
        "NATIVE, 2, 3",
    })
    void afterAScaleOut(Restored kind, int before, int after) throws Exception {
        write(kind, before, after);
        Map<Contender, Moved> claimed = firstCheckpoints(true);
        Map<Contender, Moved> full = firstCheckpoints(false);
        Moved atOnce = claimed.get(Contender.FERROSTATE_AT_ONCE);
        long taken = atOnce.referred + atOnce.duplicated;
        assertThat(taken).isGreaterThanOrEqualTo(STATE);
        assertTakenOver(atOnce, "CLAIM, at once", after * SMALL, taken, kind);
        assertMoved(
                full.get(Contender.FERROSTATE_AT_ONCE), "NO_CLAIM, at once", after * SMALL, taken, 0);

        // What was compacted is uploaded, the rest referred to or copied; together no more than before.
        Moved settled = claimed.get(Contender.FERROSTATE);
        long kept = settled.referred + settled.duplicated;
        assertThat(kept).as("CLAIM: %s", settled).isPositive();
        assertTakenOver(settled, "CLAIM", Long.MAX_VALUE, kept, kind);
        assertThat(settled.uploaded + kept)
                .as("CLAIM: %s", settled)
                .isLessThanOrEqualTo(taken + after * SMALL);
        Moved settledFull = full.get(Contender.FERROSTATE);
        assertThat(settledFull.duplicated).as("NO_CLAIM: %s", settledFull).isPositive();
        assertThat(settledFull.referred).as("NO_CLAIM: %s", settledFull).isZero();
        for (Map<Contender, Moved> moved : List.of(claimed, full)) {
            assertUploadsAll(moved.get(Contender.ROCKSDB), "RocksDB", STATE);
            assertThat(moved.get(Contender.FERROSTATE).uploaded)
                    .isLessThan(moved.get(Contender.ROCKSDB).uploaded)
                    .isLessThan(moved.get(Contender.ROCKSDB_INGEST).uploaded);
        }
    }

    /** Its files are of nobody's database: all is new to every backend. */
    @ParameterizedTest
    @CsvSource({"1, 1", "2, 3"})
    void afterACanonicalSavepoint(int before, int after) throws Exception {
        write(Restored.CANONICAL, before, after);
        for (boolean claim : new boolean[] {true, false}) {
            firstCheckpoints(claim)
                    .forEach((contender, one) -> assertUploadsAll(one, contender.title, STATE));
        }
    }
}
