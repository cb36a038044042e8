//! `show` of a directory that holds jobs or savepoints: what is there, by name.
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;

use crate::commands::orphans::age;
use crate::find::{FoundJob, FoundSnapshot, Several};
use crate::render::{count, Table};

#[derive(Debug, Serialize)]
pub struct Directory {
    directory: String,
    jobs: Vec<Job>,
    snapshots: Vec<Alone>,
}

#[derive(Debug, Serialize)]
struct Job {
    path: String,
    /// Complete ones.
    checkpoints: usize,
    newest: Option<u64>,
    /// Seconds since 1970.
    written: Option<u64>,
}

#[derive(Debug, Serialize)]
struct Alone {
    path: String,
    written: Option<u64>,
}

pub fn of(several: &Several) -> Directory {
    let seconds = |time: SystemTime| time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let job = |job: &FoundJob| {
        let mut complete = job.checkpoints.iter().filter(|checkpoint| checkpoint.complete);
        Job {
            path: job.directory.to_string(),
            checkpoints: complete.clone().count(),
            newest: complete.next_back().map(|checkpoint| checkpoint.id),
            written: job.written.map(seconds),
        }
    };
    let alone = |snapshot: &FoundSnapshot| Alone {
        path: snapshot.directory.to_string(),
        written: snapshot.written.map(seconds),
    };
    Directory {
        directory: several.directory.to_string(),
        jobs: several.jobs.iter().map(job).collect(),
        snapshots: several.snapshots.iter().map(alone).collect(),
    }
}

pub fn text(directory: &Directory, top: usize) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let ago = |written: Option<u64>| match written {
        Some(written) => format!("{} ago", age(now.saturating_sub(written))),
        None => String::new(),
    };
    let mut text = format!(
        "{}\n{}, {}\n",
        directory.directory,
        count(directory.jobs.len() as u64, "job"),
        count(directory.snapshots.len() as u64, "checkpoint or savepoint")
            .replace("checkpoint or savepoints", "checkpoints or savepoints"),
    );
    let mut table = Table::new(&["JOB", ">CHECKPOINTS", "NEWEST", "WRITTEN"], top);
    for job in &directory.jobs {
        let newest = job.newest.map(|id| format!("chk-{id}")).unwrap_or_default();
        table.row([job.path.clone(), job.checkpoints.to_string(), newest, ago(job.written)]);
    }
    if !table.is_empty() {
        text += &format!("\n{}", table.text());
    }
    let mut table = Table::new(&["CHECKPOINT OR SAVEPOINT", "WRITTEN"], top);
    for snapshot in &directory.snapshots {
        table.row([snapshot.path.clone(), ago(snapshot.written)]);
    }
    if !table.is_empty() {
        text += &format!("\n{}", table.text());
    }
    text + "\nname one of them to see what it consists of\n"
}
