//! Which files of a job's directory nothing needs. Decides on what was listed and read; does no I/O. A file
//! that may be in use is never a leftover: what is not known to be one stays.
use std::collections::{BTreeMap, HashSet};
use std::time::{Duration, SystemTime};

use serde::Serialize;

use crate::store::{Entry, Location, Upload};

/// Times in stores are rounded to seconds.
const ROUNDING: Duration = Duration::from_secs(2);
/// What task managers own they may have written long before a checkpoint refers to it.
const TASK_OWNED_AGE: Duration = Duration::from_secs(24 * 60 * 60);

/// What is in use, as far as any readable `_metadata` says.
#[derive(Debug, Default)]
pub struct InUse {
    pub files: HashSet<Location>,
    /// Their names, which Flink makes unique: a file is in use by whichever path it is referred to (through
    /// a link, another scheme, or in a copy of the directory).
    pub names: HashSet<String>,
    /// Of Flink's file merging: task managers write on in the files of these.
    pub merging: HashSet<Location>,
    /// The newest complete checkpoint and when its `_metadata` was written.
    pub newest: Option<(u64, SystemTime)>,
}

#[derive(Debug, Clone, Copy)]
pub struct Rules {
    pub now: SystemTime,
    pub min_age: Duration,
    /// A checkpoint in flight is not older than this.
    pub checkpoint_timeout: Duration,
    /// Nothing is in flight: the job does not run.
    pub stopped: bool,
}

/// Why a file that no `_metadata` refers to is not taken for a leftover.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Spared {
    /// Younger than --min-age.
    Young,
    /// A checkpoint that may be in flight may have written it.
    InFlight,
    /// In `taskowned/`, and not old enough for that.
    TaskOwned,
    /// In a directory of file merging.
    Merging,
    /// In none of the directories that Flink writes checkpoints to.
    Unknown,
}

/// What is spared for one reason.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Kept {
    pub files: u64,
    pub bytes: u64,
    /// When age alone no longer spares the first of them, and all; none where it is not about age.
    pub until: Option<(SystemTime, SystemTime)>,
}

impl Kept {
    fn add(&mut self, size: u64, until: Option<SystemTime>) {
        self.files += 1;
        self.bytes = self.bytes.saturating_add(size);
        self.until = match (self.until, until) {
            (Some((first, all)), Some(until)) => Some((first.min(until), all.max(until))),
            (known, until) => known.or_else(|| until.map(|until| (until, until))),
        };
    }
}

#[derive(Debug, Default)]
pub struct Decision {
    pub leftovers: Vec<Entry>,
    pub spared: BTreeMap<Spared, Kept>,
    /// Files and bytes.
    pub used: (u64, u64),
    pub uploads: Vec<OpenUpload>,
    pub spared_uploads: BTreeMap<Spared, Kept>,
}

/// A multipart upload that was never ended, and the bytes of its parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenUpload {
    pub upload: Upload,
    pub size: u64,
}

/// `entries`: all files of the job's directory.
pub fn decide(job: &Location, entries: Vec<Entry>, in_use: &InUse, rules: &Rules) -> Decision {
    let mut decision = Decision::default();
    for entry in entries {
        let name = entry.location.name();
        let used = in_use.files.contains(&entry.location) || in_use.names.contains(name);
        if used || name == "_metadata" {
            let (files, bytes) = decision.used;
            decision.used = (files + 1, bytes.saturating_add(entry.size));
            continue;
        }
        match spared(job, &entry, in_use, rules) {
            Some(why) => {
                let until = until(why, entry.modified, rules);
                decision.spared.entry(why).or_default().add(entry.size, until);
            }
            None => decision.leftovers.push(entry),
        }
    }
    decision
        .leftovers
        .sort_by(|a, b| a.modified.cmp(&b.modified).then(a.location.cmp(&b.location)));
    decision
}

/// Of multipart uploads that were never ended: by the same rules, whether or not an object of the same name
/// is in use, since an upload that ends leaves it as it is.
pub fn decide_uploads(
    job: &Location,
    uploads: Vec<OpenUpload>,
    in_use: &InUse,
    rules: &Rules,
    decision: &mut Decision,
) {
    for open in uploads {
        let Upload { location, begun, .. } = &open.upload;
        let entry = Entry { location: location.clone(), size: open.size, modified: *begun };
        match spared(job, &entry, in_use, rules) {
            Some(why) => {
                let until = until(why, *begun, rules);
                decision.spared_uploads.entry(why).or_default().add(open.size, until);
            }
            None => decision.uploads.push(open),
        }
    }
    decision.uploads.sort_by(|a, b| {
        let (a, b) = (&a.upload, &b.upload);
        a.begun.cmp(&b.begun).then(a.location.cmp(&b.location)).then(a.id.cmp(&b.id))
    });
}

fn until(why: Spared, modified: SystemTime, rules: &Rules) -> Option<SystemTime> {
    match why {
        Spared::Young => modified.checked_add(rules.min_age),
        Spared::TaskOwned => modified.checked_add(TASK_OWNED_AGE.max(rules.min_age)),
        Spared::InFlight | Spared::Merging | Spared::Unknown => None,
    }
}

fn spared(job: &Location, entry: &Entry, in_use: &InUse, rules: &Rules) -> Option<Spared> {
    let below = entry.location.below(job).unwrap_or_default();
    let directory = below.split('/').next().unwrap_or_default();
    let checkpoint = directory.strip_prefix("chk-").and_then(|id| id.parse::<u64>().ok());
    let known = directory == "shared" || directory == "taskowned" || checkpoint.is_some();
    // A clock ahead of ours makes a file look younger, never older.
    let older =
        |age: Duration| rules.now.duration_since(entry.modified).is_ok_and(|its| its >= age);
    if !known || !below.contains('/') {
        return Some(Spared::Unknown);
    }
    if merging(&entry.location, &in_use.merging) {
        return Some(Spared::Merging);
    }
    if !older(rules.min_age) {
        return Some(Spared::Young);
    }
    if rules.stopped {
        return None;
    }
    // A copy or a file system that keeps no times says nothing about its age.
    if entry.modified <= SystemTime::UNIX_EPOCH {
        return Some(Spared::InFlight);
    }
    if directory == "taskowned" && !older(TASK_OWNED_AGE) {
        return Some(Spared::TaskOwned);
    }
    match in_use.newest {
        None => Some(Spared::InFlight),
        Some((newest, _)) if checkpoint.is_some_and(|id| id > newest) => Some(Spared::InFlight),
        // One in flight began after the newest completed (one at a time), or within the time-out.
        Some((_, completed)) => {
            let before = entry.modified.checked_add(ROUNDING).is_some_and(|at| at < completed);
            (!before || !older(rules.checkpoint_timeout)).then_some(Spared::InFlight)
        }
    }
}

fn merging(location: &Location, directories: &HashSet<Location>) -> bool {
    let mut above = location.parent();
    while let Some(directory) = above {
        if directories.contains(&directory) {
            return true;
        }
        above = directory.parent();
    }
    false
}

#[cfg(test)]
#[path = "leftovers_test.rs"]
mod tests;
