//! Brings what the first reads after a restore ask for into memory, beside the use of the database: index and
//! filter of the files into the block cache, then the files into the page cache. Only what there is room for;
//! what fails is logged. Closing the database ends it.
use super::background::Background;
use super::columns::BoundColumn;
use super::ffi_warm::{self, LiveTable};
use super::owner::Db;
use crate::cancel::Cancel;
use crate::error::{Error, Result};
use crate::free_memory;
use crate::memory::Memory;
use rocksdb::Options;
use std::cmp::Reverse;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// What the kernel is asked for at once: no more than its own readahead, of which it would cut off the rest.
const CHUNK: u64 = 128 << 10;
/// It is asked for what the disk brings in this time, before it is waited for: a read of the task is not
/// longer behind it.
const AHEAD: Duration = Duration::from_millis(2);
/// Enough for a disk that takes a millisecond to answer.
const LEAST_AHEAD: u64 = 2 * CHUNK;
const MOST_AHEAD: u64 = 32 * CHUNK;

/// Bytes in files of the open databases of this process that were brought into the page cache.
static CLAIMED: AtomicU64 = AtomicU64::new(0);

/// What is needed of a database, which is open until the thread has ended.
struct WarmUp {
    columns: Vec<BoundColumn>,
    /// Of column families: how their files are opened.
    options: Options,
    /// Where index and filter are in the block cache.
    memory: Option<Arc<Memory>>,
    path: PathBuf,
    /// Where the database keeps it.
    claim: Arc<OnceLock<Claim>>,
}

/// What was done.
#[derive(Debug, Default, PartialEq, Eq)]
struct Warmed {
    files: usize,
    /// Files whose index and filter were loaded, and their bytes.
    found: usize,
    finding: u64,
    /// Bytes of files that were read ahead.
    read: u64,
}

impl Db {
    /// Begins to bring into memory what reads will ask for. `all_open`: the files are, and stay.
    pub(super) fn warm_up(&self, all_open: bool) {
        let columns = self.columns();
        if columns.len() < 2 {
            return; // new
        }
        // SAFETY: `Db::close` waits for the thread that has them, before `rocks` goes.
        let bound = |name: &String| unsafe { BoundColumn::of(self, name) };
        match columns.keys().map(bound).collect::<Result<_>>() {
            Ok(columns) => WarmUp {
                columns,
                options: self.column_options.clone(),
                memory: self.memory.clone().filter(|_| all_open),
                path: self.path().to_path_buf(),
                claim: Arc::clone(&self.claim),
            }
            .start(&self.warming),
            Err(error) => tracing::warn!("{} stays cold: {error}", self.path().display()),
        }
    }
}

impl WarmUp {
    fn start(self, background: &Background) {
        let path = self.path.clone();
        if let Err(cause) = background.start("ferrostate-warm", move |cancel| self.run(cancel)) {
            tracing::warn!("no thread to warm {} up: {cause}", path.display());
        }
    }

    fn run(&self, cancel: &Cancel) {
        let started = Instant::now();
        match self.warm(cancel) {
            Ok(warmed) if warmed.files > 0 => tracing::info!(
                "warmed up in {} ms: index and filter of {} files ({} KiB) loaded, {} MiB of {} files read \
                 ahead ({})",
                started.elapsed().as_millis(),
                warmed.found,
                warmed.finding >> 10,
                warmed.read >> 20,
                warmed.files,
                self.path.display()
            ),
            Ok(_) => {}
            Err(_) if cancel.is_triggered() => {}
            Err(error) => tracing::warn!("not all of {} is warm: {error}", self.path.display()),
        }
    }

    fn warm(&self, cancel: &Cancel) -> Result<Warmed> {
        let tables = self.tables()?;
        let mut warmed = Warmed { files: tables.len(), ..Warmed::default() };
        if let Some(memory) = &self.memory {
            self.load_finding(&tables, memory, &mut warmed, cancel)?;
        }
        self.read_files(&tables, &mut warmed, cancel)?;
        Ok(warmed)
    }

    /// Those that most reads ask first.
    fn tables(&self) -> Result<Vec<LiveTable>> {
        let mut tables = Vec::new();
        for column in &self.columns {
            // SAFETY: the database is open until this thread has ended.
            tables.extend(unsafe { ffi_warm::live_tables(column.raw, self.memory.is_some()) }?);
        }
        tables.sort_by_key(|table| (table.level, Reverse(table.number)));
        Ok(tables)
    }

    /// Up to half of the cache, and only while it has room. Of level 0 RocksDB has loaded all.
    fn load_finding(
        &self,
        tables: &[LiveTable],
        memory: &Memory,
        warmed: &mut Warmed,
        cancel: &Cancel,
    ) -> Result<()> {
        for table in tables.iter().filter(|table| table.level > 0 && table.finding > 0) {
            let (capacity, room) = memory.cache_room();
            if warmed.finding + table.finding > capacity as u64 / 2 || table.finding > room as u64 {
                continue;
            }
            let loaded = in_chunks(table, table.size.saturating_sub(table.finding), cancel)
                .and_then(|_| ffi_warm::load_finding(&self.options, &table.path));
            match loaded {
                Ok(true) => {
                    warmed.found += 1;
                    warmed.finding += table.finding;
                }
                Ok(false) => {}
                Err(error) => self.failed(table, &error, cancel)?,
            }
        }
        Ok(())
    }

    /// All files, if there is memory for them that nobody needs.
    fn read_files(&self, tables: &[LiveTable], warmed: &mut Warmed, cancel: &Cancel) -> Result<()> {
        let bytes = tables.iter().map(|table| table.size).sum();
        match Claim::fits(bytes, free_memory::for_files() / 2) {
            Some(claim) => drop(self.claim.set(claim)),
            None => return Ok(()),
        }
        for table in tables {
            match in_chunks(table, 0, cancel) {
                Ok(read) => warmed.read += read,
                Err(error) => self.failed(table, &error, cancel)?,
            }
        }
        Ok(())
    }

    /// The others can be warmed all the same.
    fn failed(&self, table: &LiveTable, error: &Error, cancel: &Cancel) -> Result<()> {
        cancel.check("the warm-up")?;
        tracing::warn!("cannot warm {} up: {error}", table.path.display());
        Ok(())
    }
}

/// Reads a file from an offset to its end into the page cache. What a compaction has deleted is passed over.
fn in_chunks(table: &LiveTable, from: u64, cancel: &Cancel) -> Result<u64> {
    let failed = |cause: io::Error| Error::io("read", &table.path, &cause);
    let file = match File::open(&table.path) {
        Ok(file) => file,
        Err(cause) if cause.kind() == ErrorKind::NotFound => return Ok(0),
        Err(cause) => return Err(failed(cause)),
    };
    ffi_warm::no_guessing(&file);
    let (mut asked, mut at) = (from, from);
    let (mut ahead, mut last) = (LEAST_AHEAD, Instant::now());
    while at < table.size {
        cancel.check("the warm-up")?;
        while asked < table.size.min(at + ahead) {
            ffi_warm::read_ahead(&file, asked, CHUNK);
            asked += CHUNK;
        }
        at = table.size.min(at + CHUNK);
        // The last page of the chunk is there when all of it is.
        file.read_exact_at(&mut [0], at - 1).map_err(failed)?;
        ahead = next_ahead(ahead, last.elapsed());
        last = Instant::now();
    }
    Ok(table.size.saturating_sub(from))
}

/// How much to ask for, after a chunk took so long.
fn next_ahead(ahead: u64, chunk: Duration) -> u64 {
    let now = CHUNK as f64 * AHEAD.as_secs_f64() / chunk.as_secs_f64().max(1e-9);
    ((ahead * 7 + now.min(MOST_AHEAD as f64) as u64) / 8).clamp(LEAST_AHEAD, MOST_AHEAD)
}

/// A claim on memory for files, until it is dropped: what others bring in later does not push them out.
pub(super) struct Claim(u64);

impl Claim {
    fn fits(bytes: u64, room: u64) -> Option<Self> {
        let claim = |claimed: u64| claimed.checked_add(bytes).filter(|all| *all <= room);
        CLAIMED.fetch_update(Ordering::Relaxed, Ordering::Relaxed, claim).ok().map(|_| Self(bytes))
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        CLAIMED.fetch_sub(self.0, Ordering::Relaxed);
    }
}

#[cfg(test)]
#[path = "warm_test.rs"]
mod tests;
