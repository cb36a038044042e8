//! Options as text from Java -> one typed value, once. The names and what they mean to users are
//! FerrostateOptions' business; what RocksDB is told is `db/options.rs`'s.
use crate::db::MOST_THREADS;
use crate::error::{Error, Result};
use rocksdb::{DBCompactionStyle, DBCompressionType, LogLevel};
use std::str::FromStr;

/// All of what can be set for a database. Defaults are those of Flink's RocksDB backend but for
/// filters, index partitions and compression: docs/decisions/0008-read-path.md.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Background flushes and compactions at a time.
    pub background_jobs: i32,
    pub open_files: i32,
    pub log_level: LogLevelName,
    pub compaction_style: CompactionStyle,
    pub dynamic_level_size: bool,
    /// Bytes.
    pub target_file_size: u64,
    /// Bytes.
    pub level_base_size: u64,
    /// Bytes.
    pub write_buffer_size: usize,
    pub write_buffer_count: i32,
    pub write_buffers_to_merge: i32,
    /// Whether memtables find keys by hash and are sorted when need be; else they are skip lists.
    pub hash_memtable: bool,
    /// Bytes.
    pub block_size: usize,
    /// Bytes.
    pub metadata_block_size: usize,
    /// Bytes; only without a shared memory.
    pub block_cache_size: usize,
    pub bloom_filter: bool,
    pub bloom_bits_per_key: f64,
    pub bloom_block_based: bool,
    pub partitioned_index_filters: bool,
    /// Seconds after which a file is compacted even without need; 0: never.
    pub periodic_compaction: u64,
    /// Whether a buffer stands in front of the database (`buffer`).
    pub buffer: bool,
    /// Part of a shared memory that the buffers of its databases may take.
    pub buffer_ratio: f64,
    /// Bytes of the buffer; only without a shared memory.
    pub buffer_size: usize,
    /// Whether files are brought into memory in the background when a database is opened (`db/warm.rs`).
    pub warm_up: bool,
    /// Whether RocksDB counts what it does (`ferrostate.ticker.*` properties).
    pub statistics: bool,
    /// One for all levels, or one a level.
    pub compression: Vec<DBCompressionType>,
}

/// RocksDB's compaction styles; the crate's own enum has no `None` and no equality.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompactionStyle {
    Level,
    Universal,
    Fifo,
    None,
}

/// Verbosity of RocksDB's LOG file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogLevelName(pub i32);

impl Default for Config {
    fn default() -> Self {
        Self {
            background_jobs: 2,
            open_files: -1,
            log_level: LogLevelName(LogLevel::Info as i32),
            compaction_style: CompactionStyle::Level,
            dynamic_level_size: false,
            target_file_size: 64 << 20,
            level_base_size: 256 << 20,
            write_buffer_size: 64 << 20,
            write_buffer_count: 2,
            write_buffers_to_merge: 1,
            hash_memtable: true,
            block_size: 4 << 10,
            metadata_block_size: 16 << 10,
            block_cache_size: 8 << 20,
            bloom_filter: true,
            bloom_bits_per_key: 10.0,
            bloom_block_based: false,
            partitioned_index_filters: true,
            periodic_compaction: 30 * 24 * 60 * 60,
            buffer: true,
            buffer_ratio: 0.7,
            buffer_size: 64 << 20,
            warm_up: true,
            statistics: cfg!(test),
            compression: vec![DBCompressionType::Lz4],
        }
    }
}

impl Config {
    /// From alternating names and values. Names this side has no use for are passed over: Java has
    /// checked them.
    pub fn parse<'a>(options: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self> {
        let mut config = Self::default();
        for (name, value) in options {
            config.set(name, value.trim())?;
        }
        Ok(config)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<()> {
        match name {
            "thread.num" => {
                self.background_jobs = at_least(name, value, 1)?;
                if self.background_jobs > MOST_THREADS {
                    return Err(wrong(name, value, &format!("must be at most {MOST_THREADS}")));
                }
            }
            "files.open" => self.open_files = at_least(name, value, -1)?,
            "log.level" => self.log_level = log_level(name, value)?,
            "compaction.style" => self.compaction_style = compaction_style(name, value)?,
            "compaction.level.use-dynamic-size" => self.dynamic_level_size = parse(name, value)?,
            "compaction.level.target-file-size-base" => {
                self.target_file_size = at_least(name, value, 1)?;
            }
            "compaction.level.max-size-level-base" => {
                self.level_base_size = at_least(name, value, 1)?;
            }
            "writebuffer.size" => self.write_buffer_size = at_least(name, value, 1)?,
            "writebuffer.count" => self.write_buffer_count = at_least(name, value, 1)?,
            "writebuffer.number-to-merge" => {
                self.write_buffers_to_merge = at_least(name, value, 1)?;
            }
            "memtable.hash" => self.hash_memtable = parse(name, value)?,
            "block.blocksize" => self.block_size = at_least(name, value, 1)?,
            "block.metadata-blocksize" => self.metadata_block_size = at_least(name, value, 1)?,
            "block.cache-size" => self.block_cache_size = at_least(name, value, 1)?,
            "use-bloom-filter" => self.bloom_filter = parse(name, value)?,
            "bloom-filter.bits-per-key" => self.bloom_bits_per_key = at_least(name, value, 1.0)?,
            "bloom-filter.block-based-mode" => self.bloom_block_based = parse(name, value)?,
            "memory.partitioned-index-filters" => {
                self.partitioned_index_filters = parse(name, value)?;
            }
            "compaction.filter.periodic-compaction-time" => {
                self.periodic_compaction = parse(name, value)?;
            }
            "buffer.enabled" => self.buffer = parse(name, value)?,
            "buffer.memory-ratio" => {
                self.buffer_ratio = at_least(name, value, 0.0)?;
                if self.buffer_ratio > 0.75 {
                    return Err(wrong(name, value, "must be at most 0.75"));
                }
            }
            "buffer.size" => self.buffer_size = at_least(name, value, 1)?,
            "restore.warm-up" => self.warm_up = parse(name, value)?,
            "metrics.statistics" => self.statistics = parse(name, value)?,
            "compression.per.level" => self.compression = compression(name, value)?,
            _ => {}
        }
        Ok(())
    }
}

fn wrong(name: &str, value: &str, wanted: &str) -> Error {
    Error::invalid(format!("state.backend.ferrostate.{name} is '{value}': {wanted}"))
}

fn parse<T: FromStr>(name: &str, value: &str) -> Result<T> {
    value.parse().map_err(|_| {
        wrong(name, value, &format!("not a value of type {}", std::any::type_name::<T>()))
    })
}

fn at_least<T: FromStr + PartialOrd + std::fmt::Display>(
    name: &str,
    value: &str,
    least: T,
) -> Result<T> {
    let parsed: T = parse(name, value)?;
    if parsed >= least {
        Ok(parsed)
    } else {
        Err(wrong(name, value, &format!("must be at least {least}")))
    }
}

fn log_level(name: &str, value: &str) -> Result<LogLevelName> {
    let level = match value.to_ascii_uppercase().trim_end_matches("_LEVEL") {
        "DEBUG" => LogLevel::Debug,
        "INFO" => LogLevel::Info,
        "WARN" => LogLevel::Warn,
        "ERROR" => LogLevel::Error,
        "FATAL" => LogLevel::Fatal,
        "HEADER" => LogLevel::Header,
        _ => return Err(wrong(name, value, "one of DEBUG, INFO, WARN, ERROR, FATAL, HEADER")),
    };
    Ok(LogLevelName(level as i32))
}

fn compaction_style(name: &str, value: &str) -> Result<CompactionStyle> {
    match value.to_ascii_uppercase().as_str() {
        "LEVEL" => Ok(CompactionStyle::Level),
        "UNIVERSAL" => Ok(CompactionStyle::Universal),
        "FIFO" => Ok(CompactionStyle::Fifo),
        "NONE" => Ok(CompactionStyle::None),
        _ => Err(wrong(name, value, "one of LEVEL, UNIVERSAL, FIFO, NONE")),
    }
}

fn compression(name: &str, value: &str) -> Result<Vec<DBCompressionType>> {
    let levels: Vec<_> = value
        .split([',', ';'])
        .map(|level| compression_type(name, level.trim()))
        .collect::<Result<_>>()?;
    Ok(levels)
}

fn compression_type(name: &str, value: &str) -> Result<DBCompressionType> {
    match value.to_ascii_uppercase().trim_end_matches("_COMPRESSION") {
        "NO" => Ok(DBCompressionType::None),
        "SNAPPY" => Ok(DBCompressionType::Snappy),
        "ZLIB" => Ok(DBCompressionType::Zlib),
        "LZ4" => Ok(DBCompressionType::Lz4),
        "LZ4HC" => Ok(DBCompressionType::Lz4hc),
        "ZSTD" => Ok(DBCompressionType::Zstd),
        _ => Err(wrong(
            name,
            value,
            "one of NO, SNAPPY, ZLIB, LZ4, LZ4HC, ZSTD (each with _COMPRESSION)",
        )),
    }
}

impl CompactionStyle {
    /// RocksDB's style, and whether automatic compaction runs at all.
    #[must_use]
    pub fn to_rocksdb(self) -> (DBCompactionStyle, bool) {
        match self {
            Self::Level => (DBCompactionStyle::Level, true),
            Self::Universal => (DBCompactionStyle::Universal, true),
            Self::Fifo => (DBCompactionStyle::Fifo, true),
            Self::None => (DBCompactionStyle::Level, false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_values_name_the_option_and_what_is_allowed() {
        for (name, value) in [
            ("thread.num", "0"),
            ("thread.num", "many"),
            ("thread.num", "1000000"),
            ("block.blocksize", "-4"),
            ("compaction.style", "SIDEWAYS"),
            ("compression.per.level", "SNAPPY,GZIP"),
            ("bloom-filter.bits-per-key", "NaN"),
            ("log.level", "LOUD"),
            ("use-bloom-filter", "maybe"),
            ("restore.warm-up", "maybe"),
        ] {
            let error = Config::parse([(name, value)]).expect_err(name);
            assert_eq!(error.kind, crate::Kind::Invalid);
            assert!(error.text.contains(name), "{error}");
        }
    }

    #[test]
    fn reads_what_flink_writes() {
        let config = Config::parse([
            ("compression.per.level", "NO_COMPRESSION;LZ4_COMPRESSION,ZSTD"),
            ("log.level", "WARN_LEVEL"),
            ("block.blocksize", "16384"),
            ("something.java.only", "x"),
        ])
        .expect("all are good");
        assert_eq!(config.compression.len(), 3);
        assert_eq!(config.block_size, 16384);
        assert_eq!(config.log_level, LogLevelName(LogLevel::Warn as i32));
    }
}
