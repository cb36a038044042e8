package io.ferrostate.restore;

import static io.ferrostate.checkpoint.BackendFixture.ALL;
import static io.ferrostate.checkpoint.BackendFixture.KEY_GROUPS;
import static io.ferrostate.checkpoint.CheckpointFiles.CHECKPOINT;
import static org.assertj.core.api.Assertions.assertThat;

import io.ferrostate.FerrostateStateBackend;
import io.ferrostate.backend.KeyedBackends;
import io.ferrostate.backend.Snapshots;
import io.ferrostate.checkpoint.BackendFixture;
import io.ferrostate.checkpoint.CheckpointFiles;
import io.ferrostate.checkpoint.IncrementalSnapshotStrategy;
import io.ferrostate.jni.Native;
import io.ferrostate.jni.NativeLibrary;

import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.typeutils.base.IntSerializer;
import org.apache.flink.api.common.typeutils.base.StringSerializer;
import org.apache.flink.core.fs.CloseableRegistry;
import org.apache.flink.metrics.groups.UnregisteredMetricsGroup;
import org.apache.flink.runtime.execution.CancelTaskException;
import org.apache.flink.runtime.jobgraph.JobVertexID;
import org.apache.flink.runtime.query.KvStateRegistry;
import org.apache.flink.runtime.state.AbstractKeyedStateBackend;
import org.apache.flink.runtime.state.IncrementalKeyedStateHandle.HandleAndLocalPath;
import org.apache.flink.runtime.state.IncrementalRemoteKeyedStateHandle;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.KeyGroupsSavepointStateHandle;
import org.apache.flink.runtime.state.KeyGroupsStateHandle;
import org.apache.flink.runtime.state.KeyedStateBackendParametersImpl;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.LocalRecoveryConfig;
import org.apache.flink.runtime.state.LocalSnapshotDirectoryProviderImpl;
import org.apache.flink.runtime.state.StreamStateHandle;
import org.apache.flink.runtime.state.VoidNamespace;
import org.apache.flink.runtime.state.VoidNamespaceSerializer;
import org.apache.flink.runtime.state.ttl.TtlTimeProvider;
import org.apache.flink.util.ExceptionUtils;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A restore, however it is done, that is cancelled or fails in any of its steps: it ends within seconds,
 * nothing is left in the local directory, nothing stays open and the snapshot is as it was.
 */
@Timeout(120)
class RestoreStepsTest {

    private static final long LIMIT_MILLIS = 5000;
    private static final KeyGroupRange LOWER = KeyGroupRange.of(0, 6);
    private static final KeyGroupRange UPPER = KeyGroupRange.of(7, KEY_GROUPS - 1);

    enum Way {
        SAME_KEY_GROUPS,
        LOCAL_COPY,
        IMPORT_OF_FILES,
        COPY_OF_ROWS,
        CANONICAL_SAVEPOINT
    }

    @TempDir Path directory;

    private final KeyedBackends backends = new KeyedBackends();
    private CheckpointFiles files;
    private Snapshots savepoints;
    private long liveHandles;

    @BeforeEach
    void open() throws Exception {
        NativeLibrary.load();
        liveHandles = Native.liveHandles();
        files = new CheckpointFiles(directory.resolve("checkpoints"), 0);
        savepoints = new Snapshots(directory.resolve("savepoints"));
    }

    @AfterEach
    void close() throws Exception {
        RestoreStep.failpoint = step -> {};
        savepoints.close();
        backends.close();
    }

    private KeyedStateHandle[] handles(Way way) throws Exception {
        switch (way) {
            case SAME_KEY_GROUPS:
                return new KeyedStateHandle[] {checkpoint(ALL)};
            case LOCAL_COPY:
                return new KeyedStateHandle[] {localCopy()};
            case IMPORT_OF_FILES:
                return new KeyedStateHandle[] {checkpoint(LOWER), checkpoint(UPPER)};
            case COPY_OF_ROWS:
                return new KeyedStateHandle[] {
                    RescaleFallbackTest.notImportable(checkpoint(LOWER)),
                    RescaleFallbackTest.notImportable(checkpoint(UPPER))
                };
            default:
                return new KeyedStateHandle[] {savepoint()};
        }
    }

    private IncrementalRemoteKeyedStateHandle checkpoint(KeyGroupRange range) throws Exception {
        try (BackendFixture backend =
                        BackendFixture.restored(directory.resolve("first"), range);
                IncrementalSnapshotStrategy<Integer> strategy = backend.incremental()) {
            backend.write(1, 1);
            return BackendFixture.snapshot(strategy, 7, files.location(7), CHECKPOINT);
        }
    }

    private KeyedStateHandle localCopy() throws Exception {
        LocalRecoveryConfig config =
                LocalRecoveryConfig.backupAndRecoveryEnabled(
                        new LocalSnapshotDirectoryProviderImpl(
                                new File[] {directory.resolve("backup").toFile()},
                                new JobID(),
                                new JobVertexID(),
                                0));
        try (BackendFixture backend =
                        BackendFixture.fresh(directory.resolve("first")).withLocalRecovery(config);
                IncrementalSnapshotStrategy<Integer> strategy = backend.incremental()) {
            backend.write(1, 1);
            return BackendFixture.snapshotResult(strategy, 7, files.location(7), CHECKPOINT)
                    .getTaskLocalSnapshot();
        }
    }

    private KeyedStateHandle savepoint() throws Exception {
        AbstractKeyedStateBackend<Integer> backend = build(new CloseableRegistry());
        try {
            for (int key = 0; key < 1000; key++) {
                backend.setCurrentKey(key);
                backend.getPartitionedState(
                                VoidNamespace.INSTANCE,
                                VoidNamespaceSerializer.INSTANCE,
                                new ListStateDescriptor<>("list", StringSerializer.INSTANCE))
                        .add("an element of " + key);
            }
            return savepoints.savepoint(backend);
        } finally {
            backend.dispose();
        }
    }

    private AbstractKeyedStateBackend<Integer> build(
            CloseableRegistry cancelRegistry, KeyedStateHandle... handles) throws IOException {
        return new FerrostateStateBackend(true)
                .setLocalDirectories(local().toString())
                .createKeyedStateBackend(
                        new KeyedStateBackendParametersImpl<>(
                                backends.environment(),
                                new JobID(),
                                "the operator",
                                IntSerializer.INSTANCE,
                                KEY_GROUPS,
                                ALL,
                                new KvStateRegistry()
                                        .createTaskRegistry(new JobID(), new JobVertexID()),
                                TtlTimeProvider.DEFAULT,
                                new UnregisteredMetricsGroup(),
                                Arrays.asList(handles),
                                cancelRegistry));
    }

    private Path local() {
        return directory.resolve("local");
    }

    /** Everything but the local directory. */
    private Set<Path> content() throws IOException {
        try (Stream<Path> all = Files.walk(directory)) {
            return all.filter(path -> !path.startsWith(local()))
                    .collect(Collectors.toCollection(TreeSet::new));
        }
    }

    private static String withoutPath(String step) {
        return step.replaceAll("/\\S*/", "");
    }

    /** The names of all steps; some are taken side by side. */
    private Set<String> steps(KeyedStateHandle[] handles) throws Exception {
        Set<String> steps = Collections.synchronizedSet(new LinkedHashSet<>());
        RestoreStep.failpoint = step -> steps.add(withoutPath(step));
        build(new CloseableRegistry(), handles).dispose();
        return steps;
    }

    @ParameterizedTest
    @EnumSource(Way.class)
    void aCancelBeforeAnyStep(Way way) throws Exception {
        KeyedStateHandle[] handles = handles(way);
        for (String name : steps(handles)) {
            CloseableRegistry registry = new CloseableRegistry();
            RestoreStep.failpoint =
                    step -> {
                        if (withoutPath(step).equals(name)) {
                            registry.close();
                        }
                    };
            assertEnds(way + ", before " + name, registry, handles);
        }
    }

    @ParameterizedTest
    @EnumSource(Way.class)
    void aFailureInAnyStep(Way way) throws Exception {
        KeyedStateHandle[] handles = handles(way);
        Set<String> steps = steps(handles);
        assertThat(steps).hasSizeGreaterThan(way == Way.CANONICAL_SAVEPOINT ? 0 : 3);
        Set<Path> before = content();
        for (String name : steps) {
            RestoreStep.failpoint =
                    step -> {
                        if (withoutPath(step).equals(name)) {
                            throw new IOException("the disk is gone");
                        }
                    };
            Throwable failure = catchThrowable(new CloseableRegistry(), handles);
            assertThat(failure)
                    .hasMessageContaining("the operator")
                    .hasMessageContaining("the disk is gone")
                    .hasMessageContaining("Nothing of the snapshot was changed");
            assertThat(withoutPath(failure.getMessage())).contains("while " + name);
            assertNothingLeft(before, name);
        }
    }

    /** The store stops answering in the middle, and only closing its streams helps. */
    @ParameterizedTest
    @EnumSource(Way.class)
    void aCancelWhileTheStoreHangs(Way way) throws Exception {
        KeyedStateHandle[] handles = handles(way);
        for (double part : new double[] {0, 0.3, 0.9}) {
            HangingHandle hanging = hanging(handles, part);
            if (hanging == null) {
                return; // a local copy is no stream's business
            }
            KeyedStateHandle[] stuck = handles.clone();
            stuck[0] = with(handles[0], hanging);
            CloseableRegistry registry = new CloseableRegistry();
            Thread canceller =
                    new Thread(
                            () -> {
                                try {
                                    hanging.awaitHanging();
                                    registry.close();
                                } catch (InterruptedException | IOException e) {
                                    throw new IllegalStateException(e);
                                }
                            });
            canceller.setDaemon(true);
            canceller.start();
            assertEnds(way + ", the store hangs", registry, stuck);
            canceller.join();
        }
    }

    private static HangingHandle hanging(KeyedStateHandle[] handles, double part) {
        StreamStateHandle file;
        if (handles[0] instanceof KeyGroupsStateHandle) {
            file = ((KeyGroupsStateHandle) handles[0]).getDelegateStateHandle();
        } else if (handles[0] instanceof IncrementalRemoteKeyedStateHandle) {
            file = anSst((IncrementalRemoteKeyedStateHandle) handles[0]).getHandle();
        } else {
            return null;
        }
        return new HangingHandle(file, (long) (part * file.getStateSize()));
    }

    private static HandleAndLocalPath anSst(IncrementalRemoteKeyedStateHandle handle) {
        return handle.getSharedState().get(0);
    }

    private static KeyedStateHandle with(KeyedStateHandle handle, StreamStateHandle stream) {
        if (handle instanceof KeyGroupsStateHandle) {
            return new KeyGroupsSavepointStateHandle(
                    ((KeyGroupsStateHandle) handle).getGroupRangeOffsets(), stream);
        }
        IncrementalRemoteKeyedStateHandle remote = (IncrementalRemoteKeyedStateHandle) handle;
        List<HandleAndLocalPath> shared = new ArrayList<>(remote.getSharedState());
        shared.set(0, HandleAndLocalPath.of(stream, shared.get(0).getLocalPath()));
        return new IncrementalRemoteKeyedStateHandle(
                remote.getBackendIdentifier(),
                remote.getKeyGroupRange(),
                remote.getCheckpointId(),
                shared,
                remote.getPrivateState(),
                remote.getMetaDataStateHandle());
    }

    /** Cancelled, or past the point where it matters. */
    private void assertEnds(String where, CloseableRegistry registry, KeyedStateHandle... handles)
            throws Exception {
        Set<Path> before = content();
        long started = System.nanoTime();
        Throwable failure = catchThrowable(registry, handles);
        long millis = (System.nanoTime() - started) / 1_000_000;
        System.out.println("RestoreStepsTest: " + where + ": ended after " + millis + " ms");
        assertThat(registry.isClosed()).as("the test's point").isTrue();
        assertThat(millis).isLessThan(LIMIT_MILLIS);
        if (failure != null) {
            assertThat(ExceptionUtils.findThrowable(failure, CancelTaskException.class))
                    .as("%s", failure)
                    .isPresent();
        }
        assertNothingLeft(before, where);
    }

    /** Null if it was restored; the backend is gone again then. */
    private Throwable catchThrowable(CloseableRegistry registry, KeyedStateHandle... handles) {
        try {
            build(registry, handles).dispose();
            return null;
        } catch (Throwable failure) {
            return failure;
        }
    }

    private void assertNothingLeft(Set<Path> before, String what) throws IOException {
        assertThat(content()).as(what).isEqualTo(before);
        try (Stream<Path> left = Files.list(local())) {
            assertThat(left).as(what).isEmpty();
        }
        assertThat(Native.liveHandles()).as(what).isEqualTo(liveHandles);
    }
}
