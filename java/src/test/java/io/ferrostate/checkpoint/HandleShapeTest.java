package io.ferrostate.checkpoint;

import static io.ferrostate.checkpoint.CheckpointFiles.CHECKPOINT;
import static io.ferrostate.checkpoint.CheckpointFiles.NATIVE_SAVEPOINT;
import static org.assertj.core.api.Assertions.assertThat;

import org.apache.flink.runtime.checkpoint.CheckpointOptions;
import org.apache.flink.runtime.state.CheckpointStreamFactory;
import org.apache.flink.runtime.state.IncrementalKeyedStateHandle.HandleAndLocalPath;
import org.apache.flink.runtime.state.IncrementalRemoteKeyedStateHandle;
import org.apache.flink.runtime.state.StreamStateHandle;
import org.apache.flink.runtime.state.filesystem.RelativeFileStateHandle;
import org.apache.flink.runtime.state.memory.ByteStreamStateHandle;
import org.apache.flink.runtime.state.memory.MemCheckpointStreamFactory;

import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.InputStream;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The library's uploads give the handles that Flink's own streams give for the same files. */
@Timeout(60)
class HandleShapeTest {

    private static final String UUID =
            "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";

    @TempDir Path directory;

    @ParameterizedTest
    @ValueSource(
            strings = {"0 checkpoints", "20480 checkpoints", "1048576 check%20points+\u00e4#?&"})
    void directUploadsAndStreamsGiveTheSameHandles(String thresholdAndDirectory)
            throws Exception {
        int space = thresholdAndDirectory.indexOf(' ');
        CheckpointFiles files =
                new CheckpointFiles(
                        directory.resolve(thresholdAndDirectory.substring(space + 1) + " dir"),
                        Integer.parseInt(thresholdAndDirectory.substring(0, space)));
        try (BackendFixture backend = BackendFixture.fresh(directory.resolve("local"))) {
            for (int key = 0; key < 10; key++) {
                backend.write(key, key);
            }
            compare(backend, files, CHECKPOINT);
            compare(backend, files, NATIVE_SAVEPOINT);
        }
    }

    private void compare(BackendFixture backend, CheckpointFiles files, CheckpointOptions options)
            throws Exception {
        assertThat(FileUpload.into(files.location(1))).isInstanceOf(DirectUpload.class);
        CheckpointStreamFactory streams = new FaultyStreams(files.location(1), 0, () -> {});
        assertThat(FileUpload.into(streams)).isInstanceOf(StreamUpload.class);
        IncrementalRemoteKeyedStateHandle direct =
                checkpoint(backend, files.location(1), options);
        IncrementalRemoteKeyedStateHandle streamed = checkpoint(backend, streams, options);
        assertThat(shapes(direct.getSharedState())).isEqualTo(shapes(streamed.getSharedState()));
        assertThat(shapes(direct.getPrivateState())).isEqualTo(shapes(streamed.getPrivateState()));
        assertThat(direct.getCheckpointedSize()).isEqualTo(streamed.getCheckpointedSize());
        assertThat(direct.streamSubHandles().map(StreamStateHandle::getStreamStateHandleID))
                .doesNotHaveDuplicates();
        assertSameBytes(direct, streamed);
        assertRestores(direct);
    }

    private static IncrementalRemoteKeyedStateHandle checkpoint(
            BackendFixture backend, CheckpointStreamFactory factory, CheckpointOptions options)
            throws Exception {
        try (IncrementalSnapshotStrategy<Integer> strategy = backend.incremental()) {
            return BackendFixture.snapshot(strategy, 1, factory, options);
        }
    }

    /** All that tells two handles apart but the random part of their names. */
    private static List<String> shapes(List<HandleAndLocalPath> files) {
        return files.stream()
                .filter(file -> !isMutable(file))
                .map(HandleShapeTest::shape)
                .sorted()
                .collect(Collectors.toList());
    }

    /** Two local checkpoints number these files on, and their sizes differ by it. */
    private static boolean isMutable(HandleAndLocalPath file) {
        return !file.getLocalPath().endsWith(".sst");
    }

    private static String shape(HandleAndLocalPath file) {
        StreamStateHandle handle = file.getHandle();
        String name = handle.getStreamStateHandleID().getKeyString();
        assertThat(name).matches(".*/" + UUID);
        if (handle instanceof RelativeFileStateHandle) {
            assertThat(name).endsWith('/' + ((RelativeFileStateHandle) handle).getRelativePath());
        }
        return String.join(
                " ",
                file.getLocalPath(),
                handle.getClass().getName(),
                Long.toString(handle.getStateSize()),
                name.replaceFirst(UUID, "*"),
                String.valueOf(handle.maybeGetPath().map(path -> path.getParent().toString())));
    }

    private static void assertSameBytes(
            IncrementalRemoteKeyedStateHandle direct, IncrementalRemoteKeyedStateHandle streamed)
            throws Exception {
        for (HandleAndLocalPath file : direct.getSharedState()) {
            assertThat(bytes(file.getHandle()))
                    .hasSize((int) file.getStateSize())
                    .isEqualTo(bytes(CheckpointFiles.of(streamed, file.getLocalPath())));
        }
    }

    private static byte[] bytes(StreamStateHandle handle) throws Exception {
        try (InputStream in = handle.openInputStream()) {
            return in.readAllBytes();
        }
    }

    private void assertRestores(IncrementalRemoteKeyedStateHandle handle) throws Exception {
        try (BackendFixture restored =
                BackendFixture.restored(
                        directory.resolve("restored"), BackendFixture.ALL, handle)) {
            for (int key = 0; key < 10; key++) {
                assertThat(restored.has(key, key)).isTrue();
            }
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void jobManagerStorageKeepsEverythingInline(boolean incremental) throws Exception {
        MemCheckpointStreamFactory memory = new MemCheckpointStreamFactory(5 << 20);
        try (BackendFixture backend = BackendFixture.fresh(directory.resolve("local"));
                NativeSnapshotStrategy<Integer> strategy =
                        incremental
                                ? backend.incremental()
                                : backend.full()) {
            for (int key = 0; key < 10; key++) {
                backend.write(key, key);
            }
            IncrementalRemoteKeyedStateHandle handle =
                    BackendFixture.snapshot(strategy, 1, memory, CHECKPOINT);
            assertThat(Stream.concat(
                            handle.getSharedState().stream(), handle.getPrivateState().stream()))
                    .hasSizeGreaterThan(3)
                    .allSatisfy(
                            file ->
                                    assertThat(file.getHandle())
                                            .isInstanceOf(ByteStreamStateHandle.class));
            assertRestores(handle);
        }
    }
}
