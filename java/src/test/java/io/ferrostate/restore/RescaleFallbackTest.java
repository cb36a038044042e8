package io.ferrostate.restore;

import static io.ferrostate.checkpoint.BackendFixture.ALL;
import static io.ferrostate.checkpoint.BackendFixture.snapshot;
import static io.ferrostate.checkpoint.CheckpointFiles.CHECKPOINT;
import static org.assertj.core.api.Assertions.assertThat;

import io.ferrostate.checkpoint.BackendFixture;
import io.ferrostate.checkpoint.CheckpointFiles;
import io.ferrostate.checkpoint.IncrementalSnapshotStrategy;

import org.apache.flink.runtime.state.IncrementalKeyedStateHandle.HandleAndLocalPath;
import org.apache.flink.runtime.state.IncrementalRemoteKeyedStateHandle;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.StreamStateHandle;
import org.apache.flink.runtime.state.filesystem.FileStateHandle;
import org.apache.flink.runtime.state.memory.ByteStreamStateHandle;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.zip.CRC32C;

/** Databases with something that an import would lose: their rows are copied, all others imported. */
@Timeout(60)
class RescaleFallbackTest {

    private static final KeyGroupRange LOWER = KeyGroupRange.of(0, 7);
    private static final KeyGroupRange UPPER = KeyGroupRange.of(8, 15);

    /** A MANIFEST's record that sets a column family's user-defined timestamp to "t". */
    private static final byte[] TIMESTAMP_RECORD = {(byte) 0x86, 0x40, 1, 't'};

    @TempDir Path directory;

    private CheckpointFiles files;

    @BeforeEach
    void open() throws Exception {
        files = new CheckpointFiles(directory.resolve("checkpoints"), 0);
    }

    private IncrementalRemoteKeyedStateHandle checkpointOf(KeyGroupRange range, long id)
            throws Exception {
        try (BackendFixture backend =
                        BackendFixture.restored(directory.resolve("local"), range);
                IncrementalSnapshotStrategy<Integer> strategy = backend.incremental()) {
            backend.write(1, 1);
            return snapshot(strategy, id, files.location(id), CHECKPOINT);
        }
    }

    /** Its MANIFEST says that there are user-defined timestamps. */
    static IncrementalRemoteKeyedStateHandle notImportable(
            IncrementalRemoteKeyedStateHandle handle) throws Exception {
        List<HandleAndLocalPath> files = new ArrayList<>();
        for (HandleAndLocalPath file : handle.getPrivateState()) {
            StreamStateHandle state = file.getHandle();
            if (file.getLocalPath().startsWith("MANIFEST")) {
                Path manifest = Path.of(((FileStateHandle) state).getFilePath().getPath());
                state =
                        new ByteStreamStateHandle(
                                "manifest", withTimestamp(Files.readAllBytes(manifest)));
            }
            files.add(HandleAndLocalPath.of(state, file.getLocalPath()));
        }
        return new IncrementalRemoteKeyedStateHandle(
                handle.getBackendIdentifier(),
                handle.getKeyGroupRange(),
                handle.getCheckpointId(),
                handle.getSharedState(),
                files,
                handle.getMetaDataStateHandle());
    }

    /** Appends a record: masked checksum, length, type 1, payload. */
    private static byte[] withTimestamp(byte[] manifest) {
        CRC32C checksum = new CRC32C();
        checksum.update(1);
        checksum.update(TIMESTAMP_RECORD);
        int masked = Integer.rotateRight((int) checksum.getValue(), 15) + 0xa282ead8;
        return ByteBuffer.wrap(
                        Arrays.copyOf(manifest, manifest.length + 7 + TIMESTAMP_RECORD.length))
                .order(ByteOrder.LITTLE_ENDIAN)
                .position(manifest.length)
                .putInt(masked)
                .putShort((short) TIMESTAMP_RECORD.length)
                .put((byte) 1)
                .put(TIMESTAMP_RECORD)
                .array();
    }

    @Test
    void rowsAreCopied() throws Exception {
        IncrementalRemoteKeyedStateHandle all = checkpointOf(ALL, 7);
        try (BackendFixture lower =
                BackendFixture.restored(
                        directory.resolve("restored"), LOWER, notImportable(all))) {
            assertThat(lower.has(1, 1)).isTrue();
            assertThat(lower.read(8, 1)).isNull();
            assertThat(lower.restoreResult().sharedFiles()).isEmpty();
            assertThat(lower.restoreResult().checkpointId()).isNegative();
            assertThat(lower.leftovers()).isEmpty();
        }
    }

    @Test
    void onePartIsCopiedAndTheOtherImported() throws Exception {
        IncrementalRemoteKeyedStateHandle lower = checkpointOf(LOWER, 7);
        IncrementalRemoteKeyedStateHandle upper = checkpointOf(UPPER, 7);
        try (BackendFixture all =
                BackendFixture.restored(
                        directory.resolve("restored"), ALL, notImportable(lower), upper)) {
            assertThat(all.has(1, 1)).isTrue();
            assertThat(all.restoreResult().sharedFiles())
                    .extracting(HandleAndLocalPath::getHandle)
                    .containsExactly(upper.getSharedState().get(0).getHandle());
            assertThat(all.leftovers()).isEmpty();
        }
    }
}
