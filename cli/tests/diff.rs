//! `diff`: what it counts as uploaded is what Flink counted, and each reason is told.
mod common;

use std::path::{Path, PathBuf};

use common::{fixtures, json, latest, run, snapshots, tool};
use serde_json::Value;

fn pair(kind: &str) -> [PathBuf; 2] {
    let found = snapshots(&fixtures().join(kind));
    <[PathBuf; 2]>::try_from(found).expect("two checkpoints")
}

fn diff(from: &Path, to: &Path) -> Value {
    json(tool(&fixtures()).arg("diff").arg(from).arg(to))
}

fn reasons(diff: &Value) -> Vec<&str> {
    let reasons = diff["why"].as_array().expect("why").iter();
    reasons.map(|reason| reason["why"].as_str().expect("a reason")).collect()
}

/// Flink's "checkpointed size" is what was uploaded for the checkpoint; small state in `_metadata` counts
/// even if it is what it was.
#[test]
fn uploaded_is_what_flink_counted() {
    for kind in [
        "rocksdb-incremental",
        "ferrostate",
        "rocksdb-full",
        "rocksdb-merging",
        "hashmap",
        "rocksdb-inline",
    ] {
        let [from, to] = pair(kind);
        let shown = json(tool(&fixtures()).arg("show").arg(&to));
        let coordinator = shown["operators"].as_array().expect("operators").iter();
        let coordinator: i64 = coordinator
            .flat_map(|operator| operator["states"].as_array().expect("states"))
            .filter(|state| state["name"] == "(coordinator)")
            .filter_map(|state| state["full"].as_i64())
            .sum();
        let diff = diff(&from, &to);
        let uploaded = diff["uploaded"]["bytes"].as_i64().expect("bytes");
        assert_eq!(Some(uploaded + coordinator), shown["new"].as_i64(), "{kind}");
        let sum = |of: &str| -> i64 {
            let parts = diff[of].as_array().expect("parts").iter();
            parts.map(|part| part["bytes"].as_i64().expect("bytes")).sum()
        };
        assert_eq!((sum("why"), sum("parts")), (uploaded, uploaded), "{kind}");
    }
}

#[test]
fn each_reason_is_told() {
    let [from, to] = pair("rocksdb-incremental");
    let incremental = diff(&from, &to);
    assert_eq!(reasons(&incremental), ["database-files", "compaction", "flush", "written-whole"]);
    let compaction = &incremental["compactions"][0];
    assert!(compaction["inputs"].as_array().is_some_and(|inputs| inputs.len() == 3));
    let number = |of: &Value| of.as_i64().expect("a number");
    assert!(number(&compaction["old_bytes"]) <= number(&compaction["input_bytes"]));
    assert!(incremental["write_amplification"]
        .as_f64()
        .is_some_and(|amplification| amplification > 1.0));

    let [from, to] = pair("rocksdb-full");
    assert!(reasons(&diff(&from, &to)).contains(&"full-snapshot"));
    let [from, to] = pair("hashmap");
    let heap = diff(&from, &to);
    assert_eq!(
        (reasons(&heap), &heap["write_amplification"]),
        (vec!["written-whole"], &Value::Null)
    );
    let [from, to] = pair("rocksdb-changelog");
    assert!(reasons(&diff(&from, &to)).contains(&"changelog"));
    // A native savepoint has all files once more.
    let savepoint = latest(&fixtures(), "rocksdb-native");
    assert!(reasons(&diff(&from, &savepoint)).contains(&"full-snapshot"));
    // Databases of the same subtasks that never were those of the earlier one.
    let other = diff(&pair("rocksdb-incremental")[0], &pair("ferrostate")[1]);
    assert!(reasons(&other).contains(&"restore"), "{other}");
}

#[test]
fn the_same_checkpoint_has_nothing_new() {
    let [_, to] = pair("rocksdb-incremental");
    let none = diff(&to, &to);
    assert_eq!(none["uploaded"]["bytes"], 0);
    assert_eq!(none["gone"]["files"], 0);
    assert!(reasons(&none).is_empty());
}

#[test]
fn a_jobs_directory_is_too_much() {
    let [from, to] = pair("hashmap");
    let job = from.parent().expect("a job");
    let (_, error, code) = run(tool(&fixtures()).arg("diff").arg(job).arg(to));
    assert!(code == 1 && error.contains("name one of its checkpoints"), "{error}");
}

fn notes(from: &Path, to: &Path) -> String {
    let diff = diff(from, to);
    let notes = diff["notes"].as_array().expect("notes").iter();
    notes.map(|note| note.as_str().expect("a note")).collect::<Vec<_>>().join("\n")
}

/// Numbers that do not mean what they seem to are said to.
#[test]
fn a_pair_that_does_not_fit_is_told() {
    let [from, to] = pair("rocksdb-incremental").map(|path| path.canonicalize().expect("there"));
    assert_eq!(notes(&from, &to), "");
    let swapped = notes(&to, &from);
    let again = format!("try ferrostate diff {} {}", from.display(), to.display());
    assert!(swapped.contains("is older than A") && swapped.contains(&again), "{swapped}");
    assert!(notes(&to, &to).contains("A and B are the same"));
    // The same program in another job, and another program.
    let other = notes(&from, &pair("ferrostate")[1]);
    assert!(other.contains("of different jobs, ") && other.contains("restored from A"), "{other}");
    let unaligned = notes(&from, &latest(&fixtures(), "unaligned"));
    assert!(unaligned.contains("different jobs"), "{unaligned}");

    let canonical = latest(&fixtures(), "rocksdb-canonical");
    let said = notes(&from, &canonical);
    assert!(said.contains("B is a canonical savepoint, which shares no file"), "{said}");
    assert!(notes(&canonical, &to).contains("A is a canonical savepoint"));
    let native = notes(&from, &latest(&fixtures(), "rocksdb-native"));
    assert!(native.contains("hard links"), "{native}");
}
