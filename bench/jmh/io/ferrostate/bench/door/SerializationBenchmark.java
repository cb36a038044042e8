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
import org.openjdk.jmh.infra.Blackhole;

import java.io.IOException;
import java.util.concurrent.TimeUnit;

/** The Java half alone: a value serialized to and deserialized from a page or an array. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class SerializationBenchmark {

    private static final int CAPACITY = 1 << 17;

    @Param({"LONG", "STRING", "TUPLE", "POJO"})
    public Sample sample;

    @Param({"false", "true"})
    public boolean mixed;

    private Sample.Pair<Object, Object> pair;
    private byte[] bytes;
    private final Page page = BenchPages.direct(CAPACITY);
    private final Page written = BenchPages.direct(CAPACITY);
    private final PageOutput pageOutput = new PageOutput(page);
    private final PageInput pageInput = new PageInput();
    private final DataOutputSerializer arrayOutput = new DataOutputSerializer(CAPACITY);
    private final DataInputDeserializer arrayInput = new DataInputDeserializer();

    @Setup
    @SuppressWarnings("unchecked")
    public void open(Blackhole blackhole) throws IOException {
        pair = (Sample.Pair<Object, Object>) sample.pair();
        bytes = pair.valueBytes();
        new PageOutput(written).write(bytes);
        if (mixed) {
            pair.useElsewhere(blackhole);
        }
    }

    @Benchmark
    public int serializeToPage() throws IOException {
        pageOutput.clear();
        pair.valueSerializer.serialize(pair.value, pageOutput);
        return pageOutput.position();
    }

    @Benchmark
    public int serializeToArray() throws IOException {
        arrayOutput.clear();
        pair.valueSerializer.serialize(pair.value, arrayOutput);
        return arrayOutput.length();
    }

    @Benchmark
    public Object deserializeFromPage() throws IOException {
        pageInput.set(written, 0, bytes.length);
        return pair.valueSerializer.deserialize(pageInput);
    }

    @Benchmark
    public Object deserializeFromArray() throws IOException {
        arrayInput.setBuffer(bytes, 0, bytes.length);
        return pair.valueSerializer.deserialize(arrayInput);
    }
}
