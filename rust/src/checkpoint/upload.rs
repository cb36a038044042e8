//! Uploads a checkpoint's files, all or none: what was written is deleted again unless the caller
//! keeps it. Which files, and what they are to Flink, is decided elsewhere.
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::task::JoinSet;

use super::layout;
use crate::cancel::Cancel;
use crate::error::{Error, Result};
use crate::runtime::{block_on, finish, runtime};
use crate::store::{self, Store};

/// Objects that are written and durable. Dropping this deletes them, [`Uploaded::keep`] hands them over.
#[must_use = "dropping it deletes the objects"]
#[derive(Debug)]
pub struct Uploaded {
    uris: Vec<String>,
    written: Written,
}

impl Uploaded {
    /// In the order the files were named.
    pub fn uris(&self) -> &[String] {
        &self.uris
    }

    /// From now on the objects are the caller's.
    pub fn keep(mut self) -> Vec<String> {
        self.written.names.clear();
        std::mem::take(&mut self.uris)
    }
}

/// Copies `names` out of `local_directory` to new objects in the directory `target_uri`.
pub fn upload(
    local_directory: &Path,
    names: &[String],
    target_uri: &str,
    cancel: &Cancel,
) -> Result<Uploaded> {
    let store =
        store::open_or_create(target_uri).map_err(|error| error.context("upload a checkpoint"))?;
    upload_to(&store, local_directory, names, target_uri, cancel)
}

/// As [`upload`], to a given store.
pub fn upload_to(
    store: &Arc<dyn Store>,
    local_directory: &Path,
    names: &[String],
    target_uri: &str,
    cancel: &Cancel,
) -> Result<Uploaded> {
    let files = largest_first(local_directory, names)?;
    let objects: Vec<_> = names.iter().map(|_| layout::new_object_name()).collect();
    let uris = objects.iter().map(|object| layout::object_uri(target_uri, object)).collect();
    // Before the first byte is written, so that no way out of here leaves an object.
    let mut written = Written { store: Arc::clone(store), names: objects };
    match block_on(transfer(store, &files, &written.names, cancel))? {
        Ok(()) => Ok(Uploaded { uris, written }),
        Err(error) => Err(error.context(format!("upload to {target_uri} ({})", written.undo()))),
    }
}

struct LocalFile {
    path: PathBuf,
    size: u64,
    /// Place in the caller's list.
    index: usize,
}

fn largest_first(local_directory: &Path, names: &[String]) -> Result<Vec<LocalFile>> {
    let mut files = Vec::with_capacity(names.len());
    for (index, name) in names.iter().enumerate() {
        layout::check_local_name(name)?;
        let path = local_directory.join(name);
        let metadata = std::fs::metadata(&path)
            .map_err(|cause| Error::io("upload the checkpoint file", &path, &cause))?;
        files.push(LocalFile { path, size: metadata.len(), index });
    }
    files.sort_by_key(|file| std::cmp::Reverse(file.size));
    Ok(files)
}

/// Returns when no transfer runs any more, with the first failure.
async fn transfer(
    store: &Arc<dyn Store>,
    files: &[LocalFile],
    objects: &[String],
    cancel: &Cancel,
) -> Result<()> {
    if files.is_empty() {
        return Ok(());
    }
    // Stops the others when one fails, without touching the caller's flag.
    let stop = Cancel::new();
    let mut running = JoinSet::new();
    for file in files {
        let (store, stop) = (Arc::clone(store), stop.clone());
        let (from, size, object) = (file.path.clone(), file.size, objects[file.index].clone());
        running.spawn(async move { put_whole(&*store, &from, size, &object, &stop).await });
    }
    finish(running, &stop, cancel).await?;
    store.settle().await?;
    cancel.check("the upload")
}

async fn put_whole(
    store: &dyn Store,
    from: &Path,
    size: u64,
    object: &str,
    stop: &Cancel,
) -> Result<()> {
    let written = store.put(from, object, stop).await?;
    if written == size {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "{} changed while it was uploaded: {size} bytes became {written}",
        from.display()
    )))
}

/// Objects that this upload may have written. Deletes them when dropped.
#[derive(Debug)]
struct Written {
    store: Arc<dyn Store>,
    names: Vec<String>,
}

impl Written {
    /// Deletes all, and says what became of them.
    fn undo(&mut self) -> String {
        let names = std::mem::take(&mut self.names);
        let Ok(runtime) = runtime() else { return "nothing was written".to_string() };
        let left = runtime.block_on(delete_all(&*self.store, &names));
        if left.is_empty() {
            return "whatever it wrote was deleted".to_string();
        }
        tracing::warn!("could not delete after an upload that failed: {}", left.join(", "));
        format!("could not delete {}", left.join(", "))
    }
}

impl Drop for Written {
    fn drop(&mut self) {
        if !self.names.is_empty() {
            self.undo();
        }
    }
}

/// Returns the URIs that could not be deleted.
async fn delete_all(store: &dyn Store, names: &[String]) -> Vec<String> {
    let mut left = Vec::new();
    for name in names {
        if let Err(error) = store.delete(name).await {
            tracing::warn!("{error}");
            left.push(layout::object_uri(store.uri(), name));
        }
    }
    left
}

#[cfg(test)]
#[path = "upload_test.rs"]
mod tests;
