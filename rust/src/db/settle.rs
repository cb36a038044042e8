//! Compacts dead keys away while the database is in use: on a thread of its own, one range after the
//! other. Nothing waits for it; closing the database ends it.
use super::assembly::DeadRange;
use super::background::Background;
use super::ffi_import;
use super::owner::Db;
use crate::cancel::Cancel;
use crate::config::CompactionStyle;
use crate::error::Result;
use std::sync::Arc;
use std::time::Instant;

/// The thread, where it is wanted.
pub(super) struct Settling {
    /// Off where the user turned automatic compaction off.
    wanted: bool,
    pub(super) background: Background,
}

impl Settling {
    pub(super) fn new(style: CompactionStyle) -> Self {
        Self { wanted: style != CompactionStyle::None, background: Background::default() }
    }
}

impl Db {
    /// Begins to compact the ranges, which are deleted already. At most once a database.
    pub fn settle(self: &Arc<Self>, ranges: Vec<DeadRange>) {
        if ranges.is_empty() || !self.settling.wanted {
            return;
        }
        let db = Arc::clone(self);
        let work = move |cancel: &Cancel| db.compact_dead(&ranges, cancel);
        // Without: the keys stay hidden; RocksDB's own compactions will get to them.
        if let Err(cause) = self.settling.background.start("ferrostate-settle", work) {
            tracing::warn!("no thread to compact after a rescale: {cause}");
        }
    }

    fn compact_dead(self: &Arc<Self>, ranges: &[DeadRange], cancel: &Cancel) {
        let started = Instant::now();
        for range in ranges {
            match self.compact_range(range, cancel) {
                Ok(()) => {}
                Err(_) if cancel.is_triggered() => return,
                // Meanwhile.
                Err(_) if !self.columns().contains_key(&range.column) => {}
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

    fn compact_range(self: &Arc<Self>, range: &DeadRange, cancel: &Cancel) -> Result<()> {
        cancel.check("the compaction after a rescale")?;
        if !self.columns().contains_key(&range.column) {
            return Ok(()); // dropped
        }
        let column = self.column(&range.column)?;
        // SAFETY: `column` keeps the database open.
        unsafe { ffi_import::compact_range(column.raw(), Some((&range.from, &range.to)), cancel) }
    }
}

#[cfg(test)]
#[path = "settle_test.rs"]
mod tests;
