package io.ferrostate.bench.door;

import org.apache.flink.util.FileUtils;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

import java.io.File;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Collections;
import java.util.Random;
import java.util.concurrent.TimeUnit;

/**
 * A real database behind each door: 10,000 entries with keys of 20 bytes (ten share the first 12) and
 * values of 50, in a memtable or in a file whose blocks are cached.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class DatabaseBenchmark {

    static final String SCRATCH_PROPERTY = "ferrostate.bench.scratch";

    private static final int GROUPS = 1_000;
    private static final int GROUP = 10;
    private static final int PREFIX = 12;
    private static final int KEY = 20;
    private static final int VALUE = 50;

    @Param({"FERROSTATE", "ROCKSDB"})
    public Engine engine;

    @Param({"false", "true"})
    public boolean flushed;

    private Path directory;
    private Store store;
    private final byte[][] keys = new byte[GROUPS * GROUP][];
    private final byte[][] absent = new byte[GROUPS * GROUP][];
    private final byte[][] prefixes = new byte[GROUPS][];
    private final byte[] value = new byte[VALUE];
    private final byte[] operand = new byte[8];
    private int next;

    @Setup
    public void open() throws Exception {
        directory = Files.createTempDirectory(Path.of(System.getProperty(SCRATCH_PROPERTY)), "db");
        store = Store.open(engine, new File(directory.toFile(), "db"));
        Arrays.fill(value, (byte) 7);
        Random random = new Random(42);
        for (int group = 0; group < GROUPS; group++) {
            byte[] prefix = new byte[PREFIX];
            random.nextBytes(prefix);
            prefixes[group] = prefix;
            for (int i = 0; i < GROUP; i++) {
                keys[group * GROUP + i] = key(prefix, i);
                absent[group * GROUP + i] = key(prefix, GROUP + i);
            }
        }
        Collections.shuffle(Arrays.asList(keys), random);
        Collections.shuffle(Arrays.asList(absent), random);
        for (byte[] key : keys) {
            store.put(key, value);
        }
        if (flushed) {
            store.flush();
        }
        check();
    }

    private static byte[] key(byte[] prefix, long number) {
        return ByteBuffer.allocate(KEY).put(prefix).putLong(number).array();
    }

    private void check() throws Exception {
        if (store.get(keys[0]) != 7 || store.get(absent[0]) != -1
                || store.scan(prefixes[0]) != GROUP) {
            throw new IllegalStateException(engine + " does not hold what was put.");
        }
    }

    @TearDown
    public void close() throws Exception {
        store.close();
        FileUtils.deleteDirectory(directory.toFile());
    }

    private int next(int bound) {
        next = next + 1 < bound ? next + 1 : 0;
        return next;
    }

    @Benchmark
    public int getHit() throws Exception {
        return store.get(keys[next(keys.length)]);
    }

    @Benchmark
    public int getMiss() throws Exception {
        return store.get(absent[next(absent.length)]);
    }

    @Benchmark
    public void put() throws Exception {
        store.put(keys[next(keys.length)], value);
    }

    @Benchmark
    public void merge() throws Exception {
        store.merge(absent[next(absent.length)], operand);
    }

    @Benchmark
    public int scan10() throws Exception {
        return store.scan(prefixes[next(prefixes.length)]);
    }
}
