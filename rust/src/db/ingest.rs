//! Bulk loads: rows that arrive in the order of their keys become SST files beside the database, which
//! then join a column family in one step. Until that step the column family is as it was, and whatever
//! goes wrong deletes the files. Where the rows come from is the caller's business.
use super::columns::Column;
use super::ffi_import;
use super::ffi_sst::SstWriter;
use super::rows::{rows, Row};
use crate::error::{Error, Result};
use rocksdb::IngestExternalFileOptions;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

/// Over former rows files come to lie on level 0, where RocksDB slows writers down from 20 files on.
/// (Its way to put files in the place of others, `atomic_replace_range`, corrupts the database in 11.8.1
/// when a compaction picks one of those meanwhile: found by native-tests/tests/state_model.rs.)
const FILES: u64 = 12;

static NUMBER: AtomicU64 = AtomicU64::new(0);

/// Rows on their way into a column family.
pub struct Ingest {
    writer: SstWriter,
    /// The complete files, and the open one if `open`.
    files: Files,
    open: bool,
    /// A file is complete when it has so many bytes.
    file_size: u64,
    failure: Option<Error>,
    column: Arc<Column>,
}

impl Ingest {
    pub(super) fn begin(column: &Arc<Column>) -> Result<Self> {
        let db = column.db();
        db.check()?;
        let there = column.int_property("rocksdb.live-sst-files-size")?.unwrap_or(0);
        Ok(Self {
            writer: SstWriter::new(&db.column_options),
            files: Files::beside(db.path())?,
            open: false,
            file_size: db.target_file_size.max(there / FILES),
            failure: None,
            column: Arc::clone(column),
        })
    }

    #[must_use]
    pub fn column(&self) -> &Arc<Column> {
        &self.column
    }

    /// Adds the entries of a page (see Native.scan), whose keys go on ascending from the last page's.
    pub fn add(&mut self, page: &[u8]) -> Result<()> {
        self.attempt(|load| load.add_rows(page))
    }

    /// As [`Ingest::add`], of rows as they are.
    pub fn put<'a>(&mut self, rows: impl IntoIterator<Item = Row<'a>>) -> Result<()> {
        self.attempt(|load| rows.into_iter().try_for_each(|row| load.add_row(row)))
    }

    /// Makes all rows part of the column family, where they replace those with the same keys. The
    /// caller sees to it that nobody writes to the column family meanwhile.
    pub fn ingest(&mut self) -> Result<()> {
        self.attempt(Self::finish_and_ingest)
    }

    /// After a failure nobody knows what the files hold: it is the answer to all that follows.
    fn attempt(&mut self, step: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        self.column.db().check()?;
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        step(self).map_err(|error| {
            let error = error.context(format!(
                "load rows into state '{}' (it stays as it was)",
                self.column.name()
            ));
            self.failure = Some(error.clone());
            error
        })
    }

    fn add_rows(&mut self, page: &[u8]) -> Result<()> {
        rows(page)?.try_for_each(|row| self.add_row(row?))
    }

    fn add_row(&mut self, (key, value): Row<'_>) -> Result<()> {
        if !self.open {
            let path = self.files.another();
            self.open = true;
            self.writer.open(path).map_err(|e| e.context(step("create", path)))?;
        }
        self.writer
            .put(key, value)
            .map_err(|e| e.context(step("write to", self.files.current())))?;
        if self.writer.file_size() >= self.file_size {
            self.finish_file()?;
        }
        Ok(())
    }

    fn finish_file(&mut self) -> Result<()> {
        self.open = false;
        self.writer.finish().map_err(|e| e.context(step("complete", self.files.current())))
    }

    fn finish_and_ingest(&mut self) -> Result<()> {
        if self.open {
            self.finish_file()?;
        }
        if self.files.paths.is_empty() {
            return Ok(());
        }
        // By ourselves: inside, RocksDB would flush while it keeps writers and its own recovery out.
        // SAFETY: `column` keeps the database open.
        unsafe { ffi_import::flush(self.column.raw()) }
            .map_err(|error| error.context("write out what is in memory"))?;
        self.column.ingest(&self.files.paths, &options())?;
        self.files.paths.clear();
        Ok(())
    }
}

fn step(what: &str, path: &Path) -> String {
    format!("cannot {what} {}", path.display())
}

fn options() -> IngestExternalFileOptions {
    let mut options = IngestExternalFileOptions::default();
    options.set_move_files(true);
    options.set_allow_blocking_flush(false);
    options
}

/// The files that do not belong to the database yet, in a directory of their own. Both go with this.
struct Files {
    directory: PathBuf,
    paths: Vec<PathBuf>,
}

impl Files {
    fn beside(database: &Path) -> Result<Self> {
        let mut name = database.file_name().unwrap_or_default().to_owned();
        name.push(format!(".ingest-{}", NUMBER.fetch_add(1, Ordering::Relaxed)));
        let directory = database.with_file_name(name);
        std::fs::create_dir(&directory)
            .map_err(|e| Error::io("create the directory", &directory, &e))?;
        Ok(Self { directory, paths: Vec::new() })
    }

    fn another(&mut self) -> &Path {
        self.paths.push(self.directory.join(format!("{:06}.sst", self.paths.len())));
        self.current()
    }

    fn current(&self) -> &Path {
        self.paths.last().map_or(&self.directory, PathBuf::as_path)
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        if let Err(cause) = std::fs::remove_dir_all(&self.directory) {
            tracing::warn!("cannot delete {}: {cause}", self.directory.display());
        }
    }
}

#[cfg(test)]
#[path = "ingest_test.rs"]
mod tests;
