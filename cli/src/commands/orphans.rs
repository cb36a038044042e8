//! `ferrostate orphans`: lists what nothing refers to in a job's directory, and deletes it if told to. What
//! is an orphan is decided in `leftovers.rs`, what is in use is read by `in_use.rs`.
use std::collections::HashSet;
use std::io::{BufRead, IsTerminal, Write};
use std::time::SystemTime;

use futures::stream::{self, StreamExt};
use serde::Serialize;

use super::show::json;
use crate::args::{Common, Orphans};
use crate::failure::{Failure, Result, NO_METADATA, UNABLE};
use crate::in_use::Read;
use crate::journal::Journal;
use crate::leftovers::{decide, Decision, Rules, Spared};
use crate::progress;
use crate::render::{count, size, Table};
use crate::store::{Entry, Location, Stores};

#[derive(Debug, Serialize)]
pub struct Report {
    pub job: String,
    /// Whose files are in use.
    pub snapshots: Vec<String>,
    pub files: u64,
    pub bytes: u64,
    pub per_month: f64,
    /// Oldest first.
    pub orphans: Vec<Orphan>,
    pub spared: Vec<SparedFiles>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deleted: Option<Deleted>,
}

#[derive(Debug, Serialize)]
pub struct Orphan {
    pub path: String,
    pub size: u64,
    pub age_seconds: u64,
}

#[derive(Debug, Serialize)]
pub struct SparedFiles {
    pub why: Spared,
    pub files: u64,
    pub bytes: u64,
}

#[derive(Debug, Serialize)]
pub struct Deleted {
    planned: u64,
    deleted: u64,
    bytes: u64,
    failed: Vec<String>,
    journal: String,
}

pub async fn run(stores: &Stores, args: &Orphans, common: &Common) -> Result<(String, u8)> {
    let job = Location::parse(&args.job)?;
    let (read, decision, now) = look(stores, &job, args, common).await?;
    let mut report = report(&job, &read, &decision, now, args.price);
    if !args.delete || decision.leftovers.is_empty() {
        return Ok((said(&report, common)?, 0));
    }
    if !args.yes {
        confirm(&report)?;
    }
    // A checkpoint may have been restored meanwhile: only what is still an orphan goes.
    let (_, again, _) = look(stores, &job, args, common).await?;
    let still: HashSet<_> = again.leftovers.into_iter().map(|entry| entry.location).collect();
    let mut doomed = decision.leftovers;
    doomed.retain(|entry| still.contains(&entry.location));
    let deleted = delete(stores, &job, &doomed, args, common).await?;
    let code = if deleted.failed.is_empty() { 0 } else { UNABLE };
    report.deleted = Some(deleted);
    Ok((said(&report, common)?, code))
}

/// The dry run: what would be listed.
pub async fn listed(stores: &Stores, args: &Orphans, common: &Common) -> Result<Report> {
    let job = Location::parse(&args.job)?;
    let (read, decision, now) = look(stores, &job, args, common).await?;
    Ok(report(&job, &read, &decision, now, args.price))
}

/// What is in use is read before the files are listed and again after it: a checkpoint that completes or
/// is subsumed meanwhile is seen in one of the two.
async fn look(
    stores: &Stores,
    job: &Location,
    args: &Orphans,
    common: &Common,
) -> Result<(Read, Decision, SystemTime)> {
    let bar = progress::bar(common.quiet, 4, "looking at checkpoints and files");
    let now = SystemTime::now();
    let mut read = Read::default();
    read.job(stores, job).await?;
    bar.inc(1);
    if read.snapshots.is_empty() {
        let text = "no checkpoint with a _metadata; all files would look like orphans, so nothing is listed";
        return Err(Failure::new(NO_METADATA, format!("{job}: {text}")));
    }
    read.siblings(stores, job).await?;
    for path in args.savepoint.iter().chain(&args.also) {
        read.elsewhere(stores, path).await?;
    }
    bar.inc(1);
    let newest = read.in_use.newest;
    let entries = stores.list(job).await?;
    bar.inc(1);
    read.listed(stores, &entries).await?;
    read.job(stores, job).await?;
    // What completed only now says nothing of what was in flight when the files were listed.
    read.in_use.newest = newest;
    bar.finish_and_clear();
    read.snapshots.sort();
    read.snapshots.dedup();
    let rules = Rules {
        now,
        min_age: args.min_age,
        checkpoint_timeout: args.checkpoint_timeout,
        stopped: args.stopped,
    };
    let decision = decide(job, entries, &read.in_use, &rules);
    Ok((read, decision, now))
}

fn report(job: &Location, read: &Read, decision: &Decision, now: SystemTime, price: f64) -> Report {
    let orphan = |entry: &Entry| Orphan {
        path: entry.location.to_string(),
        size: entry.size,
        age_seconds: now.duration_since(entry.modified).unwrap_or_default().as_secs(),
    };
    let bytes: u64 = decision.leftovers.iter().map(|entry| entry.size).sum();
    let spared = |(why, (files, bytes)): (&Spared, &(u64, u64))| SparedFiles {
        why: *why,
        files: *files,
        bytes: *bytes,
    };
    Report {
        job: job.to_string(),
        snapshots: read.snapshots.clone(),
        files: decision.leftovers.len() as u64,
        bytes,
        per_month: bytes as f64 / f64::from(1 << 30) * price,
        orphans: decision.leftovers.iter().map(orphan).collect(),
        spared: decision.spared.iter().map(spared).collect(),
        deleted: None,
    }
}

fn said(report: &Report, common: &Common) -> Result<String> {
    if common.json {
        return json(report);
    }
    let mut table = Table::new(&[">AGE", ">SIZE", "PATH"], 0);
    for orphan in &report.orphans {
        let path = orphan.path.strip_prefix(&format!("{}/", report.job)).unwrap_or(&orphan.path);
        table.row([age(orphan.age_seconds), size(orphan.size as i64), path.to_owned()]);
    }
    let mut text = format!("{}\n", report.job);
    if !table.is_empty() {
        text += &table.text();
    }
    text += &format!(
        "{}, {}, about {:.2} a month; {} checkpoints and savepoints were read\n",
        count(report.files, "orphan"),
        size(report.bytes as i64),
        report.per_month,
        report.snapshots.len(),
    );
    for spared in &report.spared {
        let why = reason(spared.why);
        let bytes = size(spared.bytes as i64);
        let files = count(spared.files, "file");
        text += &format!("not listed: {files}, {bytes}, {why}\n");
    }
    match &report.deleted {
        None if report.files > 0 => text += "nothing was deleted (--delete does)\n",
        None => {}
        Some(done) => {
            text += &format!(
                "deleted {} of {} planned, {}; journal: {}\n",
                done.deleted,
                done.planned,
                size(done.bytes as i64),
                done.journal,
            );
            for failed in &done.failed {
                text += &format!("failed: {failed}\n");
            }
        }
    }
    Ok(text)
}

/// Why a file is not listed, for people.
pub fn reason(why: Spared) -> &'static str {
    match why {
        Spared::Young => "younger than --min-age",
        Spared::InFlight => "perhaps of a checkpoint in flight",
        Spared::TaskOwned => "in taskowned/ and younger than a day",
        Spared::Merging => "in directories of file merging",
        Spared::Unknown => "in no directory that Flink writes checkpoints to",
    }
}

pub fn age(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// Whoever deletes types how many files.
fn confirm(report: &Report) -> Result<()> {
    let input = std::io::stdin();
    if !input.is_terminal() {
        return Err(Failure::unable("--delete needs --yes where nobody can be asked"));
    }
    let bytes = size(report.bytes as i64);
    let files = count(report.files, "file");
    eprint!("{files}, {bytes}, would be deleted for good. Type their number: ");
    let _ = std::io::stderr().flush();
    let mut line = String::new();
    input.lock().read_line(&mut line).map_err(Failure::unable)?;
    match line.trim() == report.files.to_string() {
        true => Ok(()),
        false => Err(Failure::unable("not confirmed; nothing was deleted")),
    }
}

async fn delete(
    stores: &Stores,
    job: &Location,
    doomed: &[Entry],
    args: &Orphans,
    common: &Common,
) -> Result<Deleted> {
    let mut journal = Journal::create(args.journal.as_deref())?;
    journal.planned(doomed)?;
    let bar = progress::bar(common.quiet, doomed.len() as u64, "deleting");
    let mut results = stream::iter(doomed)
        .map(|entry| async move { (entry, stores.delete(&entry.location).await) })
        .buffer_unordered(stores.concurrency);
    let mut done = Deleted {
        planned: doomed.len() as u64,
        deleted: 0,
        bytes: 0,
        failed: Vec::new(),
        journal: journal.path.display().to_string(),
    };
    while let Some((entry, result)) = results.next().await {
        journal.done(entry, &result)?;
        bar.inc(1);
        match result {
            Ok(()) => {
                done.deleted += 1;
                done.bytes += entry.size;
            }
            Err(failure) => done.failed.push(failure.text),
        }
    }
    drop(results);
    journal.settle()?;
    bar.finish_and_clear();
    // The directories of checkpoints that left nothing else.
    let directories: HashSet<_> =
        doomed.iter().filter_map(|entry| entry.location.parent()).collect();
    for directory in directories {
        if directory.below(job).is_some_and(|below| below.starts_with("chk-")) {
            stores.delete_empty(&directory).await;
        }
    }
    Ok(done)
}
