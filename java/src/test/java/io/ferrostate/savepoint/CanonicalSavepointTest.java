package io.ferrostate.savepoint;

import static org.assertj.core.api.Assertions.assertThat;

import io.ferrostate.FerrostateStateBackend;
import io.ferrostate.backend.KeyedBackends;
import io.ferrostate.jni.Native;
import io.ferrostate.jni.NativeLibrary;

import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.State;
import org.apache.flink.api.common.state.StateDescriptor;
import org.apache.flink.api.common.state.StateTtlConfig;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeutils.base.IntSerializer;
import org.apache.flink.runtime.state.AbstractKeyedStateBackend;
import org.apache.flink.runtime.state.FullSnapshotResources;
import org.apache.flink.runtime.state.KeyGroupedInternalPriorityQueue;
import org.apache.flink.runtime.state.KeyValueStateIterator;
import org.apache.flink.runtime.state.VoidNamespace;
import org.apache.flink.runtime.state.VoidNamespaceSerializer;
import org.apache.flink.runtime.state.ttl.MockTtlTimeProvider;
import org.apache.flink.streaming.api.operators.TimerHeapInternalTimer;
import org.apache.flink.streaming.api.operators.TimerSerializer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

/** What goes into a canonical savepoint, and that it holds nothing longer than it must. */
@Timeout(60)
class CanonicalSavepointTest {

    private static final int KEY_GROUPS = 200;
    private static final int KEYS = 500;

    @TempDir Path directory;

    private final MockTtlTimeProvider time = new MockTtlTimeProvider();
    private final KeyedBackends backends = new KeyedBackends();
    private AbstractKeyedStateBackend<Integer> backend;
    private long handlesBefore;

    /** One row of a savepoint. */
    private static final class Row {
        private final int keyGroup;
        private final int state;
        private final byte[] key;
        private final byte[] value;

        private Row(KeyValueStateIterator iterator) {
            keyGroup = iterator.keyGroup();
            state = iterator.kvStateId();
            key = iterator.key();
            value = iterator.value();
        }
    }

    @BeforeEach
    void create() throws Exception {
        NativeLibrary.load();
        handlesBefore = Native.liveHandles();
        backend =
                backends.create(
                        new FerrostateStateBackend().setLocalDirectories(directory.toString()),
                        IntSerializer.INSTANCE,
                        KEY_GROUPS,
                        time);
    }

    @AfterEach
    void dispose() {
        backend.dispose();
        backends.close();
        assertThat(Native.liveHandles()).isEqualTo(handlesBefore);
    }

    private <S extends State> S state(StateDescriptor<S, ?> descriptor) throws Exception {
        return backend.getPartitionedState(
                VoidNamespace.INSTANCE, VoidNamespaceSerializer.INSTANCE, descriptor);
    }

    private List<Row> savepoint() throws Exception {
        FullSnapshotResources<Integer> resources = backend.savepoint().getSnapshotResources();
        return rows(resources);
    }

    private static List<Row> rows(FullSnapshotResources<Integer> resources) throws Exception {
        List<Row> rows = new ArrayList<>();
        try (KeyValueStateIterator iterator = resources.createKVStateIterator()) {
            Row former = null;
            for (; iterator.isValid(); iterator.next()) {
                Row row = new Row(iterator);
                boolean newGroup = former == null || former.keyGroup != row.keyGroup;
                boolean newState = former == null || former.state != row.state;
                assertThat(iterator.isNewKeyGroup()).isEqualTo(newGroup);
                assertThat(iterator.isNewKeyValueState()).isEqualTo(newState);
                rows.add(row);
                former = row;
            }
        } finally {
            resources.release();
        }
        return rows;
    }

    @Test
    void rowsAreOrderedByKeyGroupThenState() throws Exception {
        ValueState<Integer> first = state(new ValueStateDescriptor<>("first", Integer.class));
        state(new ValueStateDescriptor<>("empty", Integer.class));
        ValueState<Integer> third = state(new ValueStateDescriptor<>("third", Integer.class));
        KeyGroupedInternalPriorityQueue<TimerHeapInternalTimer<Integer, VoidNamespace>> timers =
                backend.create(
                        "_timer_state/event_timers",
                        new TimerSerializer<>(
                                IntSerializer.INSTANCE, VoidNamespaceSerializer.INSTANCE));
        for (int key = 0; key < KEYS; key++) {
            backend.setCurrentKey(key);
            first.update(key);
            if (key % 2 == 0) {
                third.update(key);
                timers.add(new TimerHeapInternalTimer<>(key, key, VoidNamespace.INSTANCE));
            }
        }
        List<Row> rows = savepoint();

        assertThat(rows).hasSize(2 * KEYS);
        assertThat(rows.stream().map(row -> row.state).distinct()).containsOnly(0, 2, 3);
        assertThat(rows)
                .isSortedAccordingTo(
                        (a, b) ->
                                a.keyGroup != b.keyGroup
                                        ? a.keyGroup - b.keyGroup
                                        : a.state - b.state);
        for (Row row : rows) {
            assertThat((row.key[0] & 0xff) << 8 | row.key[1] & 0xff).isEqualTo(row.keyGroup);
            assertThat(row.value).hasSize(row.state == 3 ? 0 : 4);
        }
    }

    @Test
    void itHoldsWhatWasThereWhenItWasTaken() throws Exception {
        ValueState<Integer> value = state(new ValueStateDescriptor<>("value", Integer.class));
        backend.setCurrentKey(1);
        value.update(1);
        FullSnapshotResources<Integer> taken = backend.savepoint().getSnapshotResources();
        value.update(2);
        backend.setCurrentKey(2);
        value.update(2);
        assertThat(rows(taken).stream().map(row -> Arrays.toString(row.value)))
                .containsExactly("[0, 0, 0, 1]");
    }

    @Test
    void expiredValuesAreLeftOut() throws Exception {
        StateTtlConfig ttl =
                StateTtlConfig.newBuilder(Duration.ofMillis(100)).cleanupFullSnapshot().build();
        ValueStateDescriptor<Integer> valueOf = new ValueStateDescriptor<>("value", Integer.class);
        ListStateDescriptor<Integer> listOf = new ListStateDescriptor<>("list", Integer.class);
        MapStateDescriptor<Integer, Integer> mapOf =
                new MapStateDescriptor<>("map", Integer.class, Integer.class);
        valueOf.enableTimeToLive(ttl);
        listOf.enableTimeToLive(ttl);
        mapOf.enableTimeToLive(ttl);
        ValueState<Integer> value = state(valueOf);
        ListState<Integer> list = state(listOf);
        MapState<Integer, Integer> map = state(mapOf);

        time.time = 0;
        for (int key = 0; key < 2; key++) {
            backend.setCurrentKey(key);
            value.update(1);
            list.add(1);
            map.put(1, 1);
        }
        time.time = 90;
        backend.setCurrentKey(0);
        value.update(2);
        list.add(2);
        map.put(2, 2);
        time.time = 150;

        List<Row> rows = savepoint();
        assertThat(rows.stream().map(row -> row.state).collect(Collectors.toList()))
                .containsExactlyInAnyOrder(0, 1, 2);
        for (Row row : rows) {
            assertThat(row.value[row.value.length - 1]).isEqualTo((byte) 2);
        }
        // An element of the list is its timestamp and the number.
        assertThat(rows.get(1).value).hasSize(Long.BYTES + Integer.BYTES);
    }
}
