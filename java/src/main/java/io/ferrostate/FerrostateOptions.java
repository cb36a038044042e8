package io.ferrostate;

import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.ConfigOptions;
import org.apache.flink.configuration.MemorySize;

import java.time.Duration;
import java.util.List;

/**
 * The options under {@code state.backend.ferrostate.}, each with the one of Flink's RocksDB backend
 * as its fallback key, so that a job switches by changing {@code state.backend.type} only. Defaults
 * are those of that backend. What values are sensible is checked by {@link FerrostateStateBackend}.
 */
public final class FerrostateOptions {

    public static final String PREFIX = "state.backend.ferrostate.";

    /** Prefix of the options that are honoured as fallback. */
    public static final String ROCKSDB_PREFIX = "state.backend.rocksdb.";

    private FerrostateOptions() {}

    // ---- enums: names are those of Flink's RocksDB backend --------------------------------------

    /** Where timers are kept. */
    public enum TimerService {
        /** In the database. */
        NATIVE,
        /** What Flink's RocksDB backend calls {@link #NATIVE}. */
        ROCKSDB,
        HEAP
    }

    /** Sets of values for kinds of disks. */
    public enum PredefinedOptions {
        DEFAULT,
        SPINNING_DISK_OPTIMIZED,
        SPINNING_DISK_OPTIMIZED_HIGH_MEM,
        FLASH_SSD_OPTIMIZED
    }

    /** RocksDB's compaction styles. */
    public enum CompactionStyle {
        LEVEL,
        UNIVERSAL,
        FIFO,
        NONE
    }

    /** RocksDB's compression types that Flink's RocksDB backend can read too. */
    public enum Compression {
        NO_COMPRESSION,
        SNAPPY_COMPRESSION,
        ZLIB_COMPRESSION,
        BZLIB2_COMPRESSION,
        LZ4_COMPRESSION,
        LZ4HC_COMPRESSION,
        ZSTD_COMPRESSION
    }

    /** Verbosity of RocksDB's own log file. */
    public enum LogLevel {
        DEBUG_LEVEL,
        INFO_LEVEL,
        WARN_LEVEL,
        ERROR_LEVEL,
        FATAL_LEVEL,
        HEADER_LEVEL
    }

    // ---- place and timers ----------------------------------------------------------------------

    public static final ConfigOption<String> LOCAL_DIRECTORIES =
            key("localdir")
                    .stringType()
                    .noDefaultValue()
                    .withFallbackKeys(rocksdb("localdir"))
                    .withDescription(
                            "Local directories on the TaskManager for the databases, separated by ','"
                                    + " or the path separator. Absolute paths. By default the"
                                    + " TaskManager's own temporary working directory.");

    public static final ConfigOption<TimerService> TIMER_SERVICE_FACTORY =
            key("timer-service.factory")
                    .enumType(TimerService.class)
                    .defaultValue(TimerService.NATIVE)
                    .withFallbackKeys(rocksdb("timer-service.factory"))
                    .withDescription(
                            "Where timers are kept: NATIVE (or ROCKSDB, which is the same) in the"
                                    + " database, HEAP on the heap.");

    public static final ConfigOption<Integer> TIMER_SERVICE_CACHE_SIZE =
            key("timer-service.cache-size")
                    .intType()
                    .defaultValue(128)
                    .withFallbackKeys(rocksdb("timer-service.cache-size"))
                    .withDescription(
                            "Timers of each key group, those that fire first, for which a queue has"
                                    + " memory at least, also where the buffer's share has none.");

    public static final ConfigOption<Integer> CHECKPOINT_TRANSFER_THREAD_NUM =
            key("checkpoint.transfer.thread.num")
                    .intType()
                    .defaultValue(4)
                    .withFallbackKeys(rocksdb("checkpoint.transfer.thread.num"))
                    .withDescription(
                            "Has no effect: all transfers of a process share one limit; the log says"
                                    + " so.");

    public static final ConfigOption<Boolean> COPY_IN_STORE =
            key("checkpoint.copy-in-store")
                    .booleanType()
                    .defaultValue(true)
                    .withDescription(
                            "Whether native savepoints and full checkpoints copy within the checkpoint"
                                    + " storage the files that lie there already, on local storage by"
                                    + " hard link, instead of uploading them.");

    public static final ConfigOption<Boolean> WARM_UP =
            key("restore.warm-up")
                    .booleanType()
                    .defaultValue(true)
                    .withDescription(
                            "Whether a database that is opened with files brings index and filter of"
                                    + " them into the block cache, and the files into the kernel's"
                                    + " page cache if at most half of the free memory is needed for"
                                    + " it, in the background.");

    public static final ConfigOption<PredefinedOptions> PREDEFINED_OPTIONS =
            key("predefined-options")
                    .enumType(PredefinedOptions.class)
                    .defaultValue(PredefinedOptions.DEFAULT)
                    .withFallbackKeys(rocksdb("predefined-options"))
                    .withDescription(
                            "Values for a kind of disk, as Flink's RocksDB backend has them. Options"
                                    + " that are set themselves win.");

    // ---- memory --------------------------------------------------------------------------------

    public static final ConfigOption<Boolean> USE_MANAGED_MEMORY =
            key("memory.managed")
                    .booleanType()
                    .defaultValue(true)
                    .withFallbackKeys(rocksdb("memory.managed"))
                    .withDescription(
                            "Whether block cache and write buffers live on the slot's share of"
                                    + " managed memory.");

    public static final ConfigOption<MemorySize> FIX_PER_SLOT_MEMORY_SIZE =
            key("memory.fixed-per-slot")
                    .memoryType()
                    .noDefaultValue()
                    .withFallbackKeys(rocksdb("memory.fixed-per-slot"))
                    .withDescription(
                            "Memory that all databases of a slot share instead of managed memory.");

    public static final ConfigOption<MemorySize> FIX_PER_TM_MEMORY_SIZE =
            key("memory.fixed-per-tm")
                    .memoryType()
                    .noDefaultValue()
                    .withFallbackKeys(rocksdb("memory.fixed-per-tm"))
                    .withDescription(
                            "Memory that all databases of a TaskManager share, where neither managed"
                                    + " memory nor memory per slot is used. Set it for the cluster.");

    public static final ConfigOption<Double> WRITE_BUFFER_RATIO =
            key("memory.write-buffer-ratio")
                    .doubleType()
                    .defaultValue(0.5)
                    .withFallbackKeys(rocksdb("memory.write-buffer-ratio"))
                    .withDescription("Fraction of the shared memory for write buffers.");

    public static final ConfigOption<Double> HIGH_PRIORITY_POOL_RATIO =
            key("memory.high-prio-pool-ratio")
                    .doubleType()
                    .defaultValue(0.1)
                    .withFallbackKeys(rocksdb("memory.high-prio-pool-ratio"))
                    .withDescription(
                            "Fraction of the cache for index and filter blocks. Has no effect: the"
                                    + " ratio is RocksDB's own; the log says so.");

    public static final ConfigOption<Boolean> USE_PARTITIONED_INDEX_FILTERS =
            key("memory.partitioned-index-filters")
                    .booleanType()
                    .defaultValue(true)
                    .withFallbackKeys(rocksdb("memory.partitioned-index-filters"))
                    .withDescription(
                            "Whether index and filter of a file are split into partitions that are"
                                    + " loaded when needed.");

    // ---- buffer in front of the database ---------------------------------------------------------

    public static final ConfigOption<Boolean> BUFFER_ENABLED =
            key("buffer.enabled")
                    .booleanType()
                    .defaultValue(true)
                    .withDescription(
                            "Whether what was read and written lately is kept in front of RocksDB, so"
                                    + " that it need not be asked.");

    public static final ConfigOption<Double> BUFFER_MEMORY_RATIO =
            key("buffer.memory-ratio")
                    .doubleType()
                    .defaultValue(0.7)
                    .withDescription(
                            "Fraction of the block cache that the buffers of its databases may take as"
                                    + " far as memtables leave it, timers an eleventh of that; what"
                                    + " they do not need stays the cache's. At most 0.75.");

    public static final ConfigOption<MemorySize> BUFFER_SIZE =
            key("buffer.size")
                    .memoryType()
                    .defaultValue(MemorySize.ofMebiBytes(64))
                    .withDescription(
                            "Size of a database's buffer where no memory is shared (neither managed nor"
                                    + " fixed); a timer queue takes a quarter of it at most.");

    // ---- database ------------------------------------------------------------------------------

    public static final ConfigOption<Integer> MAX_BACKGROUND_THREADS =
            key("thread.num")
                    .intType()
                    .defaultValue(2)
                    .withFallbackKeys(rocksdb("thread.num"))
                    .withDescription("Background flushes and compactions at a time.");

    public static final ConfigOption<Integer> MAX_OPEN_FILES =
            key("files.open")
                    .intType()
                    .defaultValue(-1)
                    .withFallbackKeys(rocksdb("files.open"))
                    .withDescription("Files that a database holds open at most; -1: no limit.");

    public static final ConfigOption<LogLevel> LOG_LEVEL =
            key("log.level")
                    .enumType(LogLevel.class)
                    .defaultValue(LogLevel.INFO_LEVEL)
                    .withFallbackKeys(rocksdb("log.level"))
                    .withDescription(
                            "Verbosity of RocksDB's LOG file, which lies beside the database.");

    public static final ConfigOption<CompactionStyle> COMPACTION_STYLE =
            key("compaction.style")
                    .enumType(CompactionStyle.class)
                    .defaultValue(CompactionStyle.LEVEL)
                    .withFallbackKeys(rocksdb("compaction.style"))
                    .withDescription("RocksDB's compaction style.");

    public static final ConfigOption<Boolean> USE_DYNAMIC_LEVEL_SIZE =
            key("compaction.level.use-dynamic-size")
                    .booleanType()
                    .defaultValue(false)
                    .withFallbackKeys(rocksdb("compaction.level.use-dynamic-size"))
                    .withDescription("Whether RocksDB chooses the target size of each level.");

    public static final ConfigOption<MemorySize> TARGET_FILE_SIZE_BASE =
            key("compaction.level.target-file-size-base")
                    .memoryType()
                    .defaultValue(MemorySize.parse("64mb"))
                    .withFallbackKeys(rocksdb("compaction.level.target-file-size-base"))
                    .withDescription("Size of a file of level 1.");

    public static final ConfigOption<MemorySize> MAX_SIZE_LEVEL_BASE =
            key("compaction.level.max-size-level-base")
                    .memoryType()
                    .defaultValue(MemorySize.parse("256mb"))
                    .withFallbackKeys(rocksdb("compaction.level.max-size-level-base"))
                    .withDescription("Size of level 1 altogether.");

    public static final ConfigOption<MemorySize> WRITE_BUFFER_SIZE =
            key("writebuffer.size")
                    .memoryType()
                    .defaultValue(MemorySize.parse("64mb"))
                    .withFallbackKeys(rocksdb("writebuffer.size"))
                    .withDescription("Size at which a state's write buffer is written to a file.");

    public static final ConfigOption<Integer> MAX_WRITE_BUFFER_NUMBER =
            key("writebuffer.count")
                    .intType()
                    .defaultValue(2)
                    .withFallbackKeys(rocksdb("writebuffer.count"))
                    .withDescription("Write buffers of a state at most.");

    public static final ConfigOption<Integer> MIN_WRITE_BUFFER_NUMBER_TO_MERGE =
            key("writebuffer.number-to-merge")
                    .intType()
                    .defaultValue(1)
                    .withFallbackKeys(rocksdb("writebuffer.number-to-merge"))
                    .withDescription("Write buffers that are merged before they are written.");

    public static final ConfigOption<Boolean> HASH_MEMTABLE =
            key("memtable.hash")
                    .booleanType()
                    .defaultValue(true)
                    .withDescription(
                            "Whether RocksDB's write buffers find keys by hash and are sorted when"
                                    + " they are written to a file or iterated, instead of being"
                                    + " skip lists.");

    public static final ConfigOption<MemorySize> BLOCK_SIZE =
            key("block.blocksize")
                    .memoryType()
                    .defaultValue(MemorySize.parse("4kb"))
                    .withFallbackKeys(rocksdb("block.blocksize"))
                    .withDescription("Size of a data block before compression.");

    public static final ConfigOption<MemorySize> METADATA_BLOCK_SIZE =
            key("block.metadata-blocksize")
                    .memoryType()
                    .defaultValue(MemorySize.parse("16kb"))
                    .withFallbackKeys(rocksdb("block.metadata-blocksize"))
                    .withDescription("Size of a partition of index and filter.");

    public static final ConfigOption<MemorySize> BLOCK_CACHE_SIZE =
            key("block.cache-size")
                    .memoryType()
                    .defaultValue(MemorySize.parse("8mb"))
                    .withFallbackKeys(rocksdb("block.cache-size"))
                    .withDescription("Size of the block cache when no memory is shared.");

    public static final ConfigOption<Boolean> USE_BLOOM_FILTER =
            key("use-bloom-filter")
                    .booleanType()
                    .defaultValue(true)
                    .withFallbackKeys(rocksdb("use-bloom-filter"))
                    .withDescription(
                            "Whether new files, and what is not yet in files, have a bloom filter.");

    public static final ConfigOption<Double> BLOOM_FILTER_BITS_PER_KEY =
            key("bloom-filter.bits-per-key")
                    .doubleType()
                    .defaultValue(10.0)
                    .withFallbackKeys(rocksdb("bloom-filter.bits-per-key"))
                    .withDescription("Size of the bloom filter.");

    public static final ConfigOption<Boolean> BLOOM_FILTER_BLOCK_BASED_MODE =
            key("bloom-filter.block-based-mode")
                    .booleanType()
                    .defaultValue(false)
                    .withFallbackKeys(rocksdb("bloom-filter.block-based-mode"))
                    .withDescription(
                            "Has no effect: RocksDB no longer has this kind of filter; the log"
                                    + " says so.");

    public static final ConfigOption<List<Compression>> COMPRESSION_PER_LEVEL =
            key("compression.per.level")
                    .enumType(Compression.class)
                    .asList()
                    .defaultValues(Compression.LZ4_COMPRESSION)
                    .withFallbackKeys(rocksdb("compression.per.level"))
                    .withDescription(
                            "Compression of each level, separated by ';'. The last one is for all"
                                    + " further levels.");

    // ---- time to live ---------------------------------------------------------------------------

    public static final ConfigOption<Long> COMPACT_FILTER_QUERY_TIME_AFTER_NUM_ENTRIES =
            key("compaction.filter.query-time-after-num-entries")
                    .longType()
                    .defaultValue(1000L)
                    .withFallbackKeys(rocksdb("compaction.filter.query-time-after-num-entries"))
                    .withDescription(
                            "Values of a state with a time to live that a compaction looks at before"
                                    + " it reads the clock again, unless the state says otherwise.");

    public static final ConfigOption<Duration> COMPACT_FILTER_PERIODIC_COMPACTION_TIME =
            key("compaction.filter.periodic-compaction-time")
                    .durationType()
                    .defaultValue(Duration.ofDays(30))
                    .withFallbackKeys(rocksdb("compaction.filter.periodic-compaction-time"))
                    .withDescription(
                            "Age at which a file is compacted even without need, so that expired"
                                    + " values go; 0: never. A state with a time to live may set its own.");

    private static ConfigOptions.OptionBuilder key(String name) {
        return ConfigOptions.key(PREFIX + name);
    }

    private static String rocksdb(String name) {
        return ROCKSDB_PREFIX + name;
    }
}
