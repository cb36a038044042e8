//! `show` beyond the golden files: why `shared/` is as large as it is, and directories that hold several jobs
//! or savepoints.
mod common;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use common::{copied, copy, fixtures, json, latest, run, snapshots, tool};
use serde_json::Value;

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no number"))
}

fn list(value: &Value) -> &Vec<Value> {
    value.as_array().unwrap_or_else(|| panic!("{value} is no list"))
}

/// Added up from what `files` says of each file.
#[test]
fn shared_is_added_up() {
    for kind in ["rocksdb-incremental", "ferrostate", "rocksdb-merging", "hashmap"] {
        let (root, _) = copied(kind);
        let job = latest(root.path(), kind).parent().expect("a job").to_owned();
        let shared = json(tool(root.path()).arg("show").arg(&job))["shared"].take();
        let listed = json(tool(root.path()).arg("files").arg(&job));
        let files = list(&listed["files"]);
        let on_disk = |file: &Value| {
            fs::metadata(file["path"].as_str().expect("a path")).expect("there").len()
        };
        let is_shared = |file: &&Value| file["scope"] == "shared";
        let newest = list(&listed["checkpoints"]).last().expect("a checkpoint");
        for checkpoint in list(&shared["checkpoints"]) {
            let id = &checkpoint["id"];
            let has = |file: &&Value| list(&file["checkpoints"]).contains(id);
            let mine: Vec<_> = files.iter().filter(is_shared).filter(has).collect();
            assert_eq!(number(&checkpoint["files"]), mine.len() as u64, "{kind} {id}");
            let bytes: u64 = mine.into_iter().map(on_disk).sum();
            assert_eq!(number(&checkpoint["bytes"]), bytes, "{kind} {id}");
            let only = |file: &&Value| list(&file["checkpoints"]).len() == 1;
            let metadata = job.join(format!("chk-{id}/_metadata"));
            let frees = files.iter().filter(has).filter(only).map(|file| match kind {
                // Of a file of several streams only the end of the last one is known, but in shared/.
                "rocksdb-merging" if file["scope"] != "shared" => number(&file["size"]),
                _ => on_disk(file),
            });
            let frees = frees.sum::<u64>() + fs::metadata(metadata).expect("there").len();
            assert_eq!(number(&checkpoint["frees"]["bytes"]), frees, "{kind} {id}");
        }
        for operator in list(&shared["operators"]) {
            let id = &operator["operator_id"];
            let of = |file: &&Value| {
                list(&file["owners"]).iter().any(|owner| owner["operator_id"] == *id)
            };
            let bytes: u64 = files.iter().filter(is_shared).filter(of).map(on_disk).sum();
            assert_eq!(number(&operator["bytes"]), bytes, "{kind}");
            let has = |file: &&Value| list(&file["checkpoints"]).contains(newest);
            let bytes: u64 =
                files.iter().filter(is_shared).filter(of).filter(has).map(on_disk).sum();
            assert_eq!(number(&operator["newest"]), bytes, "{kind}");
        }
        let some = list(&shared["operators"]).iter().any(|operator| number(&operator["bytes"]) > 0);
        assert_eq!(some, kind != "hashmap", "{kind}: {shared}");
    }
}

#[test]
fn what_nothing_refers_to_is_told_apart_by_age() {
    let (root, _) = copied("rocksdb-incremental");
    let job = latest(root.path(), "").parent().expect("a job").to_owned();
    let old = File::create(job.join("shared/old")).expect("made");
    old.set_len(1000).expect("long");
    old.set_modified(SystemTime::now() - Duration::from_secs(25 * 3600)).expect("set");
    fs::write(job.join("shared/young"), b"young").expect("written");
    let shared = json(tool(root.path()).arg("show").arg(&job))["shared"].take();
    let of = |what: &str| (number(&shared[what]["files"]), number(&shared[what]["bytes"]));
    assert_eq!((of("unreferenced"), of("young")), ((1, 1000), (1, 5)));
    assert_eq!(of("all"), (of("referenced").0 + 2, of("referenced").1 + 1005));
    let (out, _, _) = run(tool(root.path()).arg("show").arg(&job));
    assert!(out.contains("by none, older than a day         1000 B in 1 file\n"), "{out}");
    assert!(out.contains("ferrostate orphans"), "{out}");
    // The report has the same numbers.
    let report = json(tool(root.path()).arg("report").arg(&job));
    assert_eq!(report["shared"], shared);
}

/// Its metadata names the files by the paths that they had.
#[test]
fn files_of_a_copy_are_referred_to() {
    let (_root, copy) = copied("rocksdb-incremental");
    let job = latest(&copy, "").parent().expect("a job").to_owned();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_ferrostate"));
    let shared = json(command.arg("show").arg(&job))["shared"].take();
    assert_eq!(shared["all"], shared["referenced"]);
    assert!(number(&shared["elsewhere"]["files"]) > 0, "{shared}");
}

#[test]
fn an_unreadable_checkpoint_is_said_to_be() {
    let (root, copy) = copied("rocksdb-incremental");
    let older = snapshots(&copy)[0].clone();
    fs::write(older.join("_metadata"), b"not one").expect("written");
    let shown = json(tool(root.path()).arg("show").arg(older.parent().expect("a job")));
    assert!(shown["notes"][0].as_str().is_some_and(|note| note.contains("unreadable")), "{shown}");
}

/// A checkpoint root with two jobs and a savepoint directory in it.
fn several() -> (tempfile::TempDir, PathBuf, [PathBuf; 2], PathBuf) {
    let root = tempfile::tempdir().expect("a directory");
    let above = root.path().join("checkpoints");
    let names = ["0123456789abcdef0123456789abcdef", "fedcba9876543210fedcba9876543210"];
    let jobs = names.map(|name| {
        let from = latest(&fixtures(), "hashmap");
        copy(from.parent().expect("a job"), &above.join(name));
        above.join(name)
    });
    let savepoint = above.join("savepoint-012345-abcdef");
    copy(&latest(&fixtures(), "rocksdb-canonical"), &savepoint);
    fs::create_dir_all(above.join("empty")).expect("made");
    (root, above, jobs, savepoint)
}

#[test]
fn a_directory_of_jobs_and_savepoints_is_listed() {
    let (_root, above, jobs, savepoint) = several();
    let (out, error, code) = run(tool(&fixtures()).arg("show").arg(&above));
    assert_eq!((error.as_str(), code), ("", 0));
    assert!(out.contains("2 jobs, 1 checkpoint or savepoint"), "{out}");
    for path in jobs.iter().chain([&savepoint]) {
        assert!(out.contains(&path.display().to_string()), "{out}");
    }
    let listed = json(tool(&fixtures()).arg("show").arg(&above));
    let paths = |of: &str| -> BTreeSet<PathBuf> {
        list(&listed[of]).iter().map(|one| one["path"].as_str().expect("a path").into()).collect()
    };
    assert_eq!(paths("jobs"), BTreeSet::from(jobs.clone()));
    assert_eq!(paths("snapshots"), BTreeSet::from([savepoint]));
    assert_eq!(listed["jobs"][0]["checkpoints"], snapshots(&jobs[0]).len());
}

#[test]
fn where_one_is_needed_all_are_named() {
    let (_root, above, jobs, savepoint) = several();
    for name in ["files", "verify", "orphans", "report", "diff"] {
        let mut tool = tool(&fixtures());
        tool.arg(name).arg(&above);
        if name == "diff" {
            tool.arg(&above);
        }
        let (out, error, code) = run(&mut tool);
        assert_eq!((out.as_str(), code), ("", 2), "{name}: {error}");
        assert!(error.contains("holds several; name one of them"), "{name}: {error}");
        for path in jobs.iter().chain([&savepoint]) {
            assert!(error.contains(&path.display().to_string()), "{name}: {error}");
        }
    }
}

#[test]
fn a_file_is_no_checkpoint() {
    let (root, copy) = copied("rocksdb-incremental");
    let job = latest(&copy, "").parent().expect("a job").to_owned();
    let file = first_file(&job.join("shared"));
    for command in ["show", "files", "verify", "orphans", "report"] {
        let (out, error, code) = run(tool(root.path()).arg(command).arg(&file));
        assert_eq!((out.as_str(), code), ("", 2), "{command}");
        assert!(error.contains("is a file. Name the directory"), "{command}: {error}");
    }
    let (_, error, code) = run(tool(root.path()).arg("orphans").arg(latest(&copy, "")));
    assert_eq!(code, 64, "{error}");
    assert!(error.contains(&format!("as in {}", job.display())), "{error}");
}

fn first_file(directory: &Path) -> PathBuf {
    let mut entries = fs::read_dir(directory).expect("a directory");
    entries.next().expect("a file").expect("an entry").path()
}

/// Names are a user's: they steer no terminal, in errors neither.
#[test]
fn names_in_errors_cannot_steer() {
    let root = tempfile::tempdir().expect("a directory");
    for name in ["a\u{1b}[31m", "b\r"] {
        copy(latest(&fixtures(), "hashmap").parent().expect("a job"), &root.path().join(name));
    }
    let (_, error, code) = run(tool(&fixtures()).arg("verify").arg(root.path()));
    assert_eq!(code, 2);
    assert!(!error.contains(['\u{1b}', '\r']) && error.contains("a\u{fffd}[31m"), "{error:?}");
}
