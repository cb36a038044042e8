//! Carries out what was decided: imports files as hard links, hides dead keys, and finds out which files
//! of the new database are old ones. Decides nothing.
use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::levels::relieve_level_0;
use super::{Kept, Part};
use crate::cancel::Cancel;
use crate::config::{CompactionStyle, Config};
use crate::db::{Assembly, DeadRange};
use crate::error::{Error, Result};
use crate::store::copy::{copy_new, Durability};

/// Makes the database and closes it. The ranges of dead keys that its files bring along.
pub(super) fn assemble(
    parts: &[Part],
    config: &Config,
    target: &Path,
    cancel: &Cancel,
) -> Result<Vec<DeadRange>> {
    let mut dead = Vec::new();
    let mut database = Assembly::open(target, config)?;
    let names: BTreeSet<&String> = parts.iter().flat_map(|part| part.columns.keys()).collect();
    for name in names {
        cancel.check("the import of files")?;
        dead.extend(import(&mut database, name, parts, config, cancel)?);
    }
    database.close();
    cancel.check("the import of files")?;
    Ok(dead)
}

fn import(
    database: &mut Assembly,
    name: &str,
    parts: &[Part],
    config: &Config,
    cancel: &Cancel,
) -> Result<Vec<DeadRange>> {
    let with_files: Vec<_> =
        parts.iter().filter_map(|part| Some((part, part.columns.get(name)?))).collect();
    let mut files: Vec<_> = with_files.iter().map(|(_, files)| (*files).clone()).collect();
    if config.compaction_style != CompactionStyle::Fifo {
        relieve_level_0(&mut files);
    }
    let sources: Vec<_> =
        with_files.iter().map(|(part, _)| part.directory.as_path()).zip(files).collect();
    database.import(name, &sources, cancel)?;
    let mut dead = Vec::new();
    for (part, files) in with_files {
        for (from, to) in part.range.outside(files) {
            database.delete_range(name, &from, &to)?;
            dead.push(DeadRange { column: name.to_owned(), from, to });
        }
    }
    if !dead.is_empty() {
        database.flush(name)?;
    }
    Ok(dead)
}

/// Links a part's files into a directory, or copies them where there are no links.
pub(super) fn link_files(part: &Part, directory: &Path, cancel: &Cancel) -> Result<()> {
    for file in part.columns.values().flatten() {
        cancel.check("the linking of files")?;
        let (from, to) = (part.directory.join(file.name()), directory.join(file.name()));
        if fs::hard_link(&from, &to).is_err() {
            copy_new(&from, &to, Durability::Buffered, cancel)?;
        }
    }
    Ok(())
}

/// The parts' files by what they are on the disk. Their directories keep them there, so nothing else can
/// become the same file; what RocksDB copied instead of linking it is simply not found again.
pub(super) struct Originals(HashMap<(u64, u64), (usize, String)>);

impl Originals {
    pub(super) fn of(parts: &[Part]) -> Result<Self> {
        let mut originals = HashMap::new();
        for (part, from) in parts.iter().enumerate() {
            for file in from.columns.values().flatten() {
                let identity = identity(&from.directory.join(file.name()))?;
                originals.insert(identity, (part, file.name()));
            }
        }
        Ok(Self(originals))
    }

    pub(super) fn found_in(&self, directory: &Path) -> Result<Vec<Kept>> {
        let step = "list";
        let mut kept = Vec::new();
        for entry in fs::read_dir(directory).map_err(|cause| Error::io(step, directory, &cause))? {
            let path = entry.map_err(|cause| Error::io(step, directory, &cause))?.path();
            let original = self.0.get(&identity(&path)?);
            if let (Some((part, name)), Some(new_name)) = (original, path.file_name()) {
                let new_name = new_name.to_string_lossy().into_owned();
                kept.push(Kept { part: *part, name: name.clone(), new_name });
            }
        }
        Ok(kept)
    }
}

fn identity(path: &Path) -> Result<(u64, u64)> {
    let metadata = fs::metadata(path).map_err(|cause| Error::io("read", path, &cause))?;
    Ok((metadata.dev(), metadata.ino()))
}

/// Deletes a directory that is not whole, by whichever way the scope is left.
pub(super) struct DeleteUnlessKept(Option<PathBuf>);

impl DeleteUnlessKept {
    pub(super) fn new(directory: &Path) -> Self {
        Self(Some(directory.to_path_buf()))
    }

    pub(super) fn keep(mut self) {
        self.0 = None;
    }
}

impl Drop for DeleteUnlessKept {
    fn drop(&mut self) {
        if let Some(directory) = self.0.take() {
            if let Err(cause) = fs::remove_dir_all(&directory) {
                if cause.kind() != std::io::ErrorKind::NotFound {
                    tracing::warn!("cannot delete {}: {cause}", directory.display());
                }
            }
        }
    }
}
