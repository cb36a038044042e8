package io.ferrostate.backend;

import io.ferrostate.FerrostateOptions;

import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.IllegalConfigurationException;
import org.apache.flink.configuration.MemorySize;

import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;

/** Which values of options make sense. Messages name the option, its fallback and the value. */
final class OptionChecks {

    /** A condition and how to say it. */
    private static final class Check {
        final Predicate<Object> condition;
        final String wanted;

        Check(Predicate<Object> condition, String wanted) {
            this.condition = condition;
            this.wanted = wanted;
        }
    }

    /** RocksDB starts them all and keeps them; the library's own limit. */
    private static final int MOST_THREADS = 1024;

    /** RocksDB's. */
    private static final long BLOCK_SIZE_LIMIT = 1L << 32;

    private static final Check POSITIVE_SIZE =
            new Check(value -> ((MemorySize) value).getBytes() > 0, "must be larger than 0");
    private static final Check POSITIVE =
            new Check(value -> (Integer) value > 0, "must be larger than 0");
    private static final Check FRACTION =
            new Check(
                    value -> (Double) value > 0 && (Double) value < 1,
                    "must lie between 0 and 1, both excluded");

    private static final Map<String, Check> CHECKS = new HashMap<>();

    static {
        put(POSITIVE_SIZE, FerrostateOptions.FIX_PER_SLOT_MEMORY_SIZE);
        put(POSITIVE_SIZE, FerrostateOptions.TARGET_FILE_SIZE_BASE);
        put(POSITIVE_SIZE, FerrostateOptions.MAX_SIZE_LEVEL_BASE);
        put(POSITIVE_SIZE, FerrostateOptions.WRITE_BUFFER_SIZE);
        put(
                new Check(
                        value ->
                                ((MemorySize) value).getBytes() > 0
                                        && ((MemorySize) value).getBytes() < BLOCK_SIZE_LIMIT,
                        "must be larger than 0 and smaller than 4 GiB"),
                FerrostateOptions.BLOCK_SIZE);
        put(POSITIVE_SIZE, FerrostateOptions.METADATA_BLOCK_SIZE);
        put(POSITIVE_SIZE, FerrostateOptions.BLOCK_CACHE_SIZE);
        put(POSITIVE_SIZE, FerrostateOptions.BUFFER_SIZE);
        put(
                new Check(
                        value -> (Double) value > 0 && (Double) value <= 0.75,
                        "must be larger than 0 and at most 0.75"),
                FerrostateOptions.BUFFER_MEMORY_RATIO);
        put(
                new Check(
                        value -> (Integer) value > 0 && (Integer) value <= MOST_THREADS,
                        "must be larger than 0 and at most " + MOST_THREADS),
                FerrostateOptions.MAX_BACKGROUND_THREADS);
        put(POSITIVE, FerrostateOptions.TIMER_SERVICE_CACHE_SIZE);
        put(POSITIVE, FerrostateOptions.MAX_WRITE_BUFFER_NUMBER);
        put(POSITIVE, FerrostateOptions.MIN_WRITE_BUFFER_NUMBER_TO_MERGE);
        put(FRACTION, FerrostateOptions.WRITE_BUFFER_RATIO);
        put(FRACTION, FerrostateOptions.HIGH_PRIORITY_POOL_RATIO);
        put(
                new Check(value -> (Integer) value >= -1, "must be -1 (no limit) or larger"),
                FerrostateOptions.MAX_OPEN_FILES);
        put(
                new Check(value -> (Long) value >= 0, "must not be negative"),
                FerrostateOptions.COMPACT_FILTER_QUERY_TIME_AFTER_NUM_ENTRIES);
        put(
                new Check(value -> !((Duration) value).isNegative(), "must not be negative"),
                FerrostateOptions.COMPACT_FILTER_PERIODIC_COMPACTION_TIME);
        put(
                new Check(value -> (Double) value >= 1, "must be at least 1"),
                FerrostateOptions.BLOOM_FILTER_BITS_PER_KEY);
        put(
                new Check(value -> !((List<?>) value).isEmpty(), "must name a compression"),
                FerrostateOptions.COMPRESSION_PER_LEVEL);
        put(
                new Check(value -> (Integer) value != 0, "must not be 0"),
                FerrostateOptions.CHECKPOINT_TRANSFER_THREAD_NUM);
    }

    private OptionChecks() {}

    static void check(ConfigOption<?> option, Object value) {
        if (option.equals(FerrostateOptions.LOCAL_DIRECTORIES)) {
            LocalDirectoryPaths.parse((String) value);
        }
        Check check = CHECKS.get(option.key());
        if (check != null && !check.condition.test(value)) {
            throw new IllegalConfigurationException(
                    OptionSet.names(option) + " is " + value + ": it " + check.wanted + '.');
        }
    }

    private static void put(Check check, ConfigOption<?> option) {
        CHECKS.put(option.key(), check);
    }
}
