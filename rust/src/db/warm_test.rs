use std::fs::OpenOptions;
use std::path::Path;
use std::time::{Duration, Instant};

use super::*;
use crate::cancel::testing::Event;
use crate::config::Config;
use crate::db::Db;
use crate::runtime::testing::within;

const COLUMNS: [&str; 2] = ["one", "two"];
const ROWS: u32 = 40_000;
const MEMORY: i64 = 64 << 20;

fn memory(bytes: i64) -> Arc<Memory> {
    Arc::new(Memory::new(bytes, 0.5).expect("memory"))
}

fn open(path: &Path, warm_up: bool, memory: &Arc<Memory>) -> Arc<Db> {
    let config = Config { warm_up, metadata_block_size: 4 << 10, ..Config::default() };
    Db::open(path, &config, Some(Arc::clone(memory))).expect("open")
}

/// A closed database with a file below level 0 in each column family.
fn database(path: &Path) {
    filled(path, ROWS, 100);
}

fn filled(path: &Path, rows: u32, value: usize) {
    let db = open(path, false, &memory(MEMORY));
    for name in COLUMNS {
        let column = db.column(name).expect("column");
        for key in 0..rows {
            column.put(&key.to_be_bytes(), &noise(key)[..value]).expect("put");
        }
        column.flush().expect("flush");
        column.compact().expect("compact");
    }
    db.close();
}

/// What does not compress.
fn noise(mut seed: u32) -> [u8; 100] {
    std::array::from_fn(|_| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 24) as u8
    })
}

fn until_warm(db: &Db) {
    while db.property("ferrostate.is-warming").expect("asked").as_deref() == Some("1") {
        std::thread::yield_now();
    }
}

fn misses(db: &Db) -> u64 {
    ["index", "filter"]
        .iter()
        .map(|kind| format!("ferrostate.ticker.rocksdb.block.cache.{kind}.miss"))
        .map(|name| db.property(&name).expect("asked").expect("a ticker"))
        .map(|count| count.parse::<u64>().expect("a number"))
        .sum()
}

/// Blocks of index and filter that reads all over the database miss.
fn missed_by_reads(db: &Arc<Db>) -> u64 {
    let before = misses(db);
    for name in COLUMNS {
        let column = db.column(name).expect("column");
        for key in (0..ROWS).step_by(10) {
            assert!(column.get(&key.to_be_bytes()).expect("read").is_some());
        }
    }
    misses(db) - before
}

/// A database with files that was opened without a warm-up, and its directory and memory.
fn cold() -> (tempfile::TempDir, Arc<Memory>, Arc<Db>) {
    let root = tempfile::tempdir().expect("a directory");
    let path = root.path().join("db");
    database(&path);
    let memory = memory(MEMORY);
    let db = open(&path, false, &memory);
    (root, memory, db)
}

/// What a warm-up of an open database would use.
fn by_hand(db: &Db, memory: &Arc<Memory>) -> WarmUp {
    let bound = |name: &&str| {
        // SAFETY: the tests drop it before they close the database.
        unsafe { BoundColumn::of(db, name) }.expect("a column family")
    };
    WarmUp {
        columns: COLUMNS.iter().map(bound).collect(),
        options: db.column_options.clone(),
        memory: Some(Arc::clone(memory)),
        path: db.path().to_path_buf(),
        claim: Arc::clone(&db.claim),
    }
}

#[test]
fn reads_find_index_and_filter_in_memory() {
    within(|| {
        let root = tempfile::tempdir().expect("a directory");
        let path = root.path().join("db");
        database(&path);
        let cold = open(&path, false, &memory(MEMORY));
        assert!(missed_by_reads(&cold) > 20, "the partitions of two files");
        drop(cold);
        let warm = open(&path, true, &memory(MEMORY));
        until_warm(&warm);
        assert_eq!(missed_by_reads(&warm), 0);
    });
}

#[test]
fn files_are_read_ahead_and_named() {
    let (_root, memory, db) = cold();
    let warmed = by_hand(&db, &memory).warm(&Cancel::new()).expect("warm");
    let sizes = db.rocks.live_files().expect("files").iter().map(|file| file.size as u64).sum();
    assert_eq!((warmed.files, warmed.found, warmed.read), (2, 2, sizes));
    assert_eq!(db.claim.get().map(|claim| claim.0), Some(sizes));
    assert!((80_000..sizes / 20).contains(&warmed.finding), "{warmed:?} of {sizes}");
}

#[test]
fn it_takes_half_of_the_cache_at_most() {
    let root = tempfile::tempdir().expect("a directory");
    let path = root.path().join("db");
    filled(&path, 800_000, 0); // a filter of 1 MB a file
    let small = memory(4 << 20);
    let db = open(&path, false, &small);
    let warm_up = by_hand(&db, &small);
    let warmed = warm_up.warm(&Cancel::new()).expect("warm");
    let usage = small.usage();
    let half = usage.capacity as u64 / 2;
    let all: u64 = warm_up.tables().expect("listed").iter().map(|table| table.finding).sum();
    assert!((1..=half).contains(&warmed.finding) && all > half, "{warmed:?}, {all} of {usage:?}");
    assert!(warmed.found < warmed.files, "{warmed:?}");
    assert!((warmed.finding as usize..usage.capacity).contains(&usage.cache), "{usage:?}");
    drop(warm_up);
}

#[test]
fn a_cancel_ends_it_wherever_it_is() {
    let (_root, memory, db) = cold();
    let warm_up = by_hand(&db, &memory);
    let size: u64 = warm_up.tables().expect("listed").iter().map(|table| table.size).sum();
    let mut looks = 0;
    loop {
        let cancel = Cancel::with(Event::Cancel, looks);
        let outcome = warm_up.warm(&cancel);
        if cancel.happened_at().is_none() {
            break;
        }
        assert_eq!(outcome.expect_err("cancelled").kind, crate::Kind::Cancelled);
        looks += 1;
    }
    assert!(looks as u64 > size / CHUNK, "it looks at each chunk: {looks}");
    drop(warm_up);
}

#[test]
fn nothing_of_it_runs_when_close_returns() {
    within(|| {
        let root = tempfile::tempdir().expect("a directory");
        let path = root.path().join("db");
        database(&path);
        for _ in 0..20 {
            let db = open(&path, true, &memory(MEMORY));
            let started = Instant::now();
            db.close();
            assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
            assert!(!db.warming.is_running());
            drop(db);
        }
    });
}

#[test]
fn a_damaged_file_does_not_keep_the_others_cold() {
    let (_root, memory, db) = cold();
    let warm_up = by_hand(&db, &memory);
    let first = warm_up.tables().expect("listed").remove(0);
    let file = OpenOptions::new().write(true).open(&first.path).expect("opened");
    let end = first.size - 200;
    file.write_all_at(&[0xa5; 200], end).expect("written over");
    let warmed = warm_up.warm(&Cancel::new()).expect("the other file");
    assert_eq!((warmed.files, warmed.found), (2, 1));
    file.set_len(first.size / 2).expect("cut off");
    let warmed = warm_up.warm(&Cancel::new()).expect("the other file");
    assert_eq!((warmed.files, warmed.found), (2, 1));
    assert!(warmed.read < first.size * 2, "{warmed:?}");
    std::fs::remove_file(&first.path).expect("deleted, as compactions do");
    let warmed = warm_up.warm(&Cancel::new()).expect("the other file");
    assert_eq!((warmed.files, warmed.found), (2, 1));
    drop(warm_up);
}

#[test]
fn databases_do_not_claim_the_same_memory() {
    let room = CLAIMED.load(Ordering::Relaxed) + (1 << 40);
    let first = Claim::fits(1 << 39, room).expect("room");
    assert!(Claim::fits((1 << 39) + (1 << 38), room).is_none());
    drop(first);
    assert!(Claim::fits((1 << 39) + (1 << 38), room).is_some());
}

#[test]
fn it_asks_for_as_much_as_the_disk_brings_in_two_milliseconds() {
    let after = |chunk: Duration| (0..50).fold(LEAST_AHEAD, |ahead, _| next_ahead(ahead, chunk));
    assert_eq!(after(Duration::from_millis(1)), LEAST_AHEAD); // a network volume
    assert!((7 * CHUNK..=8 * CHUNK).contains(&after(Duration::from_micros(250))));
    assert!(after(Duration::ZERO) > 31 * CHUNK); // in memory already
    assert_eq!(next_ahead(MOST_AHEAD, Duration::from_secs(60)), 28 * CHUNK);
}
