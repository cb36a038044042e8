//! State access against a model: random operations on one column family and on a BTreeMap, with
//! flushes, compactions and restores from a local checkpoint between them. Everything must look alike
//! at each step.
use ferrostate::config::Config;
use ferrostate::db::{Db, Fill};
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
    Scan(Bytes, usize, usize),
    Flush,
    Compact,
    Reopen,
}

/// Few and short keys over few letters, 0xFF among them, so that they collide and share prefixes.
fn key() -> impl Strategy<Value = Bytes> {
    prop::collection::vec(prop::sample::select(vec![0u8, 1, b',', 0x7f, 0xff]), 0..5)
}

fn value() -> impl Strategy<Value = Bytes> {
    prop::collection::vec(any::<u8>(), 0..40)
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        8 => (key(), value()).prop_map(|(k, v)| Op::Put(k, v)),
        6 => (key(), value()).prop_map(|(k, v)| Op::Merge(k, v)),
        4 => key().prop_map(Op::Delete),
        2 => key().prop_map(Op::DeletePrefix),
        4 => (key(), 0usize..4, 1usize..6).prop_map(|(k, p, n)| Op::Scan(k, p, n)),
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

struct Subject {
    root: tempfile::TempDir,
    checkpoints: usize,
    state: State,
}

impl Subject {
    fn new() -> Self {
        let root = tempfile::tempdir().expect("temp dir");
        let state = Self::open(&root.path().join("db"));
        Self { root, checkpoints: 0, state }
    }

    fn open(path: &Path) -> State {
        let db = Db::open(path, &Config::default(), None).expect("open");
        State::open(&db, "model").expect("state")
    }

    fn reopen(&mut self) {
        self.checkpoints += 1;
        let target = self.root.path().join(format!("chk-{}", self.checkpoints));
        self.state.db().checkpoint(&target).expect("checkpoint");
        self.state = Self::open(&target);
    }

    /// All entries from `from` on that share its first `prefix` bytes, in pages of `max` entries.
    fn scan(&self, from: &[u8], prefix: usize, max: usize) -> Vec<(Bytes, Bytes)> {
        let (mut seen, mut from, mut after) = (Vec::new(), from.to_vec(), false);
        let mut page = vec![0u8; 16];
        loop {
            match self.state.scan(&from, prefix, after, max, &mut page).expect("scan") {
                Fill::Needs(bytes) => page.resize(bytes, 0),
                Fill::Used(_) => {
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
        Op::Scan(from, prefix, max) => {
            let prefix = prefix.min(from.len());
            prop_assert_eq!(subject.scan(&from, prefix, max), model.from(&from, prefix));
        }
        Op::Flush => state.db().flush().expect("flush"),
        Op::Compact => state.db().compact().expect("compact"),
        Op::Reopen => subject.reopen(),
    }
    Ok(())
}

fn same(model: &Model, subject: &Subject) -> Result<(), TestCaseError> {
    prop_assert_eq!(subject.scan(&[], 0, 3), model.from(&[], 0));
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
