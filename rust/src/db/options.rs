//! Config -> RocksDB's options, with the file format pinned so that Flink's RocksDB 8.10 reads what
//! we write (flink-compatibility, findings 1 and 9). No option is parsed here.
use crate::config::{CompactionStyle, Config};
use crate::error::{Error, Result};
use crate::memory::Memory;
use rocksdb::{BlockBasedIndexType, BlockBasedOptions, Cache, Options};

/// Name of the native merge operator, the same in Flink's files.
pub const MERGE_OPERATOR: &str = "stringappendtest";

/// Newest table format that RocksDB 8.10 opens is 6; 5 is what Flink itself writes.
const FORMAT_VERSION: i32 = 5;
const LOG_FILE_BYTES: usize = 25 << 20;
const LOG_FILES: usize = 4;

/// Options that can read any column family Flink or Ferrostate wrote, and write nothing.
pub fn read_only_options() -> Result<Options> {
    let mut options = with_merge_operator()?;
    options.set_disable_auto_compactions(true);
    Ok(options)
}

/// The crate has no setter for a built-in merge operator: an options string names it.
fn with_merge_operator() -> Result<Options> {
    Options::default()
        .get_options_from_string(format!("merge_operator={MERGE_OPERATOR}"))
        .map_err(|e| Error::rocksdb("set the merge operator", &e))
}

/// Options for the database itself.
pub(super) fn database(config: &Config, memory: Option<&Memory>) -> Result<Options> {
    let mut options = with_merge_operator()?;
    options.create_if_missing(true);
    options.set_use_fsync(false);
    options.set_max_background_jobs(config.background_jobs);
    options.set_max_open_files(config.open_files);
    options.set_stats_dump_period_sec(0);
    options.set_max_log_file_size(LOG_FILE_BYTES);
    options.set_keep_log_file_num(LOG_FILES);
    options.set_log_level(log_level(config));
    super::ffi::avoid_flush_during_shutdown(&mut options);
    super::ffi::no_recovery(&mut options)?;
    // One thread at a time writes, and our memtables take no more.
    options.set_allow_concurrent_memtable_write(!config.hash_memtable);
    if config.statistics {
        options.enable_statistics();
    }
    if let Some(memory) = memory {
        options.set_write_buffer_manager(memory.write_buffers());
    }
    Ok(options)
}

/// Options for every column family. `cache`: the slot's, or one of this database's own.
pub(super) fn column(config: &Config, memory: Option<&Memory>, cache: &Cache) -> Result<Options> {
    let mut options = with_merge_operator()?;
    let (style, automatic) = config.compaction_style.to_rocksdb();
    options.set_compaction_style(style);
    options.set_disable_auto_compactions(!automatic);
    if config.compaction_style != CompactionStyle::Fifo {
        options.set_periodic_compaction_seconds(config.periodic_compaction);
    }
    options.set_level_compaction_dynamic_level_bytes(config.dynamic_level_size);
    options.set_target_file_size_base(config.target_file_size);
    options.set_max_bytes_for_level_base(config.level_base_size);
    options.set_write_buffer_size(config.write_buffer_size);
    options.set_max_write_buffer_number(config.write_buffer_count);
    options.set_min_write_buffer_number_to_merge(config.write_buffers_to_merge);
    if let Some(memory) = memory {
        options.set_arena_block_size(arena_block_size(memory.write_buffers().get_buffer_size()));
    }
    match config.compression.as_slice() {
        [one] => options.set_compression_type(*one),
        levels => options.set_compression_per_level(levels),
    }
    let hashed = config.hash_memtable && super::ffi::hash_memtable(&mut options)?;
    if config.bloom_filter {
        // A hash table knows what it has not; of prefixes it knows nothing.
        options.set_memtable_whole_key_filtering(!hashed);
        options.set_memtable_prefix_bloom_ratio(memtable_bloom_ratio(config, memory));
    }
    options.set_block_based_table_factory(&table(config, memory.is_some(), cache));
    Ok(options)
}

fn table(config: &Config, managed: bool, cache: &Cache) -> BlockBasedOptions {
    let mut table = BlockBasedOptions::default();
    table.set_format_version(FORMAT_VERSION);
    table.set_block_size(config.block_size);
    table.set_metadata_block_size(config.metadata_block_size);
    table.set_block_cache(cache);
    if config.bloom_filter {
        table.set_bloom_filter(config.bloom_bits_per_key, config.bloom_block_based);
        table.set_optimize_filters_for_memory(true);
    }
    if managed {
        table.set_cache_index_and_filter_blocks(true);
        table.set_cache_index_and_filter_blocks_with_high_priority(true);
        table.set_pin_l0_filter_and_index_blocks_in_cache(true);
    }
    if config.partitioned_index_filters {
        table.set_index_type(BlockBasedIndexType::TwoLevelIndexSearch);
        table.set_partition_filters(true);
        table.set_pin_top_level_index_and_filter(true);
    }
    table
}

/// A memtable has its filter from the start, in idle states too: so small that it does not fill the
/// write buffers, and large enough for the keys of a memtable that has them to itself.
fn memtable_bloom_ratio(config: &Config, memory: Option<&Memory>) -> f64 {
    let write_buffers = memory
        .map_or(config.write_buffer_size, |memory| memory.write_buffers().get_buffer_size())
        .min(config.write_buffer_size);
    let filter = (write_buffers / 64).clamp(16 << 10, 1 << 20);
    filter as f64 / config.write_buffer_size as f64
}

/// Memtables grow by arena blocks. Under a small share RocksDB's 1 MiB would fill the write buffers
/// with empty blocks of idle states, and every write would flush.
fn arena_block_size(write_buffers: usize) -> usize {
    (write_buffers / 64).clamp(64 << 10, 1 << 20).next_multiple_of(4096)
}

fn log_level(config: &Config) -> rocksdb::LogLevel {
    use rocksdb::LogLevel::{Debug, Error, Fatal, Header, Info, Warn};
    [Debug, Info, Warn, Error, Fatal, Header]
        .into_iter()
        .find(|level| *level as i32 == config.log_level.0)
        .unwrap_or(Info)
}
