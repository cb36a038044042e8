//! The stores that checkpoints lie in: local directories and what object_store reaches. Reads, lists and
//! deletes; what to read is decided elsewhere.
mod credentials;
mod local;
mod location;
mod object;
mod open;
mod s3;
mod uploads;

pub use location::Location;
pub use uploads::Upload;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use bytes::Bytes;
use object_store::ObjectStore;
use tokio::sync::Semaphore;

use crate::args::Common;
use crate::failure::{Failure, Result, MISSING};
use crate::progress::Requests;

/// An object in a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub location: Location,
    pub size: u64,
    pub modified: SystemTime,
}

/// What lies under `from` by a checkpoint's word is looked for under `to`.
struct Map {
    from: Location,
    to: Location,
    used: AtomicBool,
}

/// All stores, opened when they are first asked for; no more requests at once than allowed.
#[derive(Clone)]
pub struct Stores {
    options: Arc<[(String, String)]>,
    maps: Arc<[Map]>,
    /// Whether there was an absolute path that no map speaks of.
    unmapped: Arc<AtomicBool>,
    open: Arc<Mutex<HashMap<String, Arc<open::Opened>>>>,
    permits: Arc<Semaphore>,
    pub requests: Arc<Requests>,
    pub concurrency: usize,
}

impl Stores {
    pub fn new(common: &Common) -> Result<Self> {
        let map = |(from, to): &(String, String)| {
            let (from, to) = (Location::parse(from)?, Location::parse(to)?);
            Ok(Map { from, to, used: AtomicBool::new(false) })
        };
        Ok(Self {
            options: common.options.clone().into(),
            unmapped: Arc::default(),
            maps: common.maps.iter().map(map).collect::<Result<_>>()?,
            open: Arc::default(),
            permits: Arc::new(Semaphore::new(usize::from(common.concurrency))),
            requests: Arc::default(),
            concurrency: usize::from(common.concurrency),
        })
    }

    /// Whether anything is to be looked for elsewhere.
    pub fn maps(&self) -> bool {
        !self.maps.is_empty()
    }

    /// Where what a checkpoint refers to is to be looked for.
    pub fn locate(&self, uri: &str) -> Result<Location> {
        let location = Location::parse(uri)?;
        let mapped = self.maps.iter().find_map(|map| {
            let below = location.below(&map.from)?;
            map.used.store(true, Ordering::Relaxed);
            Some(map.to.join(below))
        });
        Ok(mapped.unwrap_or_else(|| {
            self.unmapped.store(true, Ordering::Relaxed);
            location
        }))
    }

    /// Where nothing lay, while something lay elsewhere: likely a slip of the pen.
    pub fn unused_maps(&self) -> Vec<String> {
        if !self.unmapped.load(Ordering::Relaxed) {
            return Vec::new();
        }
        let unused = self.maps.iter().filter(|map| !map.used.load(Ordering::Relaxed));
        unused.map(|map| map.from.to_string()).collect()
    }

    /// A whole object of at most `most` bytes.
    pub async fn read(&self, location: &Location, most: u64) -> Result<Bytes> {
        let size = self.size(location).await?.ok_or_else(|| missing(location))?;
        if size > most {
            let text = format!("{location}: {size} bytes, of which at most {most} are read");
            return Err(Failure::unable(text));
        }
        self.read_range(location, 0, size).await
    }

    /// Exactly those bytes.
    pub async fn read_range(&self, location: &Location, offset: u64, length: u64) -> Result<Bytes> {
        let _permit = self.permits.acquire().await.map_err(Failure::unable)?;
        let bytes = match self.object(location).await? {
            None => local::read_range(location, offset, length).await?,
            Some(store) => object::read_range(&*store, location, offset, length).await?,
        };
        self.requests.read(bytes.len());
        if bytes.len() as u64 == length {
            return Ok(bytes);
        }
        let text = format!("{location}: {} of {length} bytes from byte {offset} on", bytes.len());
        Err(Failure::new(MISSING, text))
    }

    /// None: there is no such object.
    pub async fn size(&self, location: &Location) -> Result<Option<u64>> {
        let _permit = self.permits.acquire().await.map_err(Failure::unable)?;
        match self.object(location).await? {
            None => local::size(location).await,
            Some(store) => object::size(&*store, location).await,
        }
    }

    /// When it was written. None: there is no such object.
    pub async fn modified(&self, location: &Location) -> Result<Option<SystemTime>> {
        let _permit = self.permits.acquire().await.map_err(Failure::unable)?;
        match self.object(location).await? {
            None => local::modified(location).await,
            Some(store) => object::modified(&*store, location).await,
        }
    }

    /// Whether something is there of which it cannot be told what it is: a link that leads nowhere, or,
    /// where a file is meant, anything else. Object stores have no such thing.
    pub async fn unclear(&self, location: &Location, file: bool) -> Result<bool> {
        match location.is_local() {
            true => local::unclear(location, file).await,
            false => Ok(false),
        }
    }

    /// Where it is without links; itself in object stores.
    pub async fn real(&self, location: &Location) -> Result<Location> {
        let real = match location.is_local() {
            true => local::real(location).await?,
            false => None,
        };
        real.map_or_else(|| Ok(location.clone()), |path| Location::parse(&path))
    }

    /// Names of the directories right below.
    pub async fn directories(&self, directory: &Location) -> Result<Vec<String>> {
        let _permit = self.permits.acquire().await.map_err(Failure::unable)?;
        match self.object(directory).await? {
            None => local::directories(directory).await,
            Some(store) => object::directories(&*store, directory).await,
        }
    }

    /// All objects below, in directories of any depth. Nothing, where there is no such directory.
    pub async fn list(&self, directory: &Location) -> Result<Vec<Entry>> {
        self.list_most(directory, usize::MAX).await
    }

    /// As many of them as `most`, whichever.
    pub async fn list_most(&self, directory: &Location, most: usize) -> Result<Vec<Entry>> {
        let _permit = self.permits.acquire().await.map_err(Failure::unable)?;
        match self.object(directory).await? {
            None => local::list(directory, most).await,
            Some(store) => object::list(&*store, directory, most).await,
        }
    }

    /// Deletes an object; one that is gone already is a success.
    pub async fn delete(&self, location: &Location) -> Result<()> {
        let _permit = self.permits.acquire().await.map_err(Failure::unable)?;
        match self.object(location).await? {
            None => local::delete(location).await,
            Some(store) => object::delete(&*store, location).await,
        }
    }

    /// Removes a local directory that has nothing in it; object stores have none.
    pub async fn delete_empty(&self, directory: &Location) {
        if directory.is_local() {
            local::delete_empty(directory).await;
        }
    }

    /// Multipart uploads to keys below the directory that were begun and never ended. None: the store has
    /// no such thing, or it ends by itself.
    pub async fn uploads(&self, directory: &Location) -> Result<Option<Vec<Upload>>> {
        let _permit = self.permits.acquire().await.map_err(Failure::unable)?;
        match self.s3(directory).await? {
            None => Ok(None),
            Some(s3) => s3.uploads(directory).await.map(Some),
        }
    }

    /// The bytes of an upload's parts.
    pub async fn upload_size(&self, upload: &Upload) -> Result<u64> {
        let _permit = self.permits.acquire().await.map_err(Failure::unable)?;
        match self.s3(&upload.location).await? {
            None => Ok(0),
            Some(s3) => s3.size(upload).await,
        }
    }

    /// Ends an upload: its parts go. One that is gone already is a success.
    pub async fn abort(&self, upload: &Upload) -> Result<()> {
        let _permit = self.permits.acquire().await.map_err(Failure::unable)?;
        match self.s3(&upload.location).await? {
            None => Ok(()),
            Some(s3) => s3.abort(upload).await,
        }
    }

    async fn object(&self, location: &Location) -> Result<Option<Arc<dyn ObjectStore>>> {
        let Some(opened) = self.opened(location)? else { return Ok(None) };
        opened.credentials.ready().await?;
        Ok(Some(Arc::clone(&opened.store)))
    }

    async fn s3(&self, location: &Location) -> Result<Option<Arc<s3::S3>>> {
        let Some(opened) = self.opened(location)? else { return Ok(None) };
        opened.credentials.ready().await?;
        Ok(opened.s3.clone())
    }

    /// Of the store of a request that is made now. None: local files.
    fn opened(&self, location: &Location) -> Result<Option<Arc<open::Opened>>> {
        self.requests.begin();
        if location.is_local() {
            return Ok(None);
        }
        let mut open = self.open.lock().map_err(Failure::unable)?;
        if let Some(opened) = open.get(location.root()) {
            return Ok(Some(Arc::clone(opened)));
        }
        let opened = Arc::new(open::open(location.root(), &self.options)?);
        open.insert(location.root().to_owned(), Arc::clone(&opened));
        Ok(Some(opened))
    }
}

pub fn missing(location: &Location) -> Failure {
    Failure::new(MISSING, format!("{location}: there is no such object"))
}
