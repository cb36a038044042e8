//! A database that is being put together out of files: new, closed to everybody else, never compacting by
//! itself. What goes into it is `restore/rescale`'s decision.
use super::ffi::{raw_db, RawColumn, RawOptions};
use super::ffi_import::{self, ImportedColumn};
use super::owner::RocksDb;
use super::table_files::TableFile;
use crate::cancel::Cancel;
use crate::config::Config;
use crate::error::{Error, Kind, Result};
use rocksdb::Options;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Keys `from..to` of a column family that are deleted, but still lie in its files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadRange {
    pub column: String,
    pub from: Vec<u8>,
    pub to: Vec<u8>,
}

/// An open database under assembly. Fields close in the order they stand.
pub struct Assembly {
    columns: BTreeMap<String, ImportedColumn>,
    rocks: RocksDb,
    column_options: Options,
    options: RawOptions,
    path: PathBuf,
}

impl Assembly {
    /// Makes a database in `path`, which must not have one.
    pub fn open(path: &Path, config: &Config) -> Result<Self> {
        let failed = |e: &rocksdb::Error| {
            Error::rocksdb(&format!("make a database in {}", path.display()), e)
        };
        super::threads::ensure(config.background_jobs)?;
        let cache = crate::memory::block_cache(config.block_cache_size);
        let mut column_options = super::options::column(config, None, &cache)?;
        column_options.set_disable_auto_compactions(true);
        let mut options = super::options::database(config, None)?;
        options.set_error_if_exists(true);
        let rocks = RocksDb::open(&options, path).map_err(|e| failed(&e))?;
        Ok(Self {
            columns: BTreeMap::new(),
            rocks,
            column_options,
            options: RawOptions::new(),
            path: path.to_path_buf(),
        })
    }

    /// Moves files into a new column family. The parts have no keys in common; within each, files of
    /// level 0 stand in the order of their age, oldest first.
    ///
    /// A cancel deletes them in the parts' directories, so that RocksDB, which opens one after the other
    /// and looks at no flag, fails at the next one.
    pub fn import(
        &mut self,
        name: &str,
        parts: &[(&Path, Vec<TableFile>)],
        cancel: &Cancel,
    ) -> Result<()> {
        // SAFETY: `self` owns the database, and the column family goes before it.
        let import = || unsafe {
            ffi_import::import(raw_db(&self.rocks), &self.column_options, name, parts)
        };
        let column = cancel.interrupting(|| delete(parts), import);
        cancel.check("the import of files")?;
        let column = column.map_err(|e| self.about(e, "import the files of", name))?;
        self.columns.insert(name.to_owned(), column);
        Ok(())
    }

    /// Deletes `from..to`.
    pub fn delete_range(&self, name: &str, from: &[u8], to: &[u8]) -> Result<()> {
        let raw = self.raw(name)?;
        // SAFETY: `self` owns the database.
        unsafe { ffi_import::delete_range(raw, &self.options, from, to) }
            .map_err(|e| self.about(e, "delete keys of other key groups in", name))
    }

    pub fn flush(&self, name: &str) -> Result<()> {
        let raw = self.raw(name)?;
        // SAFETY: `self` owns the database.
        unsafe { ffi_import::flush(raw) }.map_err(|e| self.about(e, "flush", name))
    }

    /// Compacts the files that have keys of a range, or all.
    pub fn compact(
        &self,
        name: &str,
        range: Option<(&[u8], &[u8])>,
        cancel: &Cancel,
    ) -> Result<()> {
        let raw = self.raw(name)?;
        // SAFETY: `self` owns the database.
        let interrupt = || unsafe { ffi_import::end_compactions(raw) };
        // SAFETY: as above.
        let work = || unsafe { ffi_import::compact_range(raw, range, cancel) };
        let done = cancel.interrupting(interrupt, work);
        cancel.check("the compaction")?;
        done.map_err(|e| self.about(e, "compact", name))
    }

    /// All files are durable before; nothing is in memory that was not flushed.
    pub fn close(self) {
        drop(self);
    }

    fn raw(&self, name: &str) -> Result<RawColumn> {
        let column = self.columns.get(name).ok_or_else(|| {
            Error::new(Kind::Invalid, format!("column family '{name}' was not imported"))
        })?;
        Ok(RawColumn { db: raw_db(&self.rocks), column: column.raw() })
    }

    fn about(&self, error: Error, step: &str, name: &str) -> Error {
        error.context(format!("{step} state '{name}' (database {})", self.path.display()))
    }
}

fn delete(parts: &[(&Path, Vec<TableFile>)]) {
    for (directory, files) in parts {
        for file in files {
            // Gone already, or left to whoever deletes the directory.
            let _ = std::fs::remove_file(directory.join(file.name()));
        }
    }
}

#[cfg(test)]
#[path = "assembly_test.rs"]
mod tests;
