//! Which table files a database consists of: the MANIFEST's records, applied one after the other. Pure.
use std::collections::btree_map::Entry;
use std::collections::BTreeMap;

use super::edit::Edit;
use super::log;
use crate::{Malformed, Result};

/// An internal key ends with a sequence number and a type.
pub const TRAILER: usize = 8;

/// The id of the column family "default".
pub const DEFAULT_COLUMN: u32 = 0;

const COMPARATOR: &str = "leveldb.BytewiseComparator";

/// The trailer of a key that stands for the end of a deleted range: the key itself is not in the file.
const RANGE_END: u64 = u64::MAX << 8 | 0xf;

/// A table file as the MANIFEST describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableFile {
    pub number: u64,
    pub size: u64,
    pub level: u32,
    /// Internal keys: a user key and a trailer.
    pub smallest: Vec<u8>,
    pub largest: Vec<u8>,
    pub smallest_seqno: u64,
    pub largest_seqno: u64,
    /// Order among files of level 0; 0 where the writer was older than RocksDB 7.9.
    pub epoch: u64,
}

impl TableFile {
    #[must_use]
    pub fn name(&self) -> String {
        format!("{:06}.sst", self.number)
    }

    #[must_use]
    pub fn first_key(&self) -> &[u8] {
        &self.smallest[..self.smallest.len() - TRAILER]
    }

    #[must_use]
    pub fn last_key(&self) -> &[u8] {
        &self.largest[..self.largest.len() - TRAILER]
    }

    /// The last key only ends a deleted range.
    #[must_use]
    pub fn ends_before_last_key(&self) -> bool {
        let trailer = &self.largest[self.largest.len() - TRAILER..];
        trailer == RANGE_END.to_le_bytes()
    }
}

/// A column family and its table files by number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Column {
    pub name: String,
    pub files: BTreeMap<u64, TableFile>,
}

/// Column families by id.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Manifest {
    pub columns: BTreeMap<u32, Column>,
    /// What of the database is more than these table files can say: blob files, another order of keys.
    pub beyond: Option<String>,
}

impl Manifest {
    /// Reads a whole MANIFEST, which must not be cut off.
    pub fn read(bytes: &[u8]) -> Result<Self> {
        let mut manifest = Self::default();
        let mut begun = false;
        for record in log::records(bytes)? {
            let edit = Edit::decode(&record)?;
            begun |= edit.column == DEFAULT_COLUMN && edit.comparator.is_some();
            let order = edit.comparator.as_ref().filter(|name| *name != COMPARATOR);
            let beyond = edit.unusable.map(|what| format!("the database has {what}"));
            let beyond = beyond.or_else(|| order.map(|name| format!("keys are ordered by {name}")));
            manifest.beyond = manifest.beyond.or(beyond);
            let wrong = |what| Malformed::new(record.at, "record", what);
            manifest.apply(edit).map_err(wrong)?;
        }
        if !begun {
            // Each MANIFEST begins with it. Nothing but zeros would be a database without anything.
            return Err(Malformed::new(bytes.len(), "MANIFEST", "no record names a comparator"));
        }
        Ok(manifest)
    }

    fn apply(&mut self, edit: Edit) -> std::result::Result<(), &'static str> {
        if let Some(name) = edit.added_column {
            match self.columns.entry(edit.column) {
                Entry::Vacant(new) => new.insert(Column { name, files: BTreeMap::new() }),
                Entry::Occupied(_) => return Err("a column family is added twice"),
            };
        }
        if edit.dropped_column {
            self.columns.remove(&edit.column);
            return Ok(());
        }
        if edit.column == DEFAULT_COLUMN {
            // Its creation is not recorded.
            let new = || Column { name: "default".to_owned(), files: BTreeMap::new() };
            self.columns.entry(DEFAULT_COLUMN).or_insert_with(new);
        }
        if edit.deleted.is_empty() && edit.added.is_empty() {
            return Ok(());
        }
        let column = self.columns.get_mut(&edit.column);
        let files = &mut column.ok_or("files of a column family that there is not")?.files;
        for (_, number) in edit.deleted {
            files.remove(&number).ok_or("a file is deleted that there is not")?;
        }
        for file in edit.added {
            if files.insert(file.number, file).is_some() {
                return Err("a file is added twice");
            }
        }
        Ok(())
    }
}

/// The MANIFEST that a CURRENT names.
pub fn current(bytes: &[u8]) -> Result<&str> {
    let name = std::str::from_utf8(bytes).ok().map(str::trim_end);
    name.filter(|name| name.starts_with("MANIFEST-") && !name.contains(['/', '\\', '\0']))
        .ok_or_else(|| Malformed::new(0, "CURRENT", "it does not name a MANIFEST"))
}
