package io.ferrostate.restore;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.fail;

import io.ferrostate.FerrostateStateBackend;
import io.ferrostate.backend.KeyedBackends;
import io.ferrostate.backend.Snapshots;
import io.ferrostate.jni.Native;

import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.StateTtlConfig;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.TypeHint;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.common.typeutils.base.IntSerializer;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.core.fs.CloseableRegistry;
import org.apache.flink.runtime.state.AbstractKeyedStateBackend;
import org.apache.flink.runtime.state.IncrementalRemoteKeyedStateHandle;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.StateSerializerProvider;
import org.apache.flink.runtime.state.StreamStateHandle;
import org.apache.flink.runtime.state.VoidNamespace;
import org.apache.flink.runtime.state.VoidNamespaceSerializer;
import org.apache.flink.runtime.state.memory.ByteStreamStateHandle;
import org.apache.flink.runtime.state.ttl.TtlTimeProvider;
import org.apache.flink.util.StateMigrationException;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.io.InputStream;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.stream.Stream;

/**
 * A meta file with a wrong byte anywhere: the restore says so, with the file and the step, asks for no
 * memory to speak of and leaves nothing; or the byte did not matter.
 */
@Timeout(120)
class MetaFileDamageTest {

    private static final int KEY_GROUPS = 4;
    private static final KeyGroupRange ALL = KeyGroupRange.of(0, 3);
    private static final KeyGroupRange HALF = KeyGroupRange.of(0, 1);
    private static final long MOST_BYTES = 128 << 20;

    /** Of those that could be read every so many is restored. */
    private static final int WHOLE = 64;

    @TempDir Path directory;

    private final KeyedBackends backends = new KeyedBackends();
    private Snapshots snapshots;
    private IncrementalRemoteKeyedStateHandle checkpoint;
    private byte[] meta;
    private int rest;
    private int whole;

    /** For a POJO's snapshot. */
    public static final class Pojo {
        public int number;
        public String text;
        public List<Object> generic = new ArrayList<>();
    }

    @BeforeEach
    void open() throws Exception {
        snapshots = new Snapshots(directory.resolve("checkpoints"));
        AbstractKeyedStateBackend<Integer> backend = backend(ALL);
        try {
            backend.setCurrentKey(1);
            backend.getPartitionedState(
                            VoidNamespace.INSTANCE,
                            VoidNamespaceSerializer.INSTANCE,
                            new ListStateDescriptor<>("list", Types.STRING))
                    .add("element");
            backend.getPartitionedState(
                            VoidNamespace.INSTANCE,
                            VoidNamespaceSerializer.INSTANCE,
                            new MapStateDescriptor<>(
                                    "map",
                                    Types.INT,
                                    TypeInformation.of(
                                            new TypeHint<Tuple2<Integer, Pojo>>() {})))
                    .put(1, Tuple2.of(1, new Pojo()));
            ValueStateDescriptor<Long> expiring = new ValueStateDescriptor<>("ttl", Types.LONG);
            expiring.enableTimeToLive(StateTtlConfig.newBuilder(Duration.ofHours(1)).build());
            backend.getPartitionedState(
                            VoidNamespace.INSTANCE, VoidNamespaceSerializer.INSTANCE, expiring)
                    .update(7L);
            checkpoint = (IncrementalRemoteKeyedStateHandle) snapshots.checkpoint(backend);
        } finally {
            backend.dispose();
        }
        try (InputStream in = checkpoint.getMetaDataStateHandle().openInputStream()) {
            meta = in.readAllBytes();
        }
    }

    @AfterEach
    void close() throws Exception {
        snapshots.close();
        backends.close();
    }

    private Path local() {
        return directory.resolve("local");
    }

    private AbstractKeyedStateBackend<Integer> backend(
            KeyGroupRange range, IncrementalRemoteKeyedStateHandle... handles) throws Exception {
        return backends.create(
                new FerrostateStateBackend(true).setLocalDirectories(local().toString()),
                IntSerializer.INSTANCE,
                KEY_GROUPS,
                range,
                TtlTimeProvider.DEFAULT,
                handles);
    }

    private IncrementalRemoteKeyedStateHandle with(byte[] metaFile) {
        StreamStateHandle handle = new ByteStreamStateHandle("the-meta-file", metaFile);
        return new IncrementalRemoteKeyedStateHandle(
                checkpoint.getBackendIdentifier(),
                ALL,
                checkpoint.getCheckpointId(),
                checkpoint.getSharedState(),
                checkpoint.getPrivateState(),
                handle);
    }

    /** The highest bit makes counts huge or negative, the lowest ones letters and numbers others. */
    @Test
    void aFlippedBitAnywhere() throws Exception {
        int refused = 0;
        for (int at = 0; at < meta.length; at++) {
            for (int bit : new int[] {0, 5, 7}) {
                byte[] damaged = meta.clone();
                damaged[at] ^= (byte) (1 << bit);
                refused += isRefused(damaged, "bit " + bit + " of byte " + at) ? 1 : 0;
            }
        }
        assertThat(refused).isGreaterThan(3 * meta.length / 2);
    }

    @Test
    void aFileThatEndsAnywhere() throws Exception {
        for (int length = 0; length < meta.length; length++) {
            byte[] cut = Arrays.copyOf(meta, length);
            assertThat(isRefused(cut, length + " bytes")).as("%d bytes", length).isTrue();
        }
    }

    /** Reading finds most; what can be read, and some of the rest, goes the whole way. */
    private boolean isRefused(byte[] damaged, String what) throws Exception {
        com.sun.management.ThreadMXBean threads =
                (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
        long thread = Thread.currentThread().getId();
        long before = threads.getThreadAllocatedBytes(thread);
        boolean readable = false;
        try {
            reader().read(new ByteStreamStateHandle("the-meta-file", damaged));
            readable = true;
        } catch (StateMigrationException aboutTheKey) {
            assertThat(aboutTheKey).as(what).hasMessageContaining("key serializer");
        } catch (IOException refused) {
            assertThat(refused).as(what).hasMessageContaining("the-meta-file");
        } catch (Throwable unexpected) {
            fail(what, unexpected);
        }
        assertThat(threads.getThreadAllocatedBytes(thread) - before)
                .as(what)
                .isLessThan(MOST_BYTES);
        boolean oneOfTheRest = rest++ % 200 == 0;
        return (readable || oneOfTheRest) && whole++ % WHOLE == 0
                ? isRestoreRefused(damaged, what)
                : !readable;
    }

    private MetaFileReader<Integer> reader() {
        return new MetaFileReader<>(
                new RestoreContext<>(
                        "the operator",
                        ALL,
                        KEY_GROUPS,
                        local().toFile(),
                        local().resolve("db").toFile(),
                        new String[0],
                        database -> null,
                        new LinkedHashMap<>(),
                        StateSerializerProvider.fromNewRegisteredSerializer(
                                IntSerializer.INSTANCE),
                        getClass().getClassLoader(),
                        new CloseableRegistry()));
    }

    private boolean isRestoreRefused(byte[] damaged, String what) throws Exception {
        long handles = Native.liveHandles();
        boolean refused = false;
        try {
            backend(what.hashCode() % 2 == 0 ? ALL : HALF, with(damaged)).dispose();
        } catch (Exception failure) {
            refused = true;
            checkMessage(failure, what);
        } catch (Throwable error) {
            fail(what, error);
        }
        assertThat(Native.liveHandles()).as(what).isEqualTo(handles);
        try (Stream<Path> left = Files.list(local())) {
            assertThat(left).as(what).isEmpty();
        }
        return refused;
    }

    /** Says what, where and which step; or what is the user's business, as with a wrong serializer. */
    private static void checkMessage(Exception refused, String what) {
        StringBuilder all = new StringBuilder();
        for (Throwable cause = refused; cause != null; cause = cause.getCause()) {
            all.append(cause.getMessage()).append('\n');
        }
        boolean aboutTheStep =
                all.indexOf("checkpoint 1") >= 0
                        && (all.indexOf("the-meta-file") >= 0
                                || all.indexOf("meta file lists") >= 0
                                || all.indexOf("meta file says") >= 0
                                || all.indexOf("A state cannot be named") >= 0);
        boolean aboutTheKey = all.indexOf("key serializer") >= 0;
        assertThat(aboutTheStep || aboutTheKey).as("%s: %s", what, all).isTrue();
    }
}
