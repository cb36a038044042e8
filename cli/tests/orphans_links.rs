//! `orphans` where links, times and places hide what is in use: what is not known is not judged.
mod common;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::Duration;

use common::left::{job, leave, orphans, paths, DAY};
use common::{json, run, snapshots};

fn refused(root: &Path, job: &Path) {
    let mut command = orphans(root, job);
    let (out, error, code) = run(command.args(["--stopped", "--delete", "--yes"]));
    assert_eq!((out.as_str(), code), ("", 4), "{error}");
    assert!(error.contains("refused"), "{error}");
}

#[test]
fn a_checkpoint_behind_a_link_is_read() {
    let job = job("rocksdb-incremental");
    let [older, _] = &snapshots(&job.directory)[..] else { panic!("two checkpoints") };
    let away = job.root.path().join("away");
    fs::rename(older, &away).expect("moved");
    symlink(&away, older).expect("linked");
    let report = json(orphans(job.root.path(), &job.directory).arg("--stopped"));
    assert_eq!(report["snapshots"].as_array().map(Vec::len), Some(2), "{report}");
    assert_eq!(paths(&report), job.left);
    // A link that leads nowhere: of a file system that is not mounted.
    fs::rename(&away, job.root.path().join("gone")).expect("moved");
    refused(job.root.path(), &job.directory);
}

#[test]
fn jobs_beside_a_job_behind_a_link_are_read() {
    let job = job("rocksdb-incremental");
    let [older, _] = &snapshots(&job.directory)[..] else { panic!("two checkpoints") };
    let name = "0123456789abcdef0123456789abcdef";
    let sibling = job.directory.with_file_name(name);
    let moved = sibling.join("chk-3");
    fs::create_dir_all(&moved).expect("made");
    fs::rename(older.join("_metadata"), moved.join("_metadata")).expect("moved");
    let link = job.root.path().join("current");
    symlink(&job.directory, &link).expect("linked");
    let through = |report| paths(&report).len();
    let expected = through(json(&mut orphans(job.root.path(), &job.directory)));
    assert_eq!(through(json(&mut orphans(job.root.path(), &link))), expected);
    // Nor does it matter that the other job is behind one.
    let away = job.root.path().join("away");
    fs::rename(&sibling, &away).expect("moved");
    symlink(&away, &sibling).expect("linked");
    assert_eq!(through(json(&mut orphans(job.root.path(), &link))), expected);
    fs::rename(&away, job.root.path().join("gone")).expect("moved");
    refused(job.root.path(), &job.directory);
}

/// `create-subdir: false`, or a directory that was renamed; a savepoint that was claimed; not `lost+found`.
#[test]
fn what_refers_to_a_job_is_found_beside_it_under_any_name() {
    for place in ["orders-v2/chk-3", "savepoint-1", "renamed.2026/chk-9"] {
        let job = job("rocksdb-incremental");
        let metadata = snapshots(&job.directory)[0].join("_metadata");
        let moved = job.directory.with_file_name(place).join("_metadata");
        fs::create_dir_all(moved.parent().expect("a parent")).expect("made");
        fs::create_dir(job.directory.with_file_name("lost+found")).expect("made");
        let report = json(orphans(job.root.path(), &job.directory).arg("--stopped"));
        fs::rename(&metadata, &moved).expect("moved");
        let now = json(orphans(job.root.path(), &job.directory).arg("--stopped"));
        assert_eq!(paths(&now), paths(&report), "{place}");
        // Without it there is more that nobody needs.
        fs::remove_file(&moved).expect("deleted");
        let alone = json(orphans(job.root.path(), &job.directory).arg("--stopped"));
        assert!(paths(&alone).len() > paths(&report).len(), "{place}");
    }
}

#[test]
fn what_stands_in_the_place_of_a_metadata_is_a_refusal() {
    let job = job("rocksdb-incremental");
    let older = snapshots(&job.directory)[0].join("_metadata");
    fs::remove_file(&older).expect("deleted");
    symlink("/no/such/file", &older).expect("linked");
    refused(job.root.path(), &job.directory);
    fs::remove_file(&older).expect("deleted");
    fs::create_dir(&older).expect("made");
    refused(job.root.path(), &job.directory);
}

#[test]
fn files_without_a_time_may_be_in_flight() {
    let job = job("rocksdb-incremental");
    let path = job.directory.join("shared/timeless");
    leave(&path, DAY);
    let file = fs::File::options().write(true).open(&path).expect("opened");
    file.set_modified(std::time::SystemTime::UNIX_EPOCH).expect("set");
    assert_eq!(paths(&json(&mut orphans(job.root.path(), &job.directory))), job.left);
    let report = json(orphans(job.root.path(), &job.directory).arg("--stopped"));
    assert!(paths(&report).contains(&path), "{report}");
}

/// JSON has no such numbers.
#[test]
fn a_price_is_a_number() {
    for price in ["nan", "inf", "-1", "1e999", "x"] {
        let job = job("hashmap");
        let mut command = orphans(job.root.path(), &job.directory);
        let (_, _, code) = run(command.arg(format!("--price={price}")));
        assert_eq!(code, 64, "{price}");
    }
}

/// Another job goes on from this one's files: its checkpoint is subsumed while it is listed and read.
#[test]
fn what_a_running_job_beside_it_needs_is_never_listed() {
    let job = job("rocksdb-incremental");
    let older = snapshots(&job.directory)[0].join("_metadata");
    let metadata = fs::read(&older).expect("read");
    fs::remove_file(&older).expect("deleted");
    let sibling = job.directory.with_file_name("0123456789abcdef0123456789abcdef");
    let write = move |id: u64| {
        let directory = sibling.join(format!("chk-{id}"));
        fs::create_dir_all(&directory).expect("made");
        fs::write(directory.join("being-written"), &metadata).expect("written");
        let done = directory.join("_metadata");
        fs::rename(directory.join("being-written"), done).expect("renamed");
        directory
    };
    let mut last = write(1);
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let running = std::thread::spawn(move || {
        for id in 2.. {
            if stopped.load(Ordering::Relaxed) {
                return;
            }
            let next = write(id);
            fs::remove_dir_all(&last).expect("deleted");
            last = next;
            std::thread::sleep(Duration::from_millis(2));
        }
    });
    for _ in 0..40 {
        let mut command = orphans(job.root.path(), &job.directory);
        let (out, error, code) = run(command.args(["--stopped", "--json"]));
        if code == 0 {
            let report = serde_json::from_str(&out).expect("JSON");
            assert_eq!(paths(&report), job.left);
        } else {
            assert!(code == 1 && error.contains("come and go faster"), "{code}: {error}");
        }
    }
    stop.store(true, Ordering::Relaxed);
    running.join().expect("it ran");
}
