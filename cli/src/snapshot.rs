//! Checkpoints and savepoints as they lie in a store: found from a path, read, their files located.
use std::ops::Range;

use bytes::Bytes;
use ferrostate_formats::metadata::{Metadata, Reference, Stream};

use crate::failure::{Failure, Result, CORRUPT, MISSING, NO_METADATA};
use crate::store::{Location, Stores};

const METADATA: &str = "_metadata";
/// Of a `_metadata`: it is held in memory.
const LARGEST_METADATA: u64 = 2 << 30;

/// A checkpoint or savepoint, read.
pub struct Snapshot {
    pub directory: Location,
    pub raw: Bytes,
    pub metadata: Metadata,
}

/// What a path leads to.
pub enum Target {
    Snapshot(Location),
    /// A job's directory and its checkpoints, in the order of their ids.
    Job {
        directory: Location,
        checkpoints: Vec<Checkpoint>,
    },
}

#[derive(Debug, Clone)]
pub struct Checkpoint {
    pub id: u64,
    pub directory: Location,
    /// Whether it has a `_metadata`: one without is in flight, or was left over.
    pub complete: bool,
}

/// Where the bytes of a stream are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// In `_metadata`.
    Inline(Range<usize>),
    /// A file, whole or a part of it.
    File {
        location: Location,
        start: u64,
        size: u64,
        part: bool,
    },
    Nowhere,
}

pub async fn find(stores: &Stores, path: &str) -> Result<Target> {
    let location = Location::parse(path)?;
    if location.name() == METADATA {
        let directory = location.parent();
        return Ok(Target::Snapshot(directory.ok_or_else(|| no_metadata(&location))?));
    }
    if stores.size(&location.join(METADATA)).await?.is_some() {
        return Ok(Target::Snapshot(location));
    }
    let checkpoints = checkpoints(stores, &location).await?;
    match checkpoints.is_empty() {
        true => Err(no_metadata(&location)),
        false => Ok(Target::Job { directory: location, checkpoints }),
    }
}

fn no_metadata(location: &Location) -> Failure {
    let text = format!("{location}: neither a {METADATA} nor checkpoints (chk-*) are there");
    Failure::new(NO_METADATA, text)
}

/// The `chk-*` of a job's directory.
pub async fn checkpoints(stores: &Stores, directory: &Location) -> Result<Vec<Checkpoint>> {
    let names = match stores.directories(directory).await {
        Err(failure) if failure.code == MISSING => Vec::new(),
        names => names?,
    };
    let mut found = Vec::new();
    for name in names {
        let Some(id) = name.strip_prefix("chk-").and_then(|id| id.parse().ok()) else { continue };
        let directory = directory.join(&name);
        let complete = stores.size(&directory.join(METADATA)).await?.is_some();
        found.push(Checkpoint { id, directory, complete });
    }
    found.sort_by_key(|checkpoint| checkpoint.id);
    Ok(found)
}

impl Target {
    /// The snapshots that are to be read: of a job, all complete ones.
    pub fn snapshots(&self) -> Vec<Location> {
        match self {
            Self::Snapshot(directory) => vec![directory.clone()],
            Self::Job { checkpoints, .. } => {
                let complete = checkpoints.iter().filter(|checkpoint| checkpoint.complete);
                complete.map(|checkpoint| checkpoint.directory.clone()).collect()
            }
        }
    }
}

impl Snapshot {
    pub async fn read(stores: &Stores, directory: Location) -> Result<Self> {
        let path = directory.join(METADATA);
        let raw = stores.read(&path, LARGEST_METADATA).await.map_err(|failure| {
            let code = if failure.code == MISSING { NO_METADATA } else { failure.code };
            Failure { code, ..failure }
        })?;
        let metadata = Metadata::read(&raw)
            .map_err(|malformed| Failure::new(CORRUPT, format!("{path}: {malformed}")))?;
        Ok(Self { directory, raw, metadata })
    }

    pub fn place(&self, stores: &Stores, stream: &Stream) -> Result<Place> {
        let file = |location, size: i64| Place::File {
            location,
            start: 0,
            size: size.max(0) as u64,
            part: false,
        };
        Ok(match stream {
            Stream::Inline { bytes, .. } => Place::Inline(bytes.clone()),
            Stream::File { path, size } => file(stores.locate(path)?, *size),
            Stream::Relative { path, size } => file(self.directory.join(path), *size),
            Stream::Segment(segment) => Place::File {
                location: stores.locate(&segment.path)?,
                start: segment.start.max(0) as u64,
                size: segment.size.max(0) as u64,
                part: true,
            },
            Stream::EmptySegment => Place::Nowhere,
            Stream::KeyGroups(groups) => match &groups.stream {
                Some(stream) => self.place(stores, stream)?,
                None => Place::Nowhere,
            },
        })
    }

    /// The bytes of a stream, wherever they are.
    pub async fn bytes(&self, stores: &Stores, stream: &Stream, most: u64) -> Result<Bytes> {
        match self.place(stores, stream)? {
            Place::Inline(range) => Ok(self.raw.slice(range)),
            Place::File { location, start, size, .. } if size <= most => {
                stores.read_range(&location, start, size).await
            }
            Place::File { location, size, .. } => {
                Err(Failure::unable(format!("{location}: {size} bytes are more than expected")))
            }
            Place::Nowhere => Ok(Bytes::new()),
        }
    }

    /// The name of an operator for people: uid, name, or id.
    pub fn owner(reference: &Reference<'_>) -> String {
        let operator = reference.operator;
        let named = operator.name.clone().or_else(|| operator.uid.clone());
        named.unwrap_or_else(|| operator.id.to_string())
    }
}
