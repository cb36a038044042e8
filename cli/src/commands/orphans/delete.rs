//! `orphans --delete`: only when all retained checkpoints are whole, only what was listed and still is an
//! orphan, and all of it written down.
use std::collections::HashSet;
use std::io::{BufRead, IsTerminal, Write};

use futures::stream::{self, StreamExt};
use serde::Serialize;

use super::{text, Report};
use crate::args::{Common, Orphans};
use crate::commands::verify;
use crate::failure::{Failure, Result};
use crate::find::find;
use crate::journal::Journal;
use crate::leftovers::{Decision, OpenUpload};
use crate::progress;
use crate::render::{count, size};
use crate::store::{Entry, Location, Stores};

#[derive(Debug, Serialize)]
pub struct Deleted {
    pub planned: u64,
    pub deleted: u64,
    pub bytes: u64,
    pub planned_uploads: u64,
    pub aborted: u64,
    pub failed: Vec<String>,
    pub journal: String,
}

pub struct Doomed {
    files: Vec<Entry>,
    uploads: Vec<OpenUpload>,
}

/// Refuses where a checkpoint that is to be kept misses something: what it misses may be found, under another
/// name, among what looks like orphans.
pub async fn whole(stores: &Stores, job: &Location, args: &Orphans, common: &Common) -> Result<()> {
    let mut directories = find(stores, &job.to_string()).await?.snapshots();
    for path in args.savepoint.iter().chain(&args.also) {
        directories.extend(find(stores, path).await?.snapshots());
    }
    let checked = verify::all(stores, &directories, true, false, common).await;
    let damaged: Vec<_> = checked.iter().filter(|checked| !checked.findings.is_empty()).collect();
    let Some(code) = damaged.iter().flat_map(|d| &d.findings).map(|f| f.exit_code).max() else {
        return Ok(());
    };
    let mut text = String::from("refused, since not all checkpoints that are kept are whole:\n");
    for damaged in damaged {
        let first = &damaged.findings[0];
        let findings = count(damaged.findings.len() as u64, "finding");
        text += &format!("  {}: {findings}, as {}: {}\n", damaged.path, first.path, first.what);
    }
    text += &format!(
        "Nothing was deleted. See ferrostate verify {job}; what is missing may lie among the orphans, or \
         under another path (--map). --although-damaged deletes all the same"
    );
    Err(Failure::new(code, text))
}

/// Whoever deletes types how many.
pub fn confirm(report: &Report) -> Result<()> {
    let input = std::io::stdin();
    if !input.is_terminal() {
        return Err(Failure::unable("--delete needs --yes where nobody can be asked"));
    }
    eprint!("{}", text::of(report));
    let bytes = size(report.bytes.saturating_add(report.upload_bytes) as i64);
    let mut what = count(report.files, "file");
    if !report.uploads.is_empty() {
        what += &format!(" and {}", count(report.uploads.len() as u64, "open upload"));
    }
    let number = report.orphans.len() + report.uploads.len();
    eprint!("{what}, {bytes}, would be deleted for good. Type {number} to do so: ");
    let _ = std::io::stderr().flush();
    let mut line = String::new();
    input.lock().read_line(&mut line).map_err(Failure::unable)?;
    match line.trim() == number.to_string() {
        true => Ok(()),
        false => Err(Failure::unable("not confirmed; nothing was deleted")),
    }
}

/// What was listed and still is an orphan.
pub fn both(listed: Decision, again: Decision) -> Doomed {
    let still: HashSet<_> = again.leftovers.into_iter().map(|entry| entry.location).collect();
    let open: HashSet<_> = again.uploads.into_iter().map(|open| open.upload.id).collect();
    let mut doomed = Doomed { files: listed.leftovers, uploads: listed.uploads };
    doomed.files.retain(|entry| still.contains(&entry.location));
    doomed.uploads.retain(|upload| open.contains(&upload.upload.id));
    doomed
}

pub async fn delete(
    stores: &Stores,
    job: &Location,
    doomed: &Doomed,
    args: &Orphans,
    common: &Common,
) -> Result<Deleted> {
    let mut journal = Journal::create(args.journal.as_deref())?;
    journal.planned(&doomed.files, &doomed.uploads)?;
    let mut done = Deleted {
        planned: doomed.files.len() as u64,
        deleted: 0,
        bytes: 0,
        planned_uploads: doomed.uploads.len() as u64,
        aborted: 0,
        failed: Vec::new(),
        journal: journal.path.display().to_string(),
    };
    files(stores, &doomed.files, &mut journal, &mut done, common).await?;
    uploads(stores, &doomed.uploads, &mut journal, &mut done).await?;
    journal.settle()?;
    // The directories of checkpoints that left nothing else.
    let directories: HashSet<_> =
        doomed.files.iter().filter_map(|entry| entry.location.parent()).collect();
    for directory in directories {
        if directory.below(job).is_some_and(|below| below.starts_with("chk-")) {
            stores.delete_empty(&directory).await;
        }
    }
    Ok(done)
}

async fn files(
    stores: &Stores,
    doomed: &[Entry],
    journal: &mut Journal,
    done: &mut Deleted,
    common: &Common,
) -> Result<()> {
    let bar = progress::bar(common.quiet, doomed.len() as u64, "deleting");
    let mut results = stream::iter(doomed)
        .map(|entry| async move { (entry, stores.delete(&entry.location).await) })
        .buffer_unordered(stores.concurrency);
    while let Some((entry, result)) = results.next().await {
        journal.deleted(entry, &result)?;
        bar.inc(1);
        match result {
            Ok(()) => {
                done.deleted += 1;
                done.bytes += entry.size;
            }
            Err(failure) => done.failed.push(failure.text),
        }
    }
    bar.finish_and_clear();
    Ok(())
}

async fn uploads(
    stores: &Stores,
    doomed: &[OpenUpload],
    journal: &mut Journal,
    done: &mut Deleted,
) -> Result<()> {
    let mut results = stream::iter(doomed)
        .map(|open| async move { (open, stores.abort(&open.upload).await) })
        .buffer_unordered(stores.concurrency);
    while let Some((open, result)) = results.next().await {
        journal.aborted(open, &result)?;
        match result {
            Ok(()) => {
                done.aborted += 1;
                done.bytes += open.size;
            }
            Err(failure) => done.failed.push(failure.text),
        }
    }
    Ok(())
}
