//! One record of a MANIFEST: a change to the set of files. Everything that this version of RocksDB may
//! not skip, we do not skip either. Pure.
use super::TableFile;
use crate::error::{Error, Kind, Result};

/// What of a change matters here.
#[derive(Debug, Default)]
pub struct Edit {
    pub column: u32,
    pub added_column: Option<String>,
    pub dropped_column: bool,
    pub comparator: Option<String>,
    pub deleted: Vec<(u32, u64)>,
    pub added: Vec<TableFile>,
    /// Something that an import cannot take along; says what.
    pub unusable: Option<&'static str>,
}

/// Tags of a record; see RocksDB's `version_edit.h`. Numbers on disk never change.
mod tag {
    pub const COMPARATOR: u32 = 1;
    pub const LOG_NUMBER: u32 = 2;
    pub const NEXT_FILE_NUMBER: u32 = 3;
    pub const LAST_SEQUENCE: u32 = 4;
    pub const COMPACT_CURSOR: u32 = 5;
    pub const DELETED_FILE: u32 = 6;
    pub const PREVIOUS_LOG_NUMBER: u32 = 9;
    pub const MIN_LOG_NUMBER: u32 = 10;
    pub const NEW_FILE_4: u32 = 103;
    pub const COLUMN: u32 = 200;
    pub const COLUMN_ADD: u32 = 201;
    pub const COLUMN_DROP: u32 = 202;
    pub const MAX_COLUMN: u32 = 203;
    pub const IN_ATOMIC_GROUP: u32 = 300;
    /// Records with this bit have a length and may be passed over.
    pub const MAY_BE_SKIPPED: u32 = 1 << 13;
    pub const FULL_HISTORY_TS_LOW: u32 = MAY_BE_SKIPPED + 6;
}

/// Tags of a file's further fields.
mod field {
    pub const END: u32 = 1;
    pub const OLDEST_BLOB_FILE: u32 = 4;
    pub const EPOCH: u32 = 13;
    pub const TIMESTAMPS_PERSISTED: u32 = 16;
    pub const MUST_BE_KNOWN: u32 = 1 << 6;
    pub const PATH_ID: u32 = MUST_BE_KNOWN + 1;
}

impl Edit {
    pub fn decode(record: &[u8]) -> Result<Self> {
        let mut bytes = Bytes(record);
        let mut edit = Self::default();
        while !bytes.0.is_empty() {
            let tag = bytes.number32()?;
            edit.take(tag, &mut bytes)?;
        }
        Ok(edit)
    }

    fn take(&mut self, tag: u32, bytes: &mut Bytes<'_>) -> Result<()> {
        match tag {
            tag::COMPARATOR => self.comparator = Some(bytes.text()?),
            tag::LOG_NUMBER
            | tag::NEXT_FILE_NUMBER
            | tag::LAST_SEQUENCE
            | tag::PREVIOUS_LOG_NUMBER
            | tag::MIN_LOG_NUMBER
            | tag::MAX_COLUMN
            | tag::IN_ATOMIC_GROUP => {
                bytes.number()?;
            }
            tag::COMPACT_CURSOR => {
                bytes.number32()?;
                bytes.slice()?;
            }
            tag::DELETED_FILE => self.deleted.push((bytes.number32()?, bytes.number()?)),
            tag::NEW_FILE_4 => {
                let file = self.file(bytes)?;
                self.added.push(file);
            }
            tag::COLUMN => self.column = bytes.number32()?,
            tag::COLUMN_ADD => self.added_column = Some(bytes.text()?),
            tag::COLUMN_DROP => self.dropped_column = true,
            tag::FULL_HISTORY_TS_LOW => {
                bytes.slice()?;
                self.unusable = Some("user-defined timestamps");
            }
            tag if tag & tag::MAY_BE_SKIPPED != 0 => {
                bytes.slice()?;
            }
            tag => return Err(unknown("a record's tag", tag)),
        }
        Ok(())
    }

    fn file(&mut self, bytes: &mut Bytes<'_>) -> Result<TableFile> {
        let mut file = TableFile {
            level: bytes.number32()?,
            number: bytes.number()?,
            size: bytes.number()?,
            smallest: bytes.internal_key()?,
            largest: bytes.internal_key()?,
            smallest_seqno: bytes.number()?,
            largest_seqno: bytes.number()?,
            epoch: 0,
        };
        loop {
            let tag = bytes.number32()?;
            if tag == field::END {
                return Ok(file);
            }
            let mut value = Bytes(bytes.slice()?);
            match tag {
                field::EPOCH => file.epoch = value.number()?,
                field::OLDEST_BLOB_FILE => self.unusable = Some("blob files"),
                field::TIMESTAMPS_PERSISTED => self.unusable = Some("user-defined timestamps"),
                field::PATH_ID => self.unusable = Some("files in several directories"),
                tag if tag & field::MUST_BE_KNOWN != 0 => {
                    return Err(unknown("a file's field", tag))
                }
                _ => {}
            }
        }
    }
}

fn unknown(what: &str, tag: u32) -> Error {
    Error::new(Kind::Corrupted, format!("{what} is {tag}, which RocksDB 11.8 does not know"))
}

/// What is not yet read of a record.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn number(&mut self) -> Result<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = *self.0.first().ok_or_else(ends)?;
            self.0 = &self.0[1..];
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Error::new(Kind::Corrupted, "a number has too many bytes"))
    }

    fn number32(&mut self) -> Result<u32> {
        u32::try_from(self.number()?)
            .map_err(|_| Error::new(Kind::Corrupted, "a number has too many bits"))
    }

    fn slice(&mut self) -> Result<&'a [u8]> {
        let length = usize::try_from(self.number()?).map_err(|_| ends())?;
        if length > self.0.len() {
            return Err(ends());
        }
        let (slice, rest) = self.0.split_at(length);
        self.0 = rest;
        Ok(slice)
    }

    fn text(&mut self) -> Result<String> {
        String::from_utf8(self.slice()?.to_vec())
            .map_err(|_| Error::new(Kind::Corrupted, "a name is not UTF-8"))
    }

    fn internal_key(&mut self) -> Result<Vec<u8>> {
        let key = self.slice()?;
        if key.len() < super::TRAILER {
            return Err(Error::new(Kind::Corrupted, "a key has no sequence number"));
        }
        Ok(key.to_vec())
    }
}

fn ends() -> Error {
    Error::new(Kind::Corrupted, "a record ends too early")
}
