//! A job's directory with leftovers in it, of any age.
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use serde_json::Value;

use super::{copied, latest, tool};

pub const DAY: Duration = Duration::from_secs(24 * 60 * 60);

pub fn orphans(root: &Path, job: &Path) -> Command {
    let mut command = tool(root);
    command.arg("orphans").arg(job);
    command
}

pub fn paths(report: &Value) -> BTreeSet<PathBuf> {
    let orphans = report["orphans"].as_array().expect("orphans").iter();
    orphans.map(|orphan| PathBuf::from(orphan["path"].as_str().expect("a path"))).collect()
}

/// A file of that age.
pub fn leave(path: &Path, age: Duration) {
    fs::create_dir_all(path.parent().expect("a parent")).expect("made");
    fs::write(path, b"left over").expect("written");
    set_age(path, age);
}

pub fn set_age(path: &Path, age: Duration) {
    let file = File::options().write(true).open(path).expect("opened");
    file.set_modified(SystemTime::now() - age).expect("set");
}

/// A copied job whose files are two days old, with leftovers that are three days old.
pub struct Job {
    pub root: tempfile::TempDir,
    pub directory: PathBuf,
    pub left: BTreeSet<PathBuf>,
}

pub fn job(kind: &str) -> Job {
    let (root, _) = copied(kind);
    let directory = latest(root.path(), kind).parent().expect("a job").to_owned();
    for path in all_files(&directory) {
        set_age(&path, DAY * 2 + Duration::from_secs(3600));
    }
    set_age(&latest(root.path(), kind).join("_metadata"), DAY * 2);
    let names = ["shared/5d0e4e64-left", "taskowned/left", "chk-1/left", "chk-2/a", "chk-2/b"];
    let left: BTreeSet<_> = names.map(|name| directory.join(name)).into();
    left.iter().for_each(|path| leave(path, DAY * 3));
    Job { root, directory, left }
}

pub fn all_files(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root).expect("a directory") {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => found.extend(all_files(&path)),
            false => found.push(path),
        }
    }
    found
}
