//! Where checkpoint objects live: one trait, object_store's stores behind it, and what may go wrong or
//! must be limited as wrappers of the trait. Which objects to write or to read is decided elsewhere.
#[cfg(test)]
mod contract;
pub mod copy;
pub mod duplicate;
#[cfg(test)]
pub mod fault;
pub mod limit;
pub mod local;

use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;

use futures::future::BoxFuture;

use crate::cancel::Cancel;
use crate::checkpoint::layout;
use crate::error::{Error, Result};

/// How an object comes to a local file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bring {
    /// By hard link where store and local directory share a file system, else by copy. Only for what
    /// neither side ever changes.
    Link,
    Copy,
}

/// One directory of objects. Calls end within a second or so of a cancel and must be awaited to their
/// end: a dropped future may still be writing.
pub trait Store: Debug + Send + Sync {
    /// The directory, for messages.
    fn uri(&self) -> &str;

    /// Copies a local file to the new object `name`; one that exists is an error. On failure nothing
    /// of it is left. The bytes are durable on return, the name after [`Store::settle`].
    fn put<'a>(
        &'a self,
        from: &'a Path,
        name: &'a str,
        cancel: &'a Cancel,
    ) -> BoxFuture<'a, Result<u64>>;

    /// Makes the new object `name` out of another of exactly `size` bytes, by its URI, without bringing
    /// its bytes here: on its own, and as durable as after [`Store::put`]. That object may be anybody's
    /// and may go meanwhile. On failure nothing of the new one is left, and the caller puts the bytes.
    fn duplicate<'a>(
        &'a self,
        source: &'a str,
        size: u64,
        name: &'a str,
        cancel: &'a Cancel,
    ) -> BoxFuture<'a, Result<()>>;

    /// Brings an object of exactly `size` bytes to the new local file `to`. On failure nothing of it
    /// is left.
    fn get<'a>(
        &'a self,
        name: &'a str,
        size: u64,
        to: &'a Path,
        how: Bring,
        cancel: &'a Cancel,
    ) -> BoxFuture<'a, Result<()>>;

    /// Makes the names of everything put or duplicated so far durable.
    fn settle(&self) -> BoxFuture<'_, Result<()>>;

    /// Deletes an object; one that is gone already is a success.
    fn delete<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<()>>;

    /// Names of all objects, sorted. For tests and tools.
    fn list(&self) -> BoxFuture<'_, Result<Vec<String>>>;
}

/// As [`open`], of a directory that is made if need be, as Flink's own streams make it.
pub fn open_or_create(directory_uri: &str) -> Result<Arc<dyn Store>> {
    let directory = layout::local_path(directory_uri)?;
    let absent: Vec<_> = directory.ancestors().take_while(|path| !path.exists()).collect();
    std::fs::create_dir_all(&directory)
        .map_err(|cause| Error::io("create the directory", &directory, &cause))?;
    // A file is as durable as the way to it.
    for parent in absent.into_iter().filter_map(Path::parent) {
        local::sync_directory(parent)?;
    }
    open(directory_uri)
}

/// The store of an existing directory, under the limiter of this process.
pub fn open(directory_uri: &str) -> Result<Arc<dyn Store>> {
    let directory = layout::local_path(directory_uri)?;
    let local = local::LocalStore::open(directory_uri, &directory)?;
    Ok(Arc::new(limit::Limited::new(local)))
}
