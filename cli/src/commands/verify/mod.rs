//! `ferrostate verify`: whether everything that a snapshot refers to is there, with its size; with --deep,
//! whether it is as it was written. What is compared within files: `deep.rs`; whether the directory was moved:
//! `moved.rs`.
mod expected;
mod moved;
mod text;
mod there;

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use serde::Serialize;

use super::show::json;
use crate::args::{Common, Verify};
use crate::databases::Databases;
use crate::deep;
use crate::failure::{Failure, Result, MISSING, NO_METADATA};
use crate::find::{checkpoints, find, Target};
use crate::progress;
use crate::snapshot::{Snapshot, METADATA};
use crate::store::{Location, Stores};

#[derive(Debug, Serialize)]
struct Report {
    path: String,
    whole: bool,
    exit_code: u8,
    snapshots: Vec<Checked>,
    /// `chk-*` without `_metadata`: in flight, or left over.
    incomplete: Vec<String>,
}

#[derive(Debug, Serialize)]
pub struct Checked {
    pub path: String,
    checkpoint_id: Option<i64>,
    files: usize,
    bytes: u64,
    /// With --deep.
    table_files: Option<u64>,
    blocks: Option<u64>,
    /// The worst first.
    pub findings: Vec<Finding>,
    /// What all of them may come from, and what to do.
    hint: Option<String>,
}

/// Something that is not in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub exit_code: u8,
    pub path: String,
    pub what: String,
    /// Who refers to it.
    pub owners: Vec<String>,
}

pub async fn run(stores: &Stores, args: &Verify, common: &Common) -> Result<(String, u8)> {
    let target = find(stores, &args.path).await?.single()?;
    let of_a_job = matches!(target, Target::Job { .. });
    let directories = target.snapshots();
    let snapshots = all(stores, &directories, of_a_job, args.deep, common).await;
    let incomplete = match &target {
        Target::Snapshot(_) | Target::Several(_) => Vec::new(),
        Target::Job { checkpoints, .. } => {
            let incomplete = checkpoints.iter().filter(|checkpoint| !checkpoint.complete);
            incomplete.map(|checkpoint| checkpoint.directory.to_string()).collect()
        }
    };
    let findings = snapshots.iter().flat_map(|snapshot| &snapshot.findings);
    let worst = findings.map(|finding| finding.exit_code).max().unwrap_or(0);
    let exit_code = if snapshots.is_empty() { NO_METADATA } else { worst };
    let path = args.path.clone();
    let report = Report { path, whole: exit_code == 0, exit_code, snapshots, incomplete };
    let text = if common.json { json(&report)? } else { text::of(&report) };
    Ok((text, exit_code))
}

/// Looks at each; without those that a running job deletes meanwhile.
pub async fn all(
    stores: &Stores,
    directories: &[Location],
    of_a_job: bool,
    deep: bool,
    common: &Common,
) -> Vec<Checked> {
    let mut all = Vec::new();
    for directory in directories {
        let checked = check(stores, directory.clone(), deep, common).await;
        let missing = checked.findings.iter().map(|finding| finding.exit_code);
        let missing = missing.max().is_some_and(|code| matches!(code, MISSING | NO_METADATA));
        if !(of_a_job && missing && being_deleted(stores, directory).await) {
            all.push(checked);
        }
    }
    all
}

/// Whether a running job is deleting the checkpoint: shared files that no newer one has may go some time
/// before its metadata. The newest one is never deleted like that, whichever is by now.
async fn being_deleted(stores: &Stores, directory: &Location) -> bool {
    const POLL: Duration = Duration::from_millis(100);
    let patience = match newer(stores, directory).await {
        true => Duration::from_secs(5),
        false => Duration::ZERO,
    };
    let metadata = directory.join(METADATA);
    let begun = Instant::now();
    loop {
        if stores.size(&metadata).await == Ok(None) {
            return true;
        }
        if begun.elapsed() >= patience {
            return false;
        }
        tokio::time::sleep(POLL).await;
    }
}

/// Whether the job has completed a checkpoint since this one.
async fn newer(stores: &Stores, directory: &Location) -> bool {
    let id = directory.name().strip_prefix("chk-").and_then(|id| id.parse::<u64>().ok());
    let (Some(id), Some(job)) = (id, directory.parent()) else { return false };
    let beside = checkpoints(stores, &job).await.unwrap_or_default();
    beside.iter().any(|other| other.complete && other.id > id)
}

async fn check(stores: &Stores, directory: Location, deep: bool, common: &Common) -> Checked {
    let mut checked = Checked {
        path: directory.to_string(),
        checkpoint_id: None,
        files: 0,
        bytes: 0,
        table_files: None,
        blocks: None,
        findings: Vec::new(),
        hint: None,
    };
    let snapshot = match Snapshot::read(stores, directory).await {
        Ok(snapshot) => snapshot,
        Err(failure) => {
            let path = checked.path.clone();
            checked.findings.push(Finding::of(failure, path, Vec::new()));
            return checked;
        }
    };
    checked.checkpoint_id = Some(snapshot.metadata.checkpoint_id);
    let expected = match expected::expected(stores, &snapshot, &mut checked.findings) {
        Ok(expected) => expected,
        Err(failure) => {
            checked.findings.push(Finding::of(failure, checked.path.clone(), Vec::new()));
            return checked;
        }
    };
    checked.files = expected.len();
    checked.bytes =
        expected.values().map(|expected| expected.at_least).fold(0, u64::saturating_add);
    let bar = progress::bar(common.quiet, expected.len() as u64, "looking for files");
    let found = there::sizes(stores, &expected.keys().collect::<Vec<_>>(), &bar).await;
    bar.finish_and_clear();
    let wrong: HashMap<_, _> = expected
        .iter()
        .filter_map(|(at, wanted)| Some((at, expected::compare(wanted, found.get(at))?)))
        .collect();
    let databases = match deep || !wrong.is_empty() {
        true => Databases::read(stores, &snapshot).await,
        false => Databases::none(),
    };
    let mut owners = expected::owners(stores, &snapshot, &databases, &wrong);
    let finding = |(location, (exit_code, what)): (&&Location, &(u8, String))| Finding {
        exit_code: *exit_code,
        path: location.to_string(),
        what: what.clone(),
        owners: owners.remove(*location).unwrap_or_default(),
    };
    checked.findings.extend(wrong.iter().map(finding));
    if deep {
        let absent: HashSet<_> =
            checked.findings.iter().map(|finding| finding.path.clone()).collect();
        let deep = deep::check(stores, &snapshot, &databases, &absent, common.quiet).await;
        checked.table_files = Some(deep.table_files);
        checked.blocks = Some(deep.blocks);
        checked.findings.extend(deep.findings);
    }
    let missing = |location: &&Location| {
        wrong.get(location).is_some_and(|(exit_code, _)| *exit_code == MISSING)
    };
    let away: Vec<_> =
        expected.keys().filter(|at| at.below(&snapshot.directory).is_none()).collect();
    if !away.is_empty() && away.iter().all(missing) {
        checked.hint = moved::hint(stores, &snapshot.directory, &away).await;
    } else if !away.is_empty() && wrong.is_empty() {
        checked.hint = moved::copied(stores, &snapshot.directory, &away).await;
    }
    checked.findings.sort_by(|a, b| b.exit_code.cmp(&a.exit_code).then(a.path.cmp(&b.path)));
    checked
}

impl Finding {
    pub fn of(failure: Failure, path: String, owners: Vec<String>) -> Self {
        Self { exit_code: failure.code, path, what: failure.text, owners }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::CommandLine;

    /// Which was the newest when the job was listed may be subsumed by now.
    #[tokio::test]
    async fn only_what_has_a_newer_one_is_waited_for() {
        let root = tempfile::tempdir().expect("a directory");
        let write = |id: u64| {
            let directory = root.path().join(format!("chk-{id}"));
            std::fs::create_dir_all(&directory).expect("made");
            std::fs::write(directory.join(METADATA), b"x").expect("written");
            Location::parse(directory.to_str().expect("UTF-8")).expect("a location")
        };
        let line = CommandLine::try_parse_from(["ferrostate", "verify", "x"]).expect("a command");
        let stores = Stores::new(&line.common).expect("stores");
        let listed = write(7);
        let begun = Instant::now();
        assert!(!being_deleted(&stores, &listed).await);
        assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
        write(8);
        let gone = root.path().join("chk-7").join(METADATA);
        let deleting = tokio::task::spawn_blocking(move || std::fs::remove_file(gone));
        assert!(being_deleted(&stores, &listed).await);
        deleting.await.expect("done").expect("deleted");
    }
}
