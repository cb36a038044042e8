package io.ferrostate.backend;

import io.ferrostate.FerrostateOptions;
import io.ferrostate.FerrostateOptions.CompactionStyle;
import io.ferrostate.FerrostateOptions.PredefinedOptions;

import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.MemorySize;

import java.util.EnumMap;
import java.util.Map;
import java.util.Optional;

/** What the predefined options stand for: the same values as in Flink's RocksDB backend. */
final class Predefined {

    private static final Map<PredefinedOptions, Configuration> VALUES =
            new EnumMap<>(PredefinedOptions.class);

    static {
        VALUES.put(PredefinedOptions.DEFAULT, new Configuration());
        VALUES.put(PredefinedOptions.FLASH_SSD_OPTIMIZED, disks());
        VALUES.put(
                PredefinedOptions.SPINNING_DISK_OPTIMIZED,
                disks().set(FerrostateOptions.COMPACTION_STYLE, CompactionStyle.LEVEL)
                        .set(FerrostateOptions.USE_DYNAMIC_LEVEL_SIZE, true));
        VALUES.put(PredefinedOptions.SPINNING_DISK_OPTIMIZED_HIGH_MEM, highMemory());
    }

    private Predefined() {}

    static <T> Optional<T> of(PredefinedOptions set, ConfigOption<T> option) {
        return VALUES.get(set).getOptional(option);
    }

    private static Configuration disks() {
        return new Configuration()
                .set(FerrostateOptions.MAX_BACKGROUND_THREADS, 4)
                .set(FerrostateOptions.MAX_OPEN_FILES, -1);
    }

    private static Configuration highMemory() {
        return disks().set(FerrostateOptions.BLOCK_CACHE_SIZE, MemorySize.parse("256mb"))
                .set(FerrostateOptions.BLOCK_SIZE, MemorySize.parse("128kb"))
                .set(FerrostateOptions.USE_DYNAMIC_LEVEL_SIZE, true)
                .set(FerrostateOptions.MAX_SIZE_LEVEL_BASE, MemorySize.parse("1gb"))
                .set(FerrostateOptions.MAX_WRITE_BUFFER_NUMBER, 4)
                .set(FerrostateOptions.MIN_WRITE_BUFFER_NUMBER_TO_MERGE, 3)
                .set(FerrostateOptions.TARGET_FILE_SIZE_BASE, MemorySize.parse("256mb"))
                .set(FerrostateOptions.WRITE_BUFFER_SIZE, MemorySize.parse("64mb"))
                .set(FerrostateOptions.USE_BLOOM_FILTER, true);
    }
}
