package io.ferrostate.bench.state;

import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.typeutils.base.LongSerializer;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.infra.Blackhole;

import java.util.ArrayList;
import java.util.List;

/** {@code ListState<Long>}. */
public class ListCases extends Cases.OfLong {

    private static final int MANY = 100;

    private final List<Long> many = new ArrayList<>();
    private ListState<Long> state;
    private long value;

    @Override
    void register() throws Exception {
        state = subject.state(new ListStateDescriptor<>("list", LongSerializer.INSTANCE));
        many.clear();
        for (long i = 0; i < MANY; i++) {
            many.add(i * 7919);
        }
    }

    @Override
    void fill(int key) throws Exception {
        state.add((long) key);
    }

    @Benchmark
    public Iterable<Long> listGet() throws Exception {
        selectNext();
        return state.get();
    }

    @Benchmark
    public void listGetAndIterate(Blackhole blackhole) throws Exception {
        selectNext();
        for (Long element : state.get()) {
            blackhole.consume(element);
        }
    }

    @Benchmark
    public void listAppend() throws Exception {
        selectNext();
        state.add(++value);
    }

    @Benchmark
    public void listUpdate() throws Exception {
        selectNext();
        state.update(List.of(++value));
    }

    @Benchmark
    public void listAddNew() throws Exception {
        selectNew();
        state.update(List.of(++value));
    }

    /** Cleared first, so that lists do not grow. */
    @Benchmark
    public void listClearAndAddAll() throws Exception {
        selectNext();
        state.clear();
        state.addAll(many);
    }
}
