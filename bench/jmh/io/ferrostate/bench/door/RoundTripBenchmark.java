package io.ferrostate.bench.door;

import io.ferrostate.jni.BenchPages;
import io.ferrostate.jni.Page;
import io.ferrostate.jni.PageInput;
import io.ferrostate.jni.PageOutput;

import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.infra.Blackhole;

import java.io.IOException;
import java.util.concurrent.TimeUnit;

/**
 * A whole access as a state object makes it: key serialized, crossing, value deserialized (read), or
 * key and value serialized, crossing (write). Says whether Java pays back what a cheap crossing saves.
 *
 * <p>{@code mixed}: the serializers have been used for network and checkpoints too, as in a job, so
 * that their calls of the view are compiled for more than one class of view.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class RoundTripBenchmark {

    private static final int CAPACITY = 1 << 17;

    @Param({"LONG", "STRING", "TUPLE", "POJO"})
    public Sample sample;

    @Param({"false", "true"})
    public boolean mixed;

    private Sample.Pair<Object, Object> pair;
    private long entry;

    private final Page keyPage = BenchPages.direct(CAPACITY);
    private final Page valuePage = BenchPages.direct(CAPACITY);
    private final PageOutput keyOutput = new PageOutput(keyPage);
    private final PageOutput valueOutput = new PageOutput(valuePage);
    private final PageInput pageInput = new PageInput();

    private final TestPage keyCopy = new TestPage(CAPACITY);
    private final TestPage valueCopy = new TestPage(CAPACITY);
    private final byte[] valueArray = new byte[CAPACITY];
    private final DataOutputSerializer keyArrayOutput = new DataOutputSerializer(CAPACITY);
    private final DataOutputSerializer valueArrayOutput = new DataOutputSerializer(CAPACITY);
    private final DataInputDeserializer arrayInput = new DataInputDeserializer();

    @Setup
    @SuppressWarnings("unchecked")
    public void open(Blackhole blackhole) throws IOException {
        pair = (Sample.Pair<Object, Object>) sample.pair();
        entry = Door.entryOpen(pair.keyBytes(), pair.valueBytes());
        if (mixed) {
            pair.useElsewhere(blackhole);
        }
    }

    @TearDown
    public void close() {
        Door.entryClose(entry);
    }

    // ---- page: serialized where the library reads it, deserialized where it wrote it ---------------

    @Benchmark
    public Object readPage() throws IOException {
        int keyLength = keyToPage();
        int length =
                Door.pageGet(entry, keyPage.address(), keyLength, valuePage.address(), CAPACITY);
        pageInput.set(valuePage, 0, length);
        return pair.valueSerializer.deserialize(pageInput);
    }

    @Benchmark
    public void writePage() throws IOException {
        int keyLength = keyToPage();
        valueOutput.clear();
        pair.valueSerializer.serialize(pair.value, valueOutput);
        Door.pagePut(
                entry, keyPage.address(), keyLength, valuePage.address(), valueOutput.position());
    }

    private int keyToPage() throws IOException {
        keyOutput.clear();
        pair.keySerializer.serialize(pair.key, keyOutput);
        return keyOutput.position();
    }

    // ---- page, copied: Flink's own views on arrays, copied into and out of the page ----------------

    @Benchmark
    public Object readPageCopied() throws IOException {
        int keyLength = keyToCopy();
        int length = Door.pageGet(entry, keyCopy.address, keyLength, valueCopy.address, CAPACITY);
        valueCopy.segment.get(0, valueArray, 0, length);
        arrayInput.setBuffer(valueArray, 0, length);
        return pair.valueSerializer.deserialize(arrayInput);
    }

    @Benchmark
    public void writePageCopied() throws IOException {
        int keyLength = keyToCopy();
        int valueLength = valueToArray();
        valueCopy.segment.put(0, valueArrayOutput.getSharedBuffer(), 0, valueLength);
        Door.pagePut(entry, keyCopy.address, keyLength, valueCopy.address, valueLength);
    }

    private int keyToCopy() throws IOException {
        int length = keyToArray();
        keyCopy.segment.put(0, keyArrayOutput.getSharedBuffer(), 0, length);
        return length;
    }

    // ---- the caller's arrays, copied by the library or held in place --------------------------------

    @Benchmark
    public Object readRegion() throws IOException {
        int keyLength = keyToArray();
        byte[] key = keyArrayOutput.getSharedBuffer();
        int length = Door.regionGet(entry, key, keyLength, valueArray, CAPACITY);
        arrayInput.setBuffer(valueArray, 0, length);
        return pair.valueSerializer.deserialize(arrayInput);
    }

    @Benchmark
    public void writeRegion() throws IOException {
        int keyLength = keyToArray();
        int valueLength = valueToArray();
        byte[] key = keyArrayOutput.getSharedBuffer();
        Door.regionPut(entry, key, keyLength, valueArrayOutput.getSharedBuffer(), valueLength);
    }

    @Benchmark
    public Object readCritical() throws IOException {
        int keyLength = keyToArray();
        byte[] key = keyArrayOutput.getSharedBuffer();
        int length = Door.criticalGet(entry, key, keyLength, valueArray, CAPACITY);
        arrayInput.setBuffer(valueArray, 0, length);
        return pair.valueSerializer.deserialize(arrayInput);
    }

    @Benchmark
    public void writeCritical() throws IOException {
        int keyLength = keyToArray();
        int valueLength = valueToArray();
        byte[] key = keyArrayOutput.getSharedBuffer();
        Door.criticalPut(entry, key, keyLength, valueArrayOutput.getSharedBuffer(), valueLength);
    }

    // ---- new arrays, as Flink's RocksDB backend makes them -------------------------------------------

    @Benchmark
    public Object readArray() throws IOException {
        keyToArray();
        arrayInput.setBuffer(Door.arrayGet(entry, keyArrayOutput.getCopyOfBuffer()));
        return pair.valueSerializer.deserialize(arrayInput);
    }

    @Benchmark
    public void writeArray() throws IOException {
        keyToArray();
        valueToArray();
        Door.arrayPut(
                entry, keyArrayOutput.getCopyOfBuffer(), valueArrayOutput.getCopyOfBuffer());
    }

    private int keyToArray() throws IOException {
        keyArrayOutput.clear();
        pair.keySerializer.serialize(pair.key, keyArrayOutput);
        return keyArrayOutput.length();
    }

    private int valueToArray() throws IOException {
        valueArrayOutput.clear();
        pair.valueSerializer.serialize(pair.value, valueArrayOutput);
        return valueArrayOutput.length();
    }
}
