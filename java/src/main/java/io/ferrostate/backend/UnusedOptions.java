package io.ferrostate.backend;

import io.ferrostate.FerrostateOptions;

import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.FallbackKey;
import org.apache.flink.configuration.ReadableConfig;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** Tells once a process, by name, which configured options have no effect. */
public final class UnusedOptions {

    private static final Logger LOG = LoggerFactory.getLogger(UnusedOptions.class);

    private static final Set<String> TOLD = ConcurrentHashMap.newKeySet();

    private UnusedOptions() {}

    /** Looks at what the user configured and at the values that came of it. */
    public static void tell(ReadableConfig config, OptionSet options) {
        Set<String> known = knownKeys();
        for (String key : config.toMap().keySet()) {
            if (isOurs(key) && !known.contains(key)) {
                once(
                        key,
                        key.startsWith(FerrostateOptions.PREFIX)
                                ? "There is no option '{}': it is not used."
                                : "Option '{}' has no counterpart in Ferrostate and is not used.");
            }
        }
        if (options.isSet(FerrostateOptions.CHECKPOINT_TRANSFER_THREAD_NUM)) {
            once(
                    FerrostateOptions.CHECKPOINT_TRANSFER_THREAD_NUM.key(),
                    "Option '{}' has no effect: all transfers of a process share one limit.");
        }
        if (options.isSet(FerrostateOptions.BLOOM_FILTER_BLOCK_BASED_MODE)) {
            once(
                    FerrostateOptions.BLOOM_FILTER_BLOCK_BASED_MODE.key(),
                    "Option '{}' has no effect: RocksDB no longer has this kind of filter.");
        }
        if (options.isSet(FerrostateOptions.HIGH_PRIORITY_POOL_RATIO)) {
            once(
                    FerrostateOptions.HIGH_PRIORITY_POOL_RATIO.key(),
                    "Option '{}' has no effect: RocksDB's own ratio is used.");
        }
    }

    private static boolean isOurs(String key) {
        return key.startsWith(FerrostateOptions.PREFIX)
                || key.startsWith(FerrostateOptions.ROCKSDB_PREFIX);
    }

    private static Set<String> knownKeys() {
        Set<String> known = new HashSet<>();
        for (ConfigOption<?> option : OptionSet.all()) {
            known.add(option.key());
            for (FallbackKey fallback : option.fallbackKeys()) {
                known.add(fallback.getKey());
            }
        }
        return known;
    }

    private static void once(String key, String message) {
        if (TOLD.add(key)) {
            LOG.warn(message, key);
        }
    }
}
