//! A second object with the bytes of one that lies in a local directory: a hard link where both may share
//! an inode for good, else a copy within the file system (docs/decisions/0007). Durability of names and
//! what a failure means are the caller's.
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use super::copy::{copy_new, Durability};
use super::local::check_size;
use crate::cancel::Cancel;
use crate::error::{Error, Kind, Result};

/// Makes `to` out of `from`. On failure `to` is not there.
pub fn duplicate(from: &Path, size: u64, to: &Path, cancel: &Cancel) -> Result<()> {
    duplicate_by(|from, to| fs::hard_link(from, to), owner(), from, size, to, cancel)
}

/// As [`duplicate`], with the system's part as arguments.
fn duplicate_by(
    hard_link: fn(&Path, &Path) -> io::Result<()>,
    user: Option<u32>,
    from: &Path,
    size: u64,
    to: &Path,
    cancel: &Cancel,
) -> Result<()> {
    cancel.check(&format!("copying {}", from.display()))?;
    let (source, metadata) = open(from)?;
    check_size(from, size, metadata.len())?;
    // What belongs to somebody else could still be changed by them.
    if user == Some(metadata.uid()) {
        // Whoever wrote it may not have: Flink's streams do not. Before it has the new name.
        source.sync_all().map_err(|cause| Error::io("sync", from, &cause))?;
        match hard_link(from, to) {
            Ok(()) => return verify(&metadata, size, to),
            // A network file system that asked twice.
            Err(_) if is_same(&metadata, to) => return verify(&metadata, size, to),
            // No links here, none to this file, not one more, or the source is gone.
            Err(cause) => tracing::debug!("no link to {}: {cause}", from.display()),
        }
    }
    copy(from, &metadata, size, to, cancel)
}

/// The user that the process acts as, if the system tells.
fn owner() -> Option<u32> {
    fs::metadata("/proc/self").ok().map(|process| process.uid())
}

/// Of a symbolic link a second name would not be an object of its own.
fn open(from: &Path) -> Result<(File, Metadata)> {
    let entry = fs::symlink_metadata(from).map_err(|cause| Error::io("read", from, &cause))?;
    if !entry.is_file() {
        return Err(Error::invalid(format!("{} is not a regular file", from.display())));
    }
    let source = File::open(from).map_err(|cause| Error::io("open", from, &cause))?;
    let metadata = source.metadata().map_err(|cause| Error::io("read", from, &cause))?;
    Ok((source, metadata))
}

fn is_same(source: &Metadata, to: &Path) -> bool {
    let found = fs::symlink_metadata(to);
    found.is_ok_and(|found| (found.dev(), found.ino()) == (source.dev(), source.ino()))
}

/// The name may have changed hands between looking and linking.
fn verify(source: &Metadata, size: u64, to: &Path) -> Result<()> {
    let checked = fs::symlink_metadata(to)
        .map_err(|cause| Error::io("read", to, &cause))
        .and_then(|found| check_size(to, size, found.len()));
    let checked = checked.and_then(|()| match is_same(source, to) {
        true => Ok(()),
        false => Err(Error::new(Kind::Io, format!("{} is another file now", to.display()))),
    });
    checked.inspect_err(|_| delete(to))
}

/// Reflinks where the file system has them; a network file system copies on its server. Across file
/// systems the bytes would travel twice: the local file is nearer.
fn copy(from: &Path, source: &Metadata, size: u64, to: &Path, cancel: &Cancel) -> Result<()> {
    let directory = to.parent().unwrap_or(to);
    let target = fs::metadata(directory).map_err(|cause| Error::io("read", directory, &cause))?;
    if target.dev() != source.dev() {
        return Err(Error::invalid(format!("{} is on another file system", from.display())));
    }
    let copied = copy_new(from, to, Durability::Synced, cancel)?;
    check_size(from, size, copied).inspect_err(|_| delete(to))
}

fn delete(path: &Path) {
    if let Err(cause) = fs::remove_file(path) {
        tracing::warn!("cannot delete the copy {} that failed: {cause}", path.display());
    }
}

#[cfg(test)]
#[path = "duplicate_test.rs"]
mod tests;
