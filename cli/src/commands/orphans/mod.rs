//! `ferrostate orphans`: lists what nothing refers to in a job's directory, and deletes it if told to
//! (`delete.rs`). What is an orphan is decided in `leftovers.rs`, what is in use is read by `in_use.rs`, how it
//! is said stands in `text.rs`.
mod delete;
mod text;

use std::collections::BTreeMap;
use std::time::SystemTime;

use futures::stream::{self, StreamExt};
use serde::Serialize;

pub use text::{age, cost, reason, until};

use super::show::json;
use crate::args::{Common, Orphans};
use crate::failure::{Failure, Result, NO_METADATA, UNABLE, USAGE};
use crate::find::{find, Target};
use crate::in_use::Read;
use crate::leftovers::{decide, decide_uploads, Decision, Kept, OpenUpload, Rules, Spared};
use crate::progress;
use crate::store::{Entry, Location, Stores};

#[derive(Debug, Serialize)]
pub struct Report {
    pub job: String,
    /// Whose files are in use.
    pub snapshots: Vec<String>,
    pub files: u64,
    pub bytes: u64,
    /// Of files and uploads, in the currency.
    pub per_month: f64,
    /// Of a GiB in a month.
    pub price: f64,
    pub currency: String,
    /// Oldest first.
    pub orphans: Vec<Orphan>,
    pub spared: Vec<SparedFiles>,
    /// Multipart uploads that were never ended, oldest first.
    pub uploads: Vec<OrphanedUpload>,
    pub upload_bytes: u64,
    pub spared_uploads: Vec<SparedFiles>,
    /// What was not looked at.
    pub notes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deleted: Option<delete::Deleted>,
}

#[derive(Debug, Serialize)]
pub struct Orphan {
    pub path: String,
    pub size: u64,
    pub age_seconds: u64,
}

#[derive(Debug, Serialize)]
pub struct OrphanedUpload {
    pub path: String,
    pub id: String,
    pub size: u64,
    pub age_seconds: u64,
}

#[derive(Debug, Serialize)]
pub struct SparedFiles {
    pub why: Spared,
    pub files: u64,
    pub bytes: u64,
    /// Until age alone no longer spares the first of them, and all; null where it is not about age.
    pub first_in_seconds: Option<u64>,
    pub all_in_seconds: Option<u64>,
}

/// What was found, and by what.
struct Look {
    read: Read,
    decision: Decision,
    now: SystemTime,
    notes: Vec<String>,
}

pub async fn run(stores: &Stores, args: &Orphans, common: &Common) -> Result<(String, u8)> {
    let job = job(stores, &args.job).await?;
    let found = look(stores, &job, args, common).await?;
    let mut report = report(&job, &found, args);
    let nothing = report.orphans.is_empty() && report.uploads.is_empty();
    if !args.delete || nothing {
        return Ok((said(&report, common)?, 0));
    }
    if !args.although_damaged {
        delete::whole(stores, &job, args, common).await?;
    }
    if !args.yes {
        progress::asking(|| delete::confirm(&report))?;
    }
    // A checkpoint may have been restored meanwhile: only what is still an orphan goes.
    let again = look(stores, &job, args, common).await?;
    let doomed = delete::both(found.decision, again.decision);
    let deleted = delete::delete(stores, &job, &doomed, args, common).await?;
    let code = if deleted.failed.is_empty() { 0 } else { UNABLE };
    report.deleted = Some(deleted);
    Ok((said(&report, common)?, code))
}

/// The dry run: what would be listed.
pub async fn listed(stores: &Stores, args: &Orphans, common: &Common) -> Result<Report> {
    let job = Location::parse(&args.job)?;
    let found = look(stores, &job, args, common).await?;
    Ok(report(&job, &found, args))
}

async fn job(stores: &Stores, path: &str) -> Result<Location> {
    match find(stores, path).await?.single()? {
        Target::Job { directory, .. } => Ok(directory),
        Target::Snapshot(directory) => {
            let above = directory.parent().map(|above| format!(", as in {above}"));
            let text = format!(
                "{directory} is a single checkpoint or savepoint; orphans are looked for in a job's checkpoint \
                 directory{}",
                above.unwrap_or_default()
            );
            Err(Failure::new(USAGE, text))
        }
        Target::Several(several) => Err(several.failure()),
    }
}

fn said(report: &Report, common: &Common) -> Result<String> {
    if common.json {
        json(report)
    } else {
        Ok(text::of(report))
    }
}

/// What is in use is read before the files are listed and again after it: a checkpoint that completes or
/// is subsumed meanwhile is seen in one of the two.
async fn look(stores: &Stores, job: &Location, args: &Orphans, common: &Common) -> Result<Look> {
    let bar = progress::bar(common.quiet, 5, "looking at checkpoints and files");
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
    let mut notes = Vec::new();
    // Whoever may not list them still learns of the files.
    let uploads = uploads(stores, job).await.unwrap_or_else(|failure| {
        notes.push(format!("open multipart uploads were not looked for: {failure}"));
        Vec::new()
    });
    bar.inc(1);
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
    let mut decision = decide(job, entries, &read.in_use, &rules);
    decide_uploads(job, uploads, &read.in_use, &rules, &mut decision);
    Ok(Look { read, decision, now, notes })
}

async fn uploads(stores: &Stores, job: &Location) -> Result<Vec<OpenUpload>> {
    let open = stores.uploads(job).await?.unwrap_or_default();
    let sized = stream::iter(open).map(|upload| async move {
        // One that ends meanwhile has no parts any more.
        let size = stores.upload_size(&upload).await.unwrap_or_default();
        OpenUpload { upload, size }
    });
    Ok(sized.buffer_unordered(stores.concurrency).collect().await)
}

fn report(job: &Location, found: &Look, args: &Orphans) -> Report {
    let Look { read, decision, now, notes } = found;
    let age = |since| now.duration_since(since).unwrap_or_default().as_secs();
    let orphan = |entry: &Entry| Orphan {
        path: entry.location.to_string(),
        size: entry.size,
        age_seconds: age(entry.modified),
    };
    let upload = |open: &OpenUpload| OrphanedUpload {
        path: open.upload.location.to_string(),
        id: open.upload.id.clone(),
        size: open.size,
        age_seconds: age(open.upload.begun),
    };
    let sum = |sizes: &mut dyn Iterator<Item = u64>| sizes.fold(0, u64::saturating_add);
    let bytes = sum(&mut decision.leftovers.iter().map(|entry| entry.size));
    let upload_bytes = sum(&mut decision.uploads.iter().map(|open| open.size));
    let all = bytes.saturating_add(upload_bytes);
    Report {
        job: job.to_string(),
        snapshots: read.snapshots.clone(),
        files: decision.leftovers.len() as u64,
        bytes,
        per_month: all as f64 / f64::from(1 << 30) * args.price,
        price: args.price,
        currency: args.currency.clone(),
        orphans: decision.leftovers.iter().map(orphan).collect(),
        spared: spared(&decision.spared, *now),
        uploads: decision.uploads.iter().map(upload).collect(),
        upload_bytes,
        spared_uploads: spared(&decision.spared_uploads, *now),
        notes: notes.clone(),
        deleted: None,
    }
}

fn spared(kept: &BTreeMap<Spared, Kept>, now: SystemTime) -> Vec<SparedFiles> {
    let seconds = |until: SystemTime| until.duration_since(now).unwrap_or_default().as_secs();
    let spared = kept.iter().map(|(why, kept)| SparedFiles {
        why: *why,
        files: kept.files,
        bytes: kept.bytes,
        first_in_seconds: kept.until.map(|(first, _)| seconds(first)),
        all_in_seconds: kept.until.map(|(_, all)| seconds(all)),
    });
    spared.collect()
}
