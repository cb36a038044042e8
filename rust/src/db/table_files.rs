//! Which table files a database of a checkpoint consists of, read from its MANIFEST: so a restore knows
//! each file's level and keys before it fetches a single one. Reads two small files; opens no database.
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use ferrostate_formats::rocksdb::{self as formats, DEFAULT_COLUMN};
pub use ferrostate_formats::rocksdb::{TableFile, TRAILER};

use crate::error::{Error, Kind, Result};

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
    let mut manifest = formats::Manifest::read(log)?;
    if let Some(beyond) = manifest.beyond {
        return Ok(Err(beyond));
    }
    if manifest.columns.remove(&DEFAULT_COLUMN).is_some_and(|column| !column.files.is_empty()) {
        return Ok(Err("its default column family is not empty".to_owned()));
    }
    let columns = manifest.columns.into_values();
    let columns = columns.map(|column| (column.name, column.files.into_values().collect()));
    Ok(Ok(Manifest { columns: columns.collect() }))
}

#[cfg(test)]
#[path = "table_files_test.rs"]
mod tests;
