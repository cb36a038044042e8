//! Whether the MANIFEST of database files is whole. RocksDB takes damage at its end for a write that a
//! crash cut off, and opens without what stood there: states would be empty or old. A checkpoint's
//! MANIFEST never ends like that. Checksums are RocksDB's business, which it checks of all it reads.
use crate::error::{Error, Kind, Result};
use ferrostate_formats::rocksdb::log::{fragment, FIRST, FULL, LAST, MIDDLE};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

/// A type of record: what space that was never written looks like.
const NONE: u8 = 0;

/// Refuses database files whose MANIFEST is damaged, or that lack their CURRENT. A directory without
/// database files is in order.
pub fn check_manifest(directory: &Path) -> Result<()> {
    let current = directory.join("CURRENT");
    let name = match fs::read_to_string(&current) {
        Ok(name) => name,
        Err(cause) if cause.kind() == ErrorKind::NotFound => return check_is_new(directory),
        Err(cause) if cause.kind() == ErrorKind::InvalidData => return Ok(()), // RocksDB says so
        Err(cause) => return Err(Error::io("read", &current, &cause)),
    };
    let name = name.trim_end_matches('\n');
    if !name.starts_with("MANIFEST-") || name.contains('/') {
        return Ok(()); // RocksDB says so
    }
    let path = directory.join(name);
    let bytes = fs::read(&path).map_err(|cause| {
        Error::io("read", &path, &cause).context(format!("follow {}", current.display()))
    })?;
    whole(&bytes).map_err(|at| {
        Error::new(
            Kind::Corrupted,
            format!("{} is damaged or cut off at byte {at} of {}", path.display(), bytes.len()),
        )
    })
}

/// RocksDB would begin a new, empty database there.
fn check_is_new(directory: &Path) -> Result<()> {
    let entries = fs::read_dir(directory)
        .map_err(|cause| Error::io("list the database directory", directory, &cause))?;
    for entry in entries {
        let entry = entry.map_err(|cause| Error::io("list", directory, &cause))?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with("MANIFEST-") || name.ends_with(".sst") {
            return Err(Error::new(
                Kind::Missing,
                format!("{} has database files ({name}), but no CURRENT", directory.display()),
            ));
        }
    }
    Ok(())
}

/// Walks over the records as RocksDB's log reader does; the error is where they stop making sense.
fn whole(bytes: &[u8]) -> std::result::Result<(), usize> {
    let (mut at, mut begun) = (0, None);
    while let Some(next) = fragment(bytes, at)? {
        match (next.kind, begun) {
            (FULL, None) | (MIDDLE, Some(_)) => {}
            (FIRST, None) => begun = Some(next.at),
            (LAST, Some(_)) => begun = None,
            (NONE..=LAST, _) => return Err(next.at),
            _ => return Ok(()), // a type of another RocksDB, which judges it
        }
        at = next.end();
    }
    begun.map_or(Ok(()), Err)
}

#[cfg(test)]
#[path = "manifest_test.rs"]
mod tests;
