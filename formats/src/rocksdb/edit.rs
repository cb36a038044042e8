//! One record of a MANIFEST: a change to the set of files. Everything that this version of RocksDB may
//! not skip, we do not skip either. Pure.
use super::log::{Record, HEADER};
use super::manifest::{TableFile, TRAILER};
use super::Numbers;
use crate::{Malformed, Result};

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
    pub fn decode(record: &Record) -> Result<Self> {
        let mut bytes = Numbers::new(&record.bytes, record.at + HEADER);
        let mut edit = Self::default();
        while !bytes.is_empty() {
            let tag = bytes.number32("tag")?;
            edit.take(tag, &mut bytes)?;
        }
        Ok(edit)
    }

    fn take(&mut self, tag: u32, bytes: &mut Numbers<'_>) -> Result<()> {
        match tag {
            tag::COMPARATOR => self.comparator = Some(bytes.text("comparator")?),
            tag::LOG_NUMBER
            | tag::NEXT_FILE_NUMBER
            | tag::LAST_SEQUENCE
            | tag::PREVIOUS_LOG_NUMBER
            | tag::MIN_LOG_NUMBER
            | tag::MAX_COLUMN
            | tag::IN_ATOMIC_GROUP => {
                bytes.number("number")?;
            }
            tag::COMPACT_CURSOR => {
                bytes.number32("compaction cursor")?;
                bytes.slice("compaction cursor")?;
            }
            tag::DELETED_FILE => {
                let level = bytes.number32("level of a deleted file")?;
                self.deleted.push((level, bytes.number("deleted file")?));
            }
            tag::NEW_FILE_4 => {
                let file = self.file(bytes)?;
                self.added.push(file);
            }
            tag::COLUMN => self.column = bytes.number32("column family")?,
            tag::COLUMN_ADD => self.added_column = Some(bytes.text("column family name")?),
            tag::COLUMN_DROP => self.dropped_column = true,
            tag::FULL_HISTORY_TS_LOW => {
                bytes.slice("timestamp")?;
                self.unusable = Some("user-defined timestamps");
            }
            tag if tag & tag::MAY_BE_SKIPPED != 0 => {
                bytes.slice("passed over")?;
            }
            tag => return Err(unknown(bytes, "tag", tag)),
        }
        Ok(())
    }

    fn file(&mut self, bytes: &mut Numbers<'_>) -> Result<TableFile> {
        let mut file = TableFile {
            level: bytes.number32("level")?,
            number: bytes.number("file number")?,
            size: bytes.number("file size")?,
            smallest: internal_key(bytes, "smallest key")?,
            largest: internal_key(bytes, "largest key")?,
            smallest_seqno: bytes.number("smallest sequence number")?,
            largest_seqno: bytes.number("largest sequence number")?,
            epoch: 0,
        };
        loop {
            let tag = bytes.number32("field tag")?;
            if tag == field::END {
                return Ok(file);
            }
            let mut value = Numbers::new(bytes.slice("field")?, 0);
            match tag {
                field::EPOCH => {
                    let text = "of no number";
                    file.epoch = value.number("epoch").map_err(|_| bytes.wrong("epoch", text))?;
                }
                field::OLDEST_BLOB_FILE => self.unusable = Some("blob files"),
                field::TIMESTAMPS_PERSISTED => self.unusable = Some("user-defined timestamps"),
                field::PATH_ID => self.unusable = Some("files in several directories"),
                tag if tag & field::MUST_BE_KNOWN != 0 => {
                    return Err(unknown(bytes, "field tag", tag))
                }
                _ => {}
            }
        }
    }
}

fn internal_key(bytes: &mut Numbers<'_>, field: &str) -> Result<Vec<u8>> {
    let key = bytes.slice(field)?;
    if key.len() < TRAILER {
        return Err(bytes.wrong(field, "a key has no sequence number"));
    }
    Ok(key.to_vec())
}

fn unknown(bytes: &Numbers<'_>, field: &str, tag: u32) -> Malformed {
    bytes.wrong(field, format!("{tag}, which RocksDB 11.8 does not know"))
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        /// Whatever a record holds: an answer or an error, never a panic.
        #[test]
        fn any_record_is_read_or_refused(
            mut bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200),
            tag in proptest::sample::select(vec![1_u8, 5, 6, 103, 200, 201]),
        ) {
            let _ = Edit::decode(&Record { at: 0, bytes: bytes.clone() });
            bytes.insert(0, tag);
            if tag >= 128 {
                bytes.insert(1, 1);
            }
            let _ = Edit::decode(&Record { at: 0, bytes: bytes.clone() });
            let _ = super::super::Manifest::read(&bytes);
        }
    }
}
