package io.ferrostate.backend;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.ferrostate.FerrostateOptions;
import io.ferrostate.FerrostateStateBackend;
import io.ferrostate.jni.Native;

import org.apache.flink.api.common.serialization.SerializerConfigImpl;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.State;
import org.apache.flink.api.common.state.StateDescriptor;
import org.apache.flink.api.common.state.StateTtlConfig;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.common.typeutils.base.IntSerializer;
import org.apache.flink.api.common.typeutils.base.StringSerializer;
import org.apache.flink.api.java.typeutils.GenericTypeInfo;
import org.apache.flink.runtime.checkpoint.CheckpointOptions;
import org.apache.flink.runtime.state.AbstractKeyedStateBackend;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.SnapshotResult;
import org.apache.flink.runtime.state.VoidNamespace;
import org.apache.flink.runtime.state.VoidNamespaceSerializer;
import org.apache.flink.runtime.state.internal.InternalKvState;
import org.apache.flink.runtime.state.memory.MemCheckpointStreamFactory;
import org.apache.flink.runtime.state.ttl.MockTtlTimeProvider;
import org.apache.flink.runtime.state.ttl.TtlStateFactory;
import org.apache.flink.runtime.state.ttl.TtlTimeProvider;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.concurrent.RunnableFuture;
import java.util.stream.Stream;

/**
 * When compactions drop expired values: by which clock, under which configuration, and what becomes of it
 * when a state is registered differently. Which values they drop is TtlSameAsRocksDBTest's question.
 */
@Timeout(120)
class TtlFilterTest {

    private static final int TTL = 100;

    @TempDir Path directory;

    private final KeyedBackends environment = new KeyedBackends();
    private final MockTtlTimeProvider clock = new MockTtlTimeProvider();
    private FerrostateKeyedStateBackend<Integer> backend;

    @BeforeEach
    void open() throws Exception {
        open(clock);
    }

    @AfterEach
    void close() {
        backend.dispose();
        environment.close();
        assertThat(Native.liveHandles()).isZero();
    }

    // ---- the clock -----------------------------------------------------------------------------

    /** A clock that goes back, as a test's may: what is written then is young, not long dead. */
    @Test
    void anEntryThatIsAliveByFlinksClockStaysThoughTheClockWentBack() throws Exception {
        ValueState<String> state = open(value(ttl()));
        clock.time = 10_000;
        state.update("late");
        clock.time = 50;
        backend.setCurrentKey(2);
        state.update("early");
        compactInBackground();
        assertThat(rows()).isEqualTo(2);
        assertThat(state.value()).isEqualTo("early");
    }

    /** The library's time stands where Flink has read the clock last; then expired values only stay. */
    @Test
    void withoutAReadingOfFlinksNothingMoreExpires() throws Exception {
        ValueState<String> state = open(value(ttl()));
        state.update("v");
        clock.time = TTL;
        compactInBackground();
        assertThat(rows()).isEqualTo(1);
        backend.setCurrentKey(2);
        assertThat(state.value()).isNull(); // reads no time: there is nothing to expire
        state.update("w");
        compactInBackground();
        assertThat(rows()).isEqualTo(1);
    }

    @Test
    void aRecordTellsTheTime() throws Exception {
        open(value(ttl())).update("v");
        clock.time = TTL;
        backend.setCurrentKey(2);
        compactInBackground();
        assertThat(rows()).isZero();
    }

    @Test
    void aSnapshotTellsTheTime() throws Exception {
        open(value(ttl())).update("v");
        clock.time = TTL;
        snapshot();
        compactInBackground();
        assertThat(rows()).isZero();
    }

    @Test
    void flinksDefaultClockIsTheSystems() throws Exception {
        reopen(TtlTimeProvider.DEFAULT);
        ValueState<String> alive = open(value(ttl(Duration.ofDays(1)).build()));
        alive.update("alive");
        ValueStateDescriptor<String> descriptor =
                new ValueStateDescriptor<>("short", StringSerializer.INSTANCE);
        descriptor.enableTimeToLive(ttl(Duration.ofMillis(1)).build());
        open(descriptor).update("short-lived");
        long written = System.currentTimeMillis();
        while (System.currentTimeMillis() <= written + 1) {
            Thread.onSpinWait();
        }
        compactInBackground();
        assertThat(rows()).isEqualTo(1);
        assertThat(alive.value()).isEqualTo("alive");
    }

    /** The writer of a savepoint may still ask for the time when the task is gone. */
    @Test
    void aClosedDatabaseIsToldNothing() throws Exception {
        Database database =
                Database.open(directory.resolve("closed").toFile(), new String[0], 0);
        TtlTimeProvider told = TtlClock.of(clock, database);
        database.close();
        clock.time = 77;
        assertThat(told.currentTimestamp()).isEqualTo(77);
    }

    // ---- the configuration ---------------------------------------------------------------------

    /** A39: whatever the kind and the type, nothing is left of what has expired. */
    @Test
    void nothingIsLeftOfExpiredState() throws Exception {
        StateTtlConfig ttl = ttl();
        for (Class<?> type : new Class<?>[] {Integer.class, String.class}) {
            Object one = type == Integer.class ? (Object) 1 : "one";
            String suffix = type.getSimpleName();
            ValueStateDescriptor<Object> value =
                    new ValueStateDescriptor<>("value" + suffix, serializer(type));
            MapStateDescriptor<Object, Object> map =
                    new MapStateDescriptor<>(
                            "map" + suffix, serializer(type), serializer(type));
            ListStateDescriptor<Object> list =
                    new ListStateDescriptor<>("list" + suffix, serializer(type));
            for (StateDescriptor<?, ?> descriptor : new StateDescriptor<?, ?>[] {value, map, list}) {
                descriptor.enableTimeToLive(ttl);
            }
            open(value).update(one);
            MapState<Object, Object> entries = open(map);
            entries.put(one, one);
            ListState<Object> elements = open(list);
            elements.add(one);
            elements.add(one);
        }
        assertThat(rows()).isEqualTo(6);
        clock.time = TTL;
        backend.compact();
        assertThat(rows()).isZero();
    }

    @Test
    void nothingIsDroppedWithoutBackgroundCleanup() throws Exception {
        open(value(ttl(Duration.ofMillis(TTL)).disableCleanupInBackground().build())).update("v");
        clock.time = TTL;
        backend.compact();
        assertThat(rows()).isEqualTo(1);
    }

    /** As Flink says: incremental cleanup is the heap's, and switches nothing on here. */
    @Test
    void incrementalCleanupAloneDropsNothing() throws Exception {
        StateTtlConfig config =
                ttl(Duration.ofMillis(TTL))
                        .disableCleanupInBackground()
                        .cleanupIncrementally(10, true)
                        .build();
        ValueState<String> state = open(value(config));
        state.update("v");
        clock.time = TTL;
        backend.setCurrentKey(2);
        state.update("other");
        backend.compact();
        assertThat(rows()).isEqualTo(2);
    }

    @Test
    void aListWhoseElementsOnlyKryoKnowsStaysWholeAndIsNotSeen() throws Exception {
        ListStateDescriptor<Object> descriptor =
                new ListStateDescriptor<>(
                        "kryo",
                        new GenericTypeInfo<>(Object.class)
                                .createSerializer(
                                        new SerializerConfigImpl()));
        descriptor.enableTimeToLive(ttl());
        ListState<Object> list = open(descriptor);
        list.add("an element");
        clock.time = TTL;
        backend.compact();
        assertThat(rows()).isEqualTo(1);
        assertThat(list.get()).isNullOrEmpty();
        assertThat(rows()).as("reading cleared it").isZero();
    }

    @Test
    void anotherTimeToLiveCountsAfterARestore() throws Exception {
        open(value(ttl())).update("v");
        restore(snapshot());
        open(value(ttl(Duration.ofMillis(2 * TTL)).build()));
        clock.time = TTL;
        backend.compact();
        assertThat(rows()).isEqualTo(1);
        clock.time = 2 * TTL;
        backend.compact();
        assertThat(rows()).isZero();
    }

    @Test
    void filesAreCompactedAtTheAgeThatTheStateOrTheOptionSays() throws Exception {
        backend.dispose();
        backend =
                create(
                        ferrostate()
                                .set(
                                        FerrostateOptions.COMPACT_FILTER_PERIODIC_COMPACTION_TIME,
                                        Duration.ofDays(2)),
                        clock);
        open(named("option", ttl()));
        open(named("none", StateTtlConfig.DISABLED));
        open(named("flink", ttl(Duration.ofMillis(TTL)).cleanupInRocksdbCompactFilter(7).build()));
        open(
                named(
                        "own",
                        ttl(Duration.ofMillis(TTL))
                                .cleanupInRocksdbCompactFilter(7, Duration.ofHours(5))
                                .build()));
        assertThat(period("option")).isEqualTo(Duration.ofDays(2));
        assertThat(period("none")).isEqualTo(Duration.ofDays(2));
        assertThat(period("flink")).as("the strategy's default").isEqualTo(Duration.ofDays(30));
        assertThat(period("own")).isEqualTo(Duration.ofHours(5));

        KeyedStateHandle snapshot = snapshot();
        backend.dispose();
        open(clock, snapshot);
        open(named("own", ttl()));
        assertThat(period("own")).as("Flink's default for the option").isEqualTo(Duration.ofDays(30));
    }

    /** Java's own faults do not make a state lose its rule. */
    @Test
    void aMalformedRuleIsRefusedWithTheNameOfTheState() throws Exception {
        open(value(ttl())).update("v");
        Column column = column("state");
        assertThatThrownBy(
                        () ->
                                Native.ttlConfigure(
                                        column.handle(), Native.TTL_LIST, TTL, 1, new byte[] {99}, -1))
                .hasMessageContaining("'state'")
                .hasMessageContaining("malformed");
        assertThatThrownBy(() -> Native.ttlConfigure(column.handle(), 17, TTL, 1, null, -1))
                .isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> Native.ttlConfigure(0, Native.TTL_VALUE, TTL, 1, null, -1))
                .isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> Native.ttlTime(0, 1)).isInstanceOf(IllegalStateException.class);
        clock.time = TTL;
        backend.compact();
        assertThat(rows()).isZero();
    }

    // ---- across restores -----------------------------------------------------------------------

    @Test
    void aRestoredStateIsFilteredOnceItIsRegistered() throws Exception {
        open(value(ttl())).update("v");
        restore(snapshot());
        clock.time = TTL;
        backend.compact();
        assertThat(rows()).as("nobody has said yet what these values are").isEqualTo(1);
        open(value(ttl()));
        backend.compact();
        assertThat(rows()).isZero();
    }

    /** Then the files are put together in another database first, which has no filters. */
    @Test
    void aStateRestoredAtAnotherParallelismIsFilteredOnceItIsRegistered() throws Exception {
        ValueState<String> state = open(value(ttl()));
        for (int key = 0; key < 100; key++) {
            backend.setCurrentKey(key);
            state.update("v");
        }
        KeyedStateHandle snapshot = snapshot();
        backend.dispose();
        AbstractKeyedStateBackend<Integer> half =
                environment.create(
                        ferrostate(),
                        IntSerializer.INSTANCE,
                        16,
                        KeyGroupRange.of(0, 7),
                        clock,
                        snapshot);
        backend = (FerrostateKeyedStateBackend<Integer>) half;
        int restored = rows();
        assertThat(restored).isBetween(1, 99);
        clock.time = TTL;
        backend.compact();
        assertThat(rows()).as("nobody has said yet what these values are").isEqualTo(restored);
        open(value(ttl()));
        backend.compact();
        assertThat(rows()).isZero();
    }

    @Test
    void switchedOffOnAndOffAcrossRestores() throws Exception {
        open(value(ttl())).update("v");
        for (int round = 0; round < 2; round++) {
            restore(snapshot());
            ValueState<String> off = open(value(StateTtlConfig.DISABLED));
            clock.time += 10 * TTL;
            backend.compact();
            assertThat(off.value()).as("without a time to live").isEqualTo("v");

            restore(snapshot());
            ValueState<String> on = open(value(ttl()));
            backend.compact();
            assertThat(on.value()).as("lives from the migration on").isEqualTo("v");
        }
        clock.time += TTL;
        backend.compact();
        assertThat(rows()).isZero();
    }

    @Test
    void listsSwitchedOnAndOffAcrossRestores() throws Exception {
        ListState<String> list = open(list(StateTtlConfig.DISABLED));
        list.add("a,");
        list.add("b");
        restore(snapshot());
        list = open(list(ttl()));
        clock.time += TTL / 2;
        list.add("c");
        clock.time += TTL / 2;
        backend.compact();
        backend.compact(); // what the first one merged out of value and operand
        assertThat(list.get()).containsExactly("c");

        restore(snapshot());
        list = open(list(StateTtlConfig.DISABLED));
        clock.time += 10 * TTL;
        backend.compact();
        assertThat(list.get()).containsExactly("c");
    }

    // ---- helpers -------------------------------------------------------------------------------

    private static StateTtlConfig ttl() {
        return ttl(Duration.ofMillis(TTL)).build();
    }

    private static StateTtlConfig.Builder ttl(Duration timeToLive) {
        return StateTtlConfig.newBuilder(timeToLive);
    }

    private static ValueStateDescriptor<String> value(StateTtlConfig config) {
        return named("state", config);
    }

    private static ValueStateDescriptor<String> named(String name, StateTtlConfig config) {
        ValueStateDescriptor<String> descriptor =
                new ValueStateDescriptor<>(name, StringSerializer.INSTANCE);
        if (config.isEnabled()) {
            descriptor.enableTimeToLive(config);
        }
        return descriptor;
    }

    private static ListStateDescriptor<String> list(StateTtlConfig config) {
        ListStateDescriptor<String> descriptor =
                new ListStateDescriptor<>("list", StringSerializer.INSTANCE);
        if (config.isEnabled()) {
            descriptor.enableTimeToLive(config);
        }
        return descriptor;
    }

    @SuppressWarnings("unchecked")
    private static TypeSerializer<Object> serializer(
            Class<?> type) {
        return (TypeSerializer<Object>)
                (type == Integer.class
                        ? (TypeSerializer<?>)
                                IntSerializer.INSTANCE
                        : StringSerializer.INSTANCE);
    }

    private FerrostateStateBackend ferrostate() {
        return new FerrostateStateBackend(true)
                .setLocalDirectories(directory.resolve("db").toString());
    }

    private void open(TtlTimeProvider timeProvider, KeyedStateHandle... handles)
            throws IOException {
        backend = create(ferrostate(), timeProvider, handles);
    }

    private void reopen(TtlTimeProvider timeProvider) throws IOException {
        backend.dispose();
        open(timeProvider);
    }

    private FerrostateKeyedStateBackend<Integer> create(
            FerrostateStateBackend factory, TtlTimeProvider timeProvider, KeyedStateHandle... handles)
            throws IOException {
        AbstractKeyedStateBackend<Integer> created =
                environment.create(factory, IntSerializer.INSTANCE, 16, timeProvider, handles);
        created.setCurrentKey(1);
        return (FerrostateKeyedStateBackend<Integer>) created;
    }

    /** As if it were registered for the first time, also when it was before. */
    @SuppressWarnings("unchecked")
    private <S extends State> S open(StateDescriptor<S, ?> descriptor) throws Exception {
        S state =
                TtlStateFactory.createStateAndWrapWithTtlIfEnabled(
                                VoidNamespaceSerializer.INSTANCE,
                                descriptor,
                                backend,
                                backend.timeProvider());
        ((InternalKvState<Integer, VoidNamespace, ?>) state)
                .setCurrentNamespace(VoidNamespace.INSTANCE);
        return state;
    }

    private KeyedStateHandle snapshot() throws Exception {
        RunnableFuture<
                        SnapshotResult<KeyedStateHandle>>
                snapshot =
                        backend.snapshot(
                                1,
                                1,
                                new MemCheckpointStreamFactory(1 << 20),
                                CheckpointOptions.forCheckpointWithDefaultLocation());
        snapshot.run();
        return snapshot.get().getJobManagerOwnedSnapshot();
    }

    private void restore(KeyedStateHandle handle) throws Exception {
        backend.dispose();
        open(clock, handle);
    }

    /** As RocksDB does it by itself: nobody tells the time before. */
    private void compactInBackground() throws IOException {
        backend.database()
                .call(
                        database -> {
                            Native.dbCompact(database);
                            return null;
                        });
    }

    private Column column(String name) throws IOException {
        return backend.database().column(name);
    }

    private int rows() {
        return backend.numKeyValueStateEntries();
    }

    /** What RocksDB noted last in its file OPTIONS. */
    private Duration period(String columnFamily) throws IOException {
        File database = backend.database().directory();
        Path options;
        try (Stream<Path> files = Files.list(database.toPath())) {
            options =
                    files.filter(file -> file.getFileName().toString().startsWith("OPTIONS-"))
                            .max(Comparator.comparing(file -> file.getFileName().toString()))
                            .orElseThrow(AssertionError::new);
        }
        String text = new String(Files.readAllBytes(options), StandardCharsets.UTF_8);
        String family = text.split("\\[CFOptions \"" + columnFamily + "\"]")[1];
        String value = family.split("periodic_compaction_seconds=")[1].split("\\s")[0];
        return Duration.ofSeconds(Long.parseLong(value));
    }
}
