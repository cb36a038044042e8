//! `ferrostate report`: reads all of a job's checkpoints and writes one page about them. How it looks:
//! `page/`.
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::Parser;
use serde::Serialize;

use super::orphans;
use super::show::json;
use crate::args::{Command, CommandLine, Common, Report};
use crate::changes::{compare, Changes, Side};
use crate::databases::Databases;
use crate::failure::{Failure, Result, NO_METADATA};
use crate::find::{find, Target};
use crate::page;
use crate::progress;
use crate::sizes::SnapshotSizes;
use crate::snapshot::Snapshot;
use crate::store::{Location, Stores};
use crate::usage::{Shared, Uses};

/// All that the page is made of.
#[derive(Debug, Serialize)]
pub struct Contents {
    pub job: String,
    /// Seconds since 1970.
    pub made: u64,
    pub checkpoints: Vec<Retained>,
    pub latest: SnapshotSizes,
    /// From each checkpoint to the next.
    pub steps: Vec<Step>,
    pub orphans: Option<orphans::Report>,
    /// What lies in `shared/`, and why.
    pub shared: Option<Shared>,
    /// What could not be read.
    pub notes: Vec<String>,
}

#[derive(Debug, Serialize)]
pub struct Retained {
    pub id: i64,
    pub kind: Option<&'static str>,
    /// When its `_metadata` was written.
    pub written: u64,
    pub full: i64,
    pub new: i64,
    pub files: usize,
}

#[derive(Debug, Serialize)]
pub struct Step {
    pub from: i64,
    pub to: i64,
    #[serde(flatten)]
    pub changes: Changes,
}

pub async fn run(stores: &Stores, args: &Report, common: &Common) -> Result<String> {
    let contents = contents(stores, args, common).await?;
    if common.json {
        return json(&contents);
    }
    let page = page::html(&contents);
    std::fs::write(&args.out, page)
        .map_err(|cause| Failure::unable(format!("{}: {cause}", args.out.display())))?;
    Ok(format!("{}\n", args.out.display()))
}

async fn contents(stores: &Stores, args: &Report, common: &Common) -> Result<Contents> {
    let target = find(stores, &args.job).await?.single()?;
    let directories = target.snapshots();
    let bar = progress::bar(common.quiet, directories.len() as u64, "reading checkpoints");
    let mut checkpoints = Vec::new();
    let mut steps = Vec::new();
    let mut notes = Vec::new();
    let mut before: Option<(Snapshot, Databases)> = None;
    let mut uses = match &target {
        Target::Job { directory, .. } => Some(Uses::new(directory.clone())),
        _ => None,
    };
    for directory in directories {
        bar.inc(1);
        let snapshot = match Snapshot::read(stores, directory).await {
            Ok(snapshot) => snapshot,
            Err(failure) => {
                notes.push(failure.text);
                continue;
            }
        };
        let databases = Databases::read(stores, &snapshot).await;
        if let Some(uses) = &mut uses {
            uses.add(stores, &snapshot);
        }
        checkpoints.push(retained(stores, &snapshot).await?);
        if let Some((from, from_databases)) = &before {
            let from_side = Side { snapshot: from, databases: from_databases };
            let changes = compare(&from_side, &Side { snapshot: &snapshot, databases: &databases });
            let (from, to) = (from.metadata.checkpoint_id, snapshot.metadata.checkpoint_id);
            steps.push(Step { from, to, changes });
        }
        before = Some((snapshot, databases));
    }
    bar.finish_and_clear();
    let Some((latest, databases)) = before else {
        let text = notes.pop().unwrap_or_else(|| format!("{}: no _metadata is there", args.job));
        return Err(Failure::new(NO_METADATA, text));
    };
    let latest = SnapshotSizes::of(&latest, &databases);
    let orphans = match &target {
        Target::Snapshot(_) | Target::Several(_) => None,
        Target::Job { directory, .. } => match listed(stores, directory, args, common).await {
            Ok(report) => Some(report),
            Err(failure) => {
                notes.push(format!("orphans were not looked for: {failure}"));
                None
            }
        },
    };
    let shared = match uses {
        None => None,
        Some(uses) => match stores.list(&uses.shared()).await {
            Ok(listed) => Some(uses.finish(&listed, SystemTime::now())),
            Err(failure) => {
                notes.push(format!("what lies in shared/ is not known: {failure}"));
                None
            }
        },
    };
    let made = seconds(SystemTime::now());
    let job = args.job.clone();
    Ok(Contents { job, made, checkpoints, latest, steps, orphans, shared, notes })
}

async fn retained(stores: &Stores, snapshot: &Snapshot) -> Result<Retained> {
    let sizes = SnapshotSizes::of(snapshot, &Databases::none());
    let written = stores.modified(&snapshot.directory.join("_metadata")).await?;
    Ok(Retained {
        id: snapshot.metadata.checkpoint_id,
        kind: sizes.kind,
        written: written.map(seconds).unwrap_or_default(),
        full: sizes.full,
        new: sizes.new,
        files: sizes.files,
    })
}

/// By the rules that `ferrostate orphans` has when it is given nothing else.
async fn listed(
    stores: &Stores,
    job: &Location,
    args: &Report,
    common: &Common,
) -> Result<orphans::Report> {
    let line = CommandLine::try_parse_from(["ferrostate", "orphans", &job.to_string()]);
    let Command::Orphans(mut rules) = line.map_err(Failure::unable)?.command else {
        return Err(Failure::unable("the rules of orphans"));
    };
    rules.savepoint.clone_from(&args.savepoint);
    orphans::listed(stores, &rules, common).await
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs()
}
