//! What a path leads to: a checkpoint or savepoint, a job's directory, or a directory that holds several of
//! them. Reads no `_metadata`.
use std::time::SystemTime;

use futures::stream::{self, StreamExt, TryStreamExt};

use crate::failure::{Failure, Result, MISSING, NO_METADATA};
use crate::snapshot::METADATA;
use crate::store::{Location, Stores};

pub enum Target {
    Snapshot(Location),
    /// A job's directory and its checkpoints, in the order of their ids.
    Job {
        directory: Location,
        checkpoints: Vec<Checkpoint>,
    },
    /// What `execution.checkpointing.dir` and savepoint directories are.
    Several(Several),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    pub id: u64,
    pub directory: Location,
    /// Whether it has a `_metadata`: one without is in flight, or was left over.
    pub complete: bool,
}

/// Jobs and snapshots that lie right below a directory, by their names.
pub struct Several {
    pub directory: Location,
    pub jobs: Vec<FoundJob>,
    pub snapshots: Vec<FoundSnapshot>,
}

pub struct FoundJob {
    pub directory: Location,
    /// In the order of their ids.
    pub checkpoints: Vec<Checkpoint>,
    /// When the newest complete one was written.
    pub written: Option<SystemTime>,
}

pub struct FoundSnapshot {
    pub directory: Location,
    pub written: Option<SystemTime>,
}

pub async fn find(stores: &Stores, path: &str) -> Result<Target> {
    let location = Location::parse(path)?;
    if location.name() == METADATA {
        let directory = location.parent();
        return Ok(Target::Snapshot(directory.ok_or_else(|| no_metadata(&location))?));
    }
    if stores.size(&location.join(METADATA)).await?.is_some() {
        return Ok(Target::Snapshot(location));
    }
    let checkpoints = checkpoints(stores, &location).await?;
    if !checkpoints.is_empty() {
        return Ok(Target::Job { directory: location, checkpoints });
    }
    let several = below(stores, &location).await?;
    if !several.jobs.is_empty() || !several.snapshots.is_empty() {
        return Ok(Target::Several(several));
    }
    Err(match location.key() {
        "" => no_metadata(&location),
        _ if stores.size(&location).await?.is_some() => a_file(&location),
        _ => no_metadata(&location),
    })
}

fn no_metadata(location: &Location) -> Failure {
    let text = format!(
        "{location}: neither a {METADATA} nor checkpoints (chk-*) are there, nor jobs or savepoints below it. \
         Name a checkpoint, a savepoint or a job's checkpoint directory"
    );
    Failure::new(NO_METADATA, text)
}

fn a_file(location: &Location) -> Failure {
    let text = format!(
        "{location} is a file. Name the directory of a checkpoint or savepoint, its {METADATA}, or a job's \
         checkpoint directory; who uses a file says: ferrostate files JOB --of {}",
        location.name()
    );
    Failure::new(NO_METADATA, text)
}

/// The `chk-*` of a job's directory.
pub async fn checkpoints(stores: &Stores, directory: &Location) -> Result<Vec<Checkpoint>> {
    let mut found = Vec::new();
    for name in names(stores, directory).await? {
        let Some(id) = name.strip_prefix("chk-").and_then(|id| id.parse().ok()) else { continue };
        let directory = directory.join(&name);
        let complete = stores.size(&directory.join(METADATA)).await?.is_some();
        found.push(Checkpoint { id, directory, complete });
    }
    found.sort_by(|a, b| a.id.cmp(&b.id).then(a.directory.cmp(&b.directory)));
    Ok(found)
}

async fn names(stores: &Stores, directory: &Location) -> Result<Vec<String>> {
    match stores.directories(directory).await {
        Err(failure) if failure.code == MISSING => Ok(Vec::new()),
        names => names,
    }
}

enum Found {
    Job(FoundJob),
    Snapshot(FoundSnapshot),
    Nothing,
}

async fn below(stores: &Stores, directory: &Location) -> Result<Several> {
    let names = names(stores, directory).await?;
    let looked = stream::iter(names.into_iter().map(|name| directory.join(&name)))
        .map(|directory| look(stores, directory))
        .buffer_unordered(stores.concurrency);
    let found: Vec<_> = looked.try_collect().await?;
    let mut several =
        Several { directory: directory.clone(), jobs: Vec::new(), snapshots: Vec::new() };
    for found in found {
        match found {
            Found::Job(job) => several.jobs.push(job),
            Found::Snapshot(snapshot) => several.snapshots.push(snapshot),
            Found::Nothing => {}
        }
    }
    several.jobs.sort_by(|a, b| a.directory.cmp(&b.directory));
    several.snapshots.sort_by(|a, b| a.directory.cmp(&b.directory));
    Ok(several)
}

async fn look(stores: &Stores, directory: Location) -> Result<Found> {
    let metadata = directory.join(METADATA);
    if stores.size(&metadata).await?.is_some() {
        let written = stores.modified(&metadata).await?;
        return Ok(Found::Snapshot(FoundSnapshot { directory, written }));
    }
    let checkpoints = checkpoints(stores, &directory).await?;
    if checkpoints.is_empty() {
        return Ok(Found::Nothing);
    }
    let newest = checkpoints.iter().rev().find(|checkpoint| checkpoint.complete);
    let written = match newest {
        Some(newest) => stores.modified(&newest.directory.join(METADATA)).await?,
        None => None,
    };
    Ok(Found::Job(FoundJob { directory, checkpoints, written }))
}

impl Target {
    /// The snapshots that are to be read: of jobs, all complete ones.
    pub fn snapshots(&self) -> Vec<Location> {
        let of = |checkpoints: &[Checkpoint]| -> Vec<Location> {
            let complete = checkpoints.iter().filter(|checkpoint| checkpoint.complete);
            complete.map(|checkpoint| checkpoint.directory.clone()).collect()
        };
        match self {
            Self::Snapshot(directory) => vec![directory.clone()],
            Self::Job { checkpoints, .. } => of(checkpoints),
            Self::Several(several) => {
                let jobs = several.jobs.iter().flat_map(|job| of(&job.checkpoints));
                let alone = several.snapshots.iter().map(|snapshot| snapshot.directory.clone());
                jobs.chain(alone).collect()
            }
        }
    }

    /// For commands about one job or snapshot.
    pub fn single(self) -> Result<Self> {
        match self {
            Self::Several(several) => Err(several.failure()),
            single => Ok(single),
        }
    }
}

impl Several {
    /// What is there instead of the one that was asked for.
    pub fn failure(&self) -> Failure {
        const MOST: usize = 10;
        let jobs = self.jobs.iter().map(|job| format!("  {} (job)", job.directory));
        let snapshots = self.snapshots.iter().map(|snapshot| format!("  {}", snapshot.directory));
        let all: Vec<_> = jobs.chain(snapshots).collect();
        let mut text = format!("{} holds several; name one of them:\n", self.directory);
        text += &all.iter().take(MOST).cloned().collect::<Vec<_>>().join("\n");
        if all.len() > MOST {
            text +=
                &format!("\n  and {} more (ferrostate show {})", all.len() - MOST, self.directory);
        }
        Failure::new(NO_METADATA, text)
    }
}
