//! The store of a local directory. object_store's LocalFileSystem deletes and lists; the bytes go
//! around it, because it offers neither reflinks nor a cancel (docs/decisions: local transfer).
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use futures::future::BoxFuture;
use futures::{FutureExt as _, TryStreamExt as _};
use object_store::local::LocalFileSystem;
use object_store::path::Path as ObjectPath;
use object_store::{ObjectStore as _, ObjectStoreExt as _};

use super::copy::{copy_new, Durability};
use super::duplicate::duplicate;
use super::{Bring, Store};
use crate::cancel::Cancel;
use crate::checkpoint::layout;
use crate::error::{Error, Kind, Result};
use crate::runtime::blocking;

#[derive(Debug)]
pub struct LocalStore {
    uri: String,
    directory: PathBuf,
    objects: LocalFileSystem,
}

impl LocalStore {
    /// Of a directory that exists: Flink's JobManager makes them.
    pub fn open(uri: &str, directory: &Path) -> Result<Self> {
        let metadata = fs::metadata(directory)
            .map_err(|cause| Error::io("open the directory", directory, &cause))?;
        if !metadata.is_dir() {
            return Err(Error::invalid(format!("{uri} is not a directory")));
        }
        let objects = LocalFileSystem::new_with_prefix(directory)
            .map_err(|cause| store_error(&format!("open {uri}"), &cause))?;
        Ok(Self { uri: uri.to_string(), directory: directory.to_path_buf(), objects })
    }

    fn path(&self, name: &str) -> Result<PathBuf> {
        layout::check_local_name(name)?;
        Ok(self.directory.join(name))
    }

    async fn delete_object(&self, name: &str) -> Result<()> {
        let step = || format!("delete {name} in {}", self.uri);
        layout::check_local_name(name)?;
        let path = ObjectPath::parse(name)
            .map_err(|cause| Error::invalid(format!("{}: {cause}", step())))?;
        match self.objects.delete(&path).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            // A file system that has turned read-only says so even of what is not there.
            Err(_) if self.is_absent(name) => Ok(()),
            Err(cause) => Err(store_error(&step(), &cause)),
        }
    }

    fn is_absent(&self, name: &str) -> bool {
        let found = fs::symlink_metadata(self.directory.join(name));
        found.is_err_and(|cause| cause.kind() == std::io::ErrorKind::NotFound)
    }

    async fn list_objects(&self) -> Result<Vec<String>> {
        let objects: Vec<_> = self
            .objects
            .list(None)
            .try_collect()
            .await
            .map_err(|cause| store_error(&format!("list {}", self.uri), &cause))?;
        let mut names: Vec<_> = objects.into_iter().map(|o| o.location.to_string()).collect();
        names.sort();
        Ok(names)
    }
}

impl Store for LocalStore {
    fn uri(&self) -> &str {
        &self.uri
    }

    fn put<'a>(
        &'a self,
        from: &'a Path,
        name: &'a str,
        cancel: &'a Cancel,
    ) -> BoxFuture<'a, Result<u64>> {
        async move {
            let (from, to, cancel) = (from.to_path_buf(), self.path(name)?, cancel.clone());
            blocking("copying to the store", move || {
                copy_new(&from, &to, Durability::Synced, &cancel)
            })
            .await
        }
        .boxed()
    }

    fn duplicate<'a>(
        &'a self,
        source: &'a str,
        size: u64,
        name: &'a str,
        cancel: &'a Cancel,
    ) -> BoxFuture<'a, Result<()>> {
        async move {
            let (from, to) = (layout::local_path(source)?, self.path(name)?);
            let cancel = cancel.clone();
            blocking("copying within the store", move || duplicate(&from, size, &to, &cancel)).await
        }
        .boxed()
    }

    fn get<'a>(
        &'a self,
        name: &'a str,
        size: u64,
        to: &'a Path,
        how: Bring,
        cancel: &'a Cancel,
    ) -> BoxFuture<'a, Result<()>> {
        async move {
            let (from, to, cancel) = (self.path(name)?, to.to_path_buf(), cancel.clone());
            blocking("copying from the store", move || bring(&from, size, &to, how, &cancel)).await
        }
        .boxed()
    }

    fn settle(&self) -> BoxFuture<'_, Result<()>> {
        let directory = self.directory.clone();
        blocking("syncing the directory", move || sync_directory(&directory)).boxed()
    }

    fn delete<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<()>> {
        self.delete_object(name).boxed()
    }

    fn list(&self) -> BoxFuture<'_, Result<Vec<String>>> {
        self.list_objects().boxed()
    }
}

/// Makes the names in a directory durable.
pub(super) fn sync_directory(directory: &Path) -> Result<()> {
    File::open(directory)
        .and_then(|directory| directory.sync_all())
        .map_err(|cause| Error::io("sync the directory", directory, &cause))
}

fn bring(from: &Path, size: u64, to: &Path, how: Bring, cancel: &Cancel) -> Result<()> {
    let metadata = fs::symlink_metadata(from).map_err(|cause| Error::io("read", from, &cause))?;
    // A hard link to a symbolic link would not be a file of its own.
    if how == Bring::Link && metadata.is_file() {
        check_size(from, size, metadata.len())?;
        // Another file system, one without links, a quota on links: a copy serves as well.
        if fs::hard_link(from, to).is_ok() {
            return Ok(());
        }
    }
    let found = fs::metadata(from).map_err(|cause| Error::io("read", from, &cause))?;
    check_size(from, size, found.len())?;
    let copied = copy_new(from, to, Durability::Buffered, cancel)?;
    check_size(from, size, copied).inspect_err(|_| {
        // Changed while it was copied; the error says so, the rest is best effort.
        let _ = fs::remove_file(to);
    })
}

pub(super) fn check_size(path: &Path, expected: u64, found: u64) -> Result<()> {
    let kind = match found.cmp(&expected) {
        std::cmp::Ordering::Equal => return Ok(()),
        std::cmp::Ordering::Less => Kind::Missing,
        std::cmp::Ordering::Greater => Kind::Corrupted,
    };
    Err(Error::new(
        kind,
        format!("{} should have {expected} bytes and has {found}", path.display()),
    ))
}

fn store_error(step: &str, cause: &object_store::Error) -> Error {
    let kind = match cause {
        object_store::Error::NotFound { .. } => Kind::Missing,
        _ => Kind::Io,
    };
    Error::new(kind, format!("cannot {step}: {cause}"))
}
