//! Puts a database together out of the files of other ones, for other key groups: no row is copied and no
//! file changed. `plan` and `levels` decide, `clip` handles parts that get in each other's way, `assemble`
//! acts. What is brought where, and what the files are called in a checkpoint, is the caller's business.
mod assemble;
mod clip;
mod levels;
mod plan;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::cancel::Cancel;
use crate::config::Config;
use crate::db::table_files;
use crate::db::{Db, DeadRange};
use crate::error::{Kind, Result};
use crate::restore::complete;
use crate::restore::copy_range::copy_range;
use crate::restore::db_sink::DbSink;

pub use plan::KeyRange;

use plan::Columns;

/// One database of a checkpoint, and the keys wanted of it.
#[derive(Debug, Clone)]
struct Part {
    directory: PathBuf,
    range: KeyRange,
    columns: Columns,
}

/// A file of a part that is a file of the new database, unchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    pub part: usize,
    pub name: String,
    pub new_name: String,
}

/// The restore of one backend. Parts in, then `run`, then `finish` on the opened database.
#[derive(Debug)]
pub struct Rescale {
    config: Config,
    parts: Vec<Part>,
    /// Databases to copy rows from, since RocksDB would not import their files beside the others.
    copies: Vec<(PathBuf, KeyRange)>,
    dead: Vec<DeadRange>,
}

impl Rescale {
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self { config, parts: Vec::new(), copies: Vec::new(), dead: Vec::new() }
    }

    /// Takes in the next part, whose MANIFEST and CURRENT are in `directory` and whose states are
    /// `states`. The names of the table files that are wanted there before `run`; None if its files
    /// cannot be imported.
    pub fn add(
        &mut self,
        directory: &Path,
        range: KeyRange,
        states: &[String],
    ) -> Result<Option<Vec<String>>> {
        let unusable = match table_files::read(directory) {
            Ok(Ok(manifest)) => {
                complete::check(manifest.columns.keys().map(String::as_str), states)?;
                let columns = plan::select(manifest, &range);
                let too_deep = columns.values().flatten().any(|file| file.level > levels::DEEPEST);
                if !too_deep {
                    let names = columns.values().flatten().map(|file| file.name()).collect();
                    self.parts.push(Part { directory: directory.to_path_buf(), range, columns });
                    return Ok(Some(names));
                }
                "it has more than seven levels".to_owned()
            }
            Ok(Err(unusable)) => unusable,
            // RocksDB will say whether it is.
            Err(error) if error.kind == Kind::Corrupted => error.text,
            Err(error) => return Err(error),
        };
        tracing::warn!("{} is not imported but copied row by row: {unusable}", directory.display());
        Ok(None)
    }

    /// Makes the database in `target`, which must not exist yet, out of the parts' files. `scratch` is
    /// for temporary databases and the caller's to delete. None if RocksDB refuses the files: then
    /// nothing is left in `target`.
    pub fn run(
        &mut self,
        target: &Path,
        scratch: &Path,
        cancel: &Cancel,
    ) -> Result<Option<Vec<Kept>>> {
        let made = assemble::DeleteUnlessKept::new(target);
        match self.assemble(target, scratch, cancel) {
            Ok(kept) => {
                made.keep();
                Ok(Some(kept))
            }
            Err(error) if matches!(error.kind, Kind::Corrupted | Kind::Invalid) => {
                tracing::warn!("files are not imported but copied row by row: {error}");
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    fn assemble(&mut self, target: &Path, scratch: &Path, cancel: &Cancel) -> Result<Vec<Kept>> {
        let originals = assemble::Originals::of(&self.parts)?;
        let mut parts = self.parts.clone();
        self.copies = clip::separate(&mut parts, &self.config, scratch, cancel)?;
        self.dead = assemble::assemble(&parts, &self.config, target, cancel)?;
        originals.found_in(target)
    }

    /// What is left to do once the database is open: rows of parts that could not be imported, and the
    /// compaction of what is dead, in the background.
    pub fn finish(&mut self, db: &Arc<Db>, cancel: &Cancel) -> Result<()> {
        for (directory, range) in self.copies.drain(..) {
            let mut sink = DbSink::new(Arc::clone(db));
            copy_range(&directory, &range.from, range.to.as_deref(), &mut sink, cancel)?;
        }
        db.settle(std::mem::take(&mut self.dead));
        Ok(())
    }
}

#[cfg(test)]
mod testing;

#[cfg(test)]
#[path = "rescale_test.rs"]
mod tests;

#[cfg(test)]
#[path = "rescale_failure_test.rs"]
mod failure_tests;
