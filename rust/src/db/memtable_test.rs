//! Our memtable beside RocksDB's skip list: the same random operations on two databases, the same answers,
//! at all moments that a snapshot or an iterator keeps. And readers beside a writer.
use super::ffi;
use rocksdb::{
    ColumnFamilyDescriptor, DBRawIterator, Direction, IteratorMode, Options, ReadOptions,
    WriteBatch, DB,
};
use std::collections::VecDeque;
use std::path::Path;
use std::time::{Duration, Instant};

type Row = (Vec<u8>, Vec<u8>);

struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % limit
    }

    /// Some are overwritten all the time, some are fronts of others, some differ far behind, or by zeros.
    fn key(&mut self) -> Vec<u8> {
        let number = self.below(3000) as u32;
        match self.below(8) {
            0 => b"hot".to_vec(),
            1 => vec![0; self.below(20)],
            2 => [&[b'x'; 21][..], &number.to_be_bytes()].concat(),
            3 => [&b"run"[..], &vec![b'y'; self.below(30)]].concat(),
            _ => [&[number as u8 & 7][..], &number.to_be_bytes(), &[0]].concat(),
        }
    }

    fn value(&mut self) -> Vec<u8> {
        let length = match self.below(200) {
            0 => 40_000 + self.below(100_000),
            1..=3 => 3_000 + self.below(4_000),
            _ => self.below(120),
        };
        vec![self.below(256) as u8; length]
    }
}

fn options(hash: bool, write_buffer: usize) -> Options {
    let mut options = super::options::read_only_options().expect("options");
    options.set_disable_auto_compactions(false);
    options.create_if_missing(true);
    options.set_write_buffer_size(write_buffer);
    options.set_arena_block_size(16 << 10);
    options.set_max_write_buffer_number(4);
    options.set_allow_concurrent_memtable_write(!hash);
    if hash {
        assert!(ffi::hash_memtable(&mut options).expect("installed"));
    }
    options
}

fn open(path: &Path, hash: bool, write_buffer: usize) -> DB {
    let options = options(hash, write_buffer);
    let column = ColumnFamilyDescriptor::new("default", options.clone());
    DB::open_cf_descriptors(&options, path, [column]).expect("open")
}

#[derive(Debug)]
enum Op {
    Write(Vec<Change>),
    Snapshot,
    Read(Vec<u8>),
    ReadMany(Vec<Vec<u8>>),
    Scan(Vec<u8>, Vec<bool>),
    OpenIterator,
    /// Iterators go on at this moment.
    Refresh(Vec<u8>),
    DeleteRange(Vec<u8>, Vec<u8>),
    Flush,
}

#[derive(Debug)]
enum Change {
    Put(Vec<u8>, Vec<u8>),
    Merge(Vec<u8>, Vec<u8>),
    Delete(Vec<u8>),
}

fn op(random: &mut Random) -> Op {
    match random.below(100) {
        0 => Op::Snapshot,
        1 => Op::OpenIterator,
        2..=4 => {
            let steps = random.below(40);
            Op::Scan(random.key(), (0..steps).map(|_| random.below(3) > 0).collect())
        }
        5..=24 => Op::Read(random.key()),
        25..=27 => {
            let mut keys: Vec<_> = (0..random.below(9)).map(|_| random.key()).collect();
            keys.sort();
            Op::ReadMany(keys)
        }
        30 if random.below(4) == 0 => Op::Refresh(random.key()),
        28 if random.below(40) == 0 => Op::Flush,
        29 if random.below(10) == 0 => {
            let (a, b) = (random.key(), random.key());
            Op::DeleteRange(a.clone().min(b.clone()), a.max(b))
        }
        _ => Op::Write((0..=random.below(12)).map(|_| change(random)).collect()),
    }
}

fn change(random: &mut Random) -> Change {
    let key = random.key();
    match random.below(10) {
        0 => Change::Delete(key),
        1..=3 => Change::Merge(key, b"operand".to_vec()),
        _ => Change::Put(key, random.value()),
    }
}

/// What stands there and after each step, mostly onwards: first from there on, then from there back.
fn walk(iterator: &mut DBRawIterator, from: &[u8], steps: &[bool]) -> Vec<Option<Row>> {
    let row = |iterator: &DBRawIterator| {
        iterator.item().map(|(key, value)| (key.to_vec(), value.to_vec()))
    };
    let mut seen = Vec::new();
    for back in [false, true] {
        if back {
            iterator.seek_for_prev(from);
        } else {
            iterator.seek(from);
        }
        seen.push(row(iterator));
        for forward in steps {
            if !iterator.valid() {
                break;
            }
            if *forward != back {
                iterator.next();
            } else {
                iterator.prev();
            }
            seen.push(row(iterator));
        }
        iterator.status().expect("iterated");
    }
    seen
}

fn all(mut iterator: DBRawIterator) -> Vec<Row> {
    let (mut there, mut back) = (Vec::new(), Vec::new());
    iterator.seek_to_first();
    while let Some((key, value)) = iterator.item() {
        there.push((key.to_vec(), value.to_vec()));
        iterator.next();
    }
    iterator.seek_to_last();
    while let Some((key, value)) = iterator.item() {
        back.push((key.to_vec(), value.to_vec()));
        iterator.prev();
    }
    iterator.status().expect("iterated");
    back.reverse();
    assert_eq!(there, back, "to and fro");
    there
}

fn write(db: &DB, changes: &[Change]) {
    let mut batch = WriteBatch::default();
    for change in changes {
        match change {
            Change::Put(key, value) => batch.put(key, value),
            Change::Merge(key, operand) => batch.merge(key, operand),
            Change::Delete(key) => batch.delete(key),
        }
    }
    db.write(batch).expect("written");
}

fn same_for(seed: u64, write_buffer: usize, operations: usize) {
    let dir = tempfile::tempdir().expect("temp dir");
    let mut random = Random(seed);
    for _ in 0..3 {
        let dbs =
            [true, false].map(|hash| open(&dir.path().join(hash.to_string()), hash, write_buffer));
        let mut snapshots = VecDeque::new();
        let mut iterators = VecDeque::new();
        for _ in 0..operations {
            match op(&mut random) {
                Op::Write(changes) => dbs.iter().for_each(|db| write(db, &changes)),
                Op::Snapshot => {
                    snapshots.push_back(dbs.each_ref().map(DB::snapshot));
                    if snapshots.len() > 3 {
                        let [a, b] = snapshots.pop_front().expect("one");
                        assert!(all(a.raw_iterator()) == all(b.raw_iterator()), "seed {seed}");
                    }
                }
                Op::OpenIterator => {
                    iterators.push_back(dbs.each_ref().map(DB::raw_iterator));
                    if iterators.len() > 3 {
                        let [a, b] = iterators.pop_front().expect("one");
                        assert!(all(a) == all(b), "seed {seed}");
                    }
                }
                Op::Read(key) => {
                    let [a, b] = dbs.each_ref().map(|db| db.get(&key).expect("read"));
                    assert!(a == b, "seed {seed}: {key:?}");
                    for [a, b] in &snapshots {
                        assert!(a.get(&key).expect("read") == b.get(&key).expect("read"));
                    }
                }
                Op::ReadMany(keys) => {
                    let [a, b] = dbs.each_ref().map(|db| {
                        let values = db.multi_get(&keys).into_iter();
                        values.map(|value| value.expect("read")).collect::<Vec<_>>()
                    });
                    assert!(a == b, "seed {seed}: {keys:?}");
                }
                Op::Scan(from, steps) => {
                    let scan = |mut iterator: DBRawIterator| walk(&mut iterator, &from, &steps);
                    let [a, b] = dbs.each_ref().map(|db| scan(db.raw_iterator()));
                    assert!(a == b, "seed {seed}: {from:?} {steps:?}");
                    for [a, b] in &snapshots {
                        assert!(scan(a.raw_iterator()) == scan(b.raw_iterator()), "seed {seed}");
                    }
                    for [a, b] in &mut iterators {
                        assert!(walk(a, &from, &steps) == walk(b, &from, &steps), "seed {seed}");
                    }
                }
                Op::Refresh(from) => {
                    for pair in &mut iterators {
                        let [a, b] = pair.each_mut().map(|iterator: &mut DBRawIterator| {
                            iterator.refresh().expect("refreshed");
                            walk(iterator, &from, &[true; 9])
                        });
                        assert!(a == b, "seed {seed}: {from:?}");
                    }
                }
                Op::DeleteRange(from, to) => {
                    for db in &dbs {
                        db.delete_range_cf(&db.cf_handle("default").expect("default"), &from, &to)
                            .expect("deleted");
                    }
                }
                Op::Flush => dbs.iter().for_each(|db| db.flush().expect("flushed")),
            }
        }
        let [a, b] = dbs.each_ref().map(|db| all(db.raw_iterator()));
        assert!(a == b, "seed {seed}");
        // What is left in memtables comes back from the log of writes.
    }
}

#[test]
fn answers_are_those_of_a_skip_list() {
    for seed in 1..=3 {
        same_for(seed, 64 << 10, 1500);
        same_for(seed << 32, 1 << 20, 1000);
    }
}

/// Large values make a chunk each, many keys make tables grow, and all versions of one key are kept.
#[test]
fn a_large_memtable_has_what_was_written() {
    let dir = tempfile::tempdir().expect("temp dir");
    let db = open(dir.path(), true, 512 << 20);
    let key = |n: u32| n.wrapping_mul(0x9E37_79B9).to_be_bytes();
    let value =
        |n: u32| vec![n as u8; if n.is_multiple_of(1000) { 50_000 } else { n as usize % 7 }];
    const KEYS: u32 = 150_000;
    for n in 0..KEYS {
        db.put(key(n), value(n)).expect("put");
        db.put(b"again", n.to_be_bytes()).expect("put");
    }
    for n in 0..KEYS {
        assert_eq!(db.get(key(n)).expect("read"), Some(value(n)));
        assert_eq!(db.get(key(n + KEYS)).expect("read"), None);
    }
    assert_eq!(db.get(b"again").expect("read"), Some((KEYS - 1).to_be_bytes().to_vec()));
    let mut expected: Vec<Row> = (0..KEYS).map(|n| (key(n).to_vec(), value(n))).collect();
    expected.push((b"again".to_vec(), (KEYS - 1).to_be_bytes().to_vec()));
    expected.sort();
    assert!(all(db.raw_iterator()) == expected);
    db.flush().expect("flushed");
    assert!(all(db.raw_iterator()) == expected, "after the flush");
}

/// A thread of the JVM has no more than a megabyte, and keys are as long as users make them.
#[test]
fn long_keys_that_are_alike_are_sorted_on_a_small_stack() {
    const STACK: usize = 256 << 10;
    let dir = tempfile::tempdir().expect("temp dir");
    let db = open(dir.path(), true, 256 << 20);
    let long = vec![b'k'; 200_000];
    let mut expected = Vec::new();
    for n in 0..30_u8 {
        db.put(&long, [n]).expect("put");
        let row = ([&long[..], &[n]].concat(), vec![n]);
        db.put(&row.0, &row.1).expect("put");
        expected.push(row);
    }
    expected.insert(0, (long, vec![29]));
    let seen = std::thread::scope(|scope| {
        let scan = || all(db.raw_iterator());
        let thread = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, scan);
        thread.expect("a thread").join().expect("sorted")
    });
    assert!(seen == expected);
}

/// Each batch gives all keys the same value, so each moment has one value everywhere.
#[test]
fn readers_beside_a_writer_see_one_moment() {
    const KEYS: u16 = 40;
    const MOMENTS: usize = 60;
    const LIMIT: Duration = Duration::from_secs(120);
    let dir = tempfile::tempdir().expect("temp dir");
    let db = open(dir.path(), true, 2 << 20);
    let start = Instant::now();
    let key = |n: u16| [&[n as u8 & 3][..], &n.to_be_bytes()].concat();
    let write = |round: u32| {
        let mut batch = WriteBatch::default();
        for n in 0..KEYS {
            batch.put(key(n), round.to_be_bytes());
        }
        // Others come, so that tables grow and memtables change.
        batch.put([&[9][..], &round.to_be_bytes()].concat(), [1; 20]);
        db.write(batch).expect("written");
    };
    write(0);
    let read = |scans: bool| {
        for _ in 0..if scans { MOMENTS } else { 20 * MOMENTS } {
            assert!(start.elapsed() < LIMIT, "so slow");
            let snapshot = db.snapshot();
            let first = snapshot.get(key(0)).expect("read").expect("there");
            for n in (0..KEYS).rev() {
                assert_eq!(snapshot.get(key(n)).expect("read").as_ref(), Some(&first), "key {n}");
            }
            if scans {
                let rows = |mode| {
                    let mut options = ReadOptions::default();
                    options.set_iterate_upper_bound(vec![9]);
                    let rows = snapshot.iterator_opt(mode, options);
                    rows.map(|row| row.expect("read")).collect::<Vec<_>>()
                };
                let there = rows(IteratorMode::Start);
                assert_eq!(there.len(), usize::from(KEYS));
                assert!(there.iter().all(|(_, value)| **value == *first));
                let mut back = rows(IteratorMode::From(&[8], Direction::Reverse));
                back.reverse();
                assert_eq!(there, back);
            }
        }
    };
    let read = &read;
    std::thread::scope(|scope| {
        let readers = [false, true].map(|scans| scope.spawn(move || read(scans)));
        let mut round = 0;
        while readers.iter().any(|reader| !reader.is_finished()) {
            round += 1;
            write(round);
        }
    });
}

/// Files of options stay such that any RocksDB reads them.
#[test]
fn options_files_name_a_skip_list() {
    let dir = tempfile::tempdir().expect("temp dir");
    drop(open(dir.path(), true, 1 << 20));
    let options = super::testing::names(dir.path())
        .into_iter()
        .find(|name| name.starts_with("OPTIONS-"))
        .expect("an OPTIONS file");
    let text = std::fs::read_to_string(dir.path().join(options)).expect("read");
    assert!(text.contains("memtable_factory=SkipListFactory"), "{text}");
    drop(open(dir.path(), false, 1 << 20));
}
