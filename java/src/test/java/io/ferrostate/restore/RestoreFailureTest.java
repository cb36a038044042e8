package io.ferrostate.restore;

import static io.ferrostate.checkpoint.BackendFixture.ALL;
import static io.ferrostate.checkpoint.BackendFixture.KEY_GROUPS;
import static io.ferrostate.checkpoint.BackendFixture.snapshot;
import static io.ferrostate.checkpoint.CheckpointFiles.CHECKPOINT;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.ferrostate.backend.KeyedBackends;
import io.ferrostate.checkpoint.BackendFixture;
import io.ferrostate.checkpoint.CheckpointFiles;
import io.ferrostate.checkpoint.IncrementalSnapshotStrategy;
import io.ferrostate.jni.Native;
import io.ferrostate.jni.NativeLibrary;

import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeutils.base.IntSerializer;
import org.apache.flink.runtime.state.AbstractKeyedStateBackend;
import org.apache.flink.runtime.state.IncrementalKeyedStateHandle.HandleAndLocalPath;
import org.apache.flink.runtime.state.IncrementalRemoteKeyedStateHandle;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.KeyGroupRangeOffsets;
import org.apache.flink.runtime.state.KeyGroupsSavepointStateHandle;
import org.apache.flink.runtime.state.KeyGroupsStateHandle;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.PhysicalStateHandleID;
import org.apache.flink.runtime.state.PlaceholderStreamStateHandle;
import org.apache.flink.runtime.state.SnapshotResult;
import org.apache.flink.runtime.state.StreamStateHandle;
import org.apache.flink.runtime.state.VoidNamespace;
import org.apache.flink.runtime.state.VoidNamespaceSerializer;
import org.apache.flink.runtime.state.changelog.ChangelogStateBackendHandle.ChangelogStateBackendHandleImpl;
import org.apache.flink.runtime.state.filesystem.FileStateHandle;
import org.apache.flink.runtime.state.hashmap.HashMapStateBackend;
import org.apache.flink.runtime.state.memory.ByteStreamStateHandle;

import org.assertj.core.api.AbstractThrowableAssert;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.RunnableFuture;

/**
 * Snapshots that cannot be restored: the exception names checkpoint, file and step, nothing stays
 * open, and the snapshot is left as it is.
 */
@Timeout(60)
class RestoreFailureTest {

    @TempDir Path directory;

    private long liveHandles;
    private CheckpointFiles files;
    private IncrementalRemoteKeyedStateHandle checkpoint;

    @BeforeEach
    void open() throws Exception {
        NativeLibrary.load();
        liveHandles = Native.liveHandles();
        files = new CheckpointFiles(directory.resolve("checkpoints"), 0);
        try (BackendFixture backend = BackendFixture.fresh(directory.resolve("first"));
                IncrementalSnapshotStrategy<Integer> strategy = backend.incremental()) {
            backend.write(1, 1);
            checkpoint = snapshot(strategy, 7, files.location(7), CHECKPOINT);
        }
    }

    @AfterEach
    void nothingStaysOpen() {
        assertThat(Native.liveHandles()).isEqualTo(liveHandles);
    }

    private AbstractThrowableAssert<?, ?> assertRestoreFails(
            KeyGroupRange range, KeyedStateHandle... handles) throws Exception {
        Set<Path> before = files.all();
        AbstractThrowableAssert<?, ?> failure =
                assertThatThrownBy(
                                () ->
                                        BackendFixture.restored(
                                                directory.resolve("second"), range, handles))
                        .isInstanceOf(IOException.class)
                        .hasMessageContaining("operator");
        assertThat(files.all()).isEqualTo(before);
        return failure;
    }

    private Path anSstFile() {
        return fileOf(checkpoint.getSharedState().get(0).getHandle());
    }

    private static Path fileOf(StreamStateHandle handle) {
        return Path.of(((FileStateHandle) handle).getFilePath().getPath());
    }

    private IncrementalRemoteKeyedStateHandle with(
            StreamStateHandle meta, List<HandleAndLocalPath> shared) {
        return new IncrementalRemoteKeyedStateHandle(
                UUID.randomUUID(), ALL, 7, shared, checkpoint.getPrivateState(), meta);
    }

    @Test
    void aMissingSharedFile() throws Exception {
        Path gone = anSstFile();
        Files.delete(gone);
        for (KeyGroupRange range : List.of(ALL, KeyGroupRange.of(0, 3))) {
            assertRestoreFails(range, checkpoint)
                    .hasMessageContaining("checkpoint 7")
                    .hasMessageContaining("bringing its files")
                    .hasMessageContaining(gone.getFileName().toString());
        }
    }

    @Test
    void aTruncatedSharedFile() throws Exception {
        Path cut = anSstFile();
        try (RandomAccessFile file = new RandomAccessFile(cut.toFile(), "rw")) {
            file.setLength(file.length() - 1);
        }
        assertRestoreFails(ALL, checkpoint)
                .hasMessageContaining("checkpoint 7")
                .hasMessageContaining(cut.getFileName().toString());
    }

    /** The files are whole by size: only reading the rows can tell. */
    @Test
    void aCorruptedSharedFile() throws Exception {
        Path bad = anSstFile();
        String name = checkpoint.getSharedState().get(0).getLocalPath();
        byte[] bytes = Files.readAllBytes(bad);
        for (int at = 100; at < 1000; at++) {
            bytes[at] ^= 0x55;
        }
        Files.write(bad, bytes);
        try (BackendFixture backend =
                BackendFixture.restored(directory.resolve("second"), ALL, checkpoint)) {
            assertThatThrownBy(() -> backend.has(1, 1))
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining(name);
        }
        try (BackendFixture backend =
                BackendFixture.restored(
                        directory.resolve("third"), KeyGroupRange.of(0, 3), checkpoint)) {
            assertThatThrownBy(() -> backend.has(1, 1))
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining(".sst");
        }
    }

    /** Not even its footer can be read, so it cannot be imported; nor can its rows. */
    @Test
    void aSharedFileThatIsNone() throws Exception {
        Path bad = anSstFile();
        String name = checkpoint.getSharedState().get(0).getLocalPath();
        Files.write(bad, new byte[(int) Files.size(bad)]);
        assertRestoreFails(KeyGroupRange.of(0, 3), checkpoint)
                .hasMessageContaining("checkpoint 7")
                .hasMessageContaining("copying key groups")
                .hasMessageContaining(name + " is a copy of file:")
                .hasMessageContaining(bad.getFileName().toString());
    }

    /** The MANIFEST has a file that the handle does not list. */
    @Test
    void aSharedFileThatTheHandleLacks() throws Exception {
        String name = checkpoint.getSharedState().get(0).getLocalPath();
        assertRestoreFails(
                        KeyGroupRange.of(0, 3),
                        with(checkpoint.getMetaDataStateHandle(), List.of()))
                .hasMessageContaining("checkpoint 7")
                .hasMessageContaining(name);
    }

    @Test
    void aCorruptedManifest() throws Exception {
        for (HandleAndLocalPath file : checkpoint.getPrivateState()) {
            if (file.getLocalPath().startsWith("MANIFEST")) {
                Files.write(fileOf(file.getHandle()), new byte[(int) file.getStateSize()]);
            }
        }
        assertRestoreFails(ALL, checkpoint)
                .hasMessageContaining("checkpoint 7")
                .hasMessageContaining("opening its files");
        assertRestoreFails(KeyGroupRange.of(0, 3), checkpoint)
                .hasMessageContaining("checkpoint 7")
                .hasMessageContaining("copying key groups");
    }

    @Test
    void aCorruptedMetaFile() throws Exception {
        StreamStateHandle nonsense =
                new ByteStreamStateHandle("meta-of-7", new byte[] {0, 0, 0, 6, 0, 1, 2, 3});
        assertRestoreFails(ALL, with(nonsense, checkpoint.getSharedState()))
                .hasMessageContaining("checkpoint 7")
                .hasMessageContaining("reading its meta file")
                .hasMessageContaining("meta-of-7");
    }

    @Test
    void aMetaFileOfAnotherSnapshot() throws Exception {
        IncrementalRemoteKeyedStateHandle other;
        try (BackendFixture backend = BackendFixture.fresh(directory.resolve("other"));
                IncrementalSnapshotStrategy<Integer> strategy = backend.incremental()) {
            backend.register("only in the other");
            other = snapshot(strategy, 8, files.location(8), CHECKPOINT);
        }
        for (KeyGroupRange range : List.of(ALL, KeyGroupRange.of(0, 3))) {
            assertRestoreFails(
                            range,
                            with(other.getMetaDataStateHandle(), checkpoint.getSharedState()))
                    .hasMessageContaining("'only in the other'");
        }
    }

    @Test
    void aPlaceholder() throws Exception {
        List<HandleAndLocalPath> shared = new ArrayList<>();
        shared.add(
                HandleAndLocalPath.of(
                        new PlaceholderStreamStateHandle(
                                new PhysicalStateHandleID("file:/nowhere"), 10, false),
                        "000010.sst"));
        assertRestoreFails(ALL, with(checkpoint.getMetaDataStateHandle(), shared))
                .hasMessageContaining("000010.sst")
                .hasMessageContaining("file:/nowhere");
    }

    @Test
    void aFileNameThatLeadsElsewhere() throws Exception {
        for (String name : List.of("../000010.sst", "sub/000010.sst", "..", "")) {
            List<HandleAndLocalPath> shared =
                    List.of(
                            HandleAndLocalPath.of(
                                    checkpoint.getSharedState().get(0).getHandle(), name));
            assertRestoreFails(ALL, with(checkpoint.getMetaDataStateHandle(), shared))
                    .hasMessageContaining("not a file name");
        }
    }

    @Test
    void handlesOfTwoKinds() throws Exception {
        KeyedStateHandle savepoint =
                new KeyGroupsSavepointStateHandle(
                        new KeyGroupRangeOffsets(ALL),
                        new ByteStreamStateHandle("rows", new byte[0]));
        assertRestoreFails(ALL, checkpoint, savepoint)
                .hasMessageContaining(KeyGroupsSavepointStateHandle.class.getName());
        assertRestoreFails(ALL, savepoint, checkpoint)
                .hasMessageContaining(IncrementalRemoteKeyedStateHandle.class.getName());
    }

    @Test
    void aHandleOfAnotherBackend() throws Exception {
        KeyedStateHandle changelog =
                new ChangelogStateBackendHandleImpl(List.of(), List.of(), ALL, 7, 1, 0);
        assertRestoreFails(ALL, changelog)
                .hasMessageContaining(ChangelogStateBackendHandleImpl.class.getName());
    }

    /** Its handle has the shape of a canonical savepoint's, its bytes have not. */
    @Test
    void aCheckpointOfTheHashmapBackend() throws Exception {
        try (KeyedBackends backends = new KeyedBackends()) {
            AbstractKeyedStateBackend<Integer> heap =
                    backends.create(new HashMapStateBackend(), IntSerializer.INSTANCE, KEY_GROUPS);
            heap.setCurrentKey(1);
            heap.getPartitionedState(
                            VoidNamespace.INSTANCE,
                            VoidNamespaceSerializer.INSTANCE,
                            new ValueStateDescriptor<>("value", IntSerializer.INSTANCE))
                    .update(1);
            RunnableFuture<SnapshotResult<KeyedStateHandle>> snapshot =
                    heap.snapshot(9, 0, files.location(9), CHECKPOINT);
            snapshot.run();
            KeyedStateHandle handle = snapshot.get().getJobManagerOwnedSnapshot();
            heap.dispose();
            assertRestoreFails(ALL, handle)
                    .hasMessageContaining("hashmap")
                    .hasMessageContaining(
                            ((KeyGroupsStateHandle) handle)
                                    .getStreamStateHandleID()
                                    .getKeyString());
        }
    }

    /** They would restore without an error: to state of other keys, or to a mixture. */
    @Test
    void keyGroupsThatDoNotFit() throws Exception {
        for (KeyGroupRange beyond :
                List.of(KeyGroupRange.of(0, KEY_GROUPS), KeyGroupRange.of(100, 110))) {
            assertRestoreFails(ALL, ofKeyGroups(beyond))
                    .hasMessageContaining("checkpoint 7")
                    .hasMessageContaining("has only " + KEY_GROUPS);
        }
        for (KeyGroupRange second : List.of(ALL, KeyGroupRange.of(9, 15), KeyGroupRange.of(3, 4))) {
            assertRestoreFails(
                            ALL, ofKeyGroups(second), ofKeyGroups(KeyGroupRange.of(0, 9)))
                    .hasMessageContaining("checkpoint 7")
                    .hasMessageContaining("the same key groups");
        }
    }

    private KeyedStateHandle ofKeyGroups(KeyGroupRange range) {
        return new IncrementalRemoteKeyedStateHandle(
                UUID.randomUUID(),
                range,
                7,
                checkpoint.getSharedState(),
                checkpoint.getPrivateState(),
                checkpoint.getMetaDataStateHandle());
    }

    /** RocksDB itself takes this for a write that a crash cut off, and opens with less state. */
    @Test
    void aManifestThatIsDamagedAtItsEnd() throws Exception {
        for (HandleAndLocalPath file : checkpoint.getPrivateState()) {
            if (file.getLocalPath().startsWith("MANIFEST")) {
                byte[] bytes = Files.readAllBytes(fileOf(file.getHandle()));
                bytes[lastRecord(bytes) + 5] = 1; // 256 bytes longer than the file
                Files.write(fileOf(file.getHandle()), bytes);
            }
        }
        for (KeyGroupRange range : List.of(ALL, KeyGroupRange.of(0, 3))) {
            assertRestoreFails(range, checkpoint)
                    .hasMessageContaining("checkpoint 7")
                    .hasMessageContaining("MANIFEST")
                    .hasMessageContaining("damaged");
        }
    }

    private static int lastRecord(byte[] manifest) {
        int at = 0;
        for (int next = 0; next < manifest.length; ) {
            at = next;
            next = at + 7 + (manifest[at + 4] & 0xff) + (manifest[at + 5] & 0xff) * 256;
        }
        return at;
    }

    @Test
    void aSavepointWithoutItsRows() throws Exception {
        KeyedStateHandle savepoint =
                new KeyGroupsSavepointStateHandle(
                        new KeyGroupRangeOffsets(ALL),
                        new ByteStreamStateHandle("rows-of-a-savepoint", new byte[] {0, 0, 0}));
        assertRestoreFails(ALL, savepoint).hasMessageContaining("rows-of-a-savepoint");
    }
}
