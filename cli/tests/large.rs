//! A checkpoint of 100,000 files: `show` within a second and 200 MiB, every file with its state; `verify` in
//! a small multiple of the time that it takes to list them, and in the same memory.
mod common;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use common::{json, run};
use ferrostate_formats::metadata::{
    write, Incremental, KeyGroupRange, Keyed, LocalFile, Metadata, Operator, OperatorId, Stream,
    Subtask, SubtaskState,
};
use ferrostate_formats::rocksdb::log;

const SUBTASKS: i32 = 100;
const FILES: u64 = 1000;
const STATES: [&str; 4] = ["counts", "sessions", "by user", "_timer_state/event_timers"];

/// Base 128, the low bits first.
fn number(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn text(bytes: &mut Vec<u8>, value: &[u8]) {
    number(bytes, value.len() as u64);
    bytes.extend_from_slice(value);
}

/// A MANIFEST with a column family a state and a thousand table files among them.
fn manifest() -> Vec<u8> {
    let mut records = vec![Vec::new()];
    number(&mut records[0], 1);
    text(&mut records[0], b"leveldb.BytewiseComparator");
    for (id, state) in STATES.iter().enumerate() {
        let mut added = Vec::new();
        for value in [200, id as u64 + 1, 201] {
            number(&mut added, value);
        }
        text(&mut added, state.as_bytes());
        records.push(added);
    }
    for file in 0..FILES {
        let mut added = Vec::new();
        for value in [200, file % 4 + 1, 103, file % 7, file, size(file) as u64] {
            number(&mut added, value);
        }
        text(&mut added, &[&file.to_be_bytes()[..], &[0; 8]].concat());
        text(&mut added, &[&(file + 1).to_be_bytes()[..], &[0; 8]].concat());
        for value in [file, file + 1, 1] {
            number(&mut added, value);
        }
        records.push(added);
    }
    log::write(records.iter().map(Vec::as_slice))
}

fn size(file: u64) -> i64 {
    1000 + file as i64
}

fn path_of(shared: &str, index: i32, number: u64) -> String {
    format!("{shared}/{index:08}-6d1f-4a53-9f0e-{number:012}")
}

fn subtask(index: i32, directory: &Path, shared: &str) -> Subtask {
    let file = |number| LocalFile {
        stream: Stream::File { path: path_of(shared, index, number), size: size(number) },
        name: format!("{number:06}.sst"),
    };
    let shared = (0..FILES).map(file);
    let here = |name: &str| {
        let path = directory.join(name);
        let size = fs::metadata(&path).expect("written").len() as i64;
        LocalFile { name: name.into(), stream: Stream::Relative { path: name.into(), size } }
    };
    let incremental = Incremental {
        checkpoint_id: 7,
        backend: format!("backend-{index}"),
        range: KeyGroupRange { start: index * 10, count: 10 },
        checkpointed_size: None,
        meta: None,
        shared: shared.collect(),
        private: vec![here("CURRENT"), here("MANIFEST-000004")],
    };
    let managed_keyed = Some(Keyed::Incremental(Box::new(incremental)));
    let state = SubtaskState { managed_keyed, ..SubtaskState::default() };
    Subtask { index, state: Some(Box::new(state)) }
}

/// `shared`: where the table files are.
fn write_checkpoint(directory: &Path, shared: &str) {
    fs::write(directory.join("CURRENT"), b"MANIFEST-000004\n").expect("written");
    fs::write(directory.join("MANIFEST-000004"), manifest()).expect("written");
    let operator = Operator {
        name: Some("Counts".into()),
        uid: Some("counts".into()),
        id: OperatorId([7; 16]),
        parallelism: SUBTASKS,
        max_parallelism: 1000,
        coordinator: None,
        subtasks: Some((0..SUBTASKS).map(|index| subtask(index, directory, shared)).collect()),
    };
    let metadata = Metadata {
        version: 6,
        checkpoint_id: 7,
        master_states: Vec::new(),
        operators: vec![operator],
        kind: None,
    };
    fs::write(directory.join("_metadata"), write::bytes(&metadata)).expect("written");
}

fn usage() -> libc::rusage {
    // SAFETY: the call fills the structure, which is plain numbers.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: as above.
    assert_eq!(unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage) }, 0);
    usage
}

/// The most memory that any process of this test held, in KiB.
fn most_memory() -> i64 {
    usage().ru_maxrss
}

/// Seconds of processors that the processes of this test took.
fn processor_time() -> f64 {
    let usage = usage();
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

/// One at a time: they measure time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The tool's seconds, the best of three; where the machine is at other work, those of processors.
fn best(mut work: impl FnMut()) -> f64 {
    let seconds = (0..3).map(|_| {
        let (begun, before) = (Instant::now(), processor_time());
        work();
        begun.elapsed().as_secs_f64().min(processor_time() - before)
    });
    seconds.fold(f64::INFINITY, f64::min)
}

fn command(name: &str, path: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ferrostate"));
    command.arg(name).arg(path);
    command
}

#[test]
fn show_of_100_000_files() {
    let _alone = alone();
    let root = tempfile::tempdir().expect("a directory");
    write_checkpoint(
        root.path(),
        "s3://bucket/checkpoints/a1b2c3d4e5f60718293a4b5c6d7e8f90/shared",
    );
    let tool = || command("show", root.path());
    let seconds = best(|| {
        let (_, error, code) = run(&mut tool());
        assert_eq!(code, 0, "{error}");
    });
    println!("show: {seconds:.3} s, {} KiB", most_memory());
    assert!(seconds < 1.0, "{seconds} s");
    assert!(most_memory() < 200 << 10, "{} KiB", most_memory());

    let shown = json(&mut tool());
    assert_eq!(shown["files"], 100_002);
    assert_eq!(shown["notes"].as_array().map(Vec::len), Some(0), "{}", shown["notes"]);
    let states = shown["operators"][0]["states"].as_array().expect("states");
    let of = |name: &str| states.iter().find(|state| state["name"] == name).expect("the state");
    for (id, name) in STATES.iter().enumerate() {
        let sum: i64 = (0..FILES).filter(|file| file % 4 == id as u64).map(size).sum();
        assert_eq!(of(name)["full"], sum * i64::from(SUBTASKS), "{name}");
        assert_eq!((&of(name)["files"], &of(name)["subtasks"]), (&25_000.into(), &SUBTASKS.into()));
    }
}

/// Files of the right sizes, without any data.
fn write_files(shared: &Path) {
    fs::create_dir_all(shared).expect("made");
    let prefix = shared.to_str().expect("UTF-8");
    for index in 0..SUBTASKS {
        for number in 0..FILES {
            let file = File::create(path_of(prefix, index, number)).expect("made");
            file.set_len(size(number) as u64).expect("set");
        }
    }
}

/// Names and sizes of all files, one after the other.
fn list(directory: &Path) {
    let entries = fs::read_dir(directory).expect("listed");
    let sizes = entries.map(|entry| entry.expect("an entry").metadata().expect("there").len());
    assert!(sizes.sum::<u64>() > 0);
}

#[test]
fn verify_of_100_000_files() {
    let _alone = alone();
    // In memory where that goes: a disk takes a minute to make so many files.
    let memory = Path::new("/dev/shm");
    let root = tempfile::tempdir_in(memory).or_else(|_| tempfile::tempdir()).expect("a directory");
    let (checkpoint, shared) = (root.path().join("chk-7"), root.path().join("shared"));
    fs::create_dir(&checkpoint).expect("made");
    let prefix = shared.to_str().expect("UTF-8").to_owned();
    write_checkpoint(&checkpoint, &format!("file:{prefix}"));
    write_files(&shared);
    let listing = (0..3).map(|_| {
        let begun = Instant::now();
        list(&shared);
        begun.elapsed().as_secs_f64()
    });
    let listing = listing.fold(f64::INFINITY, f64::min);
    let seconds = best(|| {
        let (out, error, code) = run(&mut command("verify", &checkpoint));
        assert_eq!(code, 0, "{error}{}", &out[..out.len().min(1000)]);
    });
    println!("verify: {seconds:.3} s, listing {listing:.3} s, {} KiB", most_memory());
    assert!(seconds < 1.0 + 5.0 * listing, "{seconds} s where listing takes {listing} s");
    assert!(most_memory() < 200 << 10, "{} KiB", most_memory());

    let gone = PathBuf::from(path_of(&prefix, 3, 14));
    fs::remove_file(&gone).expect("removed");
    let short = PathBuf::from(path_of(&prefix, 15, 92));
    File::options().write(true).open(&short).expect("opened").set_len(6).expect("cut");
    let report = json(&mut command("verify", &checkpoint));
    assert_eq!(report["exit_code"], 3);
    let findings = report["snapshots"][0]["findings"].as_array().expect("findings");
    let paths: Vec<_> = findings.iter().map(|finding| finding["path"].as_str()).collect();
    assert_eq!(paths, [gone.to_str(), short.to_str()]);
}
