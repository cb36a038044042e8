//! The queue beside a sorted set; memory that keeps to its limit; failures that lose nothing.
use super::{Layout, Queue, Share};
use crate::config::Config;
use crate::db::{self, Column, Db};
use crate::error::{Kind, Result};
use crate::memory::Memory;
use proptest::prelude::*;
use rocksdb::statistics::Ticker;
use std::collections::BTreeSet;
use std::sync::Arc;

struct Subject {
    _dir: tempfile::TempDir,
    db: Arc<Db>,
    column: Arc<Column>,
    layout: Layout,
    share: Share,
    ahead: usize,
    queue: Queue,
}

fn subject(layout: Layout, size: usize, ahead: usize, memory: Option<Arc<Memory>>) -> Subject {
    let dir = tempfile::tempdir().expect("temp dir");
    let size = (size * 4).max(1).to_string();
    let config = Config::parse([("buffer.size", size.as_str())]).expect("config");
    let db = Db::open(dir.path(), &config, memory.clone()).expect("open");
    let column = Arc::new(db.column("_timer_state/event_t").expect("column"));
    let share = Share::new(&config, memory);
    let queue = Queue::new(Arc::clone(&column), layout, true, share.clone(), ahead);
    let queue = queue.expect("a queue");
    Subject { _dir: dir, db, column, layout, share, ahead, queue }
}

impl Subject {
    fn first(&mut self) -> Result<Option<Vec<u8>>> {
        let mut page = vec![0; 4];
        loop {
            match self.queue.first(&mut page)? {
                Some(length) if length > page.len() => page.resize(length, 0),
                Some(length) => return Ok(Some(page[..length].to_vec())),
                None => return Ok(None),
            }
        }
    }

    /// As after a restore.
    fn reopen(&mut self) -> Result<()> {
        self.queue.flush_all()?;
        let column = Arc::clone(&self.column);
        self.queue = Queue::new(column, self.layout, false, self.share.clone(), self.ahead)?;
        Ok(())
    }

    /// What the database has.
    fn stored(&self) -> Vec<Vec<u8>> {
        let mut rows = self.column.iterate(&[]).expect("iterate");
        rows.seek([]);
        let mut keys = Vec::new();
        while let Some((key, value)) = rows.item() {
            assert!(value.is_empty());
            keys.push(key.to_vec());
            rows.next();
        }
        keys
    }

    fn ticker(&self, ticker: Ticker) -> u64 {
        self.db.statistics.get_ticker_count(ticker)
    }
}

const ONE_BYTE: Layout = Layout { first: 0, groups: 128, bytes: 1 };

/// As Flink writes it: key group, time, key.
fn timer(key_group: u8, time: u64, key: u32) -> Vec<u8> {
    [&[key_group][..], &time.to_be_bytes(), &key.to_be_bytes()].concat()
}

// ---- the model -------------------------------------------------------------------------------------

/// In the order in which timers are polled: time, key group, the rest.
#[derive(Default)]
struct Model(BTreeSet<(u64, Vec<u8>)>);

impl Model {
    fn element(layout: Layout, timer: &[u8]) -> (u64, Vec<u8>) {
        let mut front = [0; 8];
        let body = &timer[layout.bytes..];
        let length = body.len().min(8);
        front[..length].copy_from_slice(&body[..length]);
        (u64::from_be_bytes(front), timer.to_vec())
    }

    fn first(&self) -> Option<Vec<u8>> {
        self.0.first().map(|(_, timer)| timer.clone())
    }

    fn timers(&self) -> Vec<Vec<u8>> {
        let mut timers: Vec<_> = self.0.iter().map(|(_, timer)| timer.clone()).collect();
        timers.sort();
        timers
    }
}

#[derive(Debug, Clone)]
enum Op {
    Add(usize, Vec<u8>),
    Remove(usize, Vec<u8>),
    AddAndRemove(usize, Vec<u8>),
    RemoveFirst,
    Poll(usize),
    Count,
    Flush,
    Reopen,
    Forget,
    /// From now on the database takes no writes, or does so again.
    Fail(bool),
}

/// Few of them are different; some are shorter than a time, some long.
fn body() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        8 => (0u8..4, 0u8..12, 0u8..6)
            .prop_map(|(a, b, c)| vec![0x80, 0, 0, 0, 0, 0, a, b, b'k', 0, 0, 0, 0, 0, 0, c % 3, c]),
        1 => prop::collection::vec(0u8..2, 0..12),
        1 => (0u8..4).prop_map(|a| vec![a; 9000]),
        1 => Just(vec![0xFF; 9]),
    ]
}

fn op() -> impl Strategy<Value = Op> {
    let timer = || (0usize..5, body());
    prop_oneof![
        30 => timer().prop_map(|(g, t)| Op::Add(g, t)),
        10 => timer().prop_map(|(g, t)| Op::Remove(g, t)),
        6 => timer().prop_map(|(g, t)| Op::AddAndRemove(g, t)),
        3 => Just(Op::RemoveFirst),
        8 => (1usize..6).prop_map(Op::Poll),
        1 => Just(Op::Count),
        2 => Just(Op::Flush),
        1 => Just(Op::Reopen),
        1 => Just(Op::Forget),
        2 => any::<bool>().prop_map(Op::Fail),
    ]
}

struct Run {
    subject: Subject,
    model: Model,
    failing: bool,
}

impl Run {
    fn timer(&self, group: usize, body: &[u8]) -> Vec<u8> {
        let layout = self.subject.layout;
        let number = (layout.first + group % layout.groups) as u16;
        [&number.to_be_bytes()[2 - layout.bytes..], body].concat()
    }

    fn add(&mut self, timer: &[u8]) {
        let added = self.subject.queue.add(timer);
        let Ok(is_first) = added else { return assert!(self.failing, "{added:?}") };
        let new = self.model.0.insert(Model::element(self.subject.layout, timer));
        assert_eq!(is_first, new && self.model.first().as_deref() == Some(timer));
    }

    fn remove(&mut self, timer: &[u8]) {
        let removed = self.subject.queue.remove(timer);
        let Ok(was_first) = removed else { return assert!(self.failing, "{removed:?}") };
        assert_eq!(was_first, self.model.first().as_deref() == Some(timer));
        self.model.0.remove(&Model::element(self.subject.layout, timer));
    }

    fn poll(&mut self) {
        let polled = self.subject.queue.poll();
        let Ok(polled) = polled else { return assert!(self.failing, "{polled:?}") };
        assert_eq!(polled, self.model.0.pop_first().is_some());
    }

    fn flush(&mut self) {
        match self.subject.queue.flush_all() {
            Ok(()) => {
                assert_eq!(self.subject.queue.usage().0, 0, "nothing is dirty");
                assert_eq!(self.subject.stored(), self.model.timers());
            }
            Err(e) => assert!(self.failing, "{e}"),
        }
    }

    fn run(&mut self, op: &Op) {
        match op {
            Op::Add(group, body) => self.add(&self.timer(*group, body)),
            Op::Remove(group, body) => self.remove(&self.timer(*group, body)),
            Op::AddAndRemove(group, body) => {
                let timer = self.timer(*group, body);
                self.add(&timer);
                self.remove(&timer);
            }
            Op::RemoveFirst => {
                if let Some(timer) = self.model.first() {
                    self.remove(&timer);
                }
            }
            Op::Poll(times) => (0..*times).for_each(|_| self.poll()),
            Op::Count => match self.subject.queue.count() {
                Ok(count) => assert_eq!(count, self.model.0.len() as u64),
                Err(e) => assert!(self.failing, "{e}"),
            },
            Op::Flush => self.flush(),
            Op::Reopen => assert!(self.subject.reopen().is_ok() || self.failing),
            Op::Forget => assert!(self.subject.queue.forget().is_ok() || self.failing),
            Op::Fail(fail) => {
                self.failing = *fail;
                db::fail_writes(*fail);
            }
        }
        match self.subject.first() {
            Ok(first) => assert_eq!(first, self.model.first()),
            Err(e) => assert!(self.failing, "{e}"),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    /// With memory for nothing, for little and for all; writes that fail are told and change nothing.
    #[test]
    fn like_a_sorted_set(
        ops in prop::collection::vec(op(), 1..300),
        size in prop::sample::select(vec![0usize, 600, 4000, 1 << 20]),
        ahead in prop::sample::select(vec![0usize, 1, 8]),
        layout in prop::sample::select(vec![
            Layout { first: 0, groups: 1, bytes: 1 },
            Layout { first: 126, groups: 2, bytes: 1 },
            Layout { first: 254, groups: 5, bytes: 2 },
        ]),
    ) {
        db::fail_writes(false);
        let subject = subject(layout, size, ahead, None);
        let mut run = Run { subject, model: Model::default(), failing: false };
        ops.iter().for_each(|op| run.run(op));
        run.run(&Op::Fail(false));
        run.flush();
        while !run.model.0.is_empty() {
            run.run(&Op::Poll(1));
        }
        run.flush();
        prop_assert!(run.subject.stored().is_empty());
    }
}

// ---- memory ----------------------------------------------------------------------------------------

const MANY: u32 = 150_000;

/// All are polled once, in order, while memory keeps to the limit.
fn keeps_to_its_limit(order: &str, groups: u8, time: impl Fn(u32) -> u64) {
    let memory = Arc::new(Memory::new(16 << 20, 0.5).expect("memory"));
    let layout = Layout { groups: groups.into(), ..ONE_BYTE };
    let mut s = subject(layout, 0, 16, Some(Arc::clone(&memory)));
    let limit = memory.queue_share(0.7 / 11.0);
    let check = |s: &Subject, when: &str| {
        let (dirty, size) = s.queue.usage();
        let most = limit + limit / 8;
        assert!(
            size <= most && dirty <= limit / 2 + 1000,
            "{order}, {when}: {:?}",
            s.queue.usage()
        );
        assert!(memory.usage().buffers <= most, "{order}, {when}: {:?}", memory.usage());
    };
    for n in 0..MANY {
        s.queue.add(&timer(n as u8 % groups, time(n), n)).expect("add");
        check(&s, "adding");
    }
    let mut before = 0;
    for n in 0..MANY {
        let first = s.first().expect("first").expect("a timer");
        let now = u64::from_be_bytes(first[1..9].try_into().expect("eight"));
        assert!(now >= before, "{order}");
        before = now;
        assert!(s.queue.poll().expect("poll"), "{order}: {n}");
        check(&s, "polling");
    }
    assert_eq!(s.first().expect("first"), None, "{order}");
    s.queue.flush_all().expect("flush");
    assert!(s.stored().is_empty(), "{order}");
    drop(s);
    assert_eq!(memory.usage().buffers, 0);
}

#[test]
fn millions_of_timers_keep_to_the_limit_in_whatever_order_they_come() {
    keeps_to_its_limit("one after the other", 128, u64::from);
    keeps_to_its_limit("the latest first", 3, |n| u64::from(MANY - n));
    keeps_to_its_limit("all at the same time", 1, |_| 77);
    keeps_to_its_limit("the latest first, all far away", 128, |n| u64::MAX - u64::from(n));
    keeps_to_its_limit("at random", 16, |n| u64::from(n.wrapping_mul(2_654_435_761)));
}

#[test]
fn the_queues_of_a_slot_share_what_there_is() {
    let memory = Arc::new(Memory::new(64 << 20, 0.5).expect("memory"));
    let mut first = subject(ONE_BYTE, 0, 0, Some(Arc::clone(&memory)));
    let mut second = subject(ONE_BYTE, 0, 0, Some(Arc::clone(&memory)));
    let alone = memory.queue_share(0.7 / 11.0);
    for n in 0..100_000 {
        first.queue.add(&timer(n as u8 % 128, n.into(), n)).expect("add");
    }
    assert!(first.queue.usage().1 > alone / 2, "a queue without timers takes no share");
    for n in 0..100_000 {
        second.queue.add(&timer(n as u8 % 128, n.into(), n)).expect("add");
        first.queue.add(&timer(0, n.into(), n)).expect("add");
    }
    assert!(first.queue.usage().1 <= alone / 2 + (1 << 19), "{:?}", first.queue.usage());
    assert!(memory.usage().buffers <= alone + (1 << 20), "{:?}", memory.usage());
}

// ---- what reaches the database ---------------------------------------------------------------------

#[test]
fn timers_that_come_and_go_between_flushes_never_reach_the_database() {
    let mut s = subject(ONE_BYTE, 1 << 20, 0, None);
    for n in 0..10_000u32 {
        let group = n as u8 % 128;
        assert!(s.queue.add(&timer(group, n.into(), n)).expect("add"));
        assert!(!s.queue.add(&timer(group, n.into(), n)).expect("twice"));
        s.queue.add(&timer(group, u64::from(n) + 77, n)).expect("add");
        s.queue.remove(&timer(group, u64::from(n) + 77, n)).expect("remove");
        s.queue.remove(&timer(group, u64::from(n) + 78, n)).expect("there is none");
        s.queue.poll().expect("poll");
    }
    s.queue.flush_all().expect("flush");
    assert_eq!(s.ticker(Ticker::NumberKeysWritten), 0);
}

#[test]
fn a_timer_that_is_deleted_and_comes_back_is_not_written_again() {
    let mut s = subject(ONE_BYTE, 1 << 20, 0, None);
    s.queue.add(&timer(1, 5, 5)).expect("add");
    s.queue.flush_all().expect("flush");
    assert_eq!(s.ticker(Ticker::NumberKeysWritten), 1);
    for _ in 0..3 {
        assert!(s.queue.remove(&timer(1, 5, 5)).expect("remove"));
        assert!(s.queue.add(&timer(1, 5, 5)).expect("add"));
    }
    s.queue.flush_all().expect("flush");
    assert_eq!(s.ticker(Ticker::NumberKeysWritten), 1);
    assert_eq!(s.stored(), [timer(1, 5, 5)]);
}

#[test]
fn a_cold_queue_reads_many_timers_at_a_time() {
    let mut s = subject(ONE_BYTE, 1 << 20, 0, None);
    for n in 0..100_000u32 {
        s.queue.add(&timer(n as u8 % 128, n.into(), n)).expect("add");
    }
    s.reopen().expect("reopen");
    let before = s.ticker(Ticker::NumberDbSeek);
    while s.queue.poll().expect("poll") {}
    let seeks = s.ticker(Ticker::NumberDbSeek) - before;
    assert!(seeks < 128 * 8, "{seeks} seeks for 100,000 timers of 128 key groups");
}

/// What fired leaves tombstones: reading begins behind them and ends with the key group.
#[test]
fn reading_steps_over_no_timers_that_fired() {
    let mut s = subject(ONE_BYTE, 1 << 14, 0, None);
    for n in 0..50_000u32 {
        s.queue.add(&timer(5, n.into(), n)).expect("add");
        s.queue.add(&timer(6, 40_000 + u64::from(n), n)).expect("add");
    }
    s.reopen().expect("reopen");
    let before = s.ticker(Ticker::NumberIterSkip);
    for n in 0..60_000 {
        assert!(s.queue.poll().expect("poll"), "{n}");
    }
    let skipped = s.ticker(Ticker::NumberIterSkip) - before;
    assert!(skipped < 5000, "{skipped} rows stepped over");
}

/// Of the short one there is nothing behind its first eight bytes.
#[test]
fn a_short_timer_outlasts_a_long_one() {
    let mut s = subject(ONE_BYTE, 1 << 20, 0, None);
    let long = [&[1][..], &[1; 9000]].concat();
    for timer in [&long[..], b"\x01\x02"] {
        s.queue.add(timer).expect("add");
    }
    assert!(s.queue.remove(&long).expect("remove"));
    assert_eq!(s.first().expect("first").as_deref(), Some(&b"\x01\x02"[..]));
}

// ---- misuse ----------------------------------------------------------------------------------------

#[test]
fn a_timer_of_no_key_group_of_the_queue_is_refused() {
    let mut s = subject(Layout { first: 3, groups: 2, bytes: 1 }, 1 << 20, 0, None);
    for wrong in [&b""[..], b"\x02abc", b"\x05"] {
        assert_eq!(s.queue.add(wrong).expect_err("refused").kind, Kind::Invalid);
        assert_eq!(s.queue.remove(wrong).expect_err("refused").kind, Kind::Invalid);
    }
    assert!(s.queue.start_of(2).is_err() && s.queue.start_of(5).is_err());
    assert_eq!(s.first().expect("first"), None);
    let column = Arc::clone(&s.column);
    let layout = Layout { first: 0, groups: 0, bytes: 1 };
    assert!(Queue::new(column, layout, true, s.share.clone(), 1).is_err());
}

#[test]
fn after_a_panic_the_queue_is_not_used_any_more() {
    let mut s = subject(ONE_BYTE, 1 << 20, 0, None);
    s.queue.add(&timer(1, 1, 1)).expect("add");
    s.db.poison("a test");
    assert!(s.queue.add(&timer(1, 2, 1)).is_err());
    assert!(s.queue.poll().is_err() && s.first().is_err());
}
