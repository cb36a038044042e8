//! `orphans`: finds exactly what nothing refers to, spares what may be in use, refuses where it cannot
//! know, and deletes only what it has listed.
mod common;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use common::{copied, fixtures, json, latest, run, snapshots, tool};
use serde_json::Value;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn orphans(root: &Path, job: &Path) -> Command {
    let mut command = tool(root);
    command.arg("orphans").arg(job);
    command
}

fn paths(report: &Value) -> BTreeSet<PathBuf> {
    let orphans = report["orphans"].as_array().expect("orphans").iter();
    orphans.map(|orphan| PathBuf::from(orphan["path"].as_str().expect("a path"))).collect()
}

/// A file of that age.
fn leave(path: &Path, age: Duration) {
    fs::create_dir_all(path.parent().expect("a parent")).expect("made");
    fs::write(path, b"left over").expect("written");
    set_age(path, age);
}

fn set_age(path: &Path, age: Duration) {
    let file = File::options().write(true).open(path).expect("opened");
    file.set_modified(SystemTime::now() - age).expect("set");
}

/// A copied job whose files are two days old, with leftovers that are three days old.
struct Job {
    root: tempfile::TempDir,
    directory: PathBuf,
    left: BTreeSet<PathBuf>,
}

fn job(kind: &str) -> Job {
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

fn all_files(root: &Path) -> Vec<PathBuf> {
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

/// Flink leaves nothing behind when a job is cancelled, and nothing that it needs is taken for a leftover.
#[test]
fn what_flink_wrote_has_no_orphans() {
    let fixtures = fixtures();
    let mut jobs = BTreeSet::new();
    for snapshot in snapshots(&fixtures) {
        if snapshot.file_name().expect("a name").to_string_lossy().starts_with("chk-") {
            jobs.insert(snapshot.parent().expect("a job").to_owned());
        }
    }
    assert!(jobs.len() >= 8, "{jobs:?}");
    for job in jobs {
        let mut command = orphans(&fixtures, &job);
        let report = json(command.args(["--stopped", "--min-age", "0s"]));
        assert_eq!(paths(&report), BTreeSet::new(), "{}", job.display());
    }
}

#[test]
fn exactly_the_leftovers_are_listed() {
    for kind in ["rocksdb-incremental", "ferrostate", "hashmap", "rocksdb-changelog"] {
        let job = job(kind);
        let report = json(&mut orphans(job.root.path(), &job.directory));
        assert_eq!(paths(&report), job.left, "{kind}");
        assert_eq!(report["bytes"], 9 * 5);
        assert_eq!(report["files"], 5);
        let oldest = report["orphans"][0]["age_seconds"].as_u64().expect("an age");
        assert!((DAY.as_secs() * 3..DAY.as_secs() * 3 + 600).contains(&oldest));
        let (out, _, code) = run(&mut orphans(job.root.path(), &job.directory));
        assert_eq!(code, 0);
        assert!(out.contains("nothing was deleted") && out.contains("5 orphans, 45 B"), "{out}");
        job.left.iter().for_each(|path| assert!(path.exists()));
    }
}

/// A copy that is not told of with --map: its metadata refers to the original.
#[test]
fn files_of_a_copied_job_are_in_use() {
    let job = job("rocksdb-incremental");
    let mut command = Command::new(env!("CARGO_BIN_EXE_ferrostate"));
    let report = json(command.arg("orphans").arg(&job.directory));
    assert_eq!(paths(&report), job.left);
}

#[test]
fn what_may_be_in_flight_is_spared() {
    let job = job("rocksdb-incremental");
    // Younger than a day; younger than the newest checkpoint; of a later one.
    let spared =
        ["shared/young", "shared/flight", "chk-9/flight"].map(|name| job.directory.join(name));
    leave(&spared[0], Duration::from_secs(60));
    leave(&spared[1], DAY + DAY / 2);
    leave(&spared[2], DAY * 3);
    leave(&job.directory.join("notes.txt"), DAY * 3);
    let report = json(&mut orphans(job.root.path(), &job.directory));
    assert_eq!(paths(&report), job.left);
    let why: BTreeSet<_> = report["spared"]
        .as_array()
        .expect("spared")
        .iter()
        .map(|spared| {
            (spared["why"].as_str().expect("why"), spared["files"].as_u64().expect("files"))
        })
        .collect();
    assert_eq!(why, BTreeSet::from([("young", 1), ("in-flight", 2), ("unknown", 1)]));
    let report = json(orphans(job.root.path(), &job.directory).arg("--stopped"));
    let mut all = job.left.clone();
    all.extend([spared[1].clone(), spared[2].clone()]);
    assert_eq!(paths(&report), all);
}

#[test]
fn what_another_job_or_a_savepoint_refers_to_is_spared() {
    let job = job("rocksdb-incremental");
    // All of the job's checkpoints but the newest go; another job was restored from one of them.
    let [older, newest] = &snapshots(&job.directory)[..] else { panic!("two checkpoints") };
    let above = job.directory.parent().expect("above");
    let sibling = above.join("0123456789abcdef0123456789abcdef/chk-3");
    fs::create_dir_all(&sibling).expect("made");
    fs::rename(older.join("_metadata"), sibling.join("_metadata")).expect("moved");
    // By their names its own files are in use too, though its directory has moved.
    let expected = job.left.clone();
    let report = json(&mut orphans(job.root.path(), &job.directory));
    assert_eq!(paths(&report), expected);
    assert_eq!(report["snapshots"].as_array().map(Vec::len), Some(2));

    // Without the sibling its shared files are left over; as a savepoint or job given by path they are not.
    let elsewhere = job.root.path().join("elsewhere/job/chk-3");
    fs::create_dir_all(&elsewhere).expect("made");
    fs::rename(sibling.join("_metadata"), elsewhere.join("_metadata")).expect("moved");
    let alone = paths(&json(&mut orphans(job.root.path(), &job.directory)));
    assert!(alone.len() > expected.len() && alone.is_superset(&expected), "{alone:?}");
    for (option, path) in
        [("--savepoint", &*elsewhere), ("--also", elsewhere.parent().expect("a job"))]
    {
        let report = json(orphans(job.root.path(), &job.directory).arg(option).arg(path));
        assert_eq!(paths(&report), expected, "{option}");
    }
    let (_, error, code) =
        run(orphans(job.root.path(), &job.directory).args(["--savepoint", "/no/such/savepoint"]));
    assert_eq!(code, 2, "{error}");
    assert!(newest.exists());
}

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

#[test]
fn file_mergings_directories_are_not_judged() {
    let job = job("rocksdb-merging");
    let merging = fs::read_dir(job.directory.join("shared")).expect("listed");
    let merging = merging.map(|entry| entry.expect("an entry").path()).find(|path| path.is_dir());
    leave(&merging.expect("a directory of file merging").join("being-written"), DAY * 3);
    let report = json(&mut orphans(job.root.path(), &job.directory));
    let left: BTreeSet<_> = job
        .left
        .iter()
        .filter(|path| !path.starts_with(job.directory.join("taskowned")))
        .cloned()
        .collect();
    let found = paths(&report);
    assert!(left.is_subset(&found) && found.is_subset(&job.left), "{found:?}");
    assert_eq!(report["spared"][0]["why"], "merging");
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

#[test]
fn young_files_are_counted_with_when_they_are_old_enough() {
    let job = job("rocksdb-incremental");
    leave(&job.directory.join("shared/a"), Duration::from_secs(3600));
    leave(&job.directory.join("shared/b"), Duration::from_secs(3600 * 5));
    let report = json(&mut orphans(job.root.path(), &job.directory));
    let young = &report["spared"][0];
    assert_eq!(
        (&young["why"], &young["files"], &young["bytes"]),
        (&"young".into(), &2.into(), &18.into())
    );
    let hours = |of: &str| young[of].as_u64().map(|seconds| seconds.div_ceil(3600));
    assert_eq!((hours("first_in_seconds"), hours("all_in_seconds")), (Some(19), Some(23)));
    let (out, _, _) = run(&mut orphans(job.root.path(), &job.directory));
    assert!(out.contains("not listed: 2 files, 18 B, referred to by nothing"), "{out}");
    assert!(out.contains(": the first is old enough in 18 h, all in 22 h"), "{out}");
}

#[test]
fn what_they_cost_has_its_currency_and_basis() {
    let job = job("rocksdb-incremental");
    let large = job.directory.join("shared/large");
    File::create(&large).and_then(|file| file.set_len(10 << 30)).expect("a file with a hole");
    set_age(&large, DAY * 3);
    let (out, _, _) = run(&mut orphans(job.root.path(), &job.directory));
    assert!(out.contains("about 0.23 USD a month at 0.023 USD a GiB"), "{out}");
    let mut command = orphans(job.root.path(), &job.directory);
    command.args(["--price", "0.5", "--currency", "EUR"]);
    let (out, _, _) = run(&mut command);
    assert!(out.contains("about 5.00 EUR a month at 0.5 EUR a GiB"), "{out}");
}
