package io.ferrostate.bench.state;

import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.data.binary.BinaryRowData;
import org.apache.flink.table.runtime.typeutils.RowDataSerializer;
import org.apache.flink.table.types.logical.BigIntType;
import org.apache.flink.table.types.logical.DoubleType;
import org.apache.flink.table.types.logical.VarCharType;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.infra.Blackhole;

import java.io.IOException;
import java.util.Map;

/** Binary rows as the Table API keeps them: an accumulator a key, and the rows of one side of a join. */
public class RowCases extends Cases<RowData> {

    private static final int KEYS = 50_000;
    private static final int JOINED = 3;

    private final RowDataSerializer keyRows =
            new RowDataSerializer(new BigIntType(), VarCharType.STRING_TYPE);
    private final RowDataSerializer rows =
            new RowDataSerializer(
                    new BigIntType(), new DoubleType(), VarCharType.STRING_TYPE, new BigIntType());
    private RowData[] names;
    private ValueState<RowData> accumulator;
    private MapState<RowData, Integer> joined;
    private long turn;

    @Override
    int keys() {
        return Math.min(KEYS, super.keys());
    }

    @Override
    TypeSerializer<RowData> keySerializer() {
        return keyRows;
    }

    @Override
    RowData key(int number) {
        if (names == null) {
            names = new RowData[keys];
            for (int i = 0; i < keys; i++) {
                names[i] = keyRows.toBinaryRow(GenericRowData.of((long) i, text("key " + i)), true);
            }
        }
        return names[number];
    }

    private static StringData text(String text) {
        return StringData.fromString(text);
    }

    private BinaryRowData row(long number) {
        return rows.toBinaryRow(
                GenericRowData.of(number, number * 0.5, text("a row's text"), number));
    }

    @Override
    void register() throws Exception {
        accumulator = subject.state(new ValueStateDescriptor<>("accumulator", rows));
        joined =
                subject.state(
                        new MapStateDescriptor<>(
                                "joined",
                                rows.duplicate(),
                                org.apache.flink.api.common.typeutils.base.IntSerializer.INSTANCE));
    }

    @Override
    void fill(int key) throws Exception {
        accumulator.update(row(key));
        for (long i = 0; i < JOINED; i++) {
            joined.put(row(i), 1);
        }
    }

    @Benchmark
    public RowData rowGet() throws IOException {
        selectNext();
        return accumulator.value();
    }

    /** What a group aggregation does to its accumulator. */
    @Benchmark
    public void rowReadModifyWrite() throws IOException {
        selectNext();
        RowData row = accumulator.value();
        accumulator.update(row(row.getLong(0) + 1));
    }

    /** What a join does with the rows of the other side. */
    @Benchmark
    public void rowEntries(Blackhole blackhole) throws Exception {
        selectNext();
        for (Map.Entry<RowData, Integer> entry : joined.entries()) {
            blackhole.consume(entry.getKey());
            blackhole.consume(entry.getValue());
        }
    }

    @Benchmark
    public void rowPut() throws Exception {
        selectNext();
        joined.put(row(++turn % JOINED), 2);
    }
}
