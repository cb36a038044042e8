//! Hot keys stay out of the database; failures lose nothing; memory keeps to its limit.
use super::{Buffer, Rows};
use crate::config::Config;
use crate::db::{self, Db};
use crate::memory::Memory;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

struct Subject {
    _dir: tempfile::TempDir,
    db: Arc<Db>,
    buffer: Arc<Buffer>,
    rows: Rows,
}

fn subject(size: usize, memory: Option<Arc<Memory>>) -> Subject {
    let dir = tempfile::tempdir().expect("temp dir");
    let size = size.to_string();
    let config = Config::parse([("buffer.enabled", "true"), ("buffer.size", size.as_str())]);
    let config = config.expect("config");
    let db = Db::open(dir.path(), &config, memory.clone()).expect("open");
    let buffer = Buffer::new(&config, memory).expect("turned on");
    let rows = buffer.rows(&db, "state").expect("rows");
    Subject { _dir: dir, db, buffer, rows }
}

impl Subject {
    fn get(&self, key: &[u8], map: usize) -> Option<Vec<u8>> {
        let mut page = vec![0; 1 << 12];
        let length = self.rows.get(key, map, &mut page).expect("get")?;
        Some(page[..length].to_vec())
    }

    /// What the database has, which is asked itself.
    fn stored(&self, key: &[u8]) -> Option<Vec<u8>> {
        self.rows.column().get(key).expect("get")
    }
}

#[test]
fn overwrites_and_what_came_and_went_never_reach_the_database() {
    let s = subject(1 << 20, None);
    for n in 0u32..1000 {
        s.rows.put(b"key", 0, &n.to_be_bytes()).expect("put");
    }
    assert_eq!(s.get(b"short", 0), None);
    s.rows.put(b"short", 0, b"lived").expect("put");
    s.rows.merge(b"short", b"list").expect("merge");
    s.rows.delete(b"short", 0).expect("delete");
    s.buffer.flush().expect("flush");
    assert_eq!(s.buffer.counters().written, 1);
    assert_eq!(s.stored(b"key"), Some(999u32.to_be_bytes().to_vec()));
    assert_eq!(s.get(b"key", 0), s.stored(b"key"));
    let before = s.buffer.counters();
    assert_eq!(s.get(b"short", 0), None);
    assert_eq!(s.buffer.counters().misses, before.misses, "a miss is remembered");
}

#[test]
fn what_is_appended_to_a_known_value_is_written_alone() {
    let s = subject(1 << 20, None);
    s.rows.put(b"list", 0, &[b'a'; 100]).expect("put");
    s.buffer.flush().expect("flush");
    s.rows.merge(b"list", b"b").expect("merge");
    s.rows.merge(b"list", b"").expect("merge");
    let all = [&[b'a'; 100][..], b",b,"].concat();
    assert_eq!(s.get(b"list", 0), Some(all.clone()));
    s.buffer.flush().expect("flush");
    assert_eq!(s.stored(b"list"), Some(all.clone()));
    s.rows.merge(b"list", b"c").expect("merge");
    s.buffer.flush().expect("flush");
    assert_eq!(s.stored(b"list"), Some([&all[..], b",c"].concat()));
    assert_eq!(s.get(b"list", 0), s.stored(b"list"));
}

/// Else a state of long lists that became short is written all the time.
#[test]
fn room_that_is_unused_is_not_dirty() {
    let s = subject(1 << 20, None);
    s.rows.put(b"list", 0, &[b'a'; 900]).expect("put");
    assert!(s.buffer.usage().0 > 900, "{:?}", s.buffer.usage());
    s.rows.put(b"list", 0, b"b").expect("put");
    assert!(s.buffer.usage().0 < 40, "{:?}", s.buffer.usage());
    s.rows.delete(b"list", 0).expect("delete");
    s.rows.merge(b"list", b"c").expect("merge");
    assert_eq!(s.buffer.usage().0, s.buffer.count_dirty());
}

#[test]
fn appended_to_what_is_not_known_it_is_one_operand() {
    let s = subject(1 << 20, None);
    s.rows.column().put(b"list", b"a").expect("put");
    for element in [&b"b"[..], b"c"] {
        s.rows.merge(b"list", element).expect("merge");
    }
    assert!(s.rows.contains(b"list", 0).expect("contains"));
    assert_eq!(s.stored(b"list"), Some(b"a".to_vec()));
    assert_eq!(s.get(b"list", 0), Some(b"a,b,c".to_vec()));
    s.buffer.flush().expect("flush");
    assert_eq!(s.stored(b"list"), Some(b"a,b,c".to_vec()));
}

#[test]
fn a_small_map_is_iterated_without_the_database() {
    let s = subject(1 << 20, None);
    assert!(!s.rows.map_has_rows(b"m").expect("look"));
    for user in [b"mb", b"ma", b"mc"] {
        s.rows.put(user, 1, b"value").expect("put");
    }
    s.rows.delete(b"mc", 1).expect("delete");
    let before = s.buffer.counters();
    let mut page = [0; 100];
    let fill = s.rows.scan_map(b"m", 1, false, 10, &mut page).expect("scan");
    assert_eq!(fill, db::Fill::Used(8 + 2 * (8 + 2 + 5)));
    assert!(!s.rows.contains(b"mz", 1).expect("contains"));
    s.rows.clear_map(b"m").expect("clear");
    let after = s.buffer.counters();
    assert_eq!((after.misses, after.written), (before.misses, 0));
    s.buffer.flush().expect("flush");
    assert_eq!(s.buffer.counters().written, 0, "there is no row to be deleted");
    assert!(!s.rows.column().contains_prefix(b"m").expect("look"));
}

#[test]
fn memory_keeps_to_the_limit_and_goes_back_to_the_cache() {
    let memory = Arc::new(Memory::new(8 << 20, 0.5).expect("memory"));
    let s = subject(1, Some(Arc::clone(&memory)));
    let limit = memory.buffer_share(0.7, 0);
    for n in 0u32..100_000 {
        s.rows.put(&n.to_be_bytes(), 0, &[7; 100]).expect("put");
        let usage = memory.usage();
        assert!(usage.buffers <= limit + (1 << 16), "{n}: {usage:?}");
        // What finds a row has a quarter of the cache, whatever memtables take.
        let memtables = usage.write_buffers.min(memory.write_buffers().get_buffer_size());
        let most = usage.capacity / 4 * 3 + (1 << 18);
        assert!(usage.buffers + memtables <= most, "{n}: {usage:?}");
    }
    assert!(memory.usage().buffers < limit / 4, "keys that nobody uses are worth no memory");
    assert!(s.buffer.usage().0 <= limit);
    for n in 0u32..100_000 {
        assert_eq!(s.get(&n.to_be_bytes(), 0).as_deref(), Some(&[7; 100][..]), "{n}");
    }
    drop(s);
    assert_eq!(memory.usage().buffers, 0);
}

/// What finds a row has a quarter of the cache: buffers make room for memtables, as long as they are large.
#[test]
fn memtables_come_before_buffers() {
    let memory = Arc::new(Memory::new(8 << 20, 0.5).expect("memory"));
    let s = subject(1, Some(Arc::clone(&memory)));
    let share = || memory.buffer_share(0.7, memory.usage().buffers);
    let before = share();
    for n in 0u32..10_000 {
        s.rows.column().put(&n.to_be_bytes(), &[7; 100]).expect("put");
    }
    let usage = memory.usage();
    assert!(usage.write_buffers > 1 << 20, "{usage:?}");
    let most = usage.capacity - usage.capacity / 4 - usage.write_buffers;
    assert!(most < before && share() <= most, "{usage:?}");
    s.db.flush().expect("flush");
    assert!(share() <= most, "that it is lately that they were large");
    // The thread that flushed frees the memtable after it has said that it is done.
    let until = Instant::now() + Duration::from_secs(30);
    while memory.usage().write_buffers > 1 << 20 {
        assert!(Instant::now() < until, "a flushed memtable stays: {:?}", memory.usage());
        thread::yield_now();
    }
    (0..60).for_each(|_| memory.forget_memtables());
    assert_eq!(share(), before);
}

/// More keys than the smallest buffer has: it notices that they come back.
#[test]
fn memory_is_taken_again_when_it_is_of_use() {
    let memory = Arc::new(Memory::new(8 << 20, 0.5).expect("memory"));
    let s = subject(1, Some(Arc::clone(&memory)));
    for n in 0u32..100_000 {
        s.rows.put(&n.to_be_bytes(), 0, &[7; 100]).expect("put");
    }
    let round = || {
        let before = s.buffer.counters().misses;
        (0u32..5000).for_each(|n| assert!(s.get(&n.to_be_bytes(), 0).is_some()));
        s.buffer.counters().misses - before
    };
    let rounds: Vec<_> = (0..12).map(|_| round()).collect();
    assert!(*rounds.last().expect("12") < 100, "misses of 5000 a round: {rounds:?}");
}

/// What stays of a segment that is emptied goes to one that is filled to its end before another begins.
#[test]
fn segments_are_full_while_keys_come_and_stay() {
    let s = subject(2 << 20, None);
    let mut random = 1u32;
    let mut next = |below: u32| {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        ((u64::from(random >> 8) * u64::from(below)) >> 24) as u32
    };
    for n in 0u32..200_000 {
        let below = if n % 4 == 0 { 100_000 } else { 1 + next(30_000) };
        let key = next(below);
        s.rows.put(&key.to_be_bytes(), 0, &[7; 100]).expect("put");
        s.get(&key.to_be_bytes(), 0);
    }
    let (live, held) = s.buffer.filled();
    assert!(live * 20 > held * 19, "{live} of {held} bytes");
}

/// Making room for others writes what goes, not what is written again soon.
#[test]
fn what_is_written_all_the_time_is_written_seldom() {
    let s = subject(1 << 20, None);
    let mut random = 1u32;
    for n in 0u32..40_000 {
        s.rows.put(&n.to_be_bytes(), 0, &[7; 100]).expect("put");
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        s.rows.put(&[(random >> 24) as u8; 3], 0, &[8; 100]).expect("put");
    }
    let written = (0u8..=255).filter(|hot| s.stored(&[*hot; 3]).is_some()).count();
    assert!(written < 64, "{written} of 256 hot rows");
    assert!(s.buffer.counters().written > 20_000, "cold ones are");
}

/// A scan of cold keys takes no room from those that are used.
#[test]
fn hot_keys_outlast_a_scan() {
    let s = subject(1 << 16, None);
    let hot = |n: u32| [b"hot", &n.to_be_bytes()[..]].concat();
    for n in 0..100 {
        s.rows.put(&hot(n), 0, b"value").expect("put");
    }
    for n in 0u32..50_000 {
        s.get(&n.to_be_bytes(), 0);
        s.get(&hot(n % 100), 0);
    }
    let before = s.buffer.counters().misses;
    for n in 0..100 {
        s.get(&hot(n), 0).expect("there");
    }
    assert!(s.buffer.counters().misses - before < 5, "{}", s.buffer.counters().misses - before);
}

#[derive(Debug, Clone)]
enum Op {
    Put(u8, Vec<u8>),
    Merge(u8, Vec<u8>),
    Delete(u8),
    PutInMap(u8, Vec<u8>),
    DeleteInMap(u8),
    Flush,
    /// From now on the database takes no writes, or does so again.
    Fail(bool),
}

fn op() -> impl Strategy<Value = Op> {
    let value = || prop::collection::vec(any::<u8>(), 0..60);
    prop_oneof![
        8 => (any::<u8>(), value()).prop_map(|(k, v)| Op::Put(k, v)),
        6 => (any::<u8>(), value()).prop_map(|(k, v)| Op::Merge(k, v)),
        3 => any::<u8>().prop_map(Op::Delete),
        8 => (any::<u8>(), value()).prop_map(|(k, v)| Op::PutInMap(k, v)),
        3 => any::<u8>().prop_map(Op::DeleteInMap),
        1 => Just(Op::Flush),
        2 => any::<bool>().prop_map(Op::Fail),
    ]
}

/// What a key may have: after an operation that failed, what it had before or what it was to get.
type Model = BTreeMap<Vec<u8>, BTreeSet<Option<Vec<u8>>>>;

fn change(
    model: &mut Model,
    key: &[u8],
    done: bool,
    call: impl Fn(Option<&Vec<u8>>) -> Option<Vec<u8>>,
) {
    let may = model.entry(key.to_vec()).or_insert_with(|| BTreeSet::from([None]));
    let changed: BTreeSet<_> = may.iter().map(|value| call(value.as_ref())).collect();
    if done {
        may.clear();
    }
    may.extend(changed);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    /// On states of rows and of maps, under limits so small that most operations need room.
    #[test]
    fn a_failed_write_is_told_and_loses_nothing(ops in prop::collection::vec(op(), 1..400)) {
        let s = subject(1, None);
        let maps = s.buffer.rows(&s.db, "maps").expect("rows");
        let (mut of_rows, mut of_maps) = (Model::new(), Model::new());
        let mut failing = false;
        for op in ops {
            match op {
                Op::Put(key, value) => {
                    let done = s.rows.put(&[key], 0, &value).is_ok();
                    prop_assert!(done || failing);
                    change(&mut of_rows, &[key], done, |_| Some(value.clone()));
                }
                Op::Merge(key, operand) => {
                    let done = s.rows.merge(&[key], &operand).is_ok();
                    prop_assert!(done || failing);
                    change(&mut of_rows, &[key], done, |value| {
                        Some(value.map_or(operand.clone(), |v| [&v[..], b",", &operand].concat()))
                    });
                }
                Op::Delete(key) => {
                    let done = s.rows.delete(&[key], 0).is_ok();
                    prop_assert!(done || failing);
                    change(&mut of_rows, &[key], done, |_| None);
                }
                Op::PutInMap(key, value) => {
                    let key = [key >> 5, key & 31];
                    let done = maps.put(&key, 1, &value).is_ok();
                    prop_assert!(done || failing);
                    change(&mut of_maps, &key, done, |_| Some(value.clone()));
                }
                Op::DeleteInMap(key) => {
                    let key = [key >> 5, key & 31];
                    let done = maps.delete(&key, 1).is_ok();
                    prop_assert!(done || failing);
                    change(&mut of_maps, &key, done, |_| None);
                }
                Op::Flush => prop_assert!(s.buffer.flush().is_ok() || failing),
                Op::Fail(fail) => {
                    failing = fail;
                    db::fail_writes(fail);
                }
            }
        }
        prop_assert_eq!(s.buffer.usage().0, s.buffer.count_dirty());
        db::fail_writes(false);
        s.buffer.flush().expect("writes pass again");
        prop_assert_eq!(s.buffer.usage().0, 0, "nothing is dirty");
        for (model, rows, map) in [(of_rows, &s.rows, 0), (of_maps, &maps, 1)] {
            for (key, may) in model {
                let stored = rows.column().get(&key).expect("get");
                prop_assert!(may.contains(&stored), "{key:?}: {stored:?}, not one of {may:?}");
                let mut page = vec![0; 1 << 12];
                let seen = rows.get(&key, map, &mut page).expect("get");
                prop_assert_eq!(seen.map(|length| page[..length].to_vec()), stored);
            }
        }
    }
}
