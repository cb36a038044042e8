package io.ferrostate.bench.state;

import io.ferrostate.bench.task.TaskBackend;

import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.common.typeutils.base.LongSerializer;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

import java.util.concurrent.TimeUnit;

/**
 * Operations on one kind of state. A JVM measures all cases of a class one after the other on the same
 * state, which is filled once.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public abstract class Cases<K> {

    private static Cases<?> filled;

    @Param("FERROSTATE")
    public Contender contender;

    @Param("SMALL")
    public Space space;

    @Param("false")
    public boolean full;

    TaskBackend<K> subject;
    int keys;
    private int[] order;
    private int next;
    private int fresh;

    @Setup
    public void open() throws Exception {
        if (filled == null) {
            keys = keys();
            order = space.order(full);
            if (keys < space.keys(full)) {
                for (int i = 0; i < order.length; i++) {
                    order[i] %= keys;
                }
            }
            subject =
                    new TaskBackend<>(
                            contender.options(), space.managedMemory(full), keySerializer());
            register();
            for (int key = 0; key < keys; key++) {
                select(key);
                fill(key);
            }
            TaskBackend.settle();
            filled = this;
        } else {
            Cases<K> other = of(filled);
            keys = other.keys;
            order = other.order;
            subject = other.subject;
            fresh = other.fresh;
            register();
        }
    }

    @SuppressWarnings("unchecked")
    private static <K> Cases<K> of(Cases<?> cases) {
        return (Cases<K>) cases;
    }

    static void close() throws Exception {
        filled.subject.close();
    }

    int keys() {
        return space.keys(full);
    }

    abstract TypeSerializer<K> keySerializer();

    abstract K key(int number);

    /** Finds the state in the backend. */
    abstract void register() throws Exception;

    /** Writes what a key has before anything is measured. */
    abstract void fill(int key) throws Exception;

    final void select(int key) {
        subject.keyed.setCurrentKey(key(key));
    }

    /** Selects the next key that exists, and returns its number. */
    final int selectNext() {
        next = next + 1 < order.length ? next + 1 : 0;
        int key = order[next];
        select(key);
        return key;
    }

    /** Selects a key that does not exist, at the first round. */
    final int selectNew() {
        fresh = fresh + 1 < keys ? fresh + 1 : 0;
        select(keys + fresh);
        return fresh;
    }

    /** With keys of type Long, as apache/flink-benchmarks has them. */
    abstract static class OfLong extends Cases<Long> {

        @Override
        TypeSerializer<Long> keySerializer() {
            return LongSerializer.INSTANCE;
        }

        @Override
        Long key(int number) {
            return (long) number;
        }
    }
}
