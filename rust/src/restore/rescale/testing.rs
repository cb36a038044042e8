//! A job to rescale in tests: its backends, its checkpoints and what its state should be.
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempDir;

use super::{Kept, KeyRange, Rescale};
use crate::cancel::Cancel;
use crate::config::Config;
use crate::db::{table_files, Column, Db};

pub(super) const GROUPS: u16 = 128;

pub(super) type Rows = BTreeMap<(String, Vec<u8>), Vec<u8>>;

/// A job's backends, as many as its parallelism, and what they should hold.
pub(super) struct Job {
    pub(super) root: TempDir,
    pub(super) config: Config,
    pub(super) backends: Vec<Backend>,
    pub(super) rows: Rows,
    pub(super) number: usize,
    pub(super) seed: u64,
}

pub(super) struct Backend {
    pub(super) db: Arc<Db>,
    pub(super) range: KeyRange,
    pub(super) kept: Vec<Kept>,
}

/// The key groups of subtask `index` of `parallelism`, as Flink deals them out.
pub(super) fn range(index: u16, parallelism: u16) -> KeyRange {
    let from = (index * GROUPS).div_ceil(parallelism);
    let to = ((index + 1) * GROUPS - 1) / parallelism + 1;
    KeyRange { from: vec![from as u8], to: Some(vec![to as u8]) }
}

pub(super) fn holds(range: &KeyRange, key: &[u8]) -> bool {
    key >= range.from.as_slice() && range.to.as_deref().is_none_or(|to| key < to)
}

pub(super) fn rows_of(db: &Arc<Db>) -> Rows {
    let mut rows = Rows::new();
    for name in db.column_names().expect("names") {
        let column = db.column(&name).expect("column");
        let mut iterator = column.iterate(&[]).expect("iterator");
        iterator.seek_to_first();
        while let Some((key, value)) = iterator.item() {
            rows.insert((name.clone(), key.to_vec()), value.to_vec());
            iterator.next();
        }
        iterator.status().expect("read to the end");
    }
    rows
}

impl Job {
    pub(super) fn new(config: Config) -> Self {
        let root = tempfile::tempdir().expect("a directory");
        let db = Db::open(&root.path().join("first"), &config, None).expect("open");
        let backends = vec![Backend { db, range: range(0, 1), kept: Vec::new() }];
        Self { root, config, backends, rows: Rows::new(), number: 0, seed: 7 }
    }

    pub(super) fn random(&mut self) -> u64 {
        // xorshift
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        self.seed
    }

    pub(super) fn column(&self, key: &[u8], name: &str) -> Column {
        let backend = self.backends.iter().find(|it| holds(&it.range, key)).expect("an owner");
        backend.db.column(name).expect("column")
    }

    /// Puts, merges, deletions and timers all over the key groups, some of them flushed.
    pub(super) fn work(&mut self, operations: usize) {
        for _ in 0..operations {
            let random = self.random();
            let group = (random % u64::from(GROUPS)) as u8;
            let key = vec![group, (random >> 8) as u8 % 16, 0];
            let value = random.to_be_bytes().repeat(1 + (random >> 60) as usize * 8);
            let (name, value) = match random >> 32 & 7 {
                0..=2 => ("values", Some(value)),
                3 => ("list", Some(value)),
                4 => ("values", None),
                5 => ("_timer_state/event_timers", Some(Vec::new())),
                6 => ("_timer_state/event_timers", None),
                _ => ("only some", Some(value)),
            };
            let column = self.column(&key, name);
            let slot = (name.to_owned(), key.clone());
            match value {
                Some(operand) if name == "list" => {
                    column.merge(&key, &operand).expect("merged");
                    let list = self.rows.entry(slot).or_default();
                    if !list.is_empty() {
                        list.push(b',');
                    }
                    list.extend_from_slice(&operand);
                }
                Some(value) => {
                    column.put(&key, &value).expect("put");
                    self.rows.insert(slot, value);
                }
                None => {
                    column.delete(&key).expect("deleted");
                    self.rows.remove(&slot);
                }
            }
        }
        if self.random().is_multiple_of(2) {
            self.backends.iter().for_each(|it| it.db.flush().expect("flushed"));
        }
    }

    pub(super) fn wait_until_settled(&self) {
        for backend in &self.backends {
            while backend.db.property("ferrostate.is-settling").expect("asked").as_deref()
                == Some("1")
            {
                std::thread::yield_now();
            }
        }
    }

    pub(super) fn checkpoint(&mut self) -> Vec<PathBuf> {
        self.number += 1;
        let root = self.root.path().join(format!("chk-{}", self.number));
        fs::create_dir_all(&root).expect("made");
        let directories = (0..self.backends.len()).map(|n| root.join(n.to_string()));
        directories
            .zip(&self.backends)
            .map(|(directory, backend)| {
                backend.db.checkpoint(&directory).expect("a checkpoint");
                directory
            })
            .collect()
    }

    /// Restores from a checkpoint with another parallelism.
    pub(super) fn rescale(&mut self, parallelism: u16) {
        let checkpoint = self.checkpoint();
        let old: Vec<_> = self.backends.iter().map(|backend| backend.range.clone()).collect();
        let before: Vec<_> = checkpoint.iter().map(|directory| content(directory)).collect();
        self.backends.clear();
        for index in 0..parallelism {
            let (rescale, directory) = self.prepared(&checkpoint, &old, &range(index, parallelism));
            let backend = self.restored(rescale, &directory, range(index, parallelism));
            self.backends.push(backend);
        }
        let after: Vec<_> = checkpoint.iter().map(|directory| content(directory)).collect();
        assert_eq!(before, after, "the checkpoint is as it was");
    }

    /// Parts of the wanted range with their files brought.
    pub(super) fn prepared(
        &mut self,
        checkpoint: &[PathBuf],
        old: &[KeyRange],
        wanted: &KeyRange,
    ) -> (Rescale, PathBuf) {
        self.number += 1;
        let directory = self.root.path().join(format!("backend-{}", self.number));
        let mut rescale = Rescale::new(self.config.clone());
        for (part, (source, held)) in checkpoint.iter().zip(old).enumerate() {
            let from = wanted.from.clone().max(held.from.clone());
            let to = wanted.to.clone().min(held.to.clone());
            if to.as_ref().is_some_and(|to| *to <= from) {
                continue;
            }
            let target = directory.join(format!("part-{part}"));
            fs::create_dir_all(&target).expect("made");
            for name in names(source).iter().filter(|name| !name.ends_with(".sst")) {
                fs::copy(source.join(name), target.join(name)).expect("copied");
            }
            let manifest = table_files::read(&target).expect("read").expect("usable");
            let states: Vec<_> = manifest.columns.into_keys().collect();
            let files = rescale.add(&target, KeyRange { from, to }, &states).expect("read");
            for name in files.expect("can be imported") {
                fs::hard_link(source.join(&name), target.join(&name)).expect("linked");
            }
        }
        (rescale, directory)
    }

    pub(super) fn restored(
        &self,
        mut rescale: Rescale,
        directory: &Path,
        range: KeyRange,
    ) -> Backend {
        let cancel = Cancel::new();
        let target = directory.join("db");
        let kept = rescale
            .run(&target, &directory.join("scratch"), &cancel)
            .expect("assembled")
            .expect("not refused");
        let db = Db::open(&target, &self.config, None).expect("open");
        rescale.finish(&db, &cancel).expect("finished");
        Backend { db, range, kept }
    }

    /// All rows, each in the backend that owns its key group and nowhere else.
    pub(super) fn check(&self) {
        let mut found = Rows::new();
        for backend in &self.backends {
            let rows = rows_of(&backend.db);
            assert!(rows.keys().all(|(_, key)| holds(&backend.range, key)), "foreign rows");
            found.extend(rows);
        }
        assert_eq!(found.len(), self.rows.len());
        assert!(found == self.rows, "rows differ");
    }
}

pub(super) fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("listed").flatten();
    let mut names: Vec<_> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

pub(super) fn content(directory: &Path) -> Vec<(String, Vec<u8>)> {
    let read = |name: String| {
        let bytes = fs::read(directory.join(&name)).expect("read");
        (name, bytes)
    };
    names(directory).into_iter().map(read).collect()
}

pub(super) fn small_files() -> Config {
    Config {
        target_file_size: 16 << 10,
        level_base_size: 64 << 10,
        write_buffer_size: 64 << 10,
        ..Config::default()
    }
}

pub(super) fn sst_bytes(db: &Db) -> u64 {
    let files = names(db.path()).into_iter().filter(|name| name.ends_with(".sst"));
    files.map(|name| fs::metadata(db.path().join(name)).expect("there").len()).sum()
}
