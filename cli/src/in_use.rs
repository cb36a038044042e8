//! What of a job's directory is in use: every `_metadata` in it, beside it and elsewhere, read. One that
//! cannot be read is a refusal: what it refers to is not known.
use std::collections::{BTreeSet, HashSet};

use ferrostate_formats::metadata::{Metadata, OperatorState, Stream};

use crate::failure::{Failure, Result, CORRUPT, MISSING, NO_METADATA};
use crate::find::{checkpoints, find, Checkpoint, Target};
use crate::leftovers::InUse;
use crate::snapshot::Snapshot;
use crate::store::{Location, Stores};

const METADATA: &str = "_metadata";
/// Of a job whose checkpoints go while they are read.
const LISTINGS: usize = 16;

/// What was read.
#[derive(Debug, Default)]
pub struct Read {
    pub in_use: InUse,
    /// Paths of all snapshots that were read, in this directory and elsewhere.
    pub snapshots: Vec<String>,
}

impl Read {
    /// All complete checkpoints of the job. One that is deleted while this reads is passed over; since the
    /// one that subsumed it may not have been listed yet, they are listed until two listings are the same.
    pub async fn job(&mut self, stores: &Stores, job: &Location) -> Result<()> {
        let mut listed = checkpoints(stores, job).await?;
        let mut read = HashSet::new();
        for _ in 0..LISTINGS {
            for checkpoint in &listed {
                if !checkpoint.complete {
                    known(stores, checkpoint).await?;
                } else if !read.contains(&checkpoint.directory)
                    && self.checkpoint(stores, checkpoint).await?
                {
                    read.insert(checkpoint.directory.clone());
                }
            }
            let again = checkpoints(stores, job).await?;
            if again == listed {
                return Ok(());
            }
            listed = again;
        }
        let text = "refused, since its checkpoints come and go faster than they are read";
        Err(Failure::unable(format!("{job}: {text}")))
    }

    /// Whether it is there.
    async fn checkpoint(&mut self, stores: &Stores, checkpoint: &Checkpoint) -> Result<bool> {
        let path = checkpoint.directory.join(METADATA);
        if !self.snapshot(stores, checkpoint.directory.clone()).await? {
            return Ok(false);
        }
        let Some(written) = stores.modified(&path).await? else { return Ok(false) };
        if self.in_use.newest.is_none_or(|(newest, _)| newest <= checkpoint.id) {
            self.in_use.newest = Some((checkpoint.id, written));
        }
        Ok(true)
    }

    /// Every `_metadata` among the files of the job, wherever it lies.
    pub async fn listed(&mut self, stores: &Stores, files: &[crate::store::Entry]) -> Result<()> {
        for file in files.iter().filter(|file| file.location.name() == METADATA) {
            let Some(directory) = file.location.parent() else { continue };
            if !self.snapshots.contains(&directory.to_string()) {
                self.snapshot(stores, directory).await?;
            }
        }
        Ok(())
    }

    /// Jobs and savepoints beside this one may refer to its files, whatever their directories are called. One
    /// that is called by a job's id must be readable; other directories may be of somebody else (`lost+found`).
    pub async fn siblings(&mut self, stores: &Stores, job: &Location) -> Result<()> {
        // The path may lead there through a link, with other jobs beside it.
        let real = stores.real(job).await?;
        let mut beside = BTreeSet::new();
        for above in [job.parent(), real.parent()].into_iter().flatten() {
            let names = stores.directories(&above).await?;
            beside.extend(names.iter().map(|name| above.join(name)));
        }
        // Their checkpoints say nothing about what is in flight here.
        let newest = self.in_use.newest;
        for sibling in beside.iter().filter(|sibling| *sibling != job && **sibling != real) {
            self.sibling(stores, sibling).await?;
        }
        self.in_use.newest = newest;
        Ok(())
    }

    async fn sibling(&mut self, stores: &Stores, sibling: &Location) -> Result<()> {
        if is_job_id(sibling.name()) {
            if stores.unclear(sibling, false).await? {
                return Err(unclear(sibling));
            }
            return self.job(stores, sibling).await;
        }
        if checkpoints(stores, sibling).await.is_ok_and(|listed| !listed.is_empty()) {
            return self.job(stores, sibling).await;
        }
        if matches!(stores.size(&sibling.join(METADATA)).await, Ok(Some(_))) {
            self.snapshot(stores, sibling.clone()).await?;
        }
        Ok(())
    }

    /// A savepoint or checkpoint, or all of a job, by its path.
    pub async fn elsewhere(&mut self, stores: &Stores, path: &str) -> Result<()> {
        let newest = self.in_use.newest;
        let target = find(stores, path).await?;
        let alone = match &target {
            Target::Snapshot(directory) => vec![directory.clone()],
            Target::Job { directory, .. } => {
                self.job(stores, directory).await?;
                Vec::new()
            }
            Target::Several(several) => {
                for job in &several.jobs {
                    self.job(stores, &job.directory).await?;
                }
                several.snapshots.iter().map(|snapshot| snapshot.directory.clone()).collect()
            }
        };
        for directory in alone {
            if !self.snapshot(stores, directory).await? {
                return Err(Failure::new(NO_METADATA, format!("{path}: its {METADATA} is gone")));
            }
        }
        self.in_use.newest = newest;
        Ok(())
    }

    /// Whether it is there.
    async fn snapshot(&mut self, stores: &Stores, directory: Location) -> Result<bool> {
        let path = directory.join(METADATA);
        let snapshot = match Snapshot::read(stores, directory.clone()).await {
            Ok(snapshot) => snapshot,
            Err(failure) if matches!(failure.code, MISSING | NO_METADATA) => return Ok(false),
            // Cut off because it was being deleted, or because it is damaged: look again.
            Err(_) if stores.size(&path).await?.is_none() => return Ok(false),
            Err(failure) => {
                let text = "refused, since what it refers to is not known";
                return Err(Failure::new(failure.code.max(CORRUPT), failure.text).context(text));
            }
        };
        for reference in snapshot.metadata.references() {
            let file = match reference.stream {
                Stream::File { path, .. } => stores.locate(path)?,
                Stream::Relative { path, .. } => directory.join(path),
                Stream::Segment(segment) => stores.locate(&segment.path)?,
                Stream::Inline { .. } | Stream::EmptySegment | Stream::KeyGroups(_) => continue,
            };
            if matches!(reference.stream, Stream::Segment(_)) {
                self.in_use.merging.extend(file.parent());
            }
            self.in_use.names.insert(file.name().to_owned());
            self.in_use.files.insert(file);
        }
        self.merging_directories(stores, &snapshot.metadata)?;
        self.snapshots.push(directory.to_string());
        Ok(true)
    }

    fn merging_directories(&mut self, stores: &Stores, metadata: &Metadata) -> Result<()> {
        let subtasks = metadata.operators.iter().filter_map(|operator| operator.subtasks.as_ref());
        for state in subtasks.flatten().filter_map(|subtask| subtask.state.as_deref()) {
            for OperatorState { directories, .. } in
                [&state.managed_operator, &state.raw_operator].into_iter().flatten()
            {
                let Some(directories) = directories else { continue };
                for directory in [&directories.task_owned, &directories.shared] {
                    self.in_use.merging.insert(stores.locate(directory)?);
                }
            }
        }
        Ok(())
    }
}

/// One without a `_metadata` is in flight or left over, unless there is something in its place.
async fn known(stores: &Stores, checkpoint: &Checkpoint) -> Result<()> {
    let directory = &checkpoint.directory;
    for (place, file) in [(directory, false), (&directory.join(METADATA), true)] {
        if stores.unclear(place, file).await? {
            return Err(unclear(place));
        }
    }
    Ok(())
}

fn unclear(place: &Location) -> Failure {
    let text = "refused, since what it refers to is not known";
    let what = "a link to what is not there, or no file";
    Failure::new(CORRUPT, format!("{text}: {place}: {what}"))
}

/// 32 hexadecimal digits.
fn is_job_id(name: &str) -> bool {
    name.len() == 32 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}
