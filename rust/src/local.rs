//! Working directories of backends on the local disk: whose they are, and which are left over. The lock
//! dies with its process, so a leftover is known without trusting process ids or ages.
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// The mark of a directory of ours. It exists only locked or abandoned, never "not locked yet".
const LOCK_FILE: &str = ".ferrostate-lock";

/// A directory that is this process's while this lives. Dropping it leaves the directory to a sweep.
#[derive(Debug)]
pub struct Claim {
    directory: PathBuf,
    _lock: File,
}

impl Claim {
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }
}

/// Creates the directory if need be and takes it. One that is held, even by this process, is refused.
pub fn claim(directory: &Path) -> Result<Claim> {
    fs::create_dir_all(directory).map_err(|cause| Error::io("create", directory, &cause))?;
    let path = directory.join(LOCK_FILE);
    // Locked under a name of its own before it gets the name that sweeps look for.
    let unnamed = directory.join(format!("{LOCK_FILE}.{}", uuid::Uuid::new_v4()));
    let lock = create_locked(&unnamed)?;
    let named = fs::hard_link(&unnamed, &path);
    let _ = fs::remove_file(&unnamed);
    let lock = match named {
        Ok(()) => lock,
        Err(cause) if cause.kind() == ErrorKind::AlreadyExists => take_over(directory, &path)?,
        Err(cause) => return Err(Error::io("create the lock", &path, &cause)),
    };
    Ok(Claim { directory: directory.to_path_buf(), _lock: lock })
}

fn create_locked(path: &Path) -> Result<File> {
    let failed = |cause: &std::io::Error| Error::io("create the lock", path, cause);
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(path)
        .map_err(|cause| failed(&cause))?;
    let locked = match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(failed(&ErrorKind::WouldBlock.into())),
        Err(TryLockError::Error(cause)) => Err(failed(&cause)),
    };
    locked.inspect_err(|_| {
        let _ = fs::remove_file(path);
    })
}

/// The lock of an owner that is gone.
fn take_over(directory: &Path, path: &Path) -> Result<File> {
    match try_take(path) {
        Ok(Some(lock)) => Ok(lock),
        Ok(None) => {
            Err(Error::invalid(format!("{} is in use by another backend", directory.display())))
        }
        Err(cause) => Err(Error::io("take the lock", path, &cause)),
    }
}

/// None if it is held, or if what was locked is not what now has the name.
fn try_take(path: &Path) -> std::io::Result<Option<File>> {
    let file = OpenOptions::new().write(true).open(path)?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => return Ok(None),
        Err(TryLockError::Error(cause)) => return Err(cause),
        Ok(()) => {}
    }
    let (ours, named) = (file.metadata()?, fs::symlink_metadata(path)?);
    let same = (ours.dev(), ours.ino()) == (named.dev(), named.ino());
    Ok(same.then_some(file))
}

/// Deletes the sub-directories of `root` that were claimed once and are held by nobody, and returns
/// them. Anything else stays: directories without our lock file, symbolic links and what they point to.
/// One that cannot be deleted is logged and left to the next sweep.
pub fn sweep(root: &Path) -> Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(root) {
        Ok(entries) => entries,
        Err(cause) if cause.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(cause) => return Err(Error::io("list", root, &cause)),
    };
    let mut deleted = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|cause| Error::io("list", root, &cause))?;
        // The type of the entry itself: a link is no directory.
        if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        let directory = entry.path();
        match sweep_one(&directory) {
            Ok(true) => deleted.push(directory),
            Ok(false) => {}
            Err(cause) => tracing::warn!("cannot sweep {}: {cause}", directory.display()),
        }
    }
    deleted.sort();
    Ok(deleted)
}

fn sweep_one(directory: &Path) -> std::io::Result<bool> {
    let path = directory.join(LOCK_FILE);
    match fs::symlink_metadata(&path) {
        Ok(metadata) if metadata.is_file() => {}
        Ok(_) => return Ok(false),
        Err(cause) if cause.kind() == ErrorKind::NotFound => return Ok(false),
        Err(cause) => return Err(cause),
    }
    let Some(_lock) = try_take(&path)? else { return Ok(false) };
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        // The mark goes last: what an interrupted sweep leaves is found by the next.
        if entry.file_name() == LOCK_FILE {
            continue;
        }
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    fs::remove_file(&path)?;
    fs::remove_dir(directory)?;
    Ok(true)
}

#[cfg(test)]
#[path = "local_test.rs"]
mod tests;
