package io.ferrostate.bench.door;

import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;

/** The crossing alone: bytes that lie ready, nothing serialized. A 20-byte key. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class CrossingBenchmark {

    private static final int KEY = 20;

    @Param({"50", "100", "1024", "65536"})
    public int size;

    private final byte[] key = new byte[KEY];
    private byte[] value;
    private ByteBuffer keyBuffer;
    private ByteBuffer valueBuffer;
    private TestPage keyPage;
    private TestPage valuePage;
    private long entry;
    private long trusted;

    @Setup
    public void open() {
        value = new byte[size];
        Arrays.fill(key, (byte) 42);
        Arrays.fill(value, (byte) 42);
        keyBuffer = ByteBuffer.allocateDirect(KEY).put(key);
        valueBuffer = ByteBuffer.allocateDirect(size).put(value);
        keyPage = new TestPage(key);
        valuePage = new TestPage(value);
        entry = Door.entryOpen(key, value);
        trusted = Door.entryAddress(entry);
    }

    @TearDown
    public void close() {
        Door.entryClose(entry);
    }

    // ---- nothing but the crossing ---------------------------------------------------------------

    @Benchmark
    public int emptyRaw() {
        return Door.emptyRaw(size);
    }

    @Benchmark
    public int emptyGuarded() {
        return Door.emptyGuarded(size);
    }

    @Benchmark
    public int emptyWithEnv() {
        return Door.emptyWithEnv(size);
    }

    // ---- get ------------------------------------------------------------------------------------

    @Benchmark
    public int getPage() {
        return Door.pageGet(entry, keyPage.address, KEY, valuePage.address, size);
    }

    @Benchmark
    public int getPageUncaught() {
        return Door.pageGetUncaught(entry, keyPage.address, KEY, valuePage.address, size);
    }

    @Benchmark
    public int getPageTrusted() {
        return Door.pageGetTrusted(trusted, keyPage.address, KEY, valuePage.address, size);
    }

    /** Bytes are in arrays and wanted in arrays: copied into the page and out of it by Java. */
    @Benchmark
    public int getPageCopied() {
        keyPage.segment.put(0, key, 0, KEY);
        int length = Door.pageGet(entry, keyPage.address, KEY, valuePage.address, size);
        valuePage.segment.get(0, value, 0, length);
        return length;
    }

    @Benchmark
    public int getRegion() {
        return Door.regionGet(entry, key, KEY, value, size);
    }

    @Benchmark
    public int getRegionTrusted() {
        return Door.regionGetTrusted(trusted, key, KEY, value, size);
    }

    @Benchmark
    public int getCritical() {
        return Door.criticalGet(entry, key, KEY, value, size);
    }

    @Benchmark
    public byte[] getArray() {
        return Door.arrayGet(entry, key);
    }

    @Benchmark
    public byte[] getArrayTrusted() {
        return Door.arrayGetTrusted(trusted, key);
    }

    @Benchmark
    public int getDirect() {
        return Door.directGet(entry, keyBuffer, KEY, valueBuffer, size);
    }

    @Benchmark
    public int getCrateRegion() {
        return Door.crateRegionGet(entry, key, KEY, value, size);
    }

    @Benchmark
    public byte[] getCrateArray() {
        return Door.crateArrayGet(entry, key);
    }

    @Benchmark
    public int getCrateDirect() {
        return Door.crateDirectGet(entry, keyBuffer, KEY, valueBuffer, size);
    }

    // ---- put ------------------------------------------------------------------------------------

    @Benchmark
    public void putPage() {
        Door.pagePut(entry, keyPage.address, KEY, valuePage.address, size);
    }

    @Benchmark
    public void putPageCopied() {
        keyPage.segment.put(0, key, 0, KEY);
        valuePage.segment.put(0, value, 0, size);
        Door.pagePut(entry, keyPage.address, KEY, valuePage.address, size);
    }

    @Benchmark
    public void putRegion() {
        Door.regionPut(entry, key, KEY, value, size);
    }

    @Benchmark
    public void putCritical() {
        Door.criticalPut(entry, key, KEY, value, size);
    }

    @Benchmark
    public void putArray() {
        Door.arrayPut(entry, key, value);
    }

    @Benchmark
    public void putDirect() {
        Door.directPut(entry, keyBuffer, KEY, valueBuffer, size);
    }

    @Benchmark
    public void putCrateRegion() {
        Door.crateRegionPut(entry, key, KEY, value, size);
    }
}
