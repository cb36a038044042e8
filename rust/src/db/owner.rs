//! The one owner of an open database. Fields close in the order they stand. Opening is `open.rs`'s
//! business, bytes are `columns.rs`'s.
use super::admission::Admission;
use super::background::Background;
use super::columns::Column;
use super::ffi::{raw_db, RawColumn, RawOptions};
use super::ffi_import;
use super::ffi_ttl::TtlClock;
use super::open::Filters;
use super::settle::Settling;
use super::warm::Claim;
use crate::config::Config;
use crate::error::{Error, Kind, Result};
use crate::memory::Memory;
use rocksdb::checkpoint::Checkpoint;
use rocksdb::statistics::Ticker;
use rocksdb::{Cache, DBWithThreadMode, MultiThreaded, Options};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

pub(super) type RocksDb = DBWithThreadMode<MultiThreaded>;

const RUNNING_COMPACTIONS: &str = "rocksdb.num-running-compactions";
const RUNNING_JOBS_INTERVAL: Duration = Duration::from_millis(2);

const RUNNING_FLUSHES: &str = "rocksdb.num-running-flushes";
const FLUSHES_INTERVAL: Duration = Duration::from_micros(500);
/// Of one write, if the disk takes so long.
const MOST_WAIT: Duration = Duration::from_millis(100);
/// After a wait in which flushes gave back too little nobody waits for so many times as long.
const IN_VAIN: u32 = 10;
const LEAST_IN_VAIN: Duration = Duration::from_millis(1);

const OPEN: u8 = 0;
const CLOSED: u8 = 1;
const POISONED: u8 = 2;

/// An open database. Columns and cursors hold an `Arc` of it, so it closes after the last of them.
pub struct Db {
    pub(super) rocks: RocksDb,
    pub(super) options: RawOptions,
    pub(super) column_options: Options,
    /// Bytes.
    pub(super) target_file_size: u64,
    /// Whether memtables and files have Bloom filters.
    pub(super) has_filters: bool,
    /// The column families there are, which RocksDB does not tell of an open database.
    columns: Mutex<Filters>,
    pub(super) ttl_clock: Arc<TtlClock>,
    path: PathBuf,
    pub(super) settling: Settling,
    pub(super) warming: Background,
    /// On the memory that files were brought into when this was opened.
    pub(super) claim: Arc<OnceLock<Claim>>,
    /// From then on writers may wait for flushes again.
    waits_from: Mutex<Instant>,
    state: AtomicU8,
    panic: OnceLock<String>,
    /// Holds RocksDB's counters, if it counts.
    pub(crate) statistics: Options,
    admission: Admission,
    // After `rocks`: the database charges memory to these until it is closed.
    cache: Cache,
    /// Bytes; of a cache that is this database's own.
    cache_size: usize,
    pub(super) memory: Option<Arc<Memory>>,
}

impl Db {
    /// Opens the database in `path`, created when absent, with all column families it has.
    pub fn open(path: &Path, config: &Config, memory: Option<Arc<Memory>>) -> Result<Arc<Self>> {
        super::threads::ensure(config.background_jobs)?;
        let cache = match &memory {
            Some(memory) => memory.cache().clone(),
            None => crate::memory::block_cache(config.block_cache_size),
        };
        let column_options = super::options::column(config, memory.as_deref(), &cache)?;
        let database_options = super::options::database(config, memory.as_deref())?;
        let ttl_clock = TtlClock::new()?;
        let (rocks, columns) =
            super::open::open(path, &database_options, &column_options, &ttl_clock)?;
        let db = Arc::new(Self {
            rocks,
            options: RawOptions::new(),
            column_options,
            target_file_size: config.target_file_size,
            has_filters: config.bloom_filter,
            columns: Mutex::new(columns),
            ttl_clock,
            path: path.to_path_buf(),
            settling: Settling::new(config.compaction_style),
            warming: Background::default(),
            claim: Arc::default(),
            waits_from: Mutex::new(Instant::now()),
            state: AtomicU8::new(OPEN),
            panic: OnceLock::new(),
            statistics: database_options,
            admission: Admission::default(),
            cache,
            cache_size: config.block_cache_size,
            memory,
        });
        if config.warm_up {
            db.warm_up(config.open_files < 0);
        }
        Ok(db)
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Fails once the database is closed or poisoned. A load and a branch.
    #[inline]
    pub fn check(&self) -> Result<()> {
        if self.state.load(Ordering::Relaxed) == OPEN {
            Ok(())
        } else {
            Err(self.refusal())
        }
    }

    /// True if what the next read of a row loads goes into the block cache.
    #[inline]
    pub(super) fn fills_cache(&self) -> bool {
        self.admission.next(|| match &self.memory {
            Some(memory) => memory.is_cache_full(),
            None => crate::memory::is_full(&self.cache, self.cache_size),
        })
    }

    #[cold]
    fn refusal(&self) -> Error {
        match self.panic.get() {
            Some(text) => Error::new(
                Kind::Panic,
                format!("database {} is out of use after: {text}", self.path.display()),
            ),
            None => Error::closed(format!("database {} is closed", self.path.display())),
        }
    }

    /// After a panic nobody knows what was half-done: all further use is refused.
    pub fn poison(&self, text: &str) {
        let _ = self.panic.set(text.to_owned());
        self.state.store(POISONED, Ordering::Relaxed);
    }

    /// Refuses further use and stops background work, flushing nothing. The files stay.
    pub fn close(&self) {
        let before = self.state.swap(CLOSED, Ordering::Relaxed);
        if before != CLOSED {
            self.warming.cancel();
            self.settling.background.cancel();
            // Without waiting: jobs that have not begun wait for threads that all databases share.
            self.rocks.cancel_all_background_work(false);
            // SAFETY: `self` owns the database.
            unsafe { ffi_import::end_compactions(self.raw()) }
        }
        self.warming.join();
        self.settling.background.join();
        while self.has_running_jobs() {
            std::thread::sleep(RUNNING_JOBS_INTERVAL);
        }
    }

    /// After a write: while memtables take half more than their share, it waits for flushes, which the writer
    /// would outrun. What memory flushes do not give back (old iterators hold it) is not waited for.
    #[inline]
    pub(super) fn give_way_to_flushes(&self) {
        if let Some(memory) = self.memory.as_ref().filter(|memory| memory.memtables_overshoot()) {
            self.wait_for_flushes(memory);
        }
    }

    #[cold]
    fn wait_for_flushes(&self, memory: &Memory) {
        let start = Instant::now();
        let mut waits_from = self.waits_from.lock().unwrap_or_else(PoisonError::into_inner);
        if start < *waits_from {
            return;
        }
        while memory.memtables_overshoot() && self.check().is_ok() {
            if !self.has_running(RUNNING_FLUSHES) {
                *waits_from = Instant::now() + (start.elapsed() * IN_VAIN).max(LEAST_IN_VAIN);
                return;
            }
            if start.elapsed() > MOST_WAIT {
                return;
            }
            std::thread::sleep(FLUSHES_INTERVAL);
        }
    }

    /// The database alone.
    fn raw(&self) -> RawColumn {
        RawColumn { db: raw_db(&self.rocks), column: std::ptr::null_mut() }
    }

    /// Jobs that have begun see that the database closes, and end soon.
    fn has_running_jobs(&self) -> bool {
        self.has_running(RUNNING_COMPACTIONS) || self.has_running(RUNNING_FLUSHES)
    }

    fn has_running(&self, jobs: &str) -> bool {
        self.rocks.property_int_value(jobs).is_ok_and(|it| it.unwrap_or(0) > 0)
    }

    /// Names of the column families, without `default`.
    pub fn column_names(&self) -> Result<Vec<String>> {
        self.check()?;
        Ok(self.columns().keys().filter(|name| *name != "default").cloned().collect())
    }

    /// Locked while a column family is made or dropped.
    pub(super) fn columns(&self) -> MutexGuard<'_, Filters> {
        self.columns.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The column family `name`, created when absent.
    pub fn column(self: &Arc<Self>, name: &str) -> Result<Column> {
        self.check()?;
        Column::open(self, name)
    }

    /// What time it is for the filters that drop expired values.
    #[must_use]
    pub fn ttl_clock(&self) -> &TtlClock {
        &self.ttl_clock
    }

    /// A property of the whole database: RocksDB's, or "ferrostate.is-settling", which is 1 while what a
    /// rescale left is compacted, "ferrostate.is-warming" while files are brought into memory, or
    /// "ferrostate.ticker." and a ticker's name (0 unless `Config::statistics`).
    pub fn property(&self, name: &str) -> Result<Option<String>> {
        self.check()?;
        if name == "ferrostate.is-settling" {
            return Ok(Some(u8::from(self.settling.background.is_running()).to_string()));
        }
        if name == "ferrostate.is-warming" {
            return Ok(Some(u8::from(self.warming.is_running()).to_string()));
        }
        if let Some(name) = name.strip_prefix("ferrostate.ticker.") {
            let ticker = Ticker::iter().find(|ticker| ticker.name() == name);
            return Ok(ticker.map(|ticker| self.statistics.get_ticker_count(*ticker).to_string()));
        }
        self.rocks.property_value(name).map_err(|e| self.failure("read property", &e))
    }

    /// Writes the memtables of all column families to SST files.
    pub fn flush(self: &Arc<Self>) -> Result<()> {
        for name in self.column_names()? {
            self.column(&name)?.flush()?;
        }
        Ok(())
    }

    /// Compacts all column families over their whole range.
    pub fn compact(self: &Arc<Self>) -> Result<()> {
        for name in self.column_names()? {
            self.column(&name)?.compact()?;
        }
        Ok(())
    }

    /// Flushes and hard-links a consistent set of files into `directory`, which must not exist.
    pub fn checkpoint(&self, directory: &Path) -> Result<()> {
        self.check()?;
        if directory.exists() {
            return Err(Error::invalid(format!(
                "local checkpoint directory {} exists already",
                directory.display()
            )));
        }
        let step = format!("hard-link the files into {}", directory.display());
        let checkpoint = Checkpoint::new(&self.rocks).map_err(|e| self.failure(&step, &e))?;
        checkpoint.create_checkpoint(directory).map_err(|e| self.failure(&step, &e))
    }

    pub(super) fn failure(&self, step: &str, cause: &rocksdb::Error) -> Error {
        Error::rocksdb(&format!("{step} (database {})", self.path.display()), cause)
    }
}

impl Drop for Db {
    fn drop(&mut self) {
        self.close();
    }
}
