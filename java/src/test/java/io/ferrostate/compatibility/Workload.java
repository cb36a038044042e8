package io.ferrostate.compatibility;

import static io.ferrostate.compatibility.AllStates.DIGITS;
import static io.ferrostate.compatibility.AllStates.FIRED;
import static io.ferrostate.compatibility.AllStates.MAP;
import static io.ferrostate.compatibility.AllStates.NAMES;
import static io.ferrostate.compatibility.AllStates.NUMBERS;
import static io.ferrostate.compatibility.AllStates.SUM;
import static io.ferrostate.compatibility.AllStates.TEXTS;
import static io.ferrostate.compatibility.AllStates.TTL_LIST;
import static io.ferrostate.compatibility.AllStates.TTL_MAP;
import static io.ferrostate.compatibility.AllStates.TTL_VALUE;
import static io.ferrostate.compatibility.AllStates.UNTOUCHED;
import static io.ferrostate.compatibility.AllStates.VALUE;
import static io.ferrostate.compatibility.AllStates.WINDOW;
import static io.ferrostate.compatibility.AllStates.WINDOWS;
import static io.ferrostate.compatibility.AllStates.WINDOW_SUM;

import org.apache.flink.api.common.state.State;
import org.apache.flink.api.common.state.StateDescriptor;
import org.apache.flink.runtime.state.AbstractKeyedStateBackend;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.KeyGroupRangeAssignment;
import org.apache.flink.runtime.state.internal.InternalMergingState;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Random operations on {@link AllStates}, for the keys of the backend's key groups: any of them, or
 * one of them, to which the same happens whatever the parallelism.
 */
final class Workload {

    private static final int KEYS = 64;

    private final AbstractKeyedStateBackend<String> backend;
    private final AllStates states;
    private final List<String> keys;
    private boolean nullNumbers = true;

    Workload(AbstractKeyedStateBackend<String> backend, int maxParallelism) {
        this.backend = backend;
        this.states = new AllStates(backend);
        this.keys = keys(backend.getKeyGroupRange(), maxParallelism);
    }

    /**
     * Puts no null into maps whose serializer cannot write null. All backends keep them, but the heap
     * fails to write them into a canonical savepoint.
     */
    Workload withoutNullNumbers() {
        nullNumbers = false;
        return this;
    }

    static List<String> keys(KeyGroupRange range, int maxParallelism) {
        List<String> keys = new ArrayList<>();
        for (int i = 0; i < KEYS; i++) {
            // Lengths of one and of two bytes.
            String key = i % 7 == 0 ? "key ".repeat(100) + i : "key " + i;
            if (range.contains(KeyGroupRangeAssignment.assignToKeyGroup(key, maxParallelism))) {
                keys.add(key);
            }
        }
        return keys;
    }

    SortedMap<String, String> dump() throws Exception {
        return states.dump(keys);
    }

    /** Of a state that {@link #dump} does not ask for: a backend has it nevertheless. */
    SortedMap<String, String> untouched() throws Exception {
        SortedMap<String, String> values = new TreeMap<>();
        for (String key : keys) {
            backend.setCurrentKey(key);
            values.put(key, states.plain(UNTOUCHED).value());
        }
        return values;
    }

    SortedMap<String, String> expectedUntouched() {
        SortedMap<String, String> values = new TreeMap<>();
        keys.forEach(key -> values.put(key, "kept for " + key));
        return values;
    }

    void writeUntouched() throws Exception {
        for (String key : keys) {
            writeUntouched(key);
        }
    }

    void writeUntouched(String key) throws Exception {
        backend.setCurrentKey(key);
        states.plain(UNTOUCHED).update("kept for " + key);
    }

    /** Operations on any keys. */
    void run(long seed, int operations) throws Exception {
        Random random = new Random(seed);
        for (int i = 0; i < operations; i++) {
            backend.setCurrentKey(keys.get(random.nextInt(keys.size())));
            step(random);
        }
    }

    /** A round of operations on each key. */
    void round(long round, int operationsPerKey) throws Exception {
        for (String key : keys) {
            round(key, round, operationsPerKey);
        }
    }

    void round(String key, long round, int operations) throws Exception {
        Random random = new Random(round * 31 + key.hashCode());
        backend.setCurrentKey(key);
        for (int i = 0; i < operations; i++) {
            step(random);
        }
    }

    /** Notes that a timer of the current key has fired. */
    void fired(long timestamp) throws Exception {
        Integer before = states.plain(FIRED).get(timestamp);
        states.plain(FIRED).put(timestamp, before == null ? 1 : before + 1);
    }

    private void step(Random random) throws Exception {
        long number = random.nextInt(1000) - 500;
        String text = ",".repeat(random.nextInt(3)) + number;
        switch (random.nextInt(18)) {
            case 0:
                states.plain(VALUE).update(random.nextInt(8) == 0 ? null : text);
                break;
            case 1:
                states.plain(TEXTS).add(text);
                break;
            case 2:
                states.plain(TEXTS).addAll(Arrays.asList(text, "", text));
                break;
            case 3:
                states.plain(TEXTS).update(random.nextBoolean() ? List.of() : List.of(text));
                break;
            case 4:
                // 44 is the delimiter's byte.
                states.plain(NUMBERS).addAll(Arrays.asList((int) number, 44, 0x2C2C2C2C));
                break;
            case 5:
                boolean isNull = random.nextInt(4) == 0 && nullNumbers;
                states.plain(MAP).put(text, isNull ? null : (Long) number);
                break;
            case 6:
                states.plain(MAP).remove(text);
                break;
            case 7:
                states.plain(SUM).add(number);
                break;
            case 8:
                states.plain(DIGITS).add(number);
                break;
            case 9:
                states.window(window(random), WINDOW).add(number);
                break;
            case 10:
                states.window(window(random), WINDOW_SUM).add(number);
                break;
            case 11:
                mergeWindows(random.nextBoolean() ? WINDOW : WINDOW_SUM);
                break;
            case 12:
                states.named(name(random)).put((int) number, random.nextBoolean() ? null : text);
                break;
            case 13:
                states.plain(TTL_VALUE).update(text);
                break;
            case 14:
                states.plain(TTL_LIST).add(text);
                break;
            case 15:
                states.plain(TTL_LIST).addAll(Arrays.asList(text, ",", ""));
                break;
            case 16:
                states.plain(TTL_MAP).put((int) number % 10, text);
                break;
            default:
                clear(random);
        }
    }

    private void clear(Random random) throws Exception {
        switch (random.nextInt(6)) {
            case 0:
                states.plain(MAP).clear();
                break;
            case 1:
                states.plain(SUM).clear();
                break;
            case 2:
                states.named(name(random)).clear();
                break;
            case 3:
                states.plain(TTL_LIST).clear();
                break;
            case 4:
                states.plain(TTL_MAP).remove(random.nextInt(19) - 9);
                break;
            default:
                states.plain(NUMBERS).clear();
        }
    }

    private static String name(Random random) {
        return NAMES.get(random.nextInt(NAMES.size()));
    }

    private static TimeWindow window(Random random) {
        return WINDOWS.get(random.nextInt(WINDOWS.size()));
    }

    @SuppressWarnings("unchecked")
    private void mergeWindows(StateDescriptor<? extends State, ?> descriptor) throws Exception {
        TimeWindow target = WINDOWS.get(2);
        InternalMergingState<String, TimeWindow, ?, ?, ?> state =
                (InternalMergingState<String, TimeWindow, ?, ?, ?>)
                        states.window(target, descriptor);
        state.mergeNamespaces(target, WINDOWS.subList(0, 2));
    }
}
