//! The fixtures and the tool, for its tests.
#![allow(dead_code)]
pub mod left;
pub mod schema;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Where Flink wrote the fixtures: the absolute paths in them begin with it.
pub const WRITTEN_AT: &str = "/tmp/ferrostate-fixtures";

pub fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../formats/fixtures/flink-2.3.0")
}

/// Directories of all snapshots below, in the order of their checkpoints.
pub fn snapshots(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut left = vec![root.to_owned()];
    while let Some(directory) = left.pop() {
        for entry in std::fs::read_dir(&directory).expect("a directory") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                left.push(path);
            } else if path.ends_with("_metadata") {
                found.push(directory.clone());
            }
        }
    }
    found.sort_by_key(|path| (checkpoint(path), path.clone()));
    found
}

/// Of a chk-*; savepoints have no number.
fn checkpoint(path: &Path) -> Option<u64> {
    path.file_name()?.to_str()?.strip_prefix("chk-")?.parse().ok()
}

/// The newest checkpoint, or the savepoint, of a fixture.
pub fn latest(root: &Path, kind: &str) -> PathBuf {
    snapshots(&root.join(kind)).pop().expect("a snapshot")
}

/// A copy of a fixture that may be damaged.
pub fn copied(kind: &str) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("a directory");
    let to = directory.path().join(kind);
    copy(&fixtures().join(kind), &to);
    (directory, to)
}

pub fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("made");
    for entry in std::fs::read_dir(from).expect("a directory") {
        let entry = entry.expect("an entry");
        let to = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy(&entry.path(), &to),
            false => drop(std::fs::copy(entry.path(), to).expect("copied")),
        }
    }
}

/// The tool, told that what was written at WRITTEN_AT is at `root`.
pub fn tool(root: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ferrostate"));
    command.arg("--map").arg(format!("{WRITTEN_AT}={}", root.display()));
    command
}

pub fn run(command: &mut Command) -> (String, String, i32) {
    let Output { status, stdout, stderr } = command.output().expect("it runs");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (text(stdout), text(stderr), status.code().expect("an exit code"))
}

pub fn json(command: &mut Command) -> serde_json::Value {
    let (out, error, code) = run(command.arg("--json"));
    serde_json::from_str(&out).unwrap_or_else(|_| panic!("exit {code}: {error}\n{out}"))
}
