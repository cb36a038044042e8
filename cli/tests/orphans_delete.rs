//! `orphans --delete`: refuses where it cannot know or where a checkpoint is damaged, and deletes only what it
//! has listed.
mod common;

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use common::left::{all_files, job, leave, orphans, paths, DAY};
use common::{json, run, snapshots, tool};
use serde_json::Value;

#[test]
fn unreadable_metadata_is_a_refusal() {
    let places = [
        "chk-2/_metadata",
        "shared/deep/_metadata",
        "../abcdefabcdefabcdefabcdefabcdefab/chk-1/_metadata",
    ];
    for place in places {
        let job = job("rocksdb-incremental");
        leave(&job.directory.join(place), DAY * 3);
        let mut command = orphans(job.root.path(), &job.directory);
        let (out, error, code) = run(command.args(["--delete", "--yes"]));
        assert_eq!((out.as_str(), code), ("", 4), "{place}: {error}");
        assert!(error.contains("refused") && error.contains("_metadata: byte 0"), "{error}");
        job.left.iter().for_each(|path| assert!(path.exists()));
    }
    let job = job("rocksdb-incremental");
    for snapshot in snapshots(&job.directory) {
        fs::remove_file(snapshot.join("_metadata")).expect("deleted");
    }
    let (_, error, code) =
        run(orphans(job.root.path(), &job.directory).args(["--delete", "--yes"]));
    assert_eq!(code, 2, "{error}");
    job.left.iter().for_each(|path| assert!(path.exists()));
}

#[test]
fn only_what_is_listed_is_deleted_and_written_down() {
    let job = job("rocksdb-incremental");
    let journal = job.root.path().join("journal.jsonl");
    let before: BTreeSet<_> = all_files(&job.directory).into_iter().collect();
    // Nobody is there to be asked.
    let (_, error, code) = run(orphans(job.root.path(), &job.directory).arg("--delete"));
    assert!(code == 1 && error.contains("--yes"), "{error}");
    assert_eq!(all_files(&job.directory).into_iter().collect::<BTreeSet<_>>(), before);

    let mut command = orphans(job.root.path(), &job.directory);
    let report = json(command.args(["--delete", "--yes", "--journal"]).arg(&journal));
    assert_eq!(report["deleted"]["deleted"], 5);
    assert_eq!(report["deleted"]["planned"], 5);
    let after: BTreeSet<_> = all_files(&job.directory).into_iter().collect();
    assert_eq!(before.difference(&after).cloned().collect::<BTreeSet<_>>(), job.left);
    assert!(!job.directory.join("chk-1").exists() && !job.directory.join("chk-2").exists());
    let (out, _, code) = run(tool(job.root.path()).args(["verify", "--deep"]).arg(&job.directory));
    assert_eq!(code, 0, "{out}");

    let text = fs::read_to_string(&journal).expect("the journal");
    let lines: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let of = |step: &str| -> BTreeSet<PathBuf> {
        let lines = lines.iter().filter(|line| line["step"] == step);
        lines.map(|line| PathBuf::from(line["path"].as_str().expect("a path"))).collect()
    };
    assert_eq!((of("planned"), of("deleted"), lines.len()), (job.left.clone(), job.left, 10));

    // A journal is never written over, and nothing goes without one.
    let left = job.directory.join("shared/again");
    leave(&left, DAY * 3);
    let mut command = orphans(job.root.path(), &job.directory);
    let (_, error, code) = run(command.args(["--delete", "--yes", "--journal"]).arg(&journal));
    assert!(code == 1 && error.contains("journal"), "{error}");
    assert!(left.exists());
}

/// What a damaged checkpoint misses may lie among what looks like orphans.
#[test]
fn with_a_damaged_checkpoint_nothing_is_deleted() {
    let job = job("rocksdb-incremental");
    let listed = json(tool(job.root.path()).arg("files").arg(&job.directory));
    let files = listed["files"].as_array().expect("files").iter();
    let path = |file: &Value| PathBuf::from(file["path"].as_str().expect("a path"));
    let shared = files.filter(|file| file["scope"] == "shared").map(path).next().expect("a file");
    fs::remove_file(&shared).expect("deleted");
    let (out, error, code) =
        run(orphans(job.root.path(), &job.directory).args(["--delete", "--yes"]));
    assert_eq!((out.as_str(), code), ("", 3), "{error}");
    for said in ["refused", "chk-", &shared.display().to_string(), "--although-damaged"] {
        assert!(error.contains(said), "{said}: {error}");
    }
    job.left.iter().for_each(|path| assert!(path.exists()));
    // A savepoint that was given counts too; what is listed does not depend on it.
    let report = json(&mut orphans(job.root.path(), &job.directory));
    assert_eq!(paths(&report), job.left);
    let mut command = orphans(job.root.path(), &job.directory);
    command.args(["--delete", "--yes", "--although-damaged", "--journal"]);
    let report = json(command.arg(job.root.path().join("journal")));
    assert_eq!(report["deleted"]["deleted"], 5);
}
