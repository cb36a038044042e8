package io.ferrostate.job;

import static org.apache.flink.table.api.DataTypes.BIGINT;
import static org.apache.flink.table.api.DataTypes.INT;
import static org.apache.flink.table.api.DataTypes.STRING;
import static org.apache.flink.table.api.DataTypes.TIMESTAMP_LTZ;
import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.PipelineOptions;
import org.apache.flink.connector.datagen.source.DataGeneratorSource;
import org.apache.flink.connector.datagen.source.GeneratorFunction;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.Schema;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
import org.apache.flink.table.api.config.ExecutionConfigOptions;
import org.apache.flink.types.Row;
import org.apache.flink.types.RowKind;
import org.apache.flink.util.CloseableIterator;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * SQL on Ferrostate: the stateful operators of the Table API in one job that fails and restores from a
 * checkpoint end with the same tables as on the hashmap backend without a failure, with and without
 * mini-batches and object reuse.
 */
@Timeout(300)
class TableJobTest {

    private static final int ORDERS = 2_000;
    private static final int KEYS = 23;

    @TempDir Path directory;

    /** All of them in one job: a name and a query. */
    private static Map<String, String> queries() {
        Map<String, String> queries = new LinkedHashMap<>();
        queries.put(
                "group aggregation",
                "SELECT k, COUNT(*), SUM(v), MIN(v), MAX(t), COUNT(DISTINCT t) FROM orders GROUP BY k");
        queries.put(
                "aggregation of an aggregation, with retractions",
                "SELECT c, COUNT(*), MAX(k) FROM (SELECT k, COUNT(*) AS c FROM orders GROUP BY k)"
                        + " GROUP BY c");
        queries.put(
                "inner join",
                "SELECT o.id, p.id, p.v FROM orders o JOIN payments p ON o.id = p.order_id");
        queries.put(
                "left join",
                "SELECT o.id, p.id FROM orders o LEFT JOIN payments p"
                        + " ON o.id = p.order_id AND o.v < p.v");
        queries.put(
                "full join of aggregations",
                "SELECT a.k, a.c, b.k, b.c FROM (SELECT k, COUNT(*) c FROM orders GROUP BY k) a"
                        + " FULL JOIN (SELECT k, COUNT(*) c FROM payments GROUP BY k) b"
                        + " ON a.k = b.k");
        queries.put(
                "semi join", "SELECT id FROM orders WHERE id IN (SELECT order_id FROM payments)");
        queries.put(
                "anti join",
                "SELECT id FROM orders o WHERE NOT EXISTS"
                        + " (SELECT * FROM payments p WHERE p.order_id = o.id)");
        queries.put(
                "interval join",
                "SELECT o.id, p.id FROM orders o LEFT JOIN payments p ON o.id = p.order_id"
                        + " AND p.ts BETWEEN o.ts - INTERVAL '2' SECOND AND o.ts + INTERVAL '3' SECOND");
        queries.put(
                "temporal join",
                "SELECT p.id, o.v FROM payments p LEFT JOIN latest FOR SYSTEM_TIME AS OF p.ts AS o"
                        + " ON p.k = o.k");
        queries.put("deduplication, first row", numbered("PARTITION BY k ORDER BY pt", "= 1"));
        queries.put("deduplication, last row", numbered("PARTITION BY k ORDER BY ts DESC", "= 1"));
        queries.put("top 3", numbered("PARTITION BY k ORDER BY v DESC, id", "<= 3"));
        queries.put(
                "top 2 of an aggregation",
                "SELECT k, t, s FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY s, t) n FROM"
                        + " (SELECT k, t, SUM(v) s FROM orders GROUP BY k, t)) WHERE n <= 2");
        queries.put(
                "over rows",
                "SELECT id, SUM(v) OVER"
                        + " (PARTITION BY k ORDER BY ts ROWS BETWEEN 3 PRECEDING AND CURRENT ROW)"
                        + " FROM orders");
        queries.put(
                "over range",
                "SELECT id, COUNT(*) OVER (PARTITION BY k ORDER BY ts"
                        + " RANGE BETWEEN INTERVAL '30' SECOND PRECEDING AND CURRENT ROW) FROM orders");
        queries.put("over unbounded", "SELECT id, MAX(v) OVER (PARTITION BY k ORDER BY ts) FROM orders");
        queries.put("tumbling window", windowed("TUMBLE", "INTERVAL '20' SECOND"));
        queries.put("hopping window", windowed("HOP", "INTERVAL '10' SECOND, INTERVAL '30' SECOND"));
        queries.put(
                "cumulating window", windowed("CUMULATE", "INTERVAL '10' SECOND, INTERVAL '1' MINUTE"));
        queries.put(
                "session window",
                "SELECT k, window_start, window_end, COUNT(*) FROM TABLE(SESSION(TABLE orders"
                        + " PARTITION BY k, DESCRIPTOR(ts), INTERVAL '25' SECOND))"
                        + " GROUP BY k, window_start, window_end");
        queries.put(
                "window top 1",
                "SELECT id, window_end FROM (SELECT *, ROW_NUMBER() OVER"
                        + " (PARTITION BY window_start, window_end, k ORDER BY v DESC, id) n FROM"
                        + " TABLE(TUMBLE(TABLE orders, DESCRIPTOR(ts), INTERVAL '20' SECOND)))"
                        + " WHERE n <= 1");
        queries.put(
                "window join",
                "SELECT l.id, r.id, l.window_end FROM"
                        + " (SELECT * FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(ts), INTERVAL '5' SECOND))) l"
                        + " FULL JOIN"
                        + " (SELECT * FROM TABLE(TUMBLE(TABLE payments, DESCRIPTOR(ts), INTERVAL '5' SECOND))) r"
                        + " ON l.k = r.k AND l.window_start = r.window_start"
                        + " AND l.window_end = r.window_end");
        return queries;
    }

    private static String numbered(String over, String condition) {
        return "SELECT k, id, v FROM (SELECT *, ROW_NUMBER() OVER (" + over + ") n FROM orders)"
                + " WHERE n " + condition;
    }

    private static String windowed(String kind, String sizes) {
        return "SELECT k, window_start, window_end, COUNT(*), SUM(v), COUNT(DISTINCT t) FROM TABLE("
                + kind + "(TABLE orders, DESCRIPTOR(ts), " + sizes + "))"
                + " GROUP BY k, window_start, window_end";
    }

    @ParameterizedTest(name = "mini-batch={0}, object reuse={1}")
    @CsvSource({"false, false", "true, true"})
    void endsWithTheTablesOfTheHashMapBackend(boolean miniBatch, boolean objectReuse)
            throws Exception {
        Map<String, Map<String, Integer>> expected =
                run(TestJobs.HASHMAP, miniBatch, objectReuse, false);
        assertThat(expected).containsOnlyKeys(queries().keySet());
        assertThat(expected.values()).noneMatch(Map::isEmpty);
        Map<String, Map<String, Integer>> actual =
                run(TestJobs.FERROSTATE, miniBatch, objectReuse, true);
        for (String query : expected.keySet()) {
            assertThat(actual.get(query)).as(query).isEqualTo(expected.get(query));
        }
    }

    // ---- one job -------------------------------------------------------------------------------

    /** The final table of each query: how often each row is in it. */
    private Map<String, Map<String, Integer>> run(
            String stateBackend, boolean miniBatch, boolean objectReuse, boolean fail)
            throws Exception {
        Configuration configuration =
                TestJobs.configuration(
                        stateBackend, Files.createTempDirectory(directory, "checkpoints"));
        configuration.set(PipelineOptions.OBJECT_REUSE, objectReuse);
        StreamExecutionEnvironment env =
                StreamExecutionEnvironment.getExecutionEnvironment(configuration);
        env.setParallelism(2);
        StreamTableEnvironment tables = StreamTableEnvironment.create(env);
        if (miniBatch) {
            tables.getConfig().set(ExecutionConfigOptions.TABLE_EXEC_MINIBATCH_ENABLED, true);
            tables.getConfig()
                    .set(
                            ExecutionConfigOptions.TABLE_EXEC_MINIBATCH_ALLOW_LATENCY,
                            Duration.ofMillis(20));
            tables.getConfig().set(ExecutionConfigOptions.TABLE_EXEC_MINIBATCH_SIZE, 50L);
        }
        if (fail) {
            FailOnce.arm(2);
        }
        createTables(env, tables);
        Map<String, Map<String, Integer>> results = new TreeMap<>();
        try (CloseableIterator<String> changes = changes(tables).executeAndCollect()) {
            changes.forEachRemaining(change -> apply(change, results));
        }
        assertThat(FailOnce.happened()).isTrue();
        return results;
    }

    private static DataStream<String> changes(StreamTableEnvironment tables) {
        DataStream<String> all = null;
        for (Map.Entry<String, String> query : queries().entrySet()) {
            String name = query.getKey();
            DataStream<String> changes =
                    tables.toChangelogStream(tables.sqlQuery(query.getValue()))
                            .map(row -> name + '\t' + sign(row.getKind()) + '\t' + text(row))
                            .returns(Types.STRING);
            all = all == null ? changes : all.union(changes);
        }
        return all;
    }

    private static char sign(RowKind kind) {
        return kind == RowKind.INSERT || kind == RowKind.UPDATE_AFTER ? '+' : '-';
    }

    private static String text(Row row) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < row.getArity(); i++) {
            text.append(row.getField(i)).append('|');
        }
        return text.toString();
    }

    private static void apply(String change, Map<String, Map<String, Integer>> results) {
        String[] parts = change.split("\t", 3);
        results.computeIfAbsent(parts[0], name -> new TreeMap<>())
                .merge(
                        parts[2],
                        parts[1].equals("+") ? 1 : -1,
                        (a, b) -> a + b == 0 ? null : a + b);
    }

    // ---- input ---------------------------------------------------------------------------------

    private static void createTables(StreamExecutionEnvironment env, StreamTableEnvironment tables) {
        tables.createTemporaryView(
                "orders",
                tables.fromDataStream(
                        stream(env, "orders", TableJobTest::order)
                                .map(FailOnce.mapper())
                                .returns(ROW)
                                .setParallelism(1),
                        schema()));
        tables.createTemporaryView(
                "payments",
                tables.fromDataStream(stream(env, "payments", TableJobTest::payment), schema()));
        tables.createTemporaryView(
                "latest",
                tables.sqlQuery(
                        "SELECT k, id, v, ts FROM (SELECT *, ROW_NUMBER() OVER"
                                + " (PARTITION BY k ORDER BY ts DESC) n FROM orders) WHERE n = 1"));
    }

    private static final TypeInformation<Row> ROW =
            Types.ROW_NAMED(
                    new String[] {"id", "k", "v", "t", "order_id", "ts"},
                    Types.LONG,
                    Types.INT,
                    Types.LONG,
                    Types.STRING,
                    Types.LONG,
                    Types.INSTANT);

    private static Schema schema() {
        return Schema.newBuilder()
                .column("id", BIGINT())
                .column("k", INT())
                .column("v", BIGINT())
                .column("t", STRING())
                .column("order_id", BIGINT())
                .column("ts", TIMESTAMP_LTZ(3))
                .columnByExpression("pt", "PROCTIME()")
                .watermark("ts", "ts - INTERVAL '5' SECOND")
                .build();
    }

    /** One reader, so that nothing is late and the order of a key's rows is the same in each run. */
    private static DataStream<Row> stream(
            StreamExecutionEnvironment env, String name, GeneratorFunction<Long, Row> rows) {
        return env.fromSource(
                        new DataGeneratorSource<>(rows, ORDERS, FailOnce.gate(ORDERS / 2), ROW),
                        WatermarkStrategy.noWatermarks(),
                        name)
                .setParallelism(1);
    }

    private static Row order(long index) {
        long random = mix(index);
        return Row.of(
                index,
                (int) (random % KEYS),
                (random >> 8) % 100,
                "text " + (random >> 16) % 5,
                null,
                time(index, random));
    }

    /** Two thirds of the orders are paid, some twice. */
    private static Row payment(long index) {
        long random = mix(index + ORDERS);
        return Row.of(
                index,
                (int) (random % KEYS),
                (random >> 8) % 100,
                random % 7 == 0 ? null : "text " + (random >> 16) % 5,
                index - index % 3 + (random & 1),
                time(index, random));
    }

    /** Unique, a second apart, up to four seconds out of order. */
    private static Instant time(long index, long random) {
        return Instant.ofEpochMilli(1_000_000_000L + index * 1_000 + (random >> 24) % 4_000 / 1_000 * 1_000 + index % 1_000);
    }

    private static long mix(long value) {
        long mixed = (value + 1) * 0x9E3779B97F4A7C15L;
        mixed = (mixed ^ (mixed >>> 29)) * 0xBF58476D1CE4E5B9L;
        return (mixed ^ (mixed >>> 32)) >>> 1;
    }
}
