package io.ferrostate.model;

import org.apache.flink.api.common.state.AggregatingStateDescriptor;
import org.apache.flink.api.common.state.AppendingState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.ReducingStateDescriptor;
import org.apache.flink.api.common.state.State;
import org.apache.flink.api.common.state.StateDescriptor;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeutils.base.IntSerializer;
import org.apache.flink.api.common.typeutils.base.LongSerializer;
import org.apache.flink.api.common.typeutils.base.StringSerializer;
import org.apache.flink.api.java.typeutils.runtime.NullableSerializer;
import org.apache.flink.runtime.state.AbstractKeyedStateBackend;
import org.apache.flink.runtime.state.internal.InternalAggregatingState;
import org.apache.flink.runtime.state.internal.InternalKvState;
import org.apache.flink.runtime.state.internal.InternalListState;
import org.apache.flink.runtime.state.internal.InternalMapState;
import org.apache.flink.runtime.state.internal.InternalReducingState;
import org.apache.flink.runtime.state.internal.InternalValueState;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A state of each kind, without and with a time to live, of one backend. Operations are drawn from a
 * {@link Random}, never from what the state holds, so that the same draw does the same on any backend;
 * what they return is comparable.
 */
final class States {

    private static final int USER_KEYS = 400;
    private static final String[] KINDS = {"value", "list", "map", "reducing", "aggregating"};

    private final Layout layout;

    /** Of the backend's key groups. */
    private final List<Object> keys;

    private final AbstractKeyedStateBackend<Object> backend;
    private final List<Kinds> sets = new ArrayList<>();

    /** The states of one set, which have or have not a time to live. */
    private static final class Kinds {
        private String prefix;

        /** What has expired may be gone or not, and must not be asked for. */
        private boolean background;
        private ValueStateDescriptor<Long> valueOf;
        private InternalValueState<Object, Object, Long> value;
        private InternalListState<Object, Object, String> list;
        private InternalMapState<Object, Object, String, String> map;
        private InternalReducingState<Object, Object, Long> reducing;
        private InternalAggregatingState<Object, Object, Integer, String, String> aggregating;
    }

    /**
     * @param seed of the times to live.
     */
    States(
            Layout layout,
            AbstractKeyedStateBackend<Object> backend,
            long seed,
            boolean cleanSnapshots)
            throws Exception {
        this.layout = layout;
        this.keys = layout.keys(backend.getKeyGroupRange());
        this.backend = backend;
        Random random = new Random(seed);
        boolean compactions = random.nextBoolean();
        sets.add(create("", descriptor -> {}));
        sets.add(
                create(
                        "ttl ",
                        descriptor ->
                                descriptor.enableTimeToLive(Ttl.draw(random, cleanSnapshots, compactions))));
        sets.get(1).background = compactions;
    }

    private Kinds create(String prefix, Consumer<StateDescriptor<?, ?>> ttl)
            throws Exception {
        Kinds kinds = new Kinds();
        kinds.prefix = prefix;
        kinds.valueOf = new ValueStateDescriptor<>(prefix + "value", LongSerializer.INSTANCE);
        kinds.value = state(kinds.valueOf, ttl);
        kinds.list =
                state(
                        new ListStateDescriptor<>(prefix + "list", StringSerializer.INSTANCE),
                        ttl);
        kinds.map =
                state(
                        new MapStateDescriptor<>(
                                prefix + "map",
                                StringSerializer.INSTANCE,
                                NullableSerializer.wrap(StringSerializer.INSTANCE, false)),
                        ttl);
        kinds.reducing =
                state(
                        new ReducingStateDescriptor<>(
                                prefix + "reducing", new Functions.Sum(), LongSerializer.INSTANCE),
                        ttl);
        kinds.aggregating =
                state(
                        new AggregatingStateDescriptor<Integer, String, String>(
                                prefix + "aggregating",
                                new Functions.Digits(),
                                StringSerializer.INSTANCE),
                        ttl);
        return kinds;
    }

    @SuppressWarnings("unchecked")
    private <S extends State, IS extends S> IS state(
            StateDescriptor<S, ?> descriptor, Consumer<StateDescriptor<?, ?>> ttl)
            throws Exception {
        ttl.accept(descriptor);
        return (IS) backend.getOrCreateKeyedState(layout.namespaceSerializer, descriptor);
    }

    /** Does something to one key and namespace of one state, and tells what came of it. */
    Object operate(Random random) throws Exception {
        backend.setCurrentKey(keys.get(random.nextInt(keys.size())));
        int namespace = random.nextInt(Layout.NAMESPACES);
        Kinds kinds = sets.get(random.nextInt(sets.size()));
        switch (random.nextInt(16)) {
            case 0:
            case 1:
            case 2:
                return onValue(at(kinds.value, namespace), random);
            case 3:
            case 4:
            case 5:
                return onList(at(kinds.list, namespace), namespace, random);
            case 6:
            case 7:
            case 8:
            case 9:
            case 10:
                return onMap(at(kinds.map, namespace), kinds.background, random);
            case 11:
            case 12:
                return onReducing(at(kinds.reducing, namespace), namespace, random);
            case 13:
            case 14:
                return onAggregating(at(kinds.aggregating, namespace), namespace, random);
            default:
                return onAllKeys(kinds, namespace, random);
        }
    }

    private <S extends InternalKvState<?, Object, ?>> S at(S state, int namespace) {
        state.setCurrentNamespace(layout.namespace(namespace));
        return state;
    }

    private Object onValue(InternalValueState<Object, Object, Long> value, Random random)
            throws Exception {
        switch (random.nextInt(6)) {
            case 0:
                value.clear();
                return null;
            case 1:
                value.update(null);
                return value.value();
            case 2:
            case 3:
                return value.value();
            default:
                value.update(random.nextLong());
                return null;
        }
    }

    private Object onList(
            InternalListState<Object, Object, String> list, int namespace, Random random)
            throws Exception {
        switch (random.nextInt(9)) {
            case 0:
                list.clear();
                return null;
            case 1:
                list.update(texts(random));
                return null;
            case 2:
                list.addAll(texts(random));
                return null;
            case 3:
                list.mergeNamespaces(layout.namespace(namespace), others(namespace, random));
                return content(at(list, namespace));
            case 4:
            case 5:
                return content(list);
            default:
                list.add(text(random));
                return null;
        }
    }

    private Object onReducing(
            InternalReducingState<Object, Object, Long> reducing, int namespace, Random random)
            throws Exception {
        switch (random.nextInt(6)) {
            case 0:
                reducing.clear();
                return null;
            case 1:
                reducing.mergeNamespaces(layout.namespace(namespace), others(namespace, random));
                return merged(at(reducing, namespace));
            case 2:
                return reducing.get();
            default:
                reducing.add(random.nextLong());
                return null;
        }
    }

    private Object onAggregating(
            InternalAggregatingState<Object, Object, Integer, String, String> aggregating,
            int namespace,
            Random random)
            throws Exception {
        switch (random.nextInt(6)) {
            case 0:
                aggregating.clear();
                return null;
            case 1:
                aggregating.mergeNamespaces(
                        layout.namespace(namespace), others(namespace, random));
                return merged(at(aggregating, namespace));
            case 2:
                return aggregating.get();
            default:
                aggregating.add(random.nextInt(10));
                return null;
        }
    }

    /** The heap keeps the null that expired values merge to, under its key. */
    private static <T> T merged(AppendingState<?, T> state) throws Exception {
        T merged = state.get();
        if (merged == null) {
            state.clear();
        }
        return merged;
    }

    private Object onMap(
            InternalMapState<Object, Object, String, String> map,
            boolean background,
            Random random)
            throws Exception {
        String key = userKey(random.nextInt(USER_KEYS));
        switch (random.nextInt(24)) {
            case 0:
                if (random.nextInt(4) == 0) {
                    map.clear();
                }
                return background ? null : map.isEmpty();
            case 1:
            case 2:
                map.remove(key);
                return map.contains(key);
            case 3:
            case 4:
            case 5:
                return map.get(key) + map.contains(key);
            case 6:
                map.put(key, null);
                return map.contains(key);
            case 7:
                return content(map);
            case 8:
                return visit(map, random.nextInt());
            case 9:
                return keysOrValues(map, random.nextBoolean(), random.nextInt());
            case 10:
                map.putAll(many(random));
                boolean empty = forgetIfEmpty(map);
                return background ? null : empty;
            default:
                map.put(key, text(random));
                return null;
        }
    }

    /** Removes and updates entries on the way, chosen by their keys. */
    private static Object visit(
            InternalMapState<Object, Object, String, String> map, int salt) throws Exception {
        Map<String, String> seen = new TreeMap<>();
        Iterator<Map.Entry<String, String>> entries = map.iterator();
        while (entries.hasNext()) {
            Map.Entry<String, String> entry = entries.next();
            seen.put(entry.getKey(), entry.getValue() + "");
            int choice = Math.floorMod(entry.getKey().hashCode() * 31 + salt, 5);
            if (choice <= Math.floorMod(salt, 3)) {
                seen.merge(entry.getKey(), remove(entries), String::concat);
            } else if (choice == 4) {
                seen.put(entry.getKey(), entry.setValue("set " + salt) + " before");
            }
        }
        return seen + " then " + forgetIfEmpty(map);
    }

    /** An expired entry that is still returned is removed already, which Flink says by an exception. */
    private static String remove(Iterator<?> iterator) {
        try {
            iterator.remove();
            return " removed";
        } catch (IllegalStateException alreadyGone) {
            return " already gone";
        }
    }

    private static Object keysOrValues(
            InternalMapState<Object, Object, String, String> map, boolean keys, int salt)
            throws Exception {
        List<String> seen = new ArrayList<>();
        if (keys) {
            Iterator<String> iterator = map.keys().iterator();
            while (iterator.hasNext()) {
                String key = iterator.next();
                seen.add(key);
                if (Math.floorMod(key.hashCode() + salt, 9) == 0) {
                    seen.add(key + remove(iterator));
                }
            }
        } else {
            map.values().forEach(value -> seen.add(value + ""));
        }
        Collections.sort(seen);
        return seen + " then " + forgetIfEmpty(map);
    }

    /** On the heap a map whose last entry an iterator removed is still there, empty. */
    private static boolean forgetIfEmpty(InternalMapState<Object, Object, String, String> map)
            throws Exception {
        boolean empty = map.isEmpty();
        if (empty) {
            map.clear();
        }
        return empty;
    }

    /** What concerns all keys: which there are, or something done to each. */
    private Object onAllKeys(Kinds kinds, int namespace, Random random) throws Exception {
        String name = kinds.prefix + KINDS[random.nextInt(KINDS.length)];
        Object at = layout.namespace(namespace);
        if (kinds.background) {
            return null;
        }
        switch (random.nextInt(8)) {
            case 0:
                return "keys and namespaces of " + name + sorted(backend.getKeysAndNamespaces(name));
            case 1:
                List<String> names = Arrays.asList(kinds.prefix + "value", kinds.prefix + "map");
                return "keys of " + names + sorted(backend.getKeys(names, at).distinct());
            case 2:
                return kinds.prefix.isEmpty() ? changeAll(kinds, namespace, random) : null;
            default:
                return "keys of " + name + sorted(backend.getKeys(name, at));
        }
    }

    private Object changeAll(Kinds kinds, int namespace, Random random) throws Exception {
        long added = random.nextInt(3);
        List<String> seen = new ArrayList<>();
        backend.applyToAllKeys(
                layout.namespace(namespace),
                layout.namespaceSerializer,
                kinds.valueOf,
                (Object key, ValueState<Long> state) -> {
                    seen.add(key + "=" + state.value());
                    if (added == 0) {
                        state.clear();
                    } else {
                        state.update(state.value() + added);
                    }
                });
        return sorted(seen.stream());
    }

    private static List<String> sorted(Stream<?> objects) {
        try (Stream<?> closing = objects) {
            return closing.map(Object::toString).sorted().collect(Collectors.toList());
        }
    }

    /** All that the states hold. Reading changes those with a time to live, on every backend alike. */
    Map<String, Object> content() throws Exception {
        Map<String, Object> content = new TreeMap<>();
        for (Kinds kinds : sets) {
            for (Object key : keys) {
                backend.setCurrentKey(key);
                for (int i = 0; i < Layout.NAMESPACES; i++) {
                    String place = kinds.prefix + " " + key + " " + i + " ";
                    put(content, place + "value", at(kinds.value, i).value());
                    put(content, place + "list", content(at(kinds.list, i)));
                    put(content, place + "map", content(at(kinds.map, i)));
                    put(content, place + "reducing", at(kinds.reducing, i).get());
                    put(content, place + "aggregating", at(kinds.aggregating, i).get());
                }
            }
        }
        return content;
    }

    private static void put(Map<String, Object> content, String place, Object value) {
        if (value != null) {
            content.put(place, value);
        }
    }

    private static List<String> content(InternalListState<Object, Object, String> list)
            throws Exception {
        Iterable<String> elements = list.get();
        if (elements == null) {
            return null;
        }
        List<String> content = new ArrayList<>();
        elements.forEach(content::add);
        return content.isEmpty() ? null : content;
    }

    private static Map<String, String> content(
            InternalMapState<Object, Object, String, String> map) throws Exception {
        Map<String, String> content = new TreeMap<>();
        for (Map.Entry<String, String> entry : map.entries()) {
            content.put(entry.getKey(), entry.getValue() + "");
        }
        return forgetIfEmpty(map) ? null : content;
    }

    private List<Object> others(int namespace, Random random) {
        List<Object> others = new ArrayList<>();
        for (int i = 1 + random.nextInt(3); i > 0; i--) {
            int other = random.nextInt(Layout.NAMESPACES);
            if (!layout.namespace(other).equals(layout.namespace(namespace))) {
                others.add(layout.namespace(other));
            }
        }
        return others;
    }

    private static String userKey(int i) {
        return i % 40 == 0 ? "u".repeat(i) : "u" + i;
    }

    private static Map<String, String> many(Random random) {
        Map<String, String> many = new TreeMap<>();
        for (int i = random.nextInt(300); i > 0; i--) {
            many.put(userKey(random.nextInt(USER_KEYS)), text(random));
        }
        return many;
    }

    private static List<String> texts(Random random) {
        List<String> texts = new ArrayList<>();
        for (int i = random.nextInt(4); i > 0; i--) {
            texts.add(text(random));
        }
        return texts;
    }

    /** With commas, empty, and sometimes larger than a page. */
    private static String text(Random random) {
        int kind = random.nextInt(200);
        if (kind == 0) {
            return "large,".repeat(4000) + random.nextInt(1000);
        }
        return kind == 1 ? "" : "text,\u00e9" + random.nextInt(1000);
    }
}
