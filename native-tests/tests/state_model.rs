//! State access against a model: random operations on one column family and on a BTreeMap, with
//! flushes, compactions, bulk loads and restores from a local checkpoint between them. Everything must
//! look alike at each step, in pages of any size. A failure prints what led there and its seed, which
//! proptest-regressions/ keeps.
use ferrostate::config::Config;
use ferrostate::db::{Cursor, Db, Fill};
use ferrostate::state::State;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;

type Bytes = Vec<u8>;

#[derive(Debug, Clone)]
enum Op {
    Put(Bytes, Bytes),
    Merge(Bytes, Bytes),
    Delete(Bytes),
    DeletePrefix(Bytes),
    /// From this key on, with so long a prefix, so many entries and bytes a page.
    Scan(Bytes, usize, usize, usize),
    /// A bulk load in pages of so many rows.
    Ingest(Vec<(Bytes, Bytes)>, usize),
    /// A bulk load of all rows there are, each with this value.
    Replace(Bytes),
    /// A bulk load that is given up before its end.
    GiveUpIngest(Vec<(Bytes, Bytes)>),
    /// Opens a cursor, which must see this moment when it is read later.
    OpenCursor(bool),
    ReadCursor(usize),
    Flush,
    Compact,
    Reopen,
}

/// Few and short keys over few letters, 0xFF among them, so that they collide and share prefixes.
fn key() -> impl Strategy<Value = Bytes> {
    prop::collection::vec(prop::sample::select(vec![0u8, 1, b',', 0x7f, 0xff]), 0..5)
}

/// Mostly short; some fill a page of a scan, or a block of a file, by themselves.
fn value() -> impl Strategy<Value = Bytes> {
    prop_oneof![
        12 => prop::collection::vec(any::<u8>(), 0..40),
        1 => (any::<u8>(), 100usize..6000).prop_map(|(byte, length)| vec![byte; length]),
    ]
}

fn rows() -> impl Strategy<Value = Vec<(Bytes, Bytes)>> {
    prop::collection::btree_map(key(), value(), 0..30).prop_map(|rows| rows.into_iter().collect())
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        8 => (key(), value()).prop_map(|(k, v)| Op::Put(k, v)),
        6 => (key(), value()).prop_map(|(k, v)| Op::Merge(k, v)),
        4 => key().prop_map(Op::Delete),
        2 => key().prop_map(Op::DeletePrefix),
        4 => (key(), 0usize..4, 1usize..6, 0usize..200)
            .prop_map(|(k, p, n, b)| Op::Scan(k, p, n, b)),
        2 => (rows(), 1usize..8).prop_map(|(rows, n)| Op::Ingest(rows, n)),
        1 => value().prop_map(Op::Replace),
        1 => rows().prop_map(Op::GiveUpIngest),
        1 => any::<bool>().prop_map(Op::OpenCursor),
        1 => (0usize..200).prop_map(Op::ReadCursor),
        1 => Just(Op::Flush),
        1 => Just(Op::Compact),
        1 => Just(Op::Reopen),
    ]
}

#[derive(Default)]
struct Model(BTreeMap<Bytes, Bytes>);

impl Model {
    /// RocksDB's stringappendtest: a comma between, also behind an empty value.
    fn merge(&mut self, key: Bytes, operand: &[u8]) {
        self.0
            .entry(key)
            .and_modify(|value| {
                value.push(b',');
                value.extend_from_slice(operand);
            })
            .or_insert_with(|| operand.to_vec());
    }

    fn from(&self, from: &[u8], prefix: usize) -> Vec<(Bytes, Bytes)> {
        self.0
            .iter()
            .filter(|(key, _)| key.starts_with(&from[..prefix]) && key.as_slice() >= from)
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect()
    }
}

/// A cursor that was opened some time ago, and what was there then.
struct OldCursor {
    cursor: Cursor,
    keys_only: bool,
    rows: Vec<(Bytes, Bytes)>,
}

struct Subject {
    root: tempfile::TempDir,
    checkpoints: usize,
    cursor: Option<OldCursor>,
    state: State,
}

impl Subject {
    fn new() -> Self {
        let root = tempfile::tempdir().expect("temp dir");
        let state = Self::open(&root.path().join("db"));
        Self { root, checkpoints: 0, cursor: None, state }
    }

    /// With files so small that there are several.
    fn open(path: &Path) -> State {
        let options = [
            ("compaction.level.target-file-size-base", "4096"),
            ("compaction.level.max-size-level-base", "16384"),
            ("block.blocksize", "256"),
        ];
        let config = Config::parse(options).expect("config");
        let db = Db::open(path, &config, None).expect("open");
        State::open(&db, "model").expect("state")
    }

    fn reopen(&mut self) {
        self.checkpoints += 1;
        let target = self.root.path().join(format!("chk-{}", self.checkpoints));
        self.state.db().checkpoint(&target).expect("checkpoint");
        self.state = Self::open(&target);
    }

    /// All entries from `from` on that share its first `prefix` bytes, in pages of `max` entries and
    /// of `bytes` bytes, or as many as one entry needs.
    fn scan(&self, from: &[u8], prefix: usize, max: usize, bytes: usize) -> Vec<(Bytes, Bytes)> {
        let (mut seen, mut from, mut after) = (Vec::new(), from.to_vec(), false);
        let mut page = vec![0u8; bytes];
        loop {
            match self.state.scan(&from, prefix, after, max, &mut page).expect("scan") {
                Fill::Needs(needed) => {
                    assert!(needed > page.len(), "{needed} of {}", page.len());
                    page.resize(needed, 0);
                }
                Fill::Used(used) => {
                    assert!(used <= page.len());
                    let more = decode(&page, &mut seen);
                    match seen.last() {
                        Some((last, _)) if more => {
                            from.clone_from(last);
                            after = true;
                        }
                        _ => return seen,
                    }
                }
            }
        }
    }
}

impl Subject {
    /// A bulk load in pages of `rows` rows, not ingested yet.
    fn load(&self, rows: &[(Bytes, Bytes)], page: usize) -> ferrostate::db::Ingest {
        let mut load = self.state.column().load().expect("begin");
        for rows in rows.chunks(page) {
            load.add(&encode(rows)).expect("add");
        }
        load
    }
}

impl OldCursor {
    fn check(mut self, bytes: usize) -> Result<(), TestCaseError> {
        let (mut seen, mut page) = (Vec::new(), vec![0u8; bytes]);
        loop {
            match self.cursor.next(&mut page).expect("next") {
                Fill::Needs(needed) => page.resize(needed, 0),
                Fill::Used(_) => {
                    let before = seen.len();
                    decode(&page, &mut seen);
                    if seen.len() == before {
                        break;
                    }
                }
            }
        }
        if self.keys_only {
            self.rows.iter_mut().for_each(|(_, value)| value.clear());
        }
        prop_assert_eq!(seen, self.rows);
        Ok(())
    }
}

/// A page of rows as Java fills it.
fn encode(rows: &[(Bytes, Bytes)]) -> Bytes {
    let mut page = Vec::new();
    let int = |page: &mut Bytes, value: usize| {
        page.extend_from_slice(&i32::try_from(value).expect("small").to_ne_bytes());
    };
    int(&mut page, rows.len());
    int(&mut page, 0);
    for (key, value) in rows {
        int(&mut page, key.len());
        int(&mut page, value.len());
        page.extend_from_slice(key);
        page.extend_from_slice(value);
    }
    page
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

fn apply(op: Op, model: &mut Model, subject: &mut Subject) -> Result<(), TestCaseError> {
    let state = &subject.state;
    match op {
        Op::Put(key, value) => {
            state.put(&key, &value).expect("put");
            model.0.insert(key, value);
        }
        Op::Merge(key, operand) => {
            state.merge(&key, &operand).expect("merge");
            model.merge(key, &operand);
        }
        Op::Delete(key) => {
            state.delete(&key).expect("delete");
            model.0.remove(&key);
        }
        Op::DeletePrefix(prefix) => {
            state.delete_prefix(&prefix).expect("delete prefix");
            model.0.retain(|key, _| !key.starts_with(&prefix));
            prop_assert!(!state.contains_prefix(&prefix).expect("look"));
        }
        Op::Scan(from, prefix, max, bytes) => {
            let prefix = prefix.min(from.len());
            prop_assert_eq!(subject.scan(&from, prefix, max, bytes), model.from(&from, prefix));
        }
        Op::Ingest(rows, page) => {
            let mut load = subject.load(&rows, page);
            load.ingest().expect("ingest");
            model.0.extend(rows);
        }
        Op::Replace(value) => {
            model.0.values_mut().for_each(|old| old.clone_from(&value));
            subject.load(&model.from(&[], 0), 5).ingest().expect("ingest");
        }
        Op::GiveUpIngest(rows) => drop(subject.load(&rows, 7)),
        Op::OpenCursor(keys_only) => {
            let cursor = state.cursor(keys_only).expect("cursor");
            let rows = model.from(&[], 0);
            subject.cursor = Some(OldCursor { cursor, keys_only, rows });
        }
        Op::ReadCursor(bytes) => {
            if let Some(cursor) = subject.cursor.take() {
                cursor.check(bytes)?;
            }
        }
        Op::Flush => state.db().flush().expect("flush"),
        Op::Compact => state.db().compact().expect("compact"),
        Op::Reopen => subject.reopen(),
    }
    Ok(())
}

fn same(model: &Model, subject: &Subject) -> Result<(), TestCaseError> {
    prop_assert_eq!(subject.scan(&[], 0, 3, 16), model.from(&[], 0));
    for (key, value) in &model.0 {
        let found = subject.state.get(key).expect("get");
        prop_assert_eq!(found.as_ref(), Some(value));
        prop_assert!(subject.state.contains(key).expect("contains"));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn state_behaves_like_a_sorted_map(ops in prop::collection::vec(op(), 1..120)) {
        let (mut model, mut subject) = (Model::default(), Subject::new());
        for op in ops {
            apply(op, &mut model, &mut subject)?;
        }
        same(&model, &subject)?;
    }
}

/// A prefix whose rows need several batches of deletes, beside neighbours that must stay.
#[test]
fn a_prefix_of_many_rows_is_deleted_and_its_neighbours_are_not() {
    const ROWS: u32 = 60_000;
    let subject = Subject::new();
    let row = |prefix: u8, n: u32| [&[b'p', prefix][..], &n.to_be_bytes()].concat();
    for n in 0..ROWS {
        subject.state.put(&row(1, n), b"deleted").expect("put");
    }
    for prefix in [0, 2] {
        subject.state.put(&row(prefix, 7), b"stays").expect("put");
    }
    subject.state.db().flush().expect("flush");
    subject.state.delete_prefix(&[b'p', 1]).expect("delete");
    assert!(!subject.state.contains_prefix(&[b'p', 1]).expect("look"));
    let left = subject.scan(&[], 0, 10, 100);
    assert_eq!(left, [(row(0, 7), b"stays".to_vec()), (row(2, 7), b"stays".to_vec())]);
}
