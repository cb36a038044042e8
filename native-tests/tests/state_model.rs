//! State access against a model: random operations on two column families, one of rows and one of maps'
//! rows, and on a BTreeMap, with flushes, compactions, bulk loads and restores from a local checkpoint
//! between them; without a buffer in front, with one, and with ones so small that they evict and flush all
//! the time. Everything must look alike at each step, in pages of any size. A failure prints what led
//! there and its seed, which proptest-regressions/ keeps.
use ferrostate::config::Config;
use ferrostate::db::{Cursor, Fill, Ingest};
use ferrostate::state::{Database, State};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;

type Bytes = Vec<u8>;

/// A key, and how many bytes of it all rows of its map share; 0: it belongs to none.
type Key = (Bytes, usize);

#[derive(Debug, Clone)]
enum Op {
    Put(Key, Bytes),
    /// Rows of one map at once.
    PutAll(Bytes, Vec<(Bytes, Bytes)>),
    Merge(Bytes, Bytes),
    Delete(Key),
    Get(Key),
    Contains(Key),
    HasRows(Bytes),
    ClearMap(Bytes),
    /// From this key on, with so long a prefix, so many entries and bytes a page.
    Scan(usize, Bytes, usize, usize, usize),
    ScanMap(Key, usize, usize),
    /// A bulk load in pages of so many rows.
    Ingest(usize, Vec<(Bytes, Bytes)>, usize),
    /// A bulk load of all rows there are, each with this value.
    Replace(usize, Bytes),
    /// A bulk load that is given up before its end.
    GiveUpIngest(usize, Vec<(Bytes, Bytes)>),
    /// Opens a cursor, which must see this moment when it is read later.
    OpenCursor(usize, bool),
    ReadCursor(usize),
    Drop(usize),
    /// Filters of a column family know so many bytes of each key.
    FilterPrefix(usize, usize),
    Flush,
    Compact,
    Reopen,
}

/// Numbers of the column families.
const ROWS: usize = 0;
const MAPS: usize = 1;
/// Bytes that the rows of a map share.
const PREFIX: usize = 2;

/// Few and short keys over few letters, 0xFF among them, so that they collide and share prefixes.
fn key() -> impl Strategy<Value = Bytes> {
    prop::collection::vec(prop::sample::select(vec![0u8, 1, b',', 0x7f, 0xff]), 0..5)
}

fn prefix() -> impl Strategy<Value = Bytes> {
    prop::collection::vec(prop::sample::select(vec![0u8, 0xff]), PREFIX)
}

fn map_key() -> impl Strategy<Value = Key> {
    (prefix(), key()).prop_map(|(prefix, user)| ([prefix, user].concat(), PREFIX))
}

/// Mostly that of a row, or of a map's row; of a map's row as if it were none.
fn any_key() -> impl Strategy<Value = Key> {
    prop_oneof![
        20 => key().prop_map(|key| (key, 0)),
        20 => map_key(),
        1 => map_key().prop_map(|(key, _)| (key, usize::MAX)),
    ]
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
        32 => (any_key(), value()).prop_map(|(k, v)| Op::Put(k, v)),
        4 => (prefix(), rows()).prop_map(|(p, rows)| Op::PutAll(p, rows)),
        16 => (key(), value()).prop_map(|(k, v)| Op::Merge(k, v)),
        12 => any_key().prop_map(Op::Delete),
        16 => any_key().prop_map(Op::Get),
        6 => any_key().prop_map(Op::Contains),
        4 => prefix().prop_map(Op::HasRows),
        4 => prefix().prop_map(Op::ClearMap),
        4 => (0usize..2, key(), 0usize..4, 1usize..6, 0usize..200)
            .prop_map(|(c, k, p, n, b)| Op::Scan(c, k, p, n, b)),
        8 => (map_key(), 1usize..6, 0usize..200).prop_map(|(k, n, b)| Op::ScanMap(k, n, b)),
        2 => (0usize..2, rows(), 1usize..8).prop_map(|(c, rows, n)| Op::Ingest(c, rows, n)),
        1 => (0usize..2, value()).prop_map(|(c, v)| Op::Replace(c, v)),
        1 => (0usize..2, rows()).prop_map(|(c, rows)| Op::GiveUpIngest(c, rows)),
        1 => (0usize..2, any::<bool>()).prop_map(|(c, k)| Op::OpenCursor(c, k)),
        1 => (0usize..200).prop_map(Op::ReadCursor),
        1 => (0usize..2).prop_map(Op::Drop),
        2 => (0usize..2, 1usize..4).prop_map(|(c, n)| Op::FilterPrefix(c, n)),
        1 => Just(Op::Flush),
        1 => Just(Op::Compact),
        1 => Just(Op::Reopen),
    ]
}

/// The column family of a key, and the prefix of its map as the library is told.
fn place((_, prefix): &Key) -> (usize, usize) {
    match *prefix {
        0 => (ROWS, 0),
        usize::MAX => (MAPS, 0),
        prefix => (MAPS, prefix),
    }
}

/// The rows of each column family.
#[derive(Default)]
struct Model([BTreeMap<Bytes, Bytes>; 2]);

impl Model {
    /// RocksDB's stringappendtest: a comma between, also behind an empty value.
    fn merge(&mut self, key: Bytes, operand: &[u8]) {
        self.0[ROWS]
            .entry(key)
            .and_modify(|value| {
                value.push(b',');
                value.extend_from_slice(operand);
            })
            .or_insert_with(|| operand.to_vec());
    }

    fn from(&self, column: usize, from: &[u8], prefix: usize) -> Vec<(Bytes, Bytes)> {
        self.0[column]
            .iter()
            .filter(|(key, _)| key.starts_with(&from[..prefix]) && key.as_slice() >= from)
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect()
    }

    fn get(&self, key: &Key) -> Option<&Bytes> {
        self.0[place(key).0].get(&key.0)
    }
}

/// A cursor that was opened some time ago, and what was there then.
struct OldCursor {
    cursor: Cursor,
    keys_only: bool,
    rows: Vec<(Bytes, Bytes)>,
}

/// Buffers in front of the database: none, and of so many bytes.
const BUFFERS: [Option<usize>; 4] = [None, Some(1 << 26), Some(1), Some(1 << 14)];

struct Subject {
    root: tempfile::TempDir,
    buffer: Option<usize>,
    checkpoints: usize,
    cursor: Option<OldCursor>,
    states: [State; 2],
    database: Database,
}

impl Subject {
    fn new(buffer: Option<usize>) -> Self {
        let root = tempfile::tempdir().expect("temp dir");
        let (database, states) = Self::open(&root.path().join("db"), buffer);
        Self { root, buffer, checkpoints: 0, cursor: None, states, database }
    }

    /// With files so small that there are several.
    fn open(path: &Path, buffer: Option<usize>) -> (Database, [State; 2]) {
        let options = [
            ("compaction.level.target-file-size-base", "4096"),
            ("compaction.level.max-size-level-base", "16384"),
            ("block.blocksize", "256"),
            ("buffer.enabled", &buffer.is_some().to_string()),
            ("buffer.size", &buffer.unwrap_or(1).to_string()),
        ];
        let config = Config::parse(options).expect("config");
        let database = Database::open(path, &config, None).expect("open");
        let states = ["rows", "maps"].map(|name| database.state(name).expect("state"));
        (database, states)
    }

    fn reopen(&mut self) {
        self.checkpoints += 1;
        let target = self.root.path().join(format!("chk-{}", self.checkpoints));
        self.database.checkpoint(&target).expect("checkpoint");
        (self.database, self.states) = Self::open(&target, self.buffer);
    }

    fn drop_state(&mut self, column: usize) {
        self.states[column].drop_column().expect("drop");
        self.states[column] = self.database.state(["rows", "maps"][column]).expect("state");
    }

    /// All entries from `from` on that share its first `prefix` bytes, in pages of `max` entries and
    /// of `bytes` bytes, or as many as one entry needs.
    fn scan(
        &self,
        column: usize,
        from: &[u8],
        prefix: usize,
        max: usize,
        bytes: usize,
    ) -> Vec<(Bytes, Bytes)> {
        let state = &self.states[column];
        pages(from, bytes, |from, after, page| state.scan(from, prefix, after, max, page))
    }

    fn scan_map(&self, key: &Key, max: usize, bytes: usize) -> Vec<(Bytes, Bytes)> {
        let state = &self.states[MAPS];
        pages(&key.0, bytes, |from, after, page| state.scan_map(from, key.1, after, max, page))
    }

    /// A bulk load in pages of `rows` rows, not ingested yet.
    fn load(&self, column: usize, rows: &[(Bytes, Bytes)], page: usize) -> Ingest {
        let mut load = self.states[column].load().expect("begin");
        for rows in rows.chunks(page) {
            load.add(&encode(rows)).expect("add");
        }
        load
    }

    fn ingest(&self, column: usize, rows: &[(Bytes, Bytes)], page: usize) {
        let mut load = self.load(column, rows, page);
        self.states[column].ingest(&mut load).expect("ingest");
    }

    fn get(&self, key: &Key) -> Option<Bytes> {
        let (column, map) = place(key);
        let mut page = vec![0; 10];
        loop {
            let length = self.states[column].read(&key.0, map, &mut page).expect("get")?;
            if length <= page.len() {
                page.truncate(length);
                return Some(page);
            }
            page.resize(length, 0);
        }
    }
}

/// Reads to the end, a page after the other.
fn pages(
    from: &[u8],
    bytes: usize,
    mut scan: impl FnMut(&[u8], bool, &mut [u8]) -> ferrostate::Result<Fill>,
) -> Vec<(Bytes, Bytes)> {
    let (mut seen, mut from, mut after) = (Vec::new(), from.to_vec(), false);
    let mut page = vec![0u8; bytes];
    loop {
        match scan(&from, after, &mut page).expect("scan") {
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

/// Rows as they come through the door.
fn map_rows(rows: &[(Bytes, Bytes)]) -> Bytes {
    let mut bytes = Bytes::new();
    for (user, value) in rows {
        for part in [user, value] {
            bytes.extend((part.len() as u32).to_be_bytes());
        }
        bytes.extend(user.iter().chain(value));
    }
    bytes
}

fn change_model(op: &Op, model: &mut Model) {
    match op {
        Op::Put(key, value) => {
            model.0[place(key).0].insert(key.0.clone(), value.clone());
        }
        Op::PutAll(prefix, rows) => {
            let rows = rows
                .iter()
                .map(|(user, value)| ([prefix.as_slice(), user].concat(), value.clone()));
            model.0[MAPS].extend(rows);
        }
        Op::Merge(key, operand) => model.merge(key.clone(), operand),
        Op::Delete(key) => {
            model.0[place(key).0].remove(&key.0);
        }
        Op::ClearMap(prefix) => model.0[MAPS].retain(|key, _| !key.starts_with(prefix)),
        Op::Ingest(column, rows, _) => model.0[*column].extend(rows.iter().cloned()),
        Op::Replace(column, value) => {
            model.0[*column].values_mut().for_each(|old| old.clone_from(value));
        }
        Op::Drop(column) => model.0[*column].clear(),
        _ => {}
    }
}

/// `model` is as it is after the operation.
fn apply(op: &Op, model: &Model, subject: &mut Subject) -> Result<(), TestCaseError> {
    let states = &subject.states;
    match op {
        Op::Put(key, value) => {
            let (column, map) = place(key);
            states[column].put(&key.0, map, value).expect("put");
        }
        Op::PutAll(prefix, rows) => {
            states[MAPS].put_all(prefix, &map_rows(rows)).expect("put all");
        }
        Op::Merge(key, operand) => states[ROWS].merge(key, operand).expect("merge"),
        Op::Delete(key) => {
            let (column, map) = place(key);
            states[column].delete(&key.0, map).expect("delete");
        }
        Op::Get(key) => prop_assert_eq!(subject.get(key), model.get(key).cloned()),
        Op::Contains(key) => {
            let (column, map) = place(key);
            let found = states[column].contains(&key.0, map).expect("contains");
            prop_assert_eq!(found, model.get(key).is_some());
        }
        Op::HasRows(prefix) => {
            let found = states[MAPS].map_has_rows(prefix).expect("look");
            prop_assert_eq!(found, !model.from(MAPS, prefix, PREFIX).is_empty());
        }
        Op::ClearMap(prefix) => {
            states[MAPS].clear_map(prefix).expect("clear");
            prop_assert!(!states[MAPS].map_has_rows(prefix).expect("look"));
        }
        Op::Scan(column, from, prefix, max, bytes) => {
            let prefix = *prefix.min(&from.len());
            let seen = subject.scan(*column, from, prefix, *max, *bytes);
            prop_assert_eq!(seen, model.from(*column, from, prefix));
        }
        Op::ScanMap(key, max, bytes) => {
            let seen = subject.scan_map(key, *max, *bytes);
            prop_assert_eq!(seen, model.from(MAPS, &key.0, PREFIX));
        }
        Op::Ingest(column, rows, page) => subject.ingest(*column, rows, *page),
        Op::Replace(column, _) => subject.ingest(*column, &model.from(*column, &[], 0), 5),
        Op::GiveUpIngest(column, rows) => drop(subject.load(*column, rows, 7)),
        Op::OpenCursor(column, keys_only) => {
            let cursor = states[*column].cursor(*keys_only).expect("cursor");
            let rows = model.from(*column, &[], 0);
            subject.cursor = Some(OldCursor { cursor, keys_only: *keys_only, rows });
        }
        Op::ReadCursor(bytes) => {
            if let Some(cursor) = subject.cursor.take() {
                cursor.check(*bytes)?;
            }
        }
        Op::Drop(column) => subject.drop_state(*column),
        Op::FilterPrefix(column, length) => states[*column].filter_maps(*length).expect("filter"),
        Op::Flush => subject.database.flush().expect("flush"),
        Op::Compact => subject.database.compact().expect("compact"),
        Op::Reopen => subject.reopen(),
    }
    Ok(())
}

fn same(model: &Model, subject: &mut Subject) -> Result<(), TestCaseError> {
    for key in model.0[ROWS].keys() {
        let key = (key.clone(), 0);
        prop_assert_eq!(subject.get(&key), model.get(&key).cloned());
        prop_assert!(subject.states[ROWS].contains(&key.0, 0).expect("contains"));
    }
    for key in model.0[MAPS].keys().filter(|key| key.len() >= PREFIX) {
        let key = (key.clone(), PREFIX);
        prop_assert_eq!(subject.get(&key), model.get(&key).cloned());
        prop_assert!(subject.states[MAPS].contains(&key.0, PREFIX).expect("contains"));
    }
    for column in [ROWS, MAPS] {
        prop_assert_eq!(subject.scan(column, &[], 0, 3, 16), model.from(column, &[], 0));
    }
    subject.reopen();
    for column in [ROWS, MAPS] {
        prop_assert_eq!(subject.scan(column, &[], 0, 3, 16), model.from(column, &[], 0));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn state_behaves_like_a_sorted_map(ops in prop::collection::vec(op(), 1..300)) {
        let mut model = Model::default();
        let mut subjects = BUFFERS.map(Subject::new);
        for op in ops {
            change_model(&op, &mut model);
            for subject in &mut subjects {
                apply(&op, &model, subject)?;
            }
        }
        for subject in &mut subjects {
            same(&model, subject)?;
        }
    }
}

/// A prefix whose rows need several batches of deletes, beside neighbours that must stay.
#[test]
fn a_prefix_of_many_rows_is_deleted_and_its_neighbours_are_not() {
    for buffer in BUFFERS {
        delete_many(&Subject::new(buffer));
    }
}

fn delete_many(subject: &Subject) {
    const ROWS: u32 = 60_000;
    let state = &subject.states[MAPS];
    let row = |prefix: u8, n: u32| [&[b'p', prefix][..], &n.to_be_bytes()].concat();
    for n in 0..ROWS {
        state.put(&row(1, n), 2, b"deleted").expect("put");
    }
    for prefix in [0, 2] {
        state.put(&row(prefix, 7), 2, b"stays").expect("put");
    }
    subject.database.flush().expect("flush");
    state.clear_map(&[b'p', 1]).expect("delete");
    assert!(!state.map_has_rows(&[b'p', 1]).expect("look"));
    let left = subject.scan(MAPS, &[], 0, 10, 100);
    assert_eq!(left, [(row(0, 7), b"stays".to_vec()), (row(2, 7), b"stays".to_vec())]);
}
