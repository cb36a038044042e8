//! A checkpoint of 100,000 files: `show` within a second and 200 MiB, every file with its state.
mod common;

use std::fs;
use std::path::Path;
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

fn subtask(index: i32, directory: &Path) -> Subtask {
    let file = |name: String, size: i64| {
        LocalFile {
        stream: Stream::File {
            path: format!("s3://bucket/checkpoints/a1b2c3d4e5f60718293a4b5c6d7e8f90/shared/{index:08}-6d1f-4a53-9f0e-{name}"),
            size,
        },
        name,
    }
    };
    let shared = (0..FILES).map(|number| file(format!("{number:06}.sst"), size(number)));
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

fn write_checkpoint(directory: &Path) {
    fs::write(directory.join("CURRENT"), b"MANIFEST-000004\n").expect("written");
    fs::write(directory.join("MANIFEST-000004"), manifest()).expect("written");
    let operator = Operator {
        name: Some("Counts".into()),
        uid: Some("counts".into()),
        id: OperatorId([7; 16]),
        parallelism: SUBTASKS,
        max_parallelism: 1000,
        coordinator: None,
        subtasks: Some((0..SUBTASKS).map(|index| subtask(index, directory)).collect()),
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

/// The most memory that any process of this test held, in KiB.
fn most_memory() -> i64 {
    // SAFETY: the call fills the structure, which is plain numbers.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: as above.
    assert_eq!(unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage) }, 0);
    usage.ru_maxrss
}

#[test]
fn show_of_100_000_files() {
    let root = tempfile::tempdir().expect("a directory");
    write_checkpoint(root.path());
    let tool = || {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_ferrostate"));
        command.arg("show").arg(root.path());
        command
    };
    // The best of three: the machine may be at other work.
    let seconds = (0..3).map(|_| {
        let begun = Instant::now();
        let (_, error, code) = run(&mut tool());
        assert_eq!(code, 0, "{error}");
        begun.elapsed().as_secs_f64()
    });
    let seconds = seconds.fold(f64::INFINITY, f64::min);
    println!("{seconds:.3} s, {} KiB", most_memory());
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
