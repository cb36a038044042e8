package io.ferrostate.metrics;

import io.ferrostate.FerrostateOptions;

import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.ConfigOptions;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Which metrics there are: option, name of the metric and where its value comes from. Names are those
 * of Flink's RocksDB backend, so that dashboards go on. Their values are read by {@link
 * DatabaseMetrics}.
 */
public final class MetricOptions {

    /** Of the buffer in front of the database; always there when it is. */
    static final List<String> BUFFER_COUNTERS =
            Collections.unmodifiableList(
                    Arrays.asList("hits", "misses", "flushes", "written", "dirty-bytes", "bytes"));

    public static final ConfigOption<Boolean> COLUMN_FAMILY_AS_VARIABLE =
            option(
                    "column-family-as-variable",
                    "Whether the state's name is a variable of the metric (column_family) instead of"
                            + " a part of its name.");

    /** RocksDB's properties of a column family, without "rocksdb.". */
    private static final Map<ConfigOption<Boolean>, List<String>> PROPERTIES = new LinkedHashMap<>();

    /** Name of the metric and of RocksDB's ticker, both without "rocksdb.". */
    private static final Map<ConfigOption<Boolean>, String[]> TICKERS = new LinkedHashMap<>();

    static {
        property("num-immutable-mem-table", "Memtables that wait to be written.");
        property("mem-table-flush-pending", "1 while a memtable waits to be written.");
        property("compaction-pending", "1 while a compaction waits.");
        property("background-errors", "Errors of flushes and compactions.");
        property("cur-size-active-mem-table", "Bytes of the memtable that is written to.");
        property("cur-size-all-mem-tables", "Bytes of the memtables not yet in files.");
        property("size-all-mem-tables", "Bytes of all memtables, with those that are read only.");
        property("num-entries-active-mem-table", "Entries of the memtable that is written to.");
        property("num-entries-imm-mem-tables", "Entries of the memtables that wait to be written.");
        property("num-deletes-active-mem-table", "Deletions in the memtable that is written to.");
        property("num-deletes-imm-mem-tables", "Deletions in those that wait to be written.");
        property("estimate-num-keys", "About how many keys there are.");
        property("estimate-table-readers-mem", "Bytes of index and filters outside of the cache.");
        property("num-snapshots", "RocksDB snapshots that are held.");
        property("num-live-versions", "Versions of the files that somebody reads.");
        property("estimate-live-data-size", "About how many bytes are live.");
        property("total-sst-files-size", "Bytes of all files.");
        property("live-sst-files-size", "Bytes of the files of the newest version.");
        property("estimate-pending-compaction-bytes", "Bytes that compactions have yet to rewrite.");
        property("num-running-compactions", "Compactions that run.");
        property("num-running-flushes", "Flushes that run.");
        property("actual-delayed-write-rate", "Bytes a second writes are slowed to; 0: they are not.");
        property("is-write-stopped", "1 while writes wait.");
        property("block-cache-capacity", "Bytes the block cache may take.");
        property("block-cache-usage", "Bytes the block cache takes.");
        property("block-cache-pinned-usage", "Bytes of the block cache that cannot be evicted.");
        List<String> levels = new ArrayList<>();
        for (int level = 0; level < 7; level++) {
            levels.add("num-files-at-level" + level);
        }
        PROPERTIES.put(option("num-files-at-level", "Files of each level."), levels);
        ticker("block-cache-hit", "block.cache.hit", "Blocks found in the block cache.");
        ticker("block-cache-miss", "block.cache.miss", "Blocks not found there.");
        ticker(
                "bloom-filter-useful",
                "bloom.filter.useful",
                "Reads of a file that its filter saved.");
        ticker(
                "bloom-filter-full-positive",
                "bloom.filter.full.positive",
                "Reads of a file that its filter let through.");
        ticker(
                "bloom-filter-full-true-positive",
                "bloom.filter.full.true.positive",
                "Such reads that found their key.");
        ticker(
                "bytes-read",
                "bytes.read",
                "Bytes of values read, without what the buffer has.");
        ticker("iter-bytes-read", "db.iter.bytes.read", "Bytes that iterators read.");
        ticker("bytes-written", "bytes.written", "Bytes written to RocksDB.");
        ticker("compaction-read-bytes", "compact.read.bytes", "Bytes that compactions read.");
        ticker(
                "compaction-write-bytes",
                "compact.write.bytes",
                "Bytes that compactions wrote.");
        ticker("stall-micros", "stall.micros", "Microseconds that writes waited.");
    }

    private MetricOptions() {}

    /** All options; each is off by default. */
    public static List<ConfigOption<?>> all() {
        List<ConfigOption<?>> all = new ArrayList<>(PROPERTIES.keySet());
        all.addAll(TICKERS.keySet());
        all.add(COLUMN_FAMILY_AS_VARIABLE);
        return all;
    }

    static Map<ConfigOption<Boolean>, List<String>> properties() {
        return PROPERTIES;
    }

    /** Name of the metric and of RocksDB's ticker, both without "rocksdb.". */
    public static Map<ConfigOption<Boolean>, String[]> tickers() {
        return TICKERS;
    }

    private static void property(String name, String description) {
        PROPERTIES.put(option(name, description), Collections.singletonList(name));
    }

    /** Metrics have the names that Flink's have: "db." is not part of them. */
    private static void ticker(String name, String ofRocksDb, String description) {
        String metric = ofRocksDb.replaceFirst("^db\\.", "").replace('.', '_');
        TICKERS.put(
                option(name, description + " Counting costs some CPU time."),
                new String[] {metric, ofRocksDb});
    }

    private static ConfigOption<Boolean> option(String name, String description) {
        return ConfigOptions.key(FerrostateOptions.PREFIX + "metrics." + name)
                .booleanType()
                .defaultValue(false)
                .withFallbackKeys(FerrostateOptions.ROCKSDB_PREFIX + "metrics." + name)
                .withDescription(description);
    }
}
