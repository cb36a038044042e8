//! Copies one local file to another in steps, so that a cancel ends it soon. Naming, durability of
//! names and what a failure means to others are the caller's.
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _};
use std::path::Path;

use crate::cancel::Cancel;
use crate::error::{Error, Result};

/// Bytes between two looks at the cancel flag; also what a sync may find unwritten.
const STEP: u64 = 32 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// fsync before returning.
    Synced,
    /// For files that a crash makes useless anyway.
    Buffered,
}

/// Copies `from` to the new file `to` and returns the number of bytes. On failure `to` is deleted.
pub fn copy_new(from: &Path, to: &Path, durability: Durability, cancel: &Cancel) -> Result<u64> {
    let source = File::open(from).map_err(|cause| Error::io("open", from, &cause))?;
    let target = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(to)
        .map_err(|cause| Error::io("create", to, &cause))?;
    let unfinished = DeleteUnlessKept(Some(to));
    let step = format!("copy {} to", from.display());
    let mut copied = 0;
    loop {
        cancel.check(&format!("{step} {}", to.display()))?;
        // On Linux this is copy_file_range: a reflink where the file system has them.
        let moved = io::copy(&mut (&source).take(STEP), &mut &target)
            .map_err(|cause| Error::io(&step, to, &cause))?;
        if durability == Durability::Synced {
            target.sync_all().map_err(|cause| Error::io("sync", to, &cause))?;
        }
        copied += moved;
        if moved < STEP {
            unfinished.keep();
            return Ok(copied);
        }
    }
}

/// Deletes a file of ours that is not whole, by whichever way the scope is left.
struct DeleteUnlessKept<'a>(Option<&'a Path>);

impl DeleteUnlessKept<'_> {
    fn keep(mut self) {
        self.0 = None;
    }
}

impl Drop for DeleteUnlessKept<'_> {
    fn drop(&mut self) {
        if let Some(path) = self.0 {
            if let Err(cause) = fs::remove_file(path) {
                tracing::warn!("cannot delete the unfinished {}: {cause}", path.display());
            }
        }
    }
}

#[cfg(test)]
#[path = "copy_test.rs"]
mod tests;
