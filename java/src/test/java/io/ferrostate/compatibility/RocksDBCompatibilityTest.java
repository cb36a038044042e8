package io.ferrostate.compatibility;

import static org.assertj.core.api.Assertions.assertThat;

import io.ferrostate.compatibility.Backends.Kind;
import io.ferrostate.compatibility.Backends.Snapshot;

import org.apache.flink.runtime.state.AbstractKeyedStateBackend;
import org.apache.flink.runtime.state.IncrementalRemoteKeyedStateHandle;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.KeyedStateHandle;

import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Promise P2: what one of Ferrostate and Flink's EmbeddedRocksDBStateBackend writes, the other one
 * restores, goes on with and hands back. For all kinds of snapshots, key groups of one byte and of
 * two, and other parallelisms.
 */
@Timeout(120)
class RocksDBCompatibilityTest {

    private static final int OPERATIONS = 3000;

    @TempDir Path directory;

    static Collection<Arguments> variants() {
        List<Arguments> variants = new ArrayList<>();
        for (Snapshot snapshot : Snapshot.values()) {
            for (Kind writer : Kind.values()) {
                for (int maxParallelism : new int[] {128, 129}) {
                    variants.add(Arguments.of(writer, snapshot, maxParallelism));
                }
            }
        }
        return variants;
    }

    @ParameterizedTest
    @MethodSource("variants")
    void thereAndBack(Kind writer, Snapshot snapshot, int maxParallelism) throws Exception {
        KeyGroupRange all = KeyGroupRange.of(0, maxParallelism - 1);
        try (Backends backends = new Backends(directory, maxParallelism, snapshot)) {
            SortedMap<String, String> dump = new TreeMap<>();
            KeyedStateHandle there = write(backends, writer, all, maxParallelism, dump);
            KeyedStateHandle back;
            AbstractKeyedStateBackend<String> reader =
                    backends.open(writer.other(), all, List.of(there));
            try {
                Workload workload = new Workload(reader, maxParallelism);
                assertThat(dump).hasSizeGreaterThan(500);
                assertThat(workload.dump()).isEqualTo(dump);
                workload.run(3, OPERATIONS);
                dump = workload.dump();
                back = backends.snapshot(reader);
            } finally {
                reader.dispose();
            }
            if (snapshot == Snapshot.INCREMENTAL) {
                assertGoesOnWith(there, back);
            }
            assertRestores(backends, writer, all, maxParallelism, dump, back);
        }
    }

    /** The reader's first checkpoint must not upload again what the writer's has. */
    private static void assertGoesOnWith(KeyedStateHandle there, KeyedStateHandle back) {
        IncrementalRemoteKeyedStateHandle first = (IncrementalRemoteKeyedStateHandle) there;
        IncrementalRemoteKeyedStateHandle second = (IncrementalRemoteKeyedStateHandle) back;
        assertThat(second.getBackendIdentifier()).isEqualTo(first.getBackendIdentifier());
        assertThat(second.getSharedState()).containsAnyElementsOf(first.getSharedState());
    }

    @ParameterizedTest
    @MethodSource("variants")
    void twoPartsIntoOne(Kind writer, Snapshot snapshot, int maxParallelism) throws Exception {
        KeyGroupRange all = KeyGroupRange.of(0, maxParallelism - 1);
        try (Backends backends = new Backends(directory, maxParallelism, snapshot)) {
            SortedMap<String, String> dump = new TreeMap<>();
            KeyedStateHandle lower =
                    write(backends, writer, KeyGroupRange.of(0, 63), maxParallelism, dump);
            assertThat(dump).hasSizeGreaterThan(300);
            KeyedStateHandle upper =
                    write(
                            backends,
                            writer,
                            KeyGroupRange.of(64, maxParallelism - 1),
                            maxParallelism,
                            dump);
            assertRestores(
                    backends, writer.other(), all, maxParallelism, dump, lower, upper);
        }
    }

    @ParameterizedTest
    @MethodSource("variants")
    void oneIntoAPart(Kind writer, Snapshot snapshot, int maxParallelism) throws Exception {
        KeyGroupRange all = KeyGroupRange.of(0, maxParallelism - 1);
        KeyGroupRange part = KeyGroupRange.of(maxParallelism / 2, maxParallelism - 1);
        try (Backends backends = new Backends(directory, maxParallelism, snapshot)) {
            KeyedStateHandle handle =
                    write(backends, writer, all, maxParallelism, new TreeMap<>());
            SortedMap<String, String> expected = new TreeMap<>();
            AbstractKeyedStateBackend<String> same = backends.open(writer, part, of(part, handle));
            try {
                expected.putAll(new Workload(same, maxParallelism).dump());
            } finally {
                same.dispose();
            }
            assertThat(expected).hasSizeGreaterThan(100);
            assertRestores(
                    backends,
                    writer.other(),
                    part,
                    maxParallelism,
                    expected,
                    handle.getIntersection(part));
        }
    }

    private static Collection<KeyedStateHandle> of(KeyGroupRange range, KeyedStateHandle handle) {
        return List.of(handle.getIntersection(range));
    }

    /** Two snapshots with changes in between, the second one incremental where there is such. */
    private static KeyedStateHandle write(
            Backends backends,
            Kind kind,
            KeyGroupRange range,
            int maxParallelism,
            SortedMap<String, String> dump)
            throws Exception {
        AbstractKeyedStateBackend<String> backend = backends.open(kind, range, List.of());
        try {
            Workload workload = new Workload(backend, maxParallelism);
            workload.writeUntouched();
            workload.run(1, OPERATIONS);
            backends.snapshot(backend);
            workload.run(2, OPERATIONS);
            dump.putAll(workload.dump());
            return backends.snapshot(backend);
        } finally {
            backend.dispose();
        }
    }

    private static void assertRestores(
            Backends backends,
            Kind kind,
            KeyGroupRange range,
            int maxParallelism,
            SortedMap<String, String> dump,
            KeyedStateHandle... handles)
            throws Exception {
        AbstractKeyedStateBackend<String> backend =
                backends.open(kind, range, Arrays.asList(handles));
        try {
            Workload workload = new Workload(backend, maxParallelism);
            assertThat(workload.dump()).isEqualTo(dump);
            assertThat(workload.untouched()).isEqualTo(workload.expectedUntouched());
        } finally {
            backend.dispose();
        }
    }
}
