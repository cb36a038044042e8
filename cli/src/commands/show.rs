//! `ferrostate show`: reads a snapshot and the MANIFESTs of its databases, prints who holds how much. What
//! is counted how: `sizes.rs`.
use std::fmt::Write;

use futures::stream::{self, StreamExt};
use serde::Serialize;

use crate::args::{Common, Show};
use crate::databases::Databases;
use crate::failure::{Failure, Result, CORRUPT};
use crate::progress;
use crate::render::{ratio, size, Table};
use crate::sizes::{OperatorSizes, SnapshotSizes};
use crate::snapshot::{find, Checkpoint, Snapshot, Target};
use crate::store::Stores;

/// A job's directory.
#[derive(Debug, Serialize)]
struct Job {
    job: String,
    checkpoints: Vec<Retained>,
    /// Directories without `_metadata`: in flight, or left over.
    incomplete: Vec<String>,
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
            Ok(if common.json { json(&shown)? } else { text(&shown, args.top) })
        }
        Target::Job { directory, checkpoints } => {
            let job = job(stores, directory.to_string(), &checkpoints, common).await?;
            Ok(if common.json { json(&job)? } else { job_text(&job, args.top) })
        }
    }
}

async fn read(
    stores: &Stores,
    directory: crate::store::Location,
    common: &Common,
) -> Result<SnapshotSizes> {
    let snapshot = Snapshot::read(stores, directory).await?;
    let bar = progress::bar(common.quiet, 1, "reading MANIFESTs");
    let databases = Databases::read(stores, &snapshot).await;
    bar.finish_and_clear();
    Ok(SnapshotSizes::of(&snapshot, &databases))
}

async fn job(
    stores: &Stores,
    path: String,
    checkpoints: &[Checkpoint],
    common: &Common,
) -> Result<Job> {
    let (complete, incomplete): (Vec<_>, Vec<_>) = checkpoints.iter().partition(|c| c.complete);
    let bar = progress::bar(common.quiet, complete.len() as u64, "reading checkpoints");
    let retained: Vec<_> = stream::iter(&complete)
        .map(|checkpoint| async {
            let retained = retained(stores, checkpoint).await;
            bar.inc(1);
            retained
        })
        .buffered(8)
        .collect()
        .await;
    bar.finish_and_clear();
    let readable = complete.iter().zip(&retained).rev().find(|(_, read)| read.error.is_none());
    let Some((latest, _)) = readable else {
        return Err(match retained.into_iter().find_map(|read| read.error) {
            Some(error) => Failure::new(CORRUPT, error),
            None => {
                let text = format!("{path}: none of its chk-* has a _metadata");
                Failure::new(crate::failure::NO_METADATA, text)
            }
        });
    };
    Ok(Job {
        job: path,
        latest: read(stores, latest.directory.clone(), common).await?,
        incomplete: incomplete.iter().map(|checkpoint| checkpoint.directory.to_string()).collect(),
        checkpoints: retained,
    })
}

async fn retained(stores: &Stores, checkpoint: &Checkpoint) -> Retained {
    let path = checkpoint.directory.to_string();
    let id = checkpoint.id;
    match Snapshot::read(stores, checkpoint.directory.clone()).await {
        Ok(snapshot) => {
            let sizes = SnapshotSizes::of(&snapshot, &Databases::none());
            let SnapshotSizes { kind, full, new, files, inline, .. } = sizes;
            Retained { id, path, error: None, kind, full, new, files, inline }
        }
        Err(failure) => Retained {
            id,
            path,
            error: Some(failure.text),
            kind: None,
            full: 0,
            new: 0,
            files: 0,
            inline: 0,
        },
    }
}

pub fn json(value: &impl Serialize) -> Result<String> {
    let text = serde_json::to_string_pretty(value).map_err(Failure::unable)?;
    Ok(text + "\n")
}

fn job_text(job: &Job, top: usize) -> String {
    let mut table = Table::new(&["CHECKPOINT", "KIND", ">FULL", ">NEW", ">FILES", ">INLINE"], 0);
    for read in &job.checkpoints {
        match &read.error {
            Some(error) => table.row([format!("chk-{}", read.id), format!("unreadable: {error}")]),
            None => table.row([
                format!("chk-{}", read.id),
                read.kind.unwrap_or("checkpoint").to_owned(),
                size(read.full),
                size(read.new),
                read.files.to_string(),
                size(read.inline),
            ]),
        }
    }
    let mut text = format!("{}\n\n{}\n", job.job, table.text());
    for path in &job.incomplete {
        let _ = writeln!(text, "{path} has no _metadata: in flight, or left over");
    }
    text + &self::text(&job.latest, top)
}

fn text(shown: &SnapshotSizes, top: usize) -> String {
    let mut text = format!(
        "{}\ncheckpoint {}, {}, version {}\nfull {}, new in it {}, {} files, {} inline\n",
        shown.path,
        shown.checkpoint_id,
        shown.kind.unwrap_or("kind not told"),
        shown.version,
        size(shown.full),
        size(shown.new),
        shown.files,
        size(shown.inline),
    );
    let mut section = |title: &str, table: Table| {
        if !table.is_empty() {
            let _ = write!(text, "\n{title}\n{}", table.text());
        }
    };
    section("Operators", operators(&shown.operators, top));
    section("States", states(&shown.operators, top));
    section("Subtasks", subtasks(&shown.operators, top));
    for note in &shown.notes {
        let _ = writeln!(text, "\nnote: {note}");
    }
    text
}

fn operators(operators: &[OperatorSizes], top: usize) -> Table {
    let headings =
        ["OPERATOR", "UID", ">SUBTASKS", ">FULL", ">NEW", ">FILES", ">INLINE", ">SKEW", "BACKEND"];
    let mut table = Table::new(&headings, top);
    for operator in operators {
        table.row([
            operator.label().to_owned(),
            operator.uid.clone().unwrap_or_default(),
            operator.parallelism.to_string(),
            size(operator.full),
            size(operator.new),
            operator.files.to_string(),
            size(operator.inline),
            operator.skew.map(ratio).unwrap_or_default(),
            operator.backends.join(", "),
        ]);
    }
    table
}

fn states(operators: &[OperatorSizes], top: usize) -> Table {
    let mut table = Table::new(&["OPERATOR", "STATE", "KIND", ">FULL", ">FILES", ">SUBTASKS"], top);
    let states = operators
        .iter()
        .flat_map(|operator| operator.states.iter().map(move |state| (operator.label(), state)));
    let mut states: Vec<_> = states.collect();
    states.sort_by_key(|(_, state)| std::cmp::Reverse(state.full));
    for (operator, state) in states {
        table.row([
            operator.to_owned(),
            state.name.clone(),
            state.kind.clone().unwrap_or_default(),
            size(state.full),
            state.files.to_string(),
            state.subtasks.to_string(),
        ]);
    }
    table
}

fn subtasks(operators: &[OperatorSizes], top: usize) -> Table {
    let headings =
        ["OPERATOR", ">SUBTASK", "KEY GROUPS", ">FULL", ">NEW", ">FILES", ">INLINE", "BACKEND"];
    let mut table = Table::new(&headings, top);
    let subtasks = operators.iter().flat_map(|operator| {
        operator.subtasks.iter().map(move |subtask| (operator.label(), subtask))
    });
    let mut subtasks: Vec<_> = subtasks.collect();
    subtasks.sort_by_key(|(_, subtask)| std::cmp::Reverse(subtask.full));
    for (operator, subtask) in subtasks {
        table.row([
            operator.to_owned(),
            subtask.index.to_string(),
            subtask.key_groups.clone().unwrap_or_default(),
            size(subtask.full),
            size(subtask.new),
            subtask.files.to_string(),
            size(subtask.inline),
            if subtask.finished { "finished" } else { subtask.backend.unwrap_or_default() }.into(),
        ]);
    }
    table
}
