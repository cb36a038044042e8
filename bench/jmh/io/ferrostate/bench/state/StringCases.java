package io.ferrostate.bench.state;

import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.common.typeutils.base.StringSerializer;
import org.openjdk.jmh.annotations.Benchmark;

import java.io.IOException;

/** {@code ValueState<String>} under keys of type String: serializers of variable length. */
public class StringCases extends Cases<String> {

    private static final int TEXTS = 1 << 10;

    private final String[] texts = new String[TEXTS];
    private String[] names;
    private ValueState<String> state;
    private int turn;

    @Override
    TypeSerializer<String> keySerializer() {
        return StringSerializer.INSTANCE;
    }

    @Override
    String key(int number) {
        if (names == null) {
            names = new String[keys];
            for (int i = 0; i < keys; i++) {
                names[i] = "customer/" + Integer.toHexString(i * 0x9E3779B1) + '/' + i;
            }
        }
        return names[number];
    }

    @Override
    void register() throws Exception {
        state = subject.state(new ValueStateDescriptor<>("text", StringSerializer.INSTANCE));
        for (int i = 0; i < TEXTS; i++) {
            texts[i] = "state of order " + i + ": " + "x".repeat(i % 40);
        }
    }

    private String text() {
        turn = (turn + 1) % TEXTS;
        return texts[turn];
    }

    @Override
    void fill(int key) throws Exception {
        state.update(text());
    }

    @Benchmark
    public String stringGet() throws IOException {
        selectNext();
        return state.value();
    }

    @Benchmark
    public void stringUpdate() throws IOException {
        selectNext();
        state.update(text());
    }
}
