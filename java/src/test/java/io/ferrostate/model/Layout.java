package io.ferrostate.model;

import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.common.typeutils.base.IntSerializer;
import org.apache.flink.api.common.typeutils.base.LongSerializer;
import org.apache.flink.api.common.typeutils.base.StringSerializer;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.KeyGroupRangeAssignment;
import org.apache.flink.runtime.state.VoidNamespace;
import org.apache.flink.runtime.state.VoidNamespaceSerializer;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;

import java.util.List;
import java.util.function.IntFunction;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Types of keys and namespaces: of fixed and of variable length, key groups of one and two bytes. */
enum Layout {
    FIXED_KEY(
            16, IntSerializer.INSTANCE, i -> i, VoidNamespaceSerializer.INSTANCE, i -> VoidNamespace.INSTANCE),
    VARIABLE_KEY(
            1024, StringSerializer.INSTANCE, Layout::text, VoidNamespaceSerializer.INSTANCE, i -> VoidNamespace.INSTANCE),
    FIXED_KEY_WINDOWS(
            128, LongSerializer.INSTANCE, Long::valueOf, new TimeWindow.Serializer(), i -> new TimeWindow(i, i + 10L)),
    VARIABLE_KEY_VARIABLE_NAMESPACE(
            129, StringSerializer.INSTANCE, Layout::text, StringSerializer.INSTANCE, Layout::text);

    /** So many different keys and namespaces. */
    static final int KEYS = 14;

    static final int NAMESPACES = 5;

    final int keyGroups;
    final TypeSerializer<Object> keySerializer;
    final TypeSerializer<Object> namespaceSerializer;

    private final IntFunction<Object> key;
    private final IntFunction<Object> namespace;

    @SuppressWarnings("unchecked")
    Layout(
            int keyGroups,
            TypeSerializer<?> keySerializer,
            IntFunction<Object> key,
            TypeSerializer<?> namespaceSerializer,
            IntFunction<Object> namespace) {
        this.keyGroups = keyGroups;
        this.keySerializer = (TypeSerializer<Object>) keySerializer;
        this.key = key;
        this.namespaceSerializer = (TypeSerializer<Object>) namespaceSerializer;
        this.namespace = namespace;
    }

    /** Those of a subtask. */
    List<Object> keys(KeyGroupRange keyGroupRange) {
        return IntStream.range(0, KEYS)
                .mapToObj(key)
                .filter(
                        key ->
                                keyGroupRange.contains(
                                        KeyGroupRangeAssignment.assignToKeyGroup(key, keyGroups)))
                .collect(Collectors.toList());
    }

    Object namespace(int i) {
        return namespace.apply(i);
    }

    boolean hasNamespaces() {
        return !namespace(0).equals(namespace(1));
    }

    /** The empty one, and one longer than 255 bytes, whose length takes two. */
    private static String text(int i) {
        if (i == 0) {
            return "";
        }
        return i % 5 == 0 ? "k".repeat(300) + i : "k\u00e9" + i;
    }
}
