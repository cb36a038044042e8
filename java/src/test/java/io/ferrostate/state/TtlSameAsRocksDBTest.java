package io.ferrostate.state;

import static org.assertj.core.api.Assertions.assertThat;

import io.ferrostate.FerrostateOptions;
import io.ferrostate.FerrostateStateBackend;
import io.ferrostate.backend.KeyedBackends;

import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.State;
import org.apache.flink.api.common.state.StateDescriptor;
import org.apache.flink.api.common.state.StateTtlConfig;
import org.apache.flink.api.common.state.StateTtlConfig.StateVisibility;
import org.apache.flink.api.common.state.StateTtlConfig.UpdateType;
import org.apache.flink.api.common.typeutils.base.IntSerializer;
import org.apache.flink.runtime.state.AbstractKeyedStateBackend;
import org.apache.flink.runtime.state.AbstractStateBackend;
import org.apache.flink.runtime.state.FullSnapshotResources;
import org.apache.flink.runtime.state.KeyValueStateIterator;
import org.apache.flink.runtime.state.VoidNamespace;
import org.apache.flink.runtime.state.VoidNamespaceSerializer;
import org.apache.flink.runtime.state.internal.InternalKvState;
import org.apache.flink.runtime.state.ttl.MockTtlTimeProvider;
import org.apache.flink.state.rocksdb.EmbeddedRocksDBStateBackend;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The same operations at the same time on Ferrostate and on Flink's RocksDB backend give the same answers,
 * and after compactions the same rows are left, byte for byte. Lists are compared with the write buffer and without it.
 *
 * <p>With the buffer, a list's former elements and those added to it reach RocksDB as one value, whose
 * expired front the next compaction drops. Without it, that compaction joins them and drops nothing of the
 * former ones: the one after that does. So expired elements go one compaction sooner; when they go
 * nobody can count on: both are compacted twice before they are compared. Elements that live are dropped by
 * neither, and what {@code NeverReturnExpired} answers does not depend on compactions.
 */
@Timeout(240)
class TtlSameAsRocksDBTest {

    private static final long TTL = 100;
    private static final int OPERATIONS = 800;

    @TempDir Path directory;

    private static Stream<Arguments> kinds() {
        return Arrays.stream(TtlKind.values())
                .flatMap(
                        kind ->
                                (kind.isList() ? Stream.of(true, false) : Stream.of(true))
                                        .flatMap(buffer -> configurations(kind, buffer)));
    }

    private static Stream<Arguments> configurations(TtlKind kind, boolean buffer) {
        return Stream.of(
                Arguments.of(
                        kind,
                        UpdateType.OnCreateAndWrite,
                        StateVisibility.NeverReturnExpired,
                        buffer),
                Arguments.of(
                        kind,
                        UpdateType.OnReadAndWrite,
                        StateVisibility.ReturnExpiredIfNotCleanedUp,
                        buffer));
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void compactionsLeaveTheSameRows(
            TtlKind kind, UpdateType updateType, StateVisibility visibility, boolean buffer)
            throws Exception {
        StateTtlConfig config =
                StateTtlConfig.newBuilder(Duration.ofMillis(TTL))
                        .setUpdateType(updateType)
                        .setStateVisibility(visibility)
                        .cleanupInRocksdbCompactFilter(kind.ordinal() % 3)
                        .build();
        MockTtlTimeProvider clock = new MockTtlTimeProvider();
        try (Subject theirs = new Subject(kind, config, clock, rocksdb());
                Subject ours = new Subject(kind, config, clock, ferrostate(buffer))) {
            Random random = new Random(kind.ordinal());
            int compactions = kind.isList() && buffer ? 2 : 1;
            int partial = 0;
            for (int i = 0; i < OPERATIONS; i++) {
                clock.time += random.nextInt(6);
                sameAnswer(theirs, ours, random.nextLong());
                if (random.nextInt(60) == 0) {
                    partial += sameRowsAfter(compactions, theirs, ours) ? 1 : 0;
                }
            }
            assertThat(partial).as("compactions that left some rows").isPositive();
            clock.time += TTL;
            sameRowsAfter(compactions, theirs, ours);
            assertThat(ours.rows()).as("all has expired").isEmpty();
        }
    }

    /** What the class comment says of lists. */
    @Test
    @SuppressWarnings("unchecked")
    void expiredElementsOfAListGoOneCompactionSooner() throws Exception {
        StateTtlConfig config = StateTtlConfig.newBuilder(Duration.ofMillis(TTL)).build();
        MockTtlTimeProvider clock = new MockTtlTimeProvider();
        try (Subject theirs = new Subject(TtlKind.LIST_INT, config, clock, rocksdb());
                Subject ours = new Subject(TtlKind.LIST_INT, config, clock, ferrostate(true))) {
            for (Subject subject : List.of(theirs, ours)) {
                subject.backend.setCurrentKey(1);
                ListState<Integer> list = (ListState<Integer>) subject.state;
                list.add(1);
                subject.compact();
                assertThat(list.get()).containsExactly(1);
            }
            clock.time += TTL;
            for (Subject subject : List.of(theirs, ours)) {
                // More than what was there: the buffer writes all of it anew.
                ((ListState<Integer>) subject.state).addAll(List.of(2, 3));
                subject.compact();
            }
            assertThat(ours.rows()).hasSize(1).isNotEqualTo(theirs.rows());
            theirs.compact();
            assertThat(ours.rows()).isEqualTo(theirs.rows());
        }
    }

    /**
     * Savepoints leave out what has expired where the state asks for it, compacted or not. Of a map's
     * expired entries the RocksDB backend leaves the user keys, with a null that never expires; we do not.
     */
    @ParameterizedTest
    @EnumSource(TtlKind.class)
    void savepointsLeaveOutTheSameRows(TtlKind kind) throws Exception {
        StateTtlConfig config =
                StateTtlConfig.newBuilder(Duration.ofMillis(TTL))
                        .cleanupFullSnapshot()
                        .disableCleanupInBackground()
                        .build();
        MockTtlTimeProvider clock = new MockTtlTimeProvider();
        try (Subject theirs = new Subject(kind, config, clock, rocksdb());
                Subject ours = new Subject(kind, config, clock, ferrostate(true))) {
            Random random = new Random(kind.ordinal());
            operate(100, theirs, ours, random);
            clock.time += TTL * 3 / 4;
            operate(8, theirs, ours, random);
            List<String> before = ours.rows();
            assertThat(before).isEqualTo(theirs.rows());
            clock.time += TTL / 2;
            assertThat(ours.rows())
                    .isEqualTo(withoutNulls(theirs.rows()))
                    .isNotEmpty()
                    .isNotEqualTo(before);
            clock.time += TTL;
            assertThat(ours.rows()).isEqualTo(withoutNulls(theirs.rows())).isEmpty();
        }
    }

    private static void operate(int times, Subject theirs, Subject ours, Random random)
            throws Exception {
        for (int i = 0; i < times; i++) {
            sameAnswer(theirs, ours, random.nextLong());
        }
    }

    private static List<String> withoutNulls(List<String> rows) {
        return rows.stream().filter(row -> !row.endsWith(" -> [1]")).collect(Collectors.toList());
    }

    private static void sameAnswer(Subject theirs, Subject ours, long seed) throws Exception {
        assertThat(ours.operate(new Random(seed)))
                .as("seed %s", seed)
                .isEqualTo(theirs.operate(new Random(seed)));
    }

    /** True if rows are left. */
    private static boolean sameRowsAfter(int compactions, Subject theirs, Subject ours)
            throws Exception {
        for (int i = 0; i < compactions; i++) {
            ours.compact();
            theirs.compact();
        }
        List<String> rows = theirs.rows();
        assertThat(ours.rows()).isEqualTo(rows);
        return !rows.isEmpty();
    }

    private AbstractStateBackend rocksdb() {
        EmbeddedRocksDBStateBackend backend = new EmbeddedRocksDBStateBackend(false);
        backend.setDbStoragePath(directory.resolve("rocksdb").toString());
        return backend;
    }

    private AbstractStateBackend ferrostate(boolean buffer) {
        return new FerrostateStateBackend(false)
                .set(FerrostateOptions.BUFFER_ENABLED, buffer)
                .setLocalDirectories(directory.resolve("ferrostate").toString());
    }

    /** One backend with one state. */
    private static final class Subject implements AutoCloseable {

        private final KeyedBackends environment = new KeyedBackends();
        private final TtlKind kind;
        private final AbstractKeyedStateBackend<Integer> backend;
        private final StateDescriptor<?, ?> descriptor;
        private final State state;

        Subject(
                TtlKind kind,
                StateTtlConfig config,
                MockTtlTimeProvider clock,
                AbstractStateBackend backend)
                throws Exception {
            this.kind = kind;
            this.backend = environment.create(backend, IntSerializer.INSTANCE, 16, clock);
            this.descriptor = kind.descriptor();
            this.descriptor.enableTimeToLive(config);
            this.state = open(descriptor);
        }

        @SuppressWarnings("unchecked")
        private <S extends State> S open(StateDescriptor<S, ?> opened) throws Exception {
            S created =
                    backend.getOrCreateKeyedState(VoidNamespaceSerializer.INSTANCE, opened);
            ((InternalKvState<Integer, VoidNamespace, ?>) created)
                    .setCurrentNamespace(VoidNamespace.INSTANCE);
            return created;
        }

        String operate(Random random) throws Exception {
            backend.setCurrentKey(random.nextInt(10));
            return kind.operate(state, random);
        }

        void compact() throws Exception {
            KeyedBackends.compact(backend, descriptor);
        }

        /** All rows, as a savepoint has them. */
        List<String> rows() throws Exception {
            FullSnapshotResources<Integer> savepoint = backend.savepoint().getSnapshotResources();
            List<String> rows = new ArrayList<>();
            try (KeyValueStateIterator iterator = savepoint.createKVStateIterator()) {
                for (; iterator.isValid(); iterator.next()) {
                    rows.add(
                            Arrays.toString(iterator.key()) + " -> "
                                    + Arrays.toString(iterator.value()));
                }
            } finally {
                savepoint.release();
            }
            return rows;
        }

        @Override
        public void close() {
            backend.dispose();
            environment.close();
        }
    }
}
