//! Random operations through a buffer that evicts all the time, on rows and maps whose keys, values and
//! prefixes lie about the limits of what a record takes, while the database refuses writes now and then. What
//! is read, and what the database has after each flush, is what was written; of an operation that
//! failed, what there was before or what was to be.
use super::{Buffer, Rows};
use crate::config::Config;
use crate::db::{self, Db, Fill};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

type Bytes = Vec<u8>;

/// Bytes of a buffer that is half dirty before it flushes, and evicts all the time.
pub(super) const SMALLEST: usize = 6 << 10;
/// Of such a buffer; a larger record is not kept.
const LARGEST_RECORD: usize = 128;
const HEADER: usize = 16;
const LONGEST: usize = LARGEST_RECORD - HEADER;

#[derive(Debug, Clone)]
enum Op {
    Put(Bytes, Bytes),
    Merge(Bytes, Bytes),
    Delete(Bytes),
    Get(Bytes),
    Contains(Bytes),
    PutInMap(Map, Bytes, Bytes),
    DeleteInMap(Map, Bytes),
    GetInMap(Map, Bytes),
    ContainsInMap(Map, Bytes),
    HasRows(Map),
    Clear(Map),
    /// In pages of so many rows.
    Scan(Map, usize),
    /// A map of one row of so many bytes, for want of room.
    Fill(u8, usize),
    /// A row of a map, asked for as if it belonged to none.
    GetAsRow(Map, Bytes),
    /// The maps are dropped and made again under the same name.
    Drop,
    Flush,
    /// Somebody writes past the buffer, which forgets what it knew of the maps.
    Past,
    /// From so many writes on the database takes none.
    Fail(u32),
    Heal,
}

/// Number of a map, and how long its prefix is.
#[derive(Debug, Clone, Copy)]
struct Map(u8, usize);

impl Map {
    /// No map's prefix is that of another's.
    fn prefix(self) -> Bytes {
        let mut prefix = vec![self.0; self.1];
        prefix[1] = u8::try_from(self.1).expect("short");
        prefix
    }

    fn row(self, user: &[u8]) -> Bytes {
        [&self.prefix(), user].concat()
    }
}

fn lengths(most: usize) -> impl Strategy<Value = usize> {
    prop_oneof![6 => 0..6usize, 2 => 0..most, 1 => most.saturating_sub(12)..most + 4]
}

fn value() -> impl Strategy<Value = Bytes> {
    prop_oneof![
        8 => (any::<u8>(), lengths(LONGEST)).prop_map(|(byte, length)| vec![byte; length]),
        1 => (any::<u8>(), 490..700usize).prop_map(|(byte, length)| vec![byte; length]),
    ]
}

fn key() -> impl Strategy<Value = Bytes> {
    (0..6u8, prop_oneof![6 => 1..3usize, 1 => LONGEST - 10..LONGEST + 2])
        .prop_map(|(byte, length)| vec![byte; length])
}

/// So few that much happens to each.
fn maps() -> impl Strategy<Value = Vec<Map>> {
    let length = prop_oneof![2 => 2..6usize, 1 => 30..60usize, 2 => LONGEST - 10..LONGEST + 2];
    prop::collection::vec(length, 1..4).prop_map(|lengths| {
        lengths.into_iter().enumerate().map(|(n, length)| Map(n as u8, length)).collect()
    })
}

fn user() -> impl Strategy<Value = Bytes> {
    prop_oneof![
        12 => (0..5u8).prop_map(|byte| vec![byte]),
        1 => Just(Vec::new()),
        2 => (0..2u8, 1..30usize).prop_map(|(byte, length)| vec![byte; length]),
        1 => (0..2u8, 490..520usize).prop_map(|(byte, length)| vec![byte; length]),
    ]
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    maps().prop_flat_map(|maps| prop::collection::vec(op(maps), 1..500))
}

fn op(maps: Vec<Map>) -> impl Strategy<Value = Op> {
    let map = || prop::sample::select(maps.clone());
    prop_oneof![
        8 => (key(), value()).prop_map(|(k, v)| Op::Put(k, v)),
        6 => (key(), value()).prop_map(|(k, v)| Op::Merge(k, v)),
        4 => key().prop_map(Op::Delete),
        6 => key().prop_map(Op::Get),
        2 => key().prop_map(Op::Contains),
        16 => (map(), user(), value()).prop_map(|(m, u, v)| Op::PutInMap(m, u, v)),
        12 => (map(), user()).prop_map(|(m, u)| Op::DeleteInMap(m, u)),
        8 => (map(), user()).prop_map(|(m, u)| Op::GetInMap(m, u)),
        2 => (map(), user()).prop_map(|(m, u)| Op::ContainsInMap(m, u)),
        2 => map().prop_map(Op::HasRows),
        2 => map().prop_map(Op::Clear),
        8 => (map(), 1..9usize).prop_map(|(m, n)| Op::Scan(m, n)),
        12 => (0..200u8, 1..40usize).prop_map(|(byte, length)| Op::Fill(byte, length)),
        1 => (map(), user()).prop_map(|(m, u)| Op::GetAsRow(m, u)),
        1 => Just(Op::Drop),
        1 => Just(Op::Flush),
        1 => Just(Op::Past),
        1 => (0..6u32).prop_map(Op::Fail),
        2 => Just(Op::Heal),
    ]
}

/// What each key may have.
#[derive(Default)]
struct Model(BTreeMap<Bytes, BTreeSet<Option<Bytes>>>);

impl Model {
    fn may(&self, key: &[u8]) -> BTreeSet<Option<Bytes>> {
        self.0.get(key).cloned().unwrap_or_else(|| BTreeSet::from([None]))
    }

    fn change(&mut self, key: &[u8], done: bool, call: impl Fn(Option<&Bytes>) -> Option<Bytes>) {
        let mut may = self.may(key);
        let changed: BTreeSet<_> = may.iter().map(|value| call(value.as_ref())).collect();
        if done {
            may.clear();
        }
        may.extend(changed);
        self.0.insert(key.to_vec(), may);
    }

    fn with_prefix(&self, prefix: &[u8]) -> Vec<Bytes> {
        let rows = self.0.range(prefix.to_vec()..);
        rows.map(|(key, _)| key.clone()).take_while(|key| key.starts_with(prefix)).collect()
    }

    /// These are all rows with a prefix.
    fn check_all(&self, prefix: &[u8], seen: &[(Bytes, Bytes)]) -> Result<(), TestCaseError> {
        prop_assert!(seen.is_sorted_by(|a, b| a.0 < b.0), "order of {seen:?}");
        let seen: BTreeMap<_, _> = seen.iter().cloned().collect();
        for key in self.with_prefix(prefix).iter().chain(seen.keys()) {
            let value = seen.get(key).cloned();
            prop_assert!(
                self.may(key).contains(&value),
                "{key:?}: {value:?} of {:?}",
                self.may(key)
            );
        }
        Ok(())
    }
}

pub(super) struct Subject {
    _dir: tempfile::TempDir,
    db: Arc<Db>,
    rows: Rows,
    pub(super) maps: Rows,
    pub(super) buffer: Arc<Buffer>,
    of_rows: Model,
    of_maps: Model,
    failing: bool,
}

pub(super) fn stored(rows: &Rows) -> Vec<(Bytes, Bytes)> {
    let mut all = rows.column().iterate(&[]).expect("iterate");
    all.seek_to_first();
    let mut seen = Vec::new();
    while let Some((key, value)) = all.item() {
        seen.push((key.to_vec(), value.to_vec()));
        all.next();
    }
    seen
}

impl Subject {
    pub(super) fn new(size: usize) -> Self {
        let dir = tempfile::tempdir().expect("temp dir");
        let size = size.to_string();
        let config = Config::parse([("buffer.enabled", "true"), ("buffer.size", size.as_str())]);
        let config = config.expect("config");
        let db = Db::open(dir.path(), &config, None).expect("open");
        let buffer = Buffer::new(&config, None).expect("turned on");
        let [rows, maps] = ["rows", "maps"].map(|name| buffer.rows(&db, name).expect("rows"));
        let (of_rows, of_maps) = (Model::default(), Model::default());
        Self { _dir: dir, db, rows, maps, buffer, of_rows, of_maps, failing: false }
    }

    fn told<R>(&self, result: crate::error::Result<R>) -> Result<Option<R>, TestCaseError> {
        prop_assert!(result.is_ok() || self.failing, "{:?}", result.err());
        Ok(result.ok())
    }

    fn get(
        &self,
        rows: &Rows,
        key: &[u8],
        map: usize,
    ) -> Result<Option<Option<Bytes>>, TestCaseError> {
        let mut page = vec![0; 64];
        loop {
            match self.told(rows.get(key, map, &mut page))? {
                None => return Ok(None),
                Some(Some(length)) if length > page.len() => page.resize(length, 0),
                Some(length) => return Ok(Some(length.map(|length| page[..length].to_vec()))),
            }
        }
    }

    fn check_get(
        &self,
        model: &Model,
        rows: &Rows,
        key: &[u8],
        map: usize,
    ) -> Result<(), TestCaseError> {
        if let Some(seen) = self.get(rows, key, map)? {
            prop_assert!(
                model.may(key).contains(&seen),
                "{key:?}: {seen:?} of {:?}",
                model.may(key)
            );
        }
        Ok(())
    }

    fn check_contains(
        &self,
        model: &Model,
        rows: &Rows,
        key: &[u8],
        map: usize,
    ) -> Result<(), TestCaseError> {
        if let Some(there) = self.told(rows.contains(key, map))? {
            let may = model.may(key);
            prop_assert!(
                may.iter().any(|value| value.is_some() == there),
                "{key:?}: {there} of {may:?}"
            );
        }
        Ok(())
    }

    fn check_has_rows(&self, map: Map) -> Result<(), TestCaseError> {
        let prefix = map.prefix();
        if let Some(any) = self.told(self.maps.map_has_rows(&prefix))? {
            let keys = self.of_maps.with_prefix(&prefix);
            let fits = if any {
                keys.iter().any(|key| self.of_maps.may(key).iter().any(Option::is_some))
            } else {
                keys.iter().all(|key| self.of_maps.may(key).contains(&None))
            };
            prop_assert!(fits, "{map:?} has rows: {any}, of {keys:?}");
        }
        Ok(())
    }

    fn check_scan(&self, map: Map, max: usize) -> Result<(), TestCaseError> {
        let prefix = map.prefix();
        let (mut seen, mut from, mut page) = (Vec::new(), prefix.clone(), vec![0; 100]);
        loop {
            let after = !seen.is_empty();
            match self.told(self.maps.scan_map(&from, prefix.len(), after, max, &mut page))? {
                None => return Ok(()),
                Some(Fill::Needs(needed)) => page.resize(needed, 0),
                Some(Fill::Used(_)) => {
                    let more = decode(&page, &mut seen);
                    match seen.last() {
                        Some((last, _)) if more => from.clone_from(last),
                        _ => return self.of_maps.check_all(&prefix, &seen),
                    }
                }
            }
        }
    }

    /// After a flush the database has everything, and so is it read.
    fn check_flush(&mut self) -> Result<(), TestCaseError> {
        if self.told(self.buffer.flush())?.is_none() {
            return Ok(());
        }
        prop_assert_eq!(self.buffer.usage().0, 0, "nothing is dirty");
        for (rows, model) in [(&self.rows, &mut self.of_rows), (&self.maps, &mut self.of_maps)] {
            let all = stored(rows);
            model.check_all(&[], &all)?;
            let all: BTreeMap<_, _> = all.into_iter().collect();
            for (key, may) in &mut model.0 {
                *may = BTreeSet::from([all.get(key).cloned()]);
            }
        }
        Ok(())
    }

    fn apply(&mut self, op: &Op) -> Result<(), TestCaseError> {
        match op {
            Op::Put(key, value) => {
                let done = self.told(self.rows.put(key, 0, value))?.is_some();
                self.of_rows.change(key, done, |_| Some(value.clone()));
            }
            Op::Merge(key, operand) => {
                let done = self.told(self.rows.merge(key, operand))?.is_some();
                self.of_rows.change(key, done, |value| {
                    Some(value.map_or(operand.clone(), |v| [&v[..], b",", operand].concat()))
                });
            }
            Op::Delete(key) => {
                let done = self.told(self.rows.delete(key, 0))?.is_some();
                self.of_rows.change(key, done, |_| None);
            }
            Op::Get(key) => self.check_get(&self.of_rows, &self.rows, key, 0)?,
            Op::Contains(key) => self.check_contains(&self.of_rows, &self.rows, key, 0)?,
            Op::PutInMap(map, user, value) => {
                let done = self.told(self.maps.put(&map.row(user), map.1, value))?.is_some();
                self.of_maps.change(&map.row(user), done, |_| Some(value.clone()));
            }
            Op::DeleteInMap(map, user) => {
                let done = self.told(self.maps.delete(&map.row(user), map.1))?.is_some();
                self.of_maps.change(&map.row(user), done, |_| None);
            }
            Op::GetInMap(map, user) => {
                self.check_get(&self.of_maps, &self.maps, &map.row(user), map.1)?;
            }
            Op::ContainsInMap(map, user) => {
                self.check_contains(&self.of_maps, &self.maps, &map.row(user), map.1)?;
            }
            Op::HasRows(map) => self.check_has_rows(*map)?,
            Op::Clear(map) => {
                let done = self.told(self.maps.clear_map(&map.prefix()))?.is_some();
                for key in self.of_maps.with_prefix(&map.prefix()) {
                    self.of_maps.change(&key, done, |_| None);
                }
            }
            Op::Scan(map, max) => self.check_scan(*map, *max)?,
            Op::Fill(number, length) => {
                let map = Map(200, 3);
                let (row, value) = (map.row(&[*number]), vec![0; *length]);
                let done = self.told(self.maps.put(&row, row.len(), &value))?.is_some();
                self.of_maps.change(&row, done, |_| Some(value.clone()));
            }
            Op::GetAsRow(map, user) => {
                self.check_get(&self.of_maps, &self.maps, &map.row(user), 0)?;
            }
            Op::Drop => self.drop_maps()?,
            Op::Flush => self.check_flush()?,
            Op::Past => {
                self.told(self.maps.past(|| Ok(())))?;
            }
            Op::Fail(after) => {
                self.failing = true;
                db::fail_writes_after(*after);
            }
            Op::Heal => self.heal(),
        }
        Ok(())
    }

    /// What is kept of the old ones refuses to be used.
    fn drop_maps(&mut self) -> Result<(), TestCaseError> {
        self.maps.drop_column().expect("drop");
        let new = self.buffer.rows(&self.db, "maps").expect("rows");
        let old = std::mem::replace(&mut self.maps, new);
        prop_assert!(old.get(b"key", 1, &mut []).is_err());
        prop_assert!(old.put(b"key", 1, b"value").is_err());
        self.of_maps = Model::default();
        Ok(())
    }

    fn heal(&mut self) {
        self.failing = false;
        db::fail_writes(false);
    }

    /// Everything is in the database and is read as it is there.
    fn check_end(&mut self) -> Result<(), TestCaseError> {
        self.heal();
        self.check_flush()?;
        for key in self.of_rows.0.keys() {
            self.check_get(&self.of_rows, &self.rows, key, 0)?;
        }
        Ok(())
    }
}

/// Appends the entries of a page; true if more may follow.
fn decode(page: &[u8], seen: &mut Vec<(Bytes, Bytes)>) -> bool {
    let int =
        |at: usize| u32::from_ne_bytes(page[at..at + 4].try_into().expect("four bytes")) as usize;
    let mut at = 8;
    for _ in 0..int(0) {
        let (key, value) = (int(at), int(at + 4));
        at += 8;
        seen.push((page[at..at + key].to_vec(), page[at + key..at + key + value].to_vec()));
        at += key + value;
    }
    int(4) == 1
}

fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(48)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

    #[test]
    fn what_is_read_and_stored_is_what_was_written(
        size in prop_oneof![Just(1usize), Just(SMALLEST), Just(16 << 10), Just(1 << 18)],
        ops in ops(),
    ) {
        let mut subject = Subject::new(size);
        let done = ops.iter().try_for_each(|op| subject.apply(op));
        db::fail_writes(false);
        done?;
        subject.check_end()?;
    }
}
