package io.ferrostate.state;

import io.ferrostate.FerrostateStateBackend;
import io.ferrostate.backend.KeyedBackends;
import io.ferrostate.backend.Snapshots;
import io.ferrostate.jni.FerrostateException;

import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.State;
import org.apache.flink.api.common.state.StateDescriptor;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeutils.base.IntSerializer;
import org.apache.flink.api.common.typeutils.base.array.BytePrimitiveArraySerializer;
import org.apache.flink.runtime.state.AbstractKeyedStateBackend;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.VoidNamespace;
import org.apache.flink.runtime.state.VoidNamespaceSerializer;

import java.nio.file.Path;
import java.util.Map;

/** What {@link LargeDataTest} does in a process of its own; each line says what went well. */
final class LargeData {

    private static final int VALUE = 256 << 20;
    private static final int THIRD = 750 << 20;

    private final Path directory;
    private final KeyedBackends backends = new KeyedBackends();
    private AbstractKeyedStateBackend<Integer> backend;

    private LargeData(Path directory) {
        this.directory = directory;
    }

    public static void main(String[] arguments) throws Exception {
        LargeData data = new LargeData(Path.of(arguments[1]));
        if (arguments[0].equals("values")) {
            data.values();
        } else {
            data.list();
        }
        System.out.println("done");
    }

    private void open(KeyedStateHandle... handles) throws Exception {
        if (backend != null) {
            backend.dispose();
        }
        backend =
                backends.create(
                        new FerrostateStateBackend(true)
                                .setLocalDirectories(directory.resolve("local").toString()),
                        IntSerializer.INSTANCE,
                        16,
                        handles);
        backend.setCurrentKey(42);
    }

    private <S extends State> S state(StateDescriptor<S, ?> descriptor) throws Exception {
        return backend.getPartitionedState(
                VoidNamespace.INSTANCE, VoidNamespaceSerializer.INSTANCE, descriptor);
    }

    private ValueState<byte[]> value() throws Exception {
        return state(new ValueStateDescriptor<>("value", BytePrimitiveArraySerializer.INSTANCE));
    }

    private MapState<Integer, byte[]> map() throws Exception {
        return state(
                new MapStateDescriptor<>(
                        "map", IntSerializer.INSTANCE, BytePrimitiveArraySerializer.INSTANCE));
    }

    private ListState<byte[]> bytes(String name) throws Exception {
        return state(new ListStateDescriptor<>(name, BytePrimitiveArraySerializer.INSTANCE));
    }

    private static byte[] large(int length, int mark) {
        byte[] bytes = new byte[length];
        for (int at = 0; at < length; at += 1021) {
            bytes[at] = (byte) (at * 31 + mark);
        }
        return bytes;
    }

    private static void check(String what, byte[] bytes, int length, int mark) {
        for (int at = 0; at < length; at += 1021) {
            if (bytes == null || bytes.length != length || bytes[at] != (byte) (at * 31 + mark)) {
                throw new AssertionError(what + " is not what was written, at " + at);
            }
        }
        System.out.println(what);
    }

    private void values() throws Exception {
        open();
        ValueState<byte[]> value = value();
        value.update(large(VALUE, 1));
        check("value", value.value(), VALUE, 1);
        MapState<Integer, byte[]> map = map();
        map.put(1, large(VALUE, 2));
        map.put(2, large(10, 3));
        checkMap(map);
        ListState<byte[]> list = bytes("list");
        list.add(large(VALUE, 4));
        list.add(large(10, 5));
        try (Snapshots snapshots = new Snapshots(directory.resolve("checkpoints"))) {
            KeyedStateHandle handle = snapshots.checkpoint(backend);
            open(handle);
            check("restored value", value().value(), VALUE, 1);
            checkMap(map());
            int number = 0;
            for (byte[] element : bytes("list").get()) {
                check("element", element, number == 0 ? VALUE : 10, 4 + number);
                number++;
            }
        }
        backend.dispose();
    }

    private static void checkMap(MapState<Integer, byte[]> map) throws Exception {
        check("value of a map", map.get(1), VALUE, 2);
        for (Map.Entry<Integer, byte[]> entry : map.entries()) {
            boolean first = entry.getKey() == 1;
            check("entry", entry.getValue(), first ? VALUE : 10, first ? 2 : 3);
        }
    }

    /** Three elements that together no array of Java's can hold. */
    private void list() throws Exception {
        open();
        ListState<byte[]> list = bytes("my list");
        byte[] third = new byte[THIRD];
        for (int i = 0; i < 3; i++) {
            list.add(third);
        }
        System.out.println("added");
        try {
            list.get();
            throw new AssertionError("The list was read");
        } catch (FerrostateException expected) {
            System.out.println(expected.kind() + " " + expected.getMessage());
        }
        ListState<byte[]> another = bytes("another");
        another.add(new byte[10]);
        for (byte[] element : another.get()) {
            System.out.println("another works: " + element.length);
        }
        list.clear();
        System.out.println("cleared: " + (list.get() == null));
        list.add(new byte[10]);
        System.out.println("works again: " + list.get().iterator().next().length);
        backend.dispose();
    }
}
