//! Which state each table file of a checkpoint's RocksDB databases belongs to: their MANIFESTs and meta
//! files, read from the checkpoint.
use std::collections::HashMap;

use ferrostate_formats::keyed_meta;
use ferrostate_formats::metadata::{Incremental, LocalFile};
use ferrostate_formats::rocksdb::{self, Manifest};
use futures::stream::{self, StreamExt};

use crate::failure::{Failure, Result, CORRUPT, MISSING};
use crate::snapshot::Snapshot;
use crate::store::Stores;

/// Neither CURRENT, MANIFEST nor a meta file are anywhere near this.
const LARGEST: u64 = 256 << 20;

/// A table file's place in its database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    pub state: String,
    pub level: u32,
    /// User keys.
    pub first: Vec<u8>,
    pub last: Vec<u8>,
    pub size: u64,
    pub smallest_seqno: u64,
    pub largest_seqno: u64,
}

/// What is known of a database.
#[derive(Debug, Default)]
pub struct Database {
    /// By local name.
    pub tables: HashMap<String, Table>,
    /// All states with their kinds, as far as they are told.
    pub kinds: HashMap<String, String>,
    /// States that have no table file.
    pub empty: Vec<String>,
    /// Why its table files cannot be told apart.
    pub unknown: Option<Failure>,
}

/// The databases of the snapshot, by the address of their handle.
pub struct Databases(HashMap<*const Incremental, Database>);

// The addresses are compared, never followed.
impl Databases {
    pub fn none() -> Self {
        Self(HashMap::new())
    }

    pub fn of(&self, handle: &Incremental) -> Option<&Database> {
        self.0.get(&std::ptr::from_ref(handle))
    }

    pub async fn read(stores: &Stores, snapshot: &Snapshot) -> Self {
        let mut handles: Vec<&Incremental> = Vec::new();
        for database in snapshot.metadata.references().into_iter().filter_map(|r| r.database) {
            if handles.last().is_none_or(|last| !std::ptr::eq(*last, database)) {
                handles.push(database);
            }
        }
        let read = stream::iter(handles)
            .map(|handle| async move {
                (std::ptr::from_ref(handle), database(stores, snapshot, handle).await)
            })
            .buffer_unordered(stores.concurrency)
            .collect()
            .await;
        Self(read)
    }

    /// Why some files could not be told apart.
    pub fn unknown(&self) -> impl Iterator<Item = &Failure> {
        self.0.values().filter_map(|database| database.unknown.as_ref())
    }
}

async fn database(stores: &Stores, snapshot: &Snapshot, handle: &Incremental) -> Database {
    let mut known = Database::default();
    if let Some(meta) = &handle.meta {
        if let Ok(bytes) = snapshot.bytes(stores, meta, LARGEST).await {
            let states = keyed_meta::states(&bytes).into_iter();
            known.kinds = states.map(|state| (state.name, state.kind)).collect();
        }
    }
    match manifest(stores, snapshot, handle).await {
        Ok(manifest) => known.place(manifest),
        Err(failure) => known.unknown = Some(failure),
    }
    known
}

impl Database {
    fn place(&mut self, manifest: Manifest) {
        for column in manifest.columns.into_values() {
            if column.files.is_empty() && column.name != "default" {
                self.empty.push(column.name.clone());
            }
            for file in column.files.values() {
                let table = Table {
                    state: column.name.clone(),
                    level: file.level,
                    first: file.first_key().to_vec(),
                    last: file.last_key().to_vec(),
                    size: file.size,
                    smallest_seqno: file.smallest_seqno,
                    largest_seqno: file.largest_seqno,
                };
                self.tables.insert(file.name(), table);
            }
        }
    }
}

/// The MANIFEST that the database's CURRENT names.
pub async fn manifest(
    stores: &Stores,
    snapshot: &Snapshot,
    handle: &Incremental,
) -> Result<Manifest> {
    let of = |what: &str| format!("{what} of database {}", handle.backend);
    let current = bytes_of(stores, snapshot, handle, "CURRENT").await?;
    let damaged = |what: String| move |error| Failure::new(CORRUPT, format!("{what}: {error}"));
    let name = rocksdb::current(&current).map_err(damaged(of("CURRENT")))?.to_owned();
    let bytes = bytes_of(stores, snapshot, handle, &name).await?;
    Manifest::read(&bytes).map_err(damaged(of(&name)))
}

async fn bytes_of(
    stores: &Stores,
    snapshot: &Snapshot,
    handle: &Incremental,
    name: &str,
) -> Result<bytes::Bytes> {
    let mut files = handle.private.iter().chain(&handle.shared);
    let file: &LocalFile = files.find(|file| file.name == name).ok_or_else(|| {
        Failure::new(MISSING, format!("database {} has no {name}", handle.backend))
    })?;
    let bytes = snapshot.bytes(stores, &file.stream, LARGEST).await;
    bytes.map_err(|failure| failure.context(format!("{name} of database {}", handle.backend)))
}
