//! `ferrostate show`: reads a snapshot and the MANIFESTs of its databases, or all of a job's, and says who
//! holds how much. What is counted how: `sizes/`, `usage.rs`; how it is said: `text.rs`.
mod several;
mod text;

use std::time::SystemTime;

use futures::stream::{self, StreamExt};
use serde::Serialize;

use crate::args::{Common, Show};
use crate::databases::Databases;
use crate::failure::{Failure, Result, CORRUPT};
use crate::find::{find, Checkpoint, Target};
use crate::progress;
use crate::render::steers;
use crate::sizes::SnapshotSizes;
use crate::snapshot::Snapshot;
use crate::store::{Location, Stores};
use crate::usage::{Shared, Uses};

/// A job's directory.
#[derive(Debug, Serialize)]
struct Job {
    job: String,
    checkpoints: Vec<Retained>,
    /// Directories without `_metadata`: in flight, or left over.
    incomplete: Vec<String>,
    /// What lies in `shared/`, and why.
    shared: Option<Shared>,
    /// What could not be looked at.
    notes: Vec<String>,
    latest: SnapshotSizes,
}

#[derive(Debug, Serialize)]
struct Retained {
    id: u64,
    path: String,
    /// Why it cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    full: i64,
    new: i64,
    files: usize,
    inline: i64,
}

pub async fn run(stores: &Stores, args: &Show, common: &Common) -> Result<String> {
    match find(stores, &args.path).await? {
        Target::Snapshot(directory) => {
            let shown = read(stores, directory, common).await?;
            Ok(if common.json { json(&shown)? } else { text::of_snapshot(&shown, args.top) })
        }
        Target::Job { directory, checkpoints } => {
            let job = job(stores, &directory, &checkpoints, common).await?;
            Ok(if common.json { json(&job)? } else { text::of_job(&job, args.top) })
        }
        Target::Several(found) => {
            let listed = several::of(&found);
            Ok(if common.json { json(&listed)? } else { several::text(&listed, args.top) })
        }
    }
}

async fn read(stores: &Stores, directory: Location, common: &Common) -> Result<SnapshotSizes> {
    let snapshot = Snapshot::read(stores, directory).await?;
    let bar = progress::bar(common.quiet, 1, "reading MANIFESTs");
    let databases = Databases::read(stores, &snapshot).await;
    bar.finish_and_clear();
    Ok(SnapshotSizes::of(&snapshot, &databases))
}

async fn job(
    stores: &Stores,
    directory: &Location,
    checkpoints: &[Checkpoint],
    common: &Common,
) -> Result<Job> {
    let (complete, incomplete): (Vec<_>, Vec<_>) = checkpoints.iter().partition(|c| c.complete);
    let bar = progress::bar(common.quiet, complete.len() as u64, "reading checkpoints");
    let mut reading =
        stream::iter(&complete).map(|checkpoint| retained(stores, checkpoint)).buffered(8);
    let mut uses = Uses::new(directory.clone());
    let mut retained: Vec<Retained> = Vec::new();
    let mut notes = Vec::new();
    while let Some((read, snapshot)) = reading.next().await {
        bar.inc(1);
        retained.push(read);
        match snapshot {
            Some(snapshot) => uses.add(stores, &snapshot),
            None => notes.push(
                "what the unreadable checkpoint refers to in shared/ is not known: deleting another one may free less than is said"
                    .to_owned(),
            ),
        }
    }
    bar.finish_and_clear();
    let readable = complete.iter().zip(&retained).rev().find(|(_, read)| read.error.is_none());
    let Some((latest, _)) = readable else {
        return Err(match retained.into_iter().find_map(|read| read.error) {
            Some(error) => Failure::new(CORRUPT, error),
            None => {
                let text = format!("{directory}: none of its chk-* has a _metadata");
                Failure::new(crate::failure::NO_METADATA, text)
            }
        });
    };
    // Whoever may not list the directory still learns of the checkpoints.
    let shared = match stores.list(&uses.shared()).await {
        Ok(listed) => Some(uses.finish(&listed, SystemTime::now())),
        Err(failure) => {
            notes.push(format!("what lies in shared/ is not known: {failure}"));
            None
        }
    };
    notes.dedup();
    Ok(Job {
        job: directory.to_string(),
        latest: read(stores, latest.directory.clone(), common).await?,
        incomplete: incomplete.iter().map(|checkpoint| checkpoint.directory.to_string()).collect(),
        checkpoints: retained,
        shared,
        notes,
    })
}

async fn retained(stores: &Stores, checkpoint: &Checkpoint) -> (Retained, Option<Snapshot>) {
    let mut retained = Retained {
        id: checkpoint.id,
        path: checkpoint.directory.to_string(),
        error: None,
        kind: None,
        full: 0,
        new: 0,
        files: 0,
        inline: 0,
    };
    let snapshot = match Snapshot::read(stores, checkpoint.directory.clone()).await {
        Ok(snapshot) => snapshot,
        Err(failure) => {
            retained.error = Some(failure.text);
            return (retained, None);
        }
    };
    let sizes = SnapshotSizes::of(&snapshot, &Databases::none());
    let SnapshotSizes { kind, full, new, files, inline, .. } = sizes;
    (Retained { kind, full, new, files, inline, ..retained }, Some(snapshot))
}

pub fn json(value: &impl Serialize) -> Result<String> {
    let text = serde_json::to_string_pretty(value).map_err(Failure::unable)?;
    // They stand in strings only, and JSON allows them there; a terminal does not.
    let mut escaped = String::with_capacity(text.len() + 1);
    for c in text.chars() {
        match c {
            c if c != '\n' && steers(c) => escaped += &format!("\\u{:04x}", u32::from(c)),
            c => escaped.push(c),
        }
    }
    escaped.push('\n');
    Ok(escaped)
}
