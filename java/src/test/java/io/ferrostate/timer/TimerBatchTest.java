package io.ferrostate.timer;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;

/** What a batch makes of changes of the same timer, and that it loses none while it grows. */
@Timeout(60)
class TimerBatchTest {

    private final TimerBatch batch = new TimerBatch();

    private void add(String key, boolean absent) {
        byte[] bytes = key.getBytes(StandardCharsets.UTF_8);
        batch.add(bytes, bytes.length, absent);
    }

    private void remove(String key) {
        byte[] bytes = key.getBytes(StandardCharsets.UTF_8);
        batch.remove(bytes, bytes.length);
    }

    /** The changes as the library reads them, without those that are none. */
    private Map<String, Byte> changes() {
        ByteBuffer entries =
                ByteBuffer.wrap(batch.entries(), 0, batch.length()).order(ByteOrder.nativeOrder());
        Map<String, Byte> changes = new TreeMap<>();
        while (entries.hasRemaining()) {
            byte[] key = new byte[entries.getInt()];
            byte change = entries.get();
            entries.get(key);
            if (change != TimerBatch.NOTHING) {
                String text = new String(key, StandardCharsets.UTF_8);
                assertThat(changes.put(text, change)).as("one change of %s", text).isNull();
            }
        }
        assertThat(batch.hasChanges()).isEqualTo(!changes.isEmpty());
        return changes;
    }

    @Test
    void aTimerAddedAndRemovedLeavesNoTrace() {
        add("new", true);
        remove("new");
        assertThat(changes()).isEmpty();
        add("new", true);
        assertThat(changes()).containsExactly(Map.entry("new", TimerBatch.PUT_NEW));
        remove("new");
        assertThat(changes()).isEmpty();
    }

    @Test
    void aTimerThatTheStoreMayHaveIsDeletedThere() {
        add("unknown", false);
        remove("unknown");
        remove("stored");
        remove("replaced");
        add("replaced", true);
        remove("twice");
        add("twice", true);
        remove("twice");
        assertThat(changes())
                .isEqualTo(
                        Map.of(
                                "unknown", TimerBatch.DELETE,
                                "stored", TimerBatch.DELETE,
                                "replaced", TimerBatch.PUT,
                                "twice", TimerBatch.DELETE));
    }

    @Test
    void nothingIsLeftInTheNextBatch() {
        long first = batch.generation();
        add("a", true);
        batch.clear();
        assertThat(batch.generation()).isEqualTo(first + 1);
        assertThat(changes()).isEmpty();
        remove("a");
        assertThat(changes()).containsExactly(Map.entry("a", TimerBatch.DELETE));
    }

    @Test
    void aLargeTimerFillsItAndItsMemoryIsNotKept() {
        add("x".repeat(1 << 20), true);
        assertThat(batch.isFull()).isTrue();
        batch.clear();
        assertThat(batch.isFull()).isFalse();
        assertThat(batch.entries().length).isLessThan(1 << 17);
    }

    /** The store is a map here, in which a change shows at once if it is one. */
    @Test
    void whatIsWrittenIsWhatWasAskedFor() {
        long seed = System.nanoTime();
        System.out.println("TimerBatchTest: seed " + seed);
        Random random = new Random(seed);
        Map<String, Boolean> store = new HashMap<>();
        Map<String, Boolean> model = new HashMap<>();
        for (int i = 0; i < 200_000; i++) {
            String key = "timer " + random.nextInt(1500);
            boolean there = model.containsKey(key);
            if (random.nextBoolean()) {
                // Absent is only what is known to be.
                add(key, !there && random.nextBoolean());
                model.put(key, true);
            } else {
                remove(key);
                model.remove(key);
            }
            if (batch.isFull() || random.nextInt(5000) == 0) {
                changes()
                        .forEach(
                                (timer, change) -> {
                                    if (change == TimerBatch.DELETE) {
                                        store.remove(timer);
                                    } else {
                                        assertThat(store.put(timer, true) != null
                                                        && change == TimerBatch.PUT_NEW)
                                                .as("seed %s: %s was there", seed, timer)
                                                .isFalse();
                                    }
                                });
                batch.clear();
                assertThat(store).as("seed %s", seed).isEqualTo(model);
            }
        }
    }
}
