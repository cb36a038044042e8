package io.ferrostate.bench.jobs;

import io.ferrostate.bench.state.Sum;

import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.streaming.api.datastream.KeyedStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.streaming.api.functions.co.KeyedCoProcessFunction;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
import org.apache.flink.util.Collector;

import java.time.Duration;

/** What the measured jobs do. Events are numbers; their keys are scattered over all keys. */
enum Job {
    KEYED_UPDATE("keyed read-modify-write, a million keys") {
        @Override
        void run(StreamExecutionEnvironment env, long events) throws Exception {
            keyed(env, events, 0).process(new Count()).sinkTo(new DiscardingSink<>());
            env.execute();
        }
    },
    WINDOW("windowed aggregation, 100,000 keys, about five windows") {
        @Override
        void run(StreamExecutionEnvironment env, long events) throws Exception {
            long length = Math.max(1, events / 5);
            env.fromSequence(0, events - 1)
                    .assignTimestampsAndWatermarks(
                            WatermarkStrategy.<Long>forMonotonousTimestamps()
                                    .withTimestampAssigner((event, none) -> event))
                    .keyBy(event -> scattered(event) % (KEYS / 10))
                    .window(TumblingEventTimeWindows.of(Duration.ofMillis(length)))
                    .aggregate(new Sum())
                    .sinkTo(new DiscardingSink<>());
            env.execute();
        }
    },
    JOIN("join of two streams on map state, a million keys") {
        @Override
        void run(StreamExecutionEnvironment env, long events) throws Exception {
            keyed(env, events / 2, 0)
                    .connect(keyed(env, events / 2, 1))
                    .process(new Join())
                    .sinkTo(new DiscardingSink<>());
            env.execute();
        }
    },
    TABLE_AGGREGATION("Table API group aggregation, a million keys") {
        @Override
        void run(StreamExecutionEnvironment env, long events) throws Exception {
            StreamTableEnvironment tables = StreamTableEnvironment.create(env);
            tables.executeSql(
                    "CREATE TEMPORARY TABLE events (k BIGINT, v BIGINT) WITH ('connector' = 'datagen',"
                            + " 'rows-per-second' = '1000000000', 'number-of-rows' = '" + events + "',"
                            + " 'fields.k.min' = '0', 'fields.k.max' = '" + KEYS + "')");
            tables.executeSql(
                    "CREATE TEMPORARY TABLE nothing (k BIGINT, n BIGINT, s BIGINT, m BIGINT)"
                            + " WITH ('connector' = 'blackhole')");
            tables.executeSql(
                            "INSERT INTO nothing"
                                    + " SELECT k, COUNT(*), SUM(v), MAX(v) FROM events GROUP BY k")
                    .await();
        }
    };

    private static final long KEYS = 1_000_000;

    final String title;

    Job(String title) {
        this.title = title;
    }

    abstract void run(StreamExecutionEnvironment env, long events) throws Exception;

    private static KeyedStream<Long, Long> keyed(
            StreamExecutionEnvironment env, long events, long seed) {
        return env.fromSequence(seed * events, (seed + 1) * events - 1)
                .keyBy(event -> scattered(event) % KEYS);
    }

    /** Not negative. */
    private static long scattered(long event) {
        long mixed = (event ^ (event >>> 31)) * 0x9E3779B97F4A7C15L;
        return (mixed ^ (mixed >>> 29)) >>> 1;
    }

    private static final class Count extends KeyedProcessFunction<Long, Long, Long> {

        private static final long serialVersionUID = 1;

        private transient ValueState<Long> state;

        @Override
        public void open(OpenContext context) {
            state = getRuntimeContext().getState(new ValueStateDescriptor<>("count", Types.LONG));
        }

        @Override
        public void processElement(Long event, Context context, Collector<Long> out)
                throws Exception {
            Long count = state.value();
            count = count == null ? 1 : count + 1;
            state.update(count);
            out.collect(count);
        }
    }

    private static final class Join extends KeyedCoProcessFunction<Long, Long, Long, Tuple2<Long, Long>> {

        private static final long serialVersionUID = 1;

        private transient MapState<Long, Long> left;
        private transient MapState<Long, Long> right;

        @Override
        public void open(OpenContext context) {
            left = getRuntimeContext().getMapState(descriptor("left"));
            right = getRuntimeContext().getMapState(descriptor("right"));
        }

        private static MapStateDescriptor<Long, Long> descriptor(String name) {
            return new MapStateDescriptor<>(name, Types.LONG, Types.LONG);
        }

        @Override
        public void processElement1(Long event, Context context, Collector<Tuple2<Long, Long>> out)
                throws Exception {
            left.put(event, event);
            for (Long other : right.values()) {
                out.collect(Tuple2.of(event, other));
            }
        }

        @Override
        public void processElement2(Long event, Context context, Collector<Tuple2<Long, Long>> out)
                throws Exception {
            right.put(event, event);
            for (Long other : left.values()) {
                out.collect(Tuple2.of(other, event));
            }
        }
    }
}
