//! Which files of a job's directory nothing needs. Decides on what was listed and read; does no I/O. A file
//! that may be in use is never a leftover: what is not known to be one stays.
use std::collections::{BTreeMap, HashSet};
use std::time::{Duration, SystemTime};

use serde::Serialize;

use crate::store::{Entry, Location};

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

#[derive(Debug, Default)]
pub struct Decision {
    pub leftovers: Vec<Entry>,
    /// Files and bytes.
    pub spared: BTreeMap<Spared, (u64, u64)>,
    pub used: (u64, u64),
}

/// `entries`: all files of the job's directory.
pub fn decide(job: &Location, entries: Vec<Entry>, in_use: &InUse, rules: &Rules) -> Decision {
    let mut decision = Decision::default();
    for entry in entries {
        let name = entry.location.name();
        let used = in_use.files.contains(&entry.location) || in_use.names.contains(name);
        if used || name == "_metadata" {
            add(&mut decision.used, entry.size);
            continue;
        }
        match spared(job, &entry, in_use, rules) {
            Some(why) => add(decision.spared.entry(why).or_default(), entry.size),
            None => decision.leftovers.push(entry),
        }
    }
    decision
        .leftovers
        .sort_by(|a, b| a.modified.cmp(&b.modified).then(a.location.cmp(&b.location)));
    decision
}

fn add(sum: &mut (u64, u64), size: u64) {
    *sum = (sum.0 + 1, sum.1.saturating_add(size));
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
