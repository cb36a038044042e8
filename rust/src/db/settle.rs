//! Compacts dead keys away while the database is in use: on a thread of its own, one range after the
//! other. Nothing waits for it; closing the database ends it.
use super::assembly::DeadRange;
use super::ffi_import;
use super::owner::Db;
use crate::cancel::Cancel;
use crate::config::CompactionStyle;
use crate::error::Result;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Instant;

/// The thread, if there is one.
pub(super) struct Settling {
    /// Off where the user turned automatic compaction off.
    wanted: bool,
    cancel: Cancel,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Settling {
    pub(super) fn new(style: CompactionStyle) -> Self {
        let wanted = style != CompactionStyle::None;
        Self { wanted, cancel: Cancel::new(), thread: Mutex::new(None) }
    }

    /// Makes the thread end soon.
    pub(super) fn cancel(&self) {
        self.cancel.trigger();
    }

    /// Waits for its end. Not for the thread itself, which may be the last to hold the database.
    pub(super) fn join(&self) {
        if let Some(thread) = self.take().filter(|it| it.thread().id() != thread::current().id()) {
            // A panic there is logged by the panic hook.
            let _ = thread.join();
        }
    }

    pub(super) fn is_running(&self) -> bool {
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }

    fn take(&self) -> Option<JoinHandle<()>> {
        self.thread.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Db {
    /// Begins to compact the ranges, which are deleted already. At most once a database.
    pub fn settle(self: &Arc<Self>, ranges: Vec<DeadRange>) {
        if ranges.is_empty() || !self.settling.wanted {
            return;
        }
        let mut thread = self.settling.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if thread.is_some() || self.settling.cancel.is_triggered() {
            return;
        }
        let db = Arc::clone(self);
        let spawned = thread::Builder::new()
            .name("ferrostate-settle".to_owned())
            .spawn(move || db.compact_dead(&ranges));
        match spawned {
            Ok(handle) => *thread = Some(handle),
            // The keys stay hidden; RocksDB's own compactions will get to them.
            Err(cause) => tracing::warn!("no thread to compact after a rescale: {cause}"),
        }
    }

    fn compact_dead(self: &Arc<Self>, ranges: &[DeadRange]) {
        let started = Instant::now();
        for range in ranges {
            match self.compact_range(range) {
                Ok(()) => {}
                Err(_) if self.settling.cancel.is_triggered() => return,
                Err(error) => tracing::warn!(
                    "keys of other key groups stay in files of '{}' until RocksDB compacts them: {error}",
                    range.column
                ),
            }
        }
        tracing::info!(
            "compacted {} ranges of other key groups away in {} ms ({})",
            ranges.len(),
            started.elapsed().as_millis(),
            self.path().display()
        );
    }

    fn compact_range(self: &Arc<Self>, range: &DeadRange) -> Result<()> {
        self.settling.cancel.check("the compaction after a rescale")?;
        if !self.columns().contains_key(&range.column) {
            return Ok(()); // dropped
        }
        let column = self.column(&range.column)?;
        // SAFETY: `column` keeps the database open.
        unsafe {
            ffi_import::compact_range(
                column.raw(),
                Some((&range.from, &range.to)),
                &self.settling.cancel,
            )
        }
    }
}

#[cfg(test)]
#[path = "settle_test.rs"]
mod tests;
