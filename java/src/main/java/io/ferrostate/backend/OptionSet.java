package io.ferrostate.backend;

import io.ferrostate.FerrostateOptions;
import io.ferrostate.FerrostateOptions.PredefinedOptions;
import io.ferrostate.metrics.MetricOptions;

import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.FallbackKey;
import org.apache.flink.configuration.IllegalConfigurationException;
import org.apache.flink.configuration.MemorySize;
import org.apache.flink.configuration.ReadableConfig;

import java.io.Serializable;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * The values of {@link FerrostateOptions} for one backend. What was set in code wins over the
 * configuration, that over the predefined options, those over the defaults. Values are checked when
 * they come in.
 */
public final class OptionSet implements Serializable {

    private static final long serialVersionUID = 1L;

    /** What the library is told, see {@link #forDatabase}. */
    static final List<ConfigOption<?>> DATABASE_OPTIONS =
            Collections.unmodifiableList(
                    Arrays.asList(
                            FerrostateOptions.BUFFER_ENABLED,
                            FerrostateOptions.BUFFER_MEMORY_RATIO,
                            FerrostateOptions.BUFFER_SIZE,
                            FerrostateOptions.WARM_UP,
                            FerrostateOptions.MAX_BACKGROUND_THREADS,
                            FerrostateOptions.MAX_OPEN_FILES,
                            FerrostateOptions.LOG_LEVEL,
                            FerrostateOptions.COMPACTION_STYLE,
                            FerrostateOptions.USE_DYNAMIC_LEVEL_SIZE,
                            FerrostateOptions.TARGET_FILE_SIZE_BASE,
                            FerrostateOptions.MAX_SIZE_LEVEL_BASE,
                            FerrostateOptions.WRITE_BUFFER_SIZE,
                            FerrostateOptions.MAX_WRITE_BUFFER_NUMBER,
                            FerrostateOptions.MIN_WRITE_BUFFER_NUMBER_TO_MERGE,
                            FerrostateOptions.HASH_MEMTABLE,
                            FerrostateOptions.BLOCK_SIZE,
                            FerrostateOptions.METADATA_BLOCK_SIZE,
                            FerrostateOptions.BLOCK_CACHE_SIZE,
                            FerrostateOptions.USE_BLOOM_FILTER,
                            FerrostateOptions.BLOOM_FILTER_BITS_PER_KEY,
                            FerrostateOptions.BLOOM_FILTER_BLOCK_BASED_MODE,
                            FerrostateOptions.COMPRESSION_PER_LEVEL,
                            FerrostateOptions.USE_PARTITIONED_INDEX_FILTERS,
                            FerrostateOptions.COMPACT_FILTER_PERIODIC_COMPACTION_TIME));

    private static final List<ConfigOption<?>> OTHER_OPTIONS =
            Arrays.asList(
                    FerrostateOptions.LOCAL_DIRECTORIES,
                    FerrostateOptions.TIMER_SERVICE_FACTORY,
                    FerrostateOptions.TIMER_SERVICE_CACHE_SIZE,
                    FerrostateOptions.CHECKPOINT_TRANSFER_THREAD_NUM,
                    FerrostateOptions.COPY_IN_STORE,
                    FerrostateOptions.PREDEFINED_OPTIONS,
                    FerrostateOptions.USE_MANAGED_MEMORY,
                    FerrostateOptions.FIX_PER_SLOT_MEMORY_SIZE,
                    FerrostateOptions.FIX_PER_TM_MEMORY_SIZE,
                    FerrostateOptions.WRITE_BUFFER_RATIO,
                    FerrostateOptions.HIGH_PRIORITY_POOL_RATIO,
                    FerrostateOptions.COMPACT_FILTER_QUERY_TIME_AFTER_NUM_ENTRIES);

    private final Configuration values;

    public OptionSet() {
        this(new Configuration());
    }

    private OptionSet(Configuration values) {
        this.values = values;
    }

    static List<ConfigOption<?>> all() {
        List<ConfigOption<?>> all = new ArrayList<>(DATABASE_OPTIONS);
        all.addAll(OTHER_OPTIONS);
        all.addAll(MetricOptions.all());
        return all;
    }

    public <T> void set(ConfigOption<T> option, T value) {
        OptionChecks.check(option, value);
        values.set(option, value);
    }

    /** A copy that takes what is not set here from a configuration. */
    public OptionSet orElse(ReadableConfig config) {
        OptionSet merged = new OptionSet(values.clone());
        for (ConfigOption<?> option : all()) {
            if (!isSet(option)) {
                merged.take(option, config);
            }
        }
        return merged;
    }

    private <T> void take(ConfigOption<T> option, ReadableConfig config) {
        read(option, config).ifPresent(value -> set(option, value));
    }

    /** As {@link ReadableConfig#getOptional}; a value that cannot be parsed is told with both names. */
    static <T> Optional<T> read(ConfigOption<T> option, ReadableConfig config) {
        try {
            return config.getOptional(option);
        } catch (IllegalArgumentException e) {
            throw new IllegalConfigurationException(
                    "The value of " + names(option) + " is not valid: " + e.getMessage(), e);
        }
    }

    public boolean isSet(ConfigOption<?> option) {
        return values.contains(option);
    }

    /** The value that counts; null if there is none and no default. */
    public <T> T get(ConfigOption<T> option) {
        return values.getOptional(option)
                .orElseGet(() -> Predefined.of(predefined(), option).orElse(option.defaultValue()));
    }

    private PredefinedOptions predefined() {
        return values.get(FerrostateOptions.PREDEFINED_OPTIONS);
    }

    /** Alternating keys without prefix and plain values, for {@link io.ferrostate.jni.Native}. */
    public String[] forDatabase() {
        List<String> pairs = new ArrayList<>();
        for (ConfigOption<?> option : DATABASE_OPTIONS) {
            pairs.add(option.key().substring(FerrostateOptions.PREFIX.length()));
            pairs.add(plain(get(option)));
        }
        pairs.add("metrics.statistics");
        pairs.add(plain(MetricOptions.tickers().keySet().stream().anyMatch(this::get)));
        return pairs.toArray(new String[0]);
    }

    private static String plain(Object value) {
        if (value instanceof MemorySize) {
            return Long.toString(((MemorySize) value).getBytes());
        }
        if (value instanceof Duration) {
            return Long.toString(((Duration) value).getSeconds());
        }
        if (value instanceof List) {
            return ((List<?>) value)
                    .stream().map(OptionSet::plain).collect(Collectors.joining(","));
        }
        if (value instanceof Enum) {
            return ((Enum<?>) value).name();
        }
        return String.valueOf(value);
    }

    /** The key of an option and those it also goes by. */
    static String names(ConfigOption<?> option) {
        StringBuilder names = new StringBuilder("'").append(option.key()).append('\'');
        for (FallbackKey fallback : option.fallbackKeys()) {
            names.append(" (or '").append(fallback.getKey()).append("')");
        }
        return names.toString();
    }

    /** What is set, for log lines. */
    Map<String, String> explicit() {
        return values.toMap();
    }

    @Override
    public String toString() {
        return explicit().toString();
    }
}
