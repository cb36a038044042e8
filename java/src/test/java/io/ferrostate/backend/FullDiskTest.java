package io.ferrostate.backend;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.ferrostate.FerrostateOptions;
import io.ferrostate.FerrostateStateBackend;
import io.ferrostate.jni.FerrostateException;
import io.ferrostate.jni.Native;
import io.ferrostate.jni.NativeLibrary;

import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeutils.base.LongSerializer;
import org.apache.flink.api.common.typeutils.base.array.BytePrimitiveArraySerializer;
import org.apache.flink.configuration.MemorySize;
import org.apache.flink.runtime.state.AbstractKeyedStateBackend;
import org.apache.flink.runtime.state.BackendBuildingException;
import org.apache.flink.runtime.state.VoidNamespace;
import org.apache.flink.runtime.state.VoidNamespaceSerializer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;

/**
 * A local directory that runs full: a file system of 16 MB in memory, which needs
 * the right to mount; skipped without it.
 */
@Timeout(120)
class FullDiskTest {

    private static final int MEGABYTES = 16;

    @TempDir Path directory;

    private final KeyedBackends backends = new KeyedBackends();
    private final Random random = new Random(1);
    private long handlesBefore;
    private boolean mounted;

    @BeforeEach
    void mount() throws Exception {
        mounted =
                run("mount", "-t", "tmpfs", "-o", "size=" + MEGABYTES + "m", "tmpfs", directory());
        assumeTrue(mounted, "mounting is not allowed here");
        NativeLibrary.load();
        handlesBefore = Native.liveHandles();
    }

    @AfterEach
    void unmount() throws Exception {
        backends.close();
        if (mounted) {
            assertThat(run("umount", directory())).isTrue();
            assertThat(Native.liveHandles()).isEqualTo(handlesBefore);
        }
    }

    private String directory() {
        return directory.toString();
    }

    private static boolean run(String... command) throws Exception {
        try {
            return new ProcessBuilder(command)
                            .redirectErrorStream(true)
                            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                            .start()
                            .waitFor()
                    == 0;
        } catch (IOException noSuchCommand) {
            return false;
        }
    }

    private AbstractKeyedStateBackend<Long> create() throws IOException {
        FerrostateStateBackend backend =
                new FerrostateStateBackend()
                        .setLocalDirectories(directory())
                        .set(FerrostateOptions.WRITE_BUFFER_SIZE, MemorySize.ofMebiBytes(2));
        return backends.create(backend, LongSerializer.INSTANCE, 128);
    }

    @Test
    void writingFailsWithItsReasonAndTheNextBackendGoesOn() throws Exception {
        AbstractKeyedStateBackend<Long> backend = create();
        ValueState<byte[]> value = value(backend);
        FerrostateException failure =
                catchThrowableOfType(
                        FerrostateException.class,
                        () -> {
                            for (long key = 0; key < 20_000; key++) {
                                backend.setCurrentKey(key);
                                value.update(noise(10_000));
                            }
                        });
        assertThat(failure.kind()).isEqualTo(FerrostateException.Kind.FULL);
        assertThat(failure).hasMessageContaining("'full'").hasMessageContaining(directory());
        backend.setCurrentKey(0L);
        assertThat(value.value()).hasSize(10_000);
        backend.dispose();

        AbstractKeyedStateBackend<Long> next = create();
        ValueState<byte[]> empty = value(next);
        next.setCurrentKey(0L);
        assertThat(empty.value()).isNull();
        empty.update(noise(10));
        assertThat(empty.value()).hasSize(10);
        next.dispose();
    }

    @Test
    void openingFailsWithItsReason() throws Exception {
        Files.write(directory.resolve("filling"), noise(MEGABYTES << 20));
        assertThat(catchThrowableOfType(BackendBuildingException.class, this::create))
                .hasMessageContaining("No space left")
                .hasMessageContaining(directory())
                .cause()
                .isInstanceOf(FerrostateException.class);
        assertThat(directory.toFile().list()).containsExactly("filling");
    }

    private static ValueState<byte[]> value(AbstractKeyedStateBackend<Long> backend)
            throws Exception {
        return backend.getPartitionedState(
                VoidNamespace.INSTANCE,
                VoidNamespaceSerializer.INSTANCE,
                new ValueStateDescriptor<>("full", BytePrimitiveArraySerializer.INSTANCE));
    }

    private byte[] noise(int length) {
        byte[] bytes = new byte[length];
        random.nextBytes(bytes);
        return bytes;
    }
}
