package io.ferrostate.checkpoint;

import io.ferrostate.backend.Database;
import io.ferrostate.backend.DatabaseOpener;
import io.ferrostate.backend.RegisteredState;
import io.ferrostate.jni.Native;
import io.ferrostate.jni.NativeLibrary;
import io.ferrostate.jni.Page;
import io.ferrostate.restore.RestoreContext;
import io.ferrostate.restore.RestoreOperation;
import io.ferrostate.restore.RestoreResult;

import org.apache.flink.api.common.state.StateDescriptor;
import org.apache.flink.api.common.typeutils.base.IntSerializer;
import org.apache.flink.core.fs.CloseableRegistry;
import org.apache.flink.runtime.checkpoint.CheckpointOptions;
import org.apache.flink.runtime.state.CheckpointStreamFactory;
import org.apache.flink.runtime.state.IncrementalRemoteKeyedStateHandle;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.LocalRecoveryConfig;
import org.apache.flink.runtime.state.RegisteredKeyValueStateBackendMetaInfo;
import org.apache.flink.runtime.state.SnapshotResult;
import org.apache.flink.runtime.state.StateSerializerProvider;
import org.apache.flink.runtime.state.VoidNamespaceSerializer;

import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Random;
import java.util.UUID;

/** A database with one state and 16 key groups, as a backend would hold it, for checkpoints of it. */
public final class BackendFixture implements AutoCloseable {

    public static final int KEY_GROUPS = 16;
    public static final KeyGroupRange ALL = KeyGroupRange.of(0, KEY_GROUPS - 1);
    public static final String STATE = "numbers";

    private final Path instance;
    private final KeyGroupRange range;
    private final RestoreResult restored;
    private final Map<String, RegisteredState> states = new LinkedHashMap<>();
    private boolean copiesInStore = true;
    private LocalRecoveryConfig localRecovery = LocalRecoveryConfig.BACKUP_AND_RECOVERY_DISABLED;

    private BackendFixture(
            Path root,
            KeyGroupRange range,
            String[] options,
            DatabaseOpener opener,
            CloseableRegistry cancelRegistry,
            Collection<KeyedStateHandle> handles)
            throws Exception {
        NativeLibrary.load();
        this.instance = Files.createDirectories(root.resolve("op_" + UUID.randomUUID()));
        this.range = range;
        RestoreContext<Integer> context =
                new RestoreContext<>(
                        "operator",
                        range,
                        KEY_GROUPS,
                        instance.toFile(),
                        instance.resolve("db").toFile(),
                        options,
                        opener,
                        states,
                        StateSerializerProvider.fromNewRegisteredSerializer(
                                IntSerializer.INSTANCE),
                        Thread.currentThread().getContextClassLoader(),
                        cancelRegistry);
        this.restored = new RestoreOperation<>(context, handles).restore();
    }

    public static BackendFixture fresh(Path root) throws Exception {
        return restored(root, ALL);
    }

    public static BackendFixture restored(
            Path root, KeyGroupRange range, KeyedStateHandle... handles) throws Exception {
        return restored(root, range, new String[0], handles);
    }

    /** @param options alternating key and value. */
    public static BackendFixture restored(
            Path root, KeyGroupRange range, String[] options, KeyedStateHandle... handles)
            throws Exception {
        return cancellable(
                root,
                range,
                options,
                directory -> Database.open(directory, options, 0),
                new CloseableRegistry(),
                handles);
    }

    /** @param cancelRegistry cancels the restore when it is closed. */
    public static BackendFixture cancellable(
            Path root,
            KeyGroupRange range,
            String[] options,
            DatabaseOpener opener,
            CloseableRegistry cancelRegistry,
            KeyedStateHandle... handles)
            throws Exception {
        return new BackendFixture(
                root, range, options, opener, cancelRegistry, Arrays.asList(handles));
    }

    public BackendFixture withLocalRecovery(LocalRecoveryConfig config) {
        localRecovery = config;
        return this;
    }

    /** With {@code checkpoint.copy-in-store: false}. */
    BackendFixture withoutCopies() {
        copiesInStore = false;
        return this;
    }

    public SnapshotContext<Integer> context() {
        return new SnapshotContext<>(
                restored.database(),
                states,
                IntSerializer.INSTANCE,
                range,
                localRecovery,
                instance.toFile(),
                restored.backendIdentifier(),
                "operator",
                copiesInStore);
    }

    public IncrementalSnapshotStrategy<Integer> incremental() {
        return new IncrementalSnapshotStrategy<>(
                context(),
                restored.checkpointId(),
                restored.sharedFiles(),
                restored.privateFiles());
    }

    /** As with {@code execution.checkpointing.incremental: false}. */
    public FullSnapshotStrategy<Integer> full() {
        return new FullSnapshotStrategy<>(context(), restored.allFiles());
    }

    public Map<String, RegisteredState> states() {
        return states;
    }

    public RestoreResult restoreResult() {
        return restored;
    }

    public Path instance() {
        return instance;
    }

    public void register(String name) throws IOException {
        if (!states.containsKey(name)) {
            states.put(
                    name,
                    new RegisteredState(
                            new RegisteredKeyValueStateBackendMetaInfo<>(
                                    StateDescriptor.Type.VALUE,
                                    name,
                                    VoidNamespaceSerializer.INSTANCE,
                                    IntSerializer.INSTANCE),
                            restored.database().column(name)));
        }
    }

    /** Writes some kilobytes that do not compress, for one key in each key group of the range. */
    public void write(int key, long seed) throws IOException {
        register(STATE);
        try (Page keyPage = new Page(64);
                Page valuePage = new Page(4096)) {
            for (int keyGroup : range) {
                byte[] row = rowKey(keyGroup, key);
                byte[] bytes = value(keyGroup, key, seed);
                keyPage.write(0, row, 0, row.length);
                valuePage.write(0, bytes, 0, bytes.length);
                Native.put(
                        states.get(STATE).column().handle(),
                        keyPage.address(),
                        row.length,
                        0,
                        valuePage.address(),
                        bytes.length);
            }
        }
    }

    /** Waits until what a rescale left is compacted. */
    public void settle() throws IOException {
        while ("1".equals(
                restored.database()
                        .call(open -> Native.dbProperty(open, 0, "ferrostate.is-settling")))) {
            Thread.yield();
        }
    }

    /** True if each key group of the range has what {@link #write} wrote. */
    public boolean has(int key, long seed) throws IOException {
        for (int keyGroup : range) {
            if (!Arrays.equals(read(keyGroup, key), value(keyGroup, key, seed))) {
                return false;
            }
        }
        return true;
    }

    public byte[] read(int keyGroup, int key) throws IOException {
        return states.get(STATE).column().get(rowKey(keyGroup, key));
    }

    private static byte[] rowKey(int keyGroup, int key) {
        return ByteBuffer.allocate(6).put((byte) keyGroup).putInt(key).put((byte) 0).array();
    }

    private static byte[] value(int keyGroup, int key, long seed) {
        byte[] bytes = new byte[512];
        new Random(seed * 1_000_003 + key * 31L + keyGroup).nextBytes(bytes);
        return bytes;
    }

    /** Both parts of a snapshot, one after the other on this thread. */
    public static IncrementalRemoteKeyedStateHandle snapshot(
            NativeSnapshotStrategy<?> strategy,
            long checkpointId,
            CheckpointStreamFactory factory,
            CheckpointOptions options)
            throws Exception {
        return (IncrementalRemoteKeyedStateHandle)
                snapshotResult(strategy, checkpointId, factory, options)
                        .getJobManagerOwnedSnapshot();
    }

    public static SnapshotResult<KeyedStateHandle> snapshotResult(
            NativeSnapshotStrategy<?> strategy,
            long checkpointId,
            CheckpointStreamFactory factory,
            CheckpointOptions options)
            throws Exception {
        NativeSnapshotResources resources = strategy.syncPrepareResources(checkpointId);
        return finish(strategy, resources, checkpointId, factory, options, new CloseableRegistry());
    }

    static SnapshotResult<KeyedStateHandle> finish(
            NativeSnapshotStrategy<?> strategy,
            NativeSnapshotResources resources,
            long checkpointId,
            CheckpointStreamFactory factory,
            CheckpointOptions options,
            CloseableRegistry registry)
            throws Exception {
        try {
            return strategy.asyncSnapshot(resources, checkpointId, 0L, factory, options)
                    .get(registry);
        } finally {
            registry.close();
            resources.release();
        }
    }

    /** Temporary directories that snapshots and restores left behind. */
    public Collection<File> leftovers() {
        File[] found = instance.toFile().listFiles((parent, name) -> !name.equals("db"));
        return found == null ? Collections.emptyList() : Arrays.asList(found);
    }

    @Override
    public void close() {
        restored.database().close();
    }
}
