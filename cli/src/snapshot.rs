//! A checkpoint or savepoint as it lies in a store: read, its files located. How it is found: `find.rs`.
use std::ops::Range;

use bytes::Bytes;
use ferrostate_formats::metadata::{Metadata, Reference, Stream};

use crate::failure::{Failure, Result, CORRUPT, MISSING, NO_METADATA};
use crate::store::{Location, Stores};

pub const METADATA: &str = "_metadata";
/// Of a `_metadata`: it is held in memory.
const LARGEST_METADATA: u64 = 2 << 30;

/// A checkpoint or savepoint, read.
pub struct Snapshot {
    pub directory: Location,
    pub raw: Bytes,
    pub metadata: Metadata,
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
