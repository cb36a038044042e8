package io.ferrostate.state;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.ferrostate.FerrostateStateBackend;
import io.ferrostate.backend.KeyedBackends;
import io.ferrostate.backend.StateAccess;

import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.typeutils.base.IntSerializer;
import org.apache.flink.api.common.typeutils.base.StringSerializer;
import org.apache.flink.runtime.state.AbstractKeyedStateBackend;
import org.apache.flink.runtime.state.VoidNamespace;
import org.apache.flink.runtime.state.VoidNamespaceSerializer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.TreeMap;
import java.util.function.IntPredicate;

/** Maps whose entries fill one page of a scan, several, or more than one each, removed on the way. */
@Timeout(120)
class MapPagesTest {

    private static final int PAGE = StateAccess.SCAN_ENTRIES;
    private static final int[] SIZES = {1, 2, PAGE - 1, PAGE, PAGE + 1, 2 * PAGE, 2 * PAGE + 1, 300};

    @TempDir Path directory;

    private final KeyedBackends backends = new KeyedBackends();
    private AbstractKeyedStateBackend<Integer> backend;
    private MapState<Integer, String> map;

    /** What ends a page: its number of entries, its bytes, or its one entry. */
    enum Entries {
        MANY(10),
        LARGE(2000),
        LARGER_THAN_A_PAGE(40_000);

        private final int length;

        Entries(int length) {
            this.length = length;
        }

        String value(int key) {
            return key + "v".repeat(length);
        }
    }

    @BeforeEach
    void create() throws Exception {
        backend =
                backends.create(
                        new FerrostateStateBackend().setLocalDirectories(directory.toString()),
                        IntSerializer.INSTANCE,
                        16);
        map =
                backend.getPartitionedState(
                        VoidNamespace.INSTANCE,
                        VoidNamespaceSerializer.INSTANCE,
                        new MapStateDescriptor<>(
                                "map", IntSerializer.INSTANCE, StringSerializer.INSTANCE));
    }

    @AfterEach
    void dispose() {
        backend.dispose();
        backends.close();
    }

    /** Fills the map of a key, between those of two neighbours that must not be met. */
    private Map<Integer, String> fill(int size, Entries entries) throws Exception {
        Map<Integer, String> expected = new TreeMap<>();
        for (int neighbour : new int[] {6, 8, 7}) {
            backend.setCurrentKey(neighbour);
            map.clear();
            for (int key = 0; key < (neighbour == 7 ? size : 3); key++) {
                map.put(key, entries.value(key));
                if (neighbour == 7) {
                    expected.put(key, entries.value(key));
                }
            }
        }
        return expected;
    }

    private Map<Integer, String> content() throws Exception {
        Map<Integer, String> content = new TreeMap<>();
        for (Map.Entry<Integer, String> entry : map.entries()) {
            assertThat(content.put(entry.getKey(), entry.getValue())).isNull();
        }
        return content;
    }

    @ParameterizedTest
    @EnumSource(Entries.class)
    void entriesAreRemovedWhereverTheyStandInTheirPage(Entries entries) throws Exception {
        Map<String, IntPredicate> removals = new TreeMap<>();
        removals.put("all", key -> true);
        removals.put("every other", key -> key % 2 == 1);
        removals.put("the last of a page", key -> key % PAGE == PAGE - 1);
        removals.put("the first of a page", key -> key % PAGE == 0);
        removals.put("both sides of a boundary", key -> key % PAGE == 0 || key % PAGE == PAGE - 1);
        removals.put("a whole page", key -> key / PAGE == 1);
        removals.put("all but the last", key -> key != 2 * PAGE);
        for (int size : SIZES) {
            for (Map.Entry<String, IntPredicate> removal : removals.entrySet()) {
                Map<Integer, String> expected = fill(size, entries);
                List<Integer> seen = remove(removal.getValue());
                assertThat(seen)
                        .as("%s of %s removed", removal.getKey(), size)
                        .containsExactlyElementsOf(expected.keySet());
                expected.keySet().removeIf(removal.getValue()::test);
                assertThat(content())
                        .as("%s of %s removed", removal.getKey(), size)
                        .isEqualTo(expected);
                assertThat(map.isEmpty()).isEqualTo(expected.isEmpty());
                for (int neighbour : new int[] {6, 8}) {
                    backend.setCurrentKey(neighbour);
                    assertThat(content()).hasSize(3);
                }
            }
        }
    }

    private List<Integer> remove(IntPredicate removed) throws Exception {
        List<Integer> seen = new ArrayList<>();
        Iterator<Map.Entry<Integer, String>> iterator = map.iterator();
        while (iterator.hasNext()) {
            Map.Entry<Integer, String> entry = iterator.next();
            seen.add(entry.getKey());
            if (removed.test(entry.getKey())) {
                // Asking further on must not change what is removed.
                assertThat(iterator.hasNext()).isEqualTo(iterator.hasNext());
                iterator.remove();
                assertThat(entry.getValue()).isNull();
                assertThatThrownBy(iterator::remove).isInstanceOf(IllegalStateException.class);
                assertThatThrownBy(() -> entry.setValue("x"))
                        .isInstanceOf(IllegalStateException.class);
            }
        }
        assertThatThrownBy(iterator::next).isInstanceOf(NoSuchElementException.class);
        return seen;
    }

    @ParameterizedTest
    @EnumSource(Entries.class)
    void entriesAreUpdatedWhereverTheyStandInTheirPage(Entries entries) throws Exception {
        for (int size : SIZES) {
            Map<Integer, String> expected = fill(size, entries);
            for (Map.Entry<Integer, String> entry : map.entries()) {
                String updated = entry.getKey() % 3 == 0 ? null : "updated " + entry.getKey();
                assertThat(entry.setValue(updated)).isEqualTo(expected.get(entry.getKey()));
                assertThat(entry.getValue()).isEqualTo(updated);
                expected.put(entry.getKey(), updated);
            }
            assertThat(content()).isEqualTo(expected);
        }
    }

    @Test
    void keysAndValuesRemoveToo() throws Exception {
        Map<Integer, String> expected = fill(300, Entries.MANY);
        Iterator<Integer> keys = map.keys().iterator();
        while (keys.hasNext()) {
            if (keys.next() % 2 == 0) {
                keys.remove();
            }
        }
        Iterator<String> values = map.values().iterator();
        while (values.hasNext()) {
            if (values.next().startsWith("1")) {
                values.remove();
            }
        }
        expected.entrySet().removeIf(e -> e.getKey() % 2 == 0 || e.getValue().startsWith("1"));
        assertThat(content()).isEqualTo(expected);
    }

    @Test
    void nullIsAValueLikeAnyOther() throws Exception {
        backend.setCurrentKey(1);
        map.put(1, null);
        map.put(2, "two");
        assertThat(map.contains(1)).isTrue();
        assertThat(map.contains(3)).isFalse();
        assertThat(map.get(1)).isNull();
        assertThat(map.isEmpty()).isFalse();
        assertThat(map.keys()).containsExactly(1, 2);
        assertThat(map.values()).containsExactly(null, "two");
        map.remove(2);
        assertThat(map.isEmpty()).isFalse();
        Iterator<Map.Entry<Integer, String>> entries = map.iterator();
        Map.Entry<Integer, String> entry = entries.next();
        assertThat(entry.setValue("one")).isNull();
        assertThat(map.get(1)).isEqualTo("one");
        assertThat(entry.setValue(null)).isEqualTo("one");
        assertThat(map.contains(1)).isTrue();
        entries.remove();
        assertThat(map.isEmpty()).isTrue();
    }
}
