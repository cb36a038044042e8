//! Brings a checkpoint's files into the store, all or none: what was written is deleted again unless the
//! caller keeps it. A file that the store has already is copied there. Which files, and what they are to
//! Flink, is decided elsewhere.
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use tokio::task::JoinSet;

use super::layout;
use crate::cancel::Cancel;
use crate::error::{Error, Kind, Result};
use crate::runtime::{block_on, finish, runtime};
use crate::store::{self, Store};

/// A file of the local directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    pub local_name: String,
    /// The URI of an object that had the same bytes when it was last heard of.
    pub copy_of: Option<String>,
}

/// A new object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    pub uri: String,
    /// Its bytes were in the store already.
    pub duplicated: bool,
}

/// Objects that are written and durable. Dropping this deletes them, [`Uploaded::keep`] hands them over.
#[must_use = "dropping it deletes the objects"]
#[derive(Debug)]
pub struct Uploaded {
    objects: Vec<Stored>,
    written: Written,
}

impl Uploaded {
    /// In the order the files were named.
    pub fn objects(&self) -> &[Stored] {
        &self.objects
    }

    /// From now on the objects are the caller's.
    pub fn keep(mut self) -> Vec<Stored> {
        self.written.names.clear();
        std::mem::take(&mut self.objects)
    }
}

/// Makes new objects with the bytes of files in `local_directory`, in the directory `target_uri`.
pub fn upload(
    local_directory: &Path,
    files: &[Wanted],
    target_uri: &str,
    cancel: &Cancel,
) -> Result<Uploaded> {
    let store =
        store::open_or_create(target_uri).map_err(|error| error.context("upload a checkpoint"))?;
    upload_to(&store, local_directory, files, target_uri, cancel)
}

/// As [`upload`], to a given store.
pub fn upload_to(
    store: &Arc<dyn Store>,
    local_directory: &Path,
    files: &[Wanted],
    target_uri: &str,
    cancel: &Cancel,
) -> Result<Uploaded> {
    let transfers = largest_first(local_directory, files)?;
    let names = transfers.iter().flat_map(|one| one.copy.iter().map(|copy| &copy.object));
    let names = names.chain(transfers.iter().map(|one| &one.object)).cloned().collect();
    // Before the first byte is written, so that no way out of here leaves an object.
    let mut written = Written { store: Arc::clone(store), names };
    match block_on(run(store, &transfers, cancel))? {
        Ok(()) => Ok(Uploaded { objects: stored(&transfers, target_uri), written }),
        Err(error) => Err(error.context(format!("upload to {target_uri} ({})", written.undo()))),
    }
}

/// One local file on its way.
struct Transfer {
    from: PathBuf,
    size: u64,
    /// Place in the caller's list.
    index: usize,
    /// The object that it becomes by upload.
    object: String,
    copy: Option<Copy>,
}

/// Tried first. What becomes of it has a name of its own: nobody knows what a failure left.
struct Copy {
    source: String,
    object: String,
    done: AtomicBool,
}

impl Transfer {
    fn new(index: usize, local_directory: &Path, file: &Wanted) -> Result<Self> {
        layout::check_local_name(&file.local_name)?;
        let from = local_directory.join(&file.local_name);
        let metadata = std::fs::metadata(&from)
            .map_err(|cause| Error::io("upload the checkpoint file", &from, &cause))?;
        let copy = file.copy_of.clone().map(|source| Copy {
            source,
            object: layout::new_object_name(),
            done: AtomicBool::new(false),
        });
        let object = layout::new_object_name();
        Ok(Self { from, size: metadata.len(), index, object, copy })
    }

    fn stored(&self, target_uri: &str) -> Stored {
        let copied = self.copy.as_ref().filter(|copy| copy.done.load(Ordering::Relaxed));
        let object = copied.map_or(&self.object, |copy| &copy.object);
        Stored { uri: layout::object_uri(target_uri, object), duplicated: copied.is_some() }
    }

    async fn run(&self, store: &dyn Store, stop: &Cancel) -> Result<()> {
        if let Some(copy) = &self.copy {
            match store.duplicate(&copy.source, self.size, &copy.object, stop).await {
                Ok(()) => {
                    copy.done.store(true, Ordering::Relaxed);
                    return Ok(());
                }
                Err(cancelled) if cancelled.kind == Kind::Cancelled => return Err(cancelled),
                Err(reason) => give_up(store, copy, &reason).await,
            }
        }
        self.put(store, stop).await
    }

    async fn put(&self, store: &dyn Store, stop: &Cancel) -> Result<()> {
        let written = store.put(&self.from, &self.object, stop).await?;
        if written == self.size {
            return Ok(());
        }
        Err(Error::invalid(format!(
            "{} changed while it was uploaded: {} bytes became {written}",
            self.from.display(),
            self.size
        )))
    }
}

/// The checkpoint does not fail by it: the local file has the same bytes.
async fn give_up(store: &dyn Store, copy: &Copy, reason: &Error) {
    tracing::debug!("uploading instead of copying {}: {reason}", copy.source);
    if let Err(left) = store.delete(&copy.object).await {
        tracing::warn!("a copy that failed may be left behind: {left}");
    }
}

fn largest_first(local_directory: &Path, files: &[Wanted]) -> Result<Vec<Arc<Transfer>>> {
    let mut transfers = Vec::with_capacity(files.len());
    for (index, file) in files.iter().enumerate() {
        transfers.push(Arc::new(Transfer::new(index, local_directory, file)?));
    }
    transfers.sort_by_key(|transfer| std::cmp::Reverse(transfer.size));
    Ok(transfers)
}

/// In the caller's order.
fn stored(transfers: &[Arc<Transfer>], target_uri: &str) -> Vec<Stored> {
    let mut ordered: Vec<_> = transfers.iter().collect();
    ordered.sort_by_key(|transfer| transfer.index);
    ordered.into_iter().map(|transfer| transfer.stored(target_uri)).collect()
}

/// Returns when no transfer runs any more, with the first failure.
async fn run(store: &Arc<dyn Store>, transfers: &[Arc<Transfer>], cancel: &Cancel) -> Result<()> {
    if transfers.is_empty() {
        return Ok(());
    }
    // Stops the others when one fails, without touching the caller's flag.
    let stop = Cancel::new();
    let mut running = JoinSet::new();
    for transfer in transfers {
        let (store, stop, transfer) = (Arc::clone(store), stop.clone(), Arc::clone(transfer));
        running.spawn(async move { transfer.run(&*store, &stop).await });
    }
    finish(running, &stop, cancel).await?;
    store.settle().await?;
    cancel.check("the upload")
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
