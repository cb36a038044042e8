//! Brings objects into a local directory, all or none. Opens no database and judges no bytes beyond
//! their number.
use std::collections::hash_map::Entry;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::task::JoinSet;

use crate::cancel::Cancel;
use crate::checkpoint::layout;
use crate::error::{Error, Result};
use crate::runtime::{block_on, finish};
use crate::store::{self, Bring, Store};

/// An object and the file it becomes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    pub uri: String,
    pub size: u64,
    pub local_name: String,
}

/// Opens the store of a directory; tests put faults between.
pub type Opener<'a> = &'a dyn Fn(&str) -> Result<Arc<dyn Store>>;

/// Fills `directory`, which is created when absent. On failure or cancel the files brought so far are
/// deleted, and the directory if it was made here.
pub fn download(wanted: &[Wanted], directory: &Path, cancel: &Cancel) -> Result<()> {
    download_from(&store::open, wanted, directory, cancel)
}

/// As [`download`], from given stores.
pub fn download_from(
    open: Opener<'_>,
    wanted: &[Wanted],
    directory: &Path,
    cancel: &Cancel,
) -> Result<()> {
    let sources = resolve(open, wanted, directory)?;
    let is_new = !directory.exists();
    fs::create_dir_all(directory).map_err(|cause| Error::io("create", directory, &cause))?;
    // Before the first byte is written, so that no way out of here leaves a file.
    let brought = Brought {
        files: sources.iter().map(|source| source.to.clone()).collect(),
        directory: is_new.then_some(directory),
    };
    block_on(transfer(sources, cancel)).and_then(|outcome| outcome).map_err(|error| {
        error.context(format!("download to {} (nothing is kept)", directory.display()))
    })?;
    brought.keep();
    Ok(())
}

struct Source {
    store: Arc<dyn Store>,
    object: String,
    wanted: Wanted,
    to: PathBuf,
}

/// Largest first, one store a directory.
fn resolve(open: Opener<'_>, wanted: &[Wanted], directory: &Path) -> Result<Vec<Source>> {
    let mut stores: HashMap<String, Arc<dyn Store>> = HashMap::new();
    let mut sources = Vec::with_capacity(wanted.len());
    for wanted in wanted {
        layout::check_local_name(&wanted.local_name)?;
        let (parent, object) = layout::split(&wanted.uri)?;
        let store = match stores.entry(parent) {
            Entry::Occupied(known) => Arc::clone(known.get()),
            Entry::Vacant(new) => {
                let store = open(new.key()).map_err(|error| error.context(about(wanted)))?;
                Arc::clone(new.insert(store))
            }
        };
        let to = directory.join(&wanted.local_name);
        if fs::symlink_metadata(&to).is_ok() {
            return Err(Error::invalid(format!("{} exists already", to.display())));
        }
        sources.push(Source { store, object, wanted: wanted.clone(), to });
    }
    sources.sort_by_key(|source| std::cmp::Reverse(source.wanted.size));
    Ok(sources)
}

async fn transfer(sources: Vec<Source>, cancel: &Cancel) -> Result<()> {
    let stop = Cancel::new();
    let mut running = JoinSet::new();
    for source in sources {
        let stop = stop.clone();
        running.spawn(async move {
            fetch(&source, &stop).await.map_err(|error| error.context(about(&source.wanted)))
        });
    }
    finish(running, &stop, cancel).await?;
    cancel.check("the download")
}

async fn fetch(source: &Source, stop: &Cancel) -> Result<()> {
    // RocksDB never changes an SST file and only unlinks it; everything else it may write to.
    let how = if layout::is_sst(&source.wanted.local_name) { Bring::Link } else { Bring::Copy };
    source.store.get(&source.object, source.wanted.size, &source.to, how, stop).await
}

fn about(wanted: &Wanted) -> String {
    format!("bring {} of {} bytes as {}", wanted.uri, wanted.size, wanted.local_name)
}

/// The files of this download, none of which existed before. Deletes them when dropped, unless kept.
struct Brought<'a> {
    files: Vec<PathBuf>,
    /// Set if the directory was made for them.
    directory: Option<&'a Path>,
}

impl Brought<'_> {
    fn keep(mut self) {
        self.files.clear();
        self.directory = None;
    }
}

impl Drop for Brought<'_> {
    fn drop(&mut self) {
        for file in &self.files {
            match fs::remove_file(file) {
                Err(cause) if cause.kind() != std::io::ErrorKind::NotFound => {
                    tracing::warn!(
                        "cannot delete {} of a failed download: {cause}",
                        file.display()
                    );
                }
                _ => {}
            }
        }
        if let Some(directory) = self.directory {
            // Not empty if somebody else uses it: then it stays.
            let _ = fs::remove_dir(directory);
        }
    }
}

#[cfg(test)]
#[path = "download_test.rs"]
mod tests;
