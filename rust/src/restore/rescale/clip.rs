//! Parts that get in each other's way: one still has files with dead keys of another's, because it was
//! rescaled lately and is not compacted yet. Such a part becomes a temporary database of its own, in
//! which the dead keys are compacted away. Files without dead keys stay as they are.
use std::fs;
use std::path::{Path, PathBuf};

use super::assemble::link_files;
use super::plan::{self, in_each_others_way, KeyRange};
use super::Part;
use crate::cancel::Cancel;
use crate::config::Config;
use crate::db::{table_files, Assembly};
use crate::error::{Error, Kind, Result};

/// Clips what must be clipped. Parts that still cannot be imported beside the others are taken out;
/// theirs are the databases to copy rows from.
pub(super) fn separate(
    parts: &mut Vec<Part>,
    config: &Config,
    scratch: &Path,
    cancel: &Cancel,
) -> Result<Vec<(PathBuf, KeyRange)>> {
    for number in in_each_others_way(&views(parts)) {
        let directory = scratch.join(format!("clip-{number}"));
        parts[number] = clip(&parts[number], config, &directory, cancel)?;
    }
    let left = in_each_others_way(&views(parts));
    let mut copies = Vec::new();
    for number in left.into_iter().rev() {
        let part = parts.remove(number);
        copies.push((part.directory, part.range));
    }
    if plan::are_apart(&views(parts)) {
        Ok(copies)
    } else {
        Err(Error::invalid("the wanted key ranges of two databases overlap"))
    }
}

fn views(parts: &[Part]) -> Vec<(&KeyRange, &plan::Columns)> {
    parts.iter().map(|part| (&part.range, &part.columns)).collect()
}

fn clip(part: &Part, config: &Config, directory: &Path, cancel: &Cancel) -> Result<Part> {
    let about =
        |error: Error| error.context(format!("clip the files of {}", part.directory.display()));
    let links = directory.with_extension("links");
    fs::create_dir_all(&links).map_err(|cause| Error::io("create", &links, &cause))?;
    // The originals stay until the end: a number of theirs must not be given to a new file.
    link_files(part, &links, cancel)?;
    let linked = Part { directory: links, ..part.clone() };
    let mut database = Assembly::open(directory, config)?;
    for (name, files) in &linked.columns {
        cancel.check("the clipping").map_err(about)?;
        database.import(name, &[(&linked.directory, files.clone())], cancel)?;
        for (from, to) in part.range.outside(files) {
            database.delete_range(name, &from, &to)?;
            database.flush(name)?;
            database.compact(name, Some((&from, &to)), cancel).map_err(about)?;
        }
    }
    let mut clipped = reread(part, directory)?;
    for (name, files) in &clipped.columns {
        if !part.range.outside(files).is_empty() {
            // Some tombstone was not at the bottom of its range: all of it, then.
            database.compact(name, None, cancel).map_err(about)?;
        }
    }
    clipped = reread(part, directory)?;
    database.close();
    Ok(clipped)
}

/// The files that the temporary database has now.
fn reread(part: &Part, directory: &Path) -> Result<Part> {
    let manifest = table_files::read(directory)?
        .map_err(|unusable| Error::new(Kind::Corrupted, format!("clipped files: {unusable}")))?;
    Ok(Part {
        directory: directory.to_path_buf(),
        range: part.range.clone(),
        columns: plan::select(manifest, &part.range),
    })
}
