//! `ferrostate verify`: whether everything that a snapshot refers to is there, with its size; with --deep,
//! whether it is as it was written. What is compared within files: `deep.rs`.
use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use ferrostate_formats::metadata::Role;
use futures::stream::{self, StreamExt};
use serde::Serialize;

use super::show::json;
use crate::args::{Common, Verify};
use crate::deep;
use crate::failure::{Failure, Result, CORRUPT, MISSING, NO_METADATA, UNABLE};
use crate::progress;
use crate::render::size;
use crate::snapshot::{find, Place, Snapshot, Target};
use crate::store::{Location, Stores};

/// From so many files of one directory on, it is listed rather than asked for each.
const WORTH_A_LISTING: usize = 16;

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
struct Checked {
    path: String,
    checkpoint_id: Option<i64>,
    files: usize,
    bytes: u64,
    /// With --deep.
    table_files: Option<u64>,
    blocks: Option<u64>,
    findings: Vec<Finding>,
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

/// A file, how long it must be, and who says so.
#[derive(Debug, Default)]
struct Expected {
    at_least: u64,
    /// Where a handle stands for the whole file.
    exactly: Option<u64>,
    owners: Vec<String>,
}

pub async fn run(stores: &Stores, args: &Verify, common: &Common) -> Result<(String, u8)> {
    let target = find(stores, &args.path).await?;
    let mut snapshots = Vec::new();
    let directories = target.snapshots();
    let newest = directories.last().cloned();
    let of_a_job = matches!(target, Target::Job { .. });
    for directory in directories {
        let checked = check(stores, directory.clone(), args.deep, common).await;
        let missing = checked.findings.iter().map(|finding| finding.exit_code);
        let missing = missing.max().is_some_and(|code| matches!(code, MISSING | NO_METADATA));
        let older = Some(&directory) != newest.as_ref();
        if !(of_a_job && missing && being_deleted(stores, &directory, older).await) {
            snapshots.push(checked);
        }
    }
    let incomplete = match &target {
        Target::Snapshot(_) => Vec::new(),
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
    let text = if common.json { json(&report)? } else { text(&report) };
    Ok((text, exit_code))
}

/// Whether a running job is deleting the checkpoint: shared files that no newer one has may go some time
/// before its metadata. The newest one is never deleted like that.
async fn being_deleted(stores: &Stores, directory: &Location, older: bool) -> bool {
    const POLL: Duration = Duration::from_millis(100);
    let patience = if older { Duration::from_secs(5) } else { Duration::ZERO };
    let metadata = directory.join("_metadata");
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

async fn check(stores: &Stores, directory: Location, deep: bool, common: &Common) -> Checked {
    let mut checked = Checked {
        path: directory.to_string(),
        checkpoint_id: None,
        files: 0,
        bytes: 0,
        table_files: None,
        blocks: None,
        findings: Vec::new(),
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
    let expected = match expected(stores, &snapshot, &mut checked.findings) {
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
    let found = sizes(stores, &expected, &bar).await;
    bar.finish_and_clear();
    for (location, expected) in &expected {
        let Some(finding) = compare(location, expected, found.get(location)) else { continue };
        checked.findings.push(finding);
    }
    if deep {
        let absent = checked
            .findings
            .iter()
            .map(|finding| finding.path.clone())
            .collect::<std::collections::HashSet<_>>();
        let deep = deep::check(stores, &snapshot, &absent, common.quiet).await;
        checked.table_files = Some(deep.table_files);
        checked.blocks = Some(deep.blocks);
        checked.findings.extend(deep.findings);
    }
    checked.findings.sort_by(|a, b| b.exit_code.cmp(&a.exit_code).then(a.path.cmp(&b.path)));
    checked
}

impl Finding {
    pub fn of(failure: Failure, path: String, owners: Vec<String>) -> Self {
        Self { exit_code: failure.code, path, what: failure.text, owners }
    }
}

fn expected(
    stores: &Stores,
    snapshot: &Snapshot,
    findings: &mut Vec<Finding>,
) -> Result<BTreeMap<Location, Expected>> {
    let mut files: BTreeMap<Location, Expected> = BTreeMap::new();
    for reference in snapshot.metadata.references() {
        let place = match snapshot.place(stores, reference.stream) {
            Ok(place) => place,
            Err(failure) => {
                let owners = vec![deep::owner(&reference)];
                findings.push(Finding::of(failure, snapshot.directory.to_string(), owners));
                continue;
            }
        };
        let Place::File { location, start, size, part } = place else { continue };
        let file = files.entry(location).or_default();
        file.at_least = file.at_least.max(start.saturating_add(size));
        // Flink's changelog counts a byte less than its files have.
        if !part && reference.role != Role::Changelog {
            file.exactly = Some(file.exactly.map_or(size, |known| known.max(size)));
        }
        if file.owners.len() < 4 {
            file.owners.push(deep::owner(&reference));
        }
    }
    Ok(files)
}

type Sizes = HashMap<Location, Result<Option<u64>>>;

async fn sizes(
    stores: &Stores,
    expected: &BTreeMap<Location, Expected>,
    bar: &indicatif::ProgressBar,
) -> Sizes {
    let mut by_directory: BTreeMap<Option<Location>, Vec<&Location>> = BTreeMap::new();
    for location in expected.keys() {
        by_directory.entry(location.parent()).or_default().push(location);
    }
    let groups = stream::iter(by_directory).map(|(directory, locations)| async move {
        let sizes = match directory {
            Some(directory) if locations.len() >= WORTH_A_LISTING => {
                from_listing(stores, &directory, &locations).await
            }
            _ => one_by_one(stores, &locations).await,
        };
        bar.inc(sizes.len() as u64);
        sizes
    });
    groups.buffer_unordered(stores.concurrency).concat().await.into_iter().collect()
}

type Found = Vec<(Location, Result<Option<u64>>)>;

async fn from_listing(stores: &Stores, directory: &Location, wanted: &[&Location]) -> Found {
    match stores.list(directory).await {
        Ok(entries) => {
            let sizes: HashMap<_, _> =
                entries.into_iter().map(|entry| (entry.location, entry.size)).collect();
            let found =
                |location: &&Location| ((*location).clone(), Ok(sizes.get(*location).copied()));
            wanted.iter().map(found).collect()
        }
        // It may be allowed to read files, but not to list them.
        Err(_) => one_by_one(stores, wanted).await,
    }
}

async fn one_by_one(stores: &Stores, wanted: &[&Location]) -> Found {
    let sizes = stream::iter(wanted)
        .map(|location| async move { ((*location).clone(), stores.size(location).await) });
    sizes.buffer_unordered(stores.concurrency).collect().await
}

fn compare(
    location: &Location,
    expected: &Expected,
    found: Option<&Result<Option<u64>>>,
) -> Option<Finding> {
    let (exit_code, what) = match found {
        None | Some(Ok(None)) => (MISSING, format!("missing, {} bytes", expected.at_least)),
        Some(Err(failure)) => (failure.code.max(UNABLE), failure.text.clone()),
        Some(Ok(Some(size))) if *size < expected.at_least => {
            (MISSING, format!("short: {size} of {} bytes", expected.at_least))
        }
        Some(Ok(Some(size))) if expected.exactly.is_some_and(|exactly| *size > exactly) => {
            (CORRUPT, format!("long: {size} instead of {} bytes", expected.at_least))
        }
        Some(Ok(Some(_))) => return None,
    };
    let owners = expected.owners.clone();
    Some(Finding { exit_code, path: location.to_string(), what, owners })
}

fn text(report: &Report) -> String {
    let mut lines = Vec::new();
    for snapshot in &report.snapshots {
        let deep = match (snapshot.table_files, snapshot.blocks) {
            (Some(files), Some(blocks)) => format!("; {blocks} blocks of {files} table files read"),
            _ => String::new(),
        };
        let files = format!("{} files, {}{deep}", snapshot.files, size(snapshot.bytes as i64));
        match snapshot.findings.len() {
            0 => lines.push(format!("whole: {} ({files})", snapshot.path)),
            1 => lines.push(format!("NOT WHOLE: {} ({files}; 1 finding)", snapshot.path)),
            many => lines.push(format!("NOT WHOLE: {} ({files}; {many} findings)", snapshot.path)),
        }
        for finding in &snapshot.findings {
            lines.push(format!("  {}: {}", finding.path, finding.what));
            lines.extend(finding.owners.iter().map(|owner| format!("    of {owner}")));
        }
    }
    let incomplete = report.incomplete.iter();
    lines.extend(incomplete.map(|path| format!("no _metadata: {path}, in flight or left over")));
    lines.join("\n") + "\n"
}
