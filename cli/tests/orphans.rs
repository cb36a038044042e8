//! `orphans`: finds exactly what nothing refers to and spares what may be in use. Deletion:
//! `orphans_delete.rs`.
mod common;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::process::Command;
use std::time::Duration;

use common::left::{job, leave, orphans, paths, set_age, DAY};
use common::{fixtures, json, run, snapshots};

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
