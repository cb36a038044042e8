package io.ferrostate.restore;

import static io.ferrostate.checkpoint.CheckpointFiles.CHECKPOINT;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.ferrostate.FerrostateStateBackend;
import io.ferrostate.backend.KeyedBackends;
import io.ferrostate.checkpoint.CheckpointFiles;
import java.nio.file.Path;
import java.util.concurrent.RunnableFuture;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeutils.base.IntSerializer;
import org.apache.flink.api.common.typeutils.base.StringSerializer;
import org.apache.flink.core.fs.CloseableRegistry;
import org.apache.flink.runtime.state.AbstractKeyedStateBackend;
import org.apache.flink.runtime.state.AbstractStateBackend;
import org.apache.flink.runtime.state.FullSnapshotResources;
import org.apache.flink.runtime.state.KeyGroupsStateHandle;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.SavepointResources;
import org.apache.flink.runtime.state.SavepointSnapshotStrategy;
import org.apache.flink.runtime.state.SnapshotResult;
import org.apache.flink.runtime.state.SnapshotStrategyRunner;
import org.apache.flink.runtime.state.VoidNamespace;
import org.apache.flink.runtime.state.VoidNamespaceSerializer;
import org.apache.flink.runtime.state.hashmap.HashMapStateBackend;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Canonical savepoints in the handles of Flink before 1.13, which are those of the hashmap backend's
 * checkpoints: the former are restored, the latter refused. Flink's own files of those versions are
 * restored by {@code :java:flinkTests}.
 */
@Timeout(60)
class OldSavepointTest {

    private static final int KEY_GROUPS = 8;
    private static final int KEYS = 60;

    @TempDir Path directory;

    /** A key of 65536 bytes times n, first in key group n, looks like the mark of the heap. */
    @ParameterizedTest(name = "compression={0}, keys of {1} bytes")
    @CsvSource({"false, 5", "true, 5", "false, 65600", "false, 131200", "true, 131200"})
    void aSavepointInTheHandleOfACheckpoint(boolean compression, int keyLength) throws Exception {
        String padding = "k".repeat(keyLength);
        KeyGroupsStateHandle savepoint;
        try (KeyedBackends backends = new KeyedBackends()) {
            backends.environment().getExecutionConfig().setUseSnapshotCompression(compression);
            AbstractKeyedStateBackend<String> backend = create(backends, ferrostate());
            fill(backend, padding);
            savepoint = (KeyGroupsStateHandle) savepoint(backend);
            backend.dispose();
        }
        KeyGroupsStateHandle old =
                new KeyGroupsStateHandle(
                        savepoint.getGroupRangeOffsets(), savepoint.getDelegateStateHandle());
        try (KeyedBackends backends = new KeyedBackends()) {
            AbstractKeyedStateBackend<String> backend = create(backends, ferrostate(), old);
            ValueState<Integer> value = value(backend);
            for (int key = 0; key < KEYS; key++) {
                backend.setCurrentKey(key + padding);
                assertThat(value.value()).isEqualTo(key);
            }
            backend.dispose();
        }
    }

    @ParameterizedTest(name = "compression={0}")
    @ValueSource(booleans = {false, true})
    void aCheckpointOfTheHashmapBackend(boolean compression) throws Exception {
        try (KeyedBackends backends = new KeyedBackends()) {
            backends.environment().getExecutionConfig().setUseSnapshotCompression(compression);
            AbstractKeyedStateBackend<String> backend =
                    create(backends, new HashMapStateBackend());
            fill(backend, "");
            KeyedStateHandle checkpoint =
                    finish(backend.snapshot(1, 0, files().location(1), CHECKPOINT));
            backend.dispose();
            assertThatThrownBy(() -> create(backends, ferrostate(), checkpoint))
                    .hasStackTraceContaining("is a checkpoint or native savepoint of the hashmap");
        }
    }

    private AbstractStateBackend ferrostate() {
        return new FerrostateStateBackend()
                .setLocalDirectories(directory.resolve("local").toString());
    }

    private static AbstractKeyedStateBackend<String> create(
            KeyedBackends backends, AbstractStateBackend backend, KeyedStateHandle... handles)
            throws Exception {
        return backends.create(backend, StringSerializer.INSTANCE, KEY_GROUPS, handles);
    }

    private static void fill(AbstractKeyedStateBackend<String> backend, String padding)
            throws Exception {
        ValueState<Integer> value = value(backend);
        for (int key = 0; key < KEYS; key++) {
            backend.setCurrentKey(key + padding);
            value.update(key);
        }
    }

    private static ValueState<Integer> value(AbstractKeyedStateBackend<String> backend)
            throws Exception {
        return backend.getPartitionedState(
                VoidNamespace.INSTANCE,
                VoidNamespaceSerializer.INSTANCE,
                new ValueStateDescriptor<>("value", IntSerializer.INSTANCE));
    }

    private KeyedStateHandle savepoint(AbstractKeyedStateBackend<String> backend)
            throws Exception {
        SavepointResources<String> resources = backend.savepoint();
        return finish(
                new SnapshotStrategyRunner<KeyedStateHandle, FullSnapshotResources<String>>(
                                "canonical savepoint",
                                new SavepointSnapshotStrategy<>(resources.getSnapshotResources()),
                                new CloseableRegistry(),
                                resources.getPreferredSnapshotExecutionType())
                        .snapshot(1, 0, files().location(1), CHECKPOINT));
    }

    private CheckpointFiles files() throws Exception {
        return new CheckpointFiles(directory.resolve("checkpoints"), 0);
    }

    private static KeyedStateHandle finish(
            RunnableFuture<SnapshotResult<KeyedStateHandle>> snapshot) throws Exception {
        snapshot.run();
        return snapshot.get().getJobManagerOwnedSnapshot();
    }
}
