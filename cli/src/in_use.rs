//! What of a job's directory is in use: every `_metadata` in it, beside it and elsewhere, read. One that
//! cannot be read is a refusal: what it refers to is not known.
use ferrostate_formats::metadata::{Metadata, OperatorState, Stream};

use crate::failure::{Failure, Result, CORRUPT, MISSING, NO_METADATA};
use crate::find::{checkpoints, find, Checkpoint};
use crate::leftovers::InUse;
use crate::snapshot::Snapshot;
use crate::store::{Location, Stores};

const METADATA: &str = "_metadata";

/// What was read.
#[derive(Debug, Default)]
pub struct Read {
    pub in_use: InUse,
    /// Paths of all snapshots that were read, in this directory and elsewhere.
    pub snapshots: Vec<String>,
}

impl Read {
    /// All complete checkpoints of the job. One that is deleted while this reads is passed over.
    pub async fn job(&mut self, stores: &Stores, job: &Location) -> Result<()> {
        for checkpoint in checkpoints(stores, job).await? {
            if checkpoint.complete {
                self.checkpoint(stores, &checkpoint).await?;
            }
        }
        Ok(())
    }

    async fn checkpoint(&mut self, stores: &Stores, checkpoint: &Checkpoint) -> Result<()> {
        let path = checkpoint.directory.join(METADATA);
        if !self.snapshot(stores, checkpoint.directory.clone()).await? {
            return Ok(());
        }
        let Some(written) = stores.modified(&path).await? else { return Ok(()) };
        if self.in_use.newest.is_none_or(|(newest, _)| newest <= checkpoint.id) {
            self.in_use.newest = Some((checkpoint.id, written));
        }
        Ok(())
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

    /// Jobs beside this one may have been restored from it.
    pub async fn siblings(&mut self, stores: &Stores, job: &Location) -> Result<()> {
        let Some(above) = job.parent() else { return Ok(()) };
        let names = stores.directories(&above).await?;
        for name in names.iter().filter(|name| is_job_id(name)) {
            let sibling = above.join(name);
            if sibling != *job {
                // Its checkpoints say nothing about what is in flight here.
                let newest = self.in_use.newest;
                self.job(stores, &sibling).await?;
                self.in_use.newest = newest;
            }
        }
        Ok(())
    }

    /// A savepoint or checkpoint, or all of a job, by its path.
    pub async fn elsewhere(&mut self, stores: &Stores, path: &str) -> Result<()> {
        let newest = self.in_use.newest;
        for directory in find(stores, path).await?.snapshots() {
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

/// 32 hexadecimal digits.
fn is_job_id(name: &str) -> bool {
    name.len() == 32 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}
