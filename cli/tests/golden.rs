//! What the tool says of checkpoints that Flink 2.3.0 wrote, word by word. With FERROSTATE_GOLDEN=write the
//! files under golden/ are written anew: read the difference before you commit it.
mod common;

use std::fs;
use std::path::Path;

use common::{fixtures, latest, run, snapshots, tool};

fn compare(name: &str, said: &str) {
    // Where the clone is differs.
    let home = fixtures().canonicalize().expect("there");
    let said = said.replace(&home.display().to_string(), "FIXTURES");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("FERROSTATE_GOLDEN").is_some() {
        fs::write(&path, &said).expect("written");
    }
    let golden = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(said, golden, "{name}");
}

const KINDS: [&str; 14] = [
    "ferrostate",
    "ferrostate-rescaled",
    "forst",
    "hashmap",
    "rocksdb-canonical",
    "rocksdb-changelog",
    "rocksdb-full",
    "rocksdb-incremental",
    "rocksdb-inline",
    "rocksdb-merging",
    "rocksdb-native",
    "rocksdb-rescaled",
    "unaligned",
    "unaligned-merging",
];

const SAVEPOINTS: [&str; 2] = ["rocksdb-canonical", "rocksdb-native"];

#[test]
fn show() {
    let fixtures = fixtures().canonicalize().expect("there");
    for kind in KINDS {
        let snapshot = latest(&fixtures, kind);
        let (out, error, code) =
            run(tool(&fixtures).arg("show").arg(&snapshot).args(["--top", "0"]));
        assert_eq!((error.as_str(), code), ("", 0), "{kind}");
        compare(&format!("show-{kind}.txt"), &out);
    }
}

#[test]
fn show_of_a_job() {
    let fixtures = fixtures().canonicalize().expect("there");
    let snapshot = latest(&fixtures, "rocksdb-incremental");
    let job = snapshot.parent().expect("a job");
    let (out, _, code) = run(tool(&fixtures).arg("show").arg(job));
    assert_eq!(code, 0);
    compare("show-job.txt", &out);
}

#[test]
fn files() {
    let fixtures = fixtures().canonicalize().expect("there");
    for kind in ["forst", "rocksdb-incremental", "rocksdb-merging", "unaligned-merging"] {
        let snapshot = latest(&fixtures, kind);
        let job = snapshot.parent().expect("a job");
        let (out, _, code) = run(tool(&fixtures).arg("files").arg(job));
        assert_eq!(code, 0);
        compare(&format!("files-{kind}.txt"), &out);
    }
}

#[test]
fn diff() {
    let fixtures = fixtures().canonicalize().expect("there");
    for kind in KINDS.iter().filter(|kind| !SAVEPOINTS.contains(kind)) {
        let snapshots = snapshots(&fixtures.join(kind));
        // Two of one job; of those that were rescaled, the last of each job.
        let pair = match &snapshots[..] {
            [from, to] | [_, from, _, to] => [from, to],
            _ => panic!("{kind}: {snapshots:?}"),
        };
        let (out, _, code) = run(tool(&fixtures).arg("diff").args(pair));
        assert_eq!(code, 0);
        compare(&format!("diff-{kind}.txt"), &out);
    }
}

/// A job that goes on at another parallelism uploads its databases anew, and nothing says compaction.
#[test]
fn rescaled_is_a_reason() {
    let fixtures = fixtures().canonicalize().expect("there");
    for kind in ["rocksdb-rescaled", "ferrostate-rescaled"] {
        let snapshots = snapshots(&fixtures.join(kind));
        for to in [2, 3] {
            let mut command = tool(&fixtures);
            let said = common::json(command.arg("diff").arg(&snapshots[1]).arg(&snapshots[to]));
            let why = said["why"].as_array().expect("reasons").iter();
            let why: Vec<_> = why.map(|why| why["why"].as_str().expect("a reason")).collect();
            assert_eq!(why, ["database-files", "rescale", "written-whole"], "{kind}");
        }
    }
}

#[test]
fn who_uses_a_file() {
    let fixtures = fixtures().canonicalize().expect("there");
    let snapshot = latest(&fixtures, "rocksdb-incremental");
    let job = snapshot.parent().expect("a job");
    let all = common::json(tool(&fixtures).arg("files").arg(job));
    let file = &all["files"][3];
    let path = file["path"].as_str().expect("a path");
    // As Flink spells it, by its name, by a part of it.
    let name = Path::new(path).file_name().expect("a name").to_string_lossy().into_owned();
    for of in [format!("file:{path}"), name.clone(), name[..13].to_owned()] {
        let found = common::json(tool(&fixtures).arg("files").arg(job).arg("--of").arg(of));
        assert_eq!(found["files"].as_array().map(Vec::len), Some(1));
        assert_eq!(&found["files"][0], file);
    }
    let (out, error, code) = run(tool(&fixtures).arg("files").arg(job).args(["--of", "no-such"]));
    assert_eq!((out.as_str(), code), ("", 1));
    assert!(error.contains("refers to no-such"), "{error}");
}

/// Of a single checkpoint too: those before it are looked at.
#[test]
fn since_of_a_single_checkpoint() {
    let fixtures = fixtures();
    for kind in ["rocksdb-incremental", "ferrostate", "rocksdb-merging", "hashmap"] {
        let snapshot = latest(&fixtures, kind);
        let since = |path: &Path| -> std::collections::BTreeMap<String, i64> {
            let listed = common::json(tool(&fixtures).arg("files").arg(path));
            let newest =
                listed["checkpoints"].as_array().expect("ids").last().expect("one").clone();
            let files = listed["files"].as_array().expect("files").iter();
            let files = files.filter(|file| {
                file["checkpoints"].as_array().is_some_and(|has| has.contains(&newest))
            });
            let path = |file: &serde_json::Value| file["path"].as_str().expect("a path").to_owned();
            files.map(|file| (path(file), file["since"].as_i64().expect("since"))).collect()
        };
        let single = since(&snapshot);
        assert_eq!(single, since(snapshot.parent().expect("a job")), "{kind}");
        let older = single.values().any(|since| Some(since) < single.values().max());
        assert_eq!(older, kind != "hashmap", "{kind}: {single:?}");
    }
}

/// Totals are those of the handles of Flink.
#[test]
fn totals_are_flinks() {
    let fixtures = fixtures().canonicalize().expect("there");
    let text = fs::read_to_string(fixtures.join("flink-sizes.json")).expect("there");
    let said: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    for snapshot in snapshots(&fixtures) {
        let shown = common::json(tool(&fixtures).arg("show").arg(&snapshot));
        let name = snapshot.strip_prefix(&fixtures).expect("below").join("_metadata");
        let said = said[name.to_str().expect("UTF-8")]["operators"].as_array().expect("operators");
        for part in ["full", "new"] {
            let sum: i64 =
                said.iter().map(|operator| operator[part].as_i64().expect("a size")).sum();
            assert_eq!(shown[part].as_i64(), Some(sum), "{part} of {}", name.display());
        }
        // States and subtasks add up to the operator.
        for operator in shown["operators"].as_array().expect("operators") {
            let sum = |of: &str| -> i64 {
                let parts = operator[of].as_array().expect("parts").iter();
                parts.map(|part| part["full"].as_i64().expect("a size")).sum()
            };
            let full = operator["full"].as_i64().expect("a size");
            assert_eq!(sum("states"), full, "states of {operator}");
            let coordinator = operator["states"].as_array().expect("states").iter();
            let coordinator = coordinator.filter(|state| state["name"] == "(coordinator)");
            let coordinator: i64 = coordinator.filter_map(|state| state["full"].as_i64()).sum();
            assert_eq!(sum("subtasks") + coordinator, full, "subtasks of {operator}");
        }
    }
}
