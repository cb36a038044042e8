//! `ferrostate files`: every file of a snapshot, or of all of a job's checkpoints, with its owner. How it is
//! said: `text.rs`.
mod since;
mod text;

use std::collections::BTreeMap;

use ferrostate_formats::metadata::Reference;
use serde::Serialize;

use super::show::json;
use crate::args::{Common, Files};
use crate::databases::{Databases, Table as TableFile};
use crate::failure::{Failure, Result, NO_METADATA};
use crate::find::{find, Target};
use crate::render::hex;
use crate::sizes::state_of;
use crate::snapshot::{Place, Snapshot};
use crate::store::{Location, Stores};

#[derive(Debug, Serialize)]
struct Listing {
    path: String,
    checkpoints: Vec<i64>,
    /// Largest first.
    files: Vec<File>,
}

#[derive(Debug, Serialize)]
struct File {
    path: String,
    /// As the handles say it.
    size: u64,
    scope: &'static str,
    /// The first of the retained checkpoints that all have it since.
    since: i64,
    /// All of them that refer to it.
    checkpoints: Vec<i64>,
    /// In the newest of them.
    owners: Vec<Owner>,
}

#[derive(Debug, Serialize)]
struct Owner {
    operator: String,
    uid: Option<String>,
    operator_id: String,
    subtask: Option<i32>,
    role: &'static str,
    /// In the database's directory.
    local: Option<String>,
    state: String,
    level: Option<u32>,
    key_groups: Option<String>,
    first_key: Option<String>,
    last_key: Option<String>,
    /// Where in the file, if it is only a part.
    start: u64,
    bytes: u64,
}

pub async fn run(stores: &Stores, args: &Files, common: &Common) -> Result<String> {
    let target = find(stores, &args.path).await?.single()?;
    let of_a_job = matches!(target, Target::Job { .. });
    let home = match &target {
        Target::Job { directory, .. } => directory.clone(),
        Target::Snapshot(directory) => directory.parent().unwrap_or_else(|| directory.clone()),
        Target::Several(several) => return Err(several.failure()),
    };
    let mut files: BTreeMap<Location, File> = BTreeMap::new();
    let mut checkpoints = Vec::new();
    for directory in target.snapshots() {
        let snapshot = match Snapshot::read(stores, directory).await {
            // A running job has deleted it meanwhile.
            Err(failure) if of_a_job && failure.code == NO_METADATA => continue,
            read => read?,
        };
        checkpoints.push(snapshot.metadata.checkpoint_id);
        let databases = Databases::read(stores, &snapshot).await;
        add(stores, &snapshot, &databases, &mut files)?;
    }
    if checkpoints.is_empty() {
        let text = format!("{home}: none of its chk-* has a _metadata");
        return Err(Failure::new(NO_METADATA, text));
    }
    match &target {
        Target::Snapshot(directory) => since::go_back(stores, directory, &mut files).await,
        _ => files
            .values_mut()
            .for_each(|file| file.since = since::since(&file.checkpoints, &checkpoints)),
    }
    let mut files: Vec<_> = files.into_values().collect();
    if let Some(text) = &args.of {
        files.retain(|file| is_of(file, text));
        if files.is_empty() {
            let text = format!("no checkpoint or savepoint at {} refers to {text}", args.path);
            return Err(Failure::unable(text));
        }
    }
    files.sort_by(|a, b| b.size.cmp(&a.size).then_with(|| a.path.cmp(&b.path)));
    let listing = Listing { path: args.path.clone(), checkpoints, files };
    Ok(if common.json { json(&listing)? } else { text::of(&listing, &home) })
}

fn is_of(file: &File, text: &str) -> bool {
    // A path may be spelled as Flink spells it.
    let spelled = Location::parse(text).is_ok_and(|location| location.to_string() == file.path);
    let local = |owner: &Owner| owner.local.as_deref() == Some(text);
    spelled || file.path.contains(text) || file.owners.iter().any(local)
}

fn add(
    stores: &Stores,
    snapshot: &Snapshot,
    databases: &Databases,
    files: &mut BTreeMap<Location, File>,
) -> Result<()> {
    let id = snapshot.metadata.checkpoint_id;
    for reference in snapshot.metadata.references() {
        let Place::File { location, start, size, .. } = snapshot.place(stores, reference.stream)?
        else {
            continue;
        };
        let owner = owner(&reference, databases, start, size);
        let scope = scope(snapshot, &location);
        let file = files.entry(location).or_insert_with_key(|location| File {
            path: location.to_string(),
            size: 0,
            scope,
            since: id,
            checkpoints: Vec::new(),
            owners: Vec::new(),
        });
        if file.checkpoints.last() != Some(&id) {
            file.checkpoints.push(id);
            file.owners.clear();
        }
        file.size = file.size.max(start.saturating_add(size));
        file.owners.push(owner);
    }
    Ok(())
}

fn owner(reference: &Reference<'_>, databases: &Databases, start: u64, bytes: u64) -> Owner {
    let database = reference.database.and_then(|handle| databases.of(handle));
    let name = reference.name.unwrap_or_default();
    let table = database.and_then(|database| database.tables.get(name));
    let groups = table.map(|table| key_groups(table, reference.operator.max_parallelism));
    Owner {
        operator: Snapshot::owner(reference),
        uid: reference.operator.uid.clone(),
        operator_id: reference.operator.id.to_string(),
        subtask: reference.subtask,
        role: reference.role.name(),
        local: reference.name.map(str::to_owned),
        state: state_of(reference, database).to_owned(),
        level: table.map(|table| table.level),
        key_groups: groups.or_else(|| reference.range.map(|range| range.to_string())),
        first_key: table.map(|table| hex(&table.first)),
        last_key: table.map(|table| hex(&table.last)),
        start,
        bytes,
    }
}

/// Each key begins with its key group.
fn key_groups(table: &TableFile, max_parallelism: i32) -> String {
    let group = |key: &[u8]| match key {
        [first, ..] if max_parallelism <= 128 => u16::from(*first).to_string(),
        [first, second, ..] => u16::from_be_bytes([*first, *second]).to_string(),
        _ => "?".to_owned(),
    };
    format!("{}-{}", group(&table.first), group(&table.last))
}

/// Who may delete a file, by the directory that it lies in.
pub fn scope(snapshot: &Snapshot, location: &Location) -> &'static str {
    if location.below(&snapshot.directory).is_some() {
        return "exclusive";
    }
    let job = snapshot.directory.parent();
    let below = job.as_ref().and_then(|job| location.below(job)).unwrap_or_default();
    match below.split('/').next() {
        Some("shared") => "shared",
        Some("taskowned") => "task-owned",
        _ => "elsewhere",
    }
}
