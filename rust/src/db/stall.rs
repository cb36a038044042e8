//! Waits out RocksDB's write stalls, outside of RocksDB. In there a writer that waits for a flush and
//! the recovery from a full disk, whose flush queues behind that writer, wait for each other for ever
//! (11.8.1; found by FullDiskTest). So writes are refused when they would stall, and tried again here.
use super::owner::Db;
use crate::error::{Error, Kind, Result};
use std::thread::sleep;
use std::time::{Duration, Instant};

const PAUSE: Duration = Duration::from_millis(1);

/// How long writes may stand still once something failed in the background.
const PATIENCE: Duration = Duration::from_secs(1);

/// What became of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Written {
    Done,
    /// Refused, nothing was written: it would have had to wait.
    Stalled,
}

/// Repeats `write` until RocksDB takes it or says why it will not.
#[inline]
pub(super) fn outlast(db: &Db, mut write: impl FnMut() -> Result<Written>) -> Result<()> {
    match write()? {
        Written::Done => Ok(()),
        Written::Stalled => repeat(db, write),
    }
}

#[cold]
fn repeat(db: &Db, mut write: impl FnMut() -> Result<Written>) -> Result<()> {
    let started = Instant::now();
    loop {
        db.check()?;
        sleep(PAUSE);
        if write()? == Written::Done {
            return Ok(());
        }
        if started.elapsed() > PATIENCE {
            give_up_after_failures(db)?;
        }
    }
}

/// A stall without failures ends by itself: flushes and compactions are only slow.
fn give_up_after_failures(db: &Db) -> Result<()> {
    let failures = db.rocks.property_int_value("rocksdb.background-errors");
    match failures.map_err(|e| db.failure("ask for background errors", &e))? {
        None | Some(0) => Ok(()),
        Some(count) => Err(Error::new(
            Kind::Io,
            format!(
                "database {} takes no more writes after {count} failed flushes or compactions: \
                 is its disk full? Its file LOG says more",
                db.path().display()
            ),
        )),
    }
}
