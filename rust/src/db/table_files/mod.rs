//! Which table files a database of a checkpoint consists of, read from its MANIFEST: so a restore knows
//! each file's level and keys before it fetches a single one. Reads two small files; opens no database.
mod edit;
pub(super) mod records;

use std::collections::btree_map::Entry;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use edit::Edit;

use crate::error::{Error, Kind, Result};

/// An internal key ends with a sequence number and a type.
pub const TRAILER: usize = 8;

const COMPARATOR: &str = "leveldb.BytewiseComparator";
const DEFAULT_COLUMN: u32 = 0;

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

/// The table files of each column family but "default", in no particular order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    pub columns: BTreeMap<String, Vec<TableFile>>,
}

/// Why files cannot be imported. Not a failure: their rows can still be copied.
pub type Unusable = String;

/// Reads the MANIFEST that CURRENT names. Err inside: the database has something that an import would
/// lose.
pub fn read(directory: &Path) -> Result<std::result::Result<Manifest, Unusable>> {
    let current = directory.join("CURRENT");
    let name = fs::read_to_string(&current).map_err(|cause| Error::io("read", &current, &cause))?;
    let name = name.trim_end();
    if !name.starts_with("MANIFEST-") || name.contains('/') {
        let text = format!("{} does not name a MANIFEST", current.display());
        return Err(Error::new(Kind::Corrupted, text));
    }
    if let Some(log) = written_log(directory)? {
        return Ok(Err(format!("rows may be in the write-ahead log {log} alone")));
    }
    let path = directory.join(name);
    let log = fs::read(&path).map_err(|cause| Error::io("read", &path, &cause))?;
    parse(&log).map_err(|error| error.context(path.display().to_string()))
}

/// A write-ahead log with something in it. Flink and we write none.
fn written_log(directory: &Path) -> Result<Option<String>> {
    let failed = |cause: &std::io::Error| Error::io("list", directory, cause);
    for entry in fs::read_dir(directory).map_err(|cause| failed(&cause))? {
        let entry = entry.map_err(|cause| failed(&cause))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.ends_with(".log") && entry.metadata().map_err(|cause| failed(&cause))?.len() > 0 {
            return Ok(Some(name));
        }
    }
    Ok(None)
}

fn parse(log: &[u8]) -> Result<std::result::Result<Manifest, Unusable>> {
    let mut columns = Columns::default();
    let mut begun = false;
    for record in records::records(log)? {
        let edit = Edit::decode(&record)?;
        if let Some(what) = edit.unusable {
            return Ok(Err(format!("the database has {what}")));
        }
        begun |= edit.column == DEFAULT_COLUMN && edit.comparator.is_some();
        if let Some(other) = edit.comparator.as_ref().filter(|name| *name != COMPARATOR) {
            return Ok(Err(format!("keys are ordered by {other}")));
        }
        columns.apply(edit)?;
    }
    if !begun {
        // Each MANIFEST begins with it. Nothing but zeros would be a database without anything.
        return Err(Error::new(Kind::Corrupted, "no record names a comparator"));
    }
    Ok(columns.finish())
}

/// Column families by id, as they are after the records so far.
#[derive(Default)]
struct Columns(BTreeMap<u32, (String, BTreeMap<u64, TableFile>)>);

impl Columns {
    fn apply(&mut self, edit: Edit) -> Result<()> {
        let wrong = |what: &str| Error::new(Kind::Corrupted, what);
        if let Some(name) = edit.added_column {
            match self.0.entry(edit.column) {
                Entry::Vacant(new) => new.insert((name, BTreeMap::new())),
                Entry::Occupied(_) => return Err(wrong("a column family is added twice")),
            };
        }
        if edit.dropped_column {
            self.0.remove(&edit.column);
            return Ok(());
        }
        if edit.column == DEFAULT_COLUMN {
            // Its creation is not recorded.
            self.0.entry(DEFAULT_COLUMN).or_default();
        }
        if edit.deleted.is_empty() && edit.added.is_empty() {
            return Ok(());
        }
        let (_, files) = self
            .0
            .get_mut(&edit.column)
            .ok_or_else(|| wrong("files of a column family that there is not"))?;
        for (_, number) in edit.deleted {
            if files.remove(&number).is_none() {
                return Err(wrong("a file is deleted that there is not"));
            }
        }
        for file in edit.added {
            if files.insert(file.number, file).is_some() {
                return Err(wrong("a file is added twice"));
            }
        }
        Ok(())
    }

    fn finish(mut self) -> std::result::Result<Manifest, Unusable> {
        if self.0.remove(&DEFAULT_COLUMN).is_some_and(|(_, files)| !files.is_empty()) {
            return Err("its default column family is not empty".to_owned());
        }
        let columns = self
            .0
            .into_values()
            .map(|(name, files)| (name, files.into_values().collect()))
            .collect();
        Ok(Manifest { columns })
    }
}

#[cfg(test)]
#[path = "table_files_test.rs"]
mod tests;
