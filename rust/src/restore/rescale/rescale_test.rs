use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::*;
use crate::db::Column;
use crate::runtime::testing::within;

const GROUPS: u16 = 128;

type Rows = BTreeMap<(String, Vec<u8>), Vec<u8>>;

/// A job's backends, as many as its parallelism, and what they should hold.
struct Job {
    root: TempDir,
    config: Config,
    backends: Vec<Backend>,
    rows: Rows,
    number: usize,
    seed: u64,
}

struct Backend {
    db: Arc<Db>,
    range: KeyRange,
    kept: Vec<Kept>,
}

/// The key groups of subtask `index` of `parallelism`, as Flink deals them out.
fn range(index: u16, parallelism: u16) -> KeyRange {
    let from = (index * GROUPS).div_ceil(parallelism);
    let to = ((index + 1) * GROUPS - 1) / parallelism + 1;
    KeyRange { from: vec![from as u8], to: Some(vec![to as u8]) }
}

fn holds(range: &KeyRange, key: &[u8]) -> bool {
    key >= range.from.as_slice() && range.to.as_deref().is_none_or(|to| key < to)
}

fn rows_of(db: &Arc<Db>) -> Rows {
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
    fn new(config: Config) -> Self {
        let root = tempfile::tempdir().expect("a directory");
        let db = Db::open(&root.path().join("first"), &config, None).expect("open");
        let backends = vec![Backend { db, range: range(0, 1), kept: Vec::new() }];
        Self { root, config, backends, rows: Rows::new(), number: 0, seed: 7 }
    }

    fn random(&mut self) -> u64 {
        // xorshift
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        self.seed
    }

    fn column(&self, key: &[u8], name: &str) -> Column {
        let backend = self.backends.iter().find(|it| holds(&it.range, key)).expect("an owner");
        backend.db.column(name).expect("column")
    }

    /// Puts, merges, deletions and timers all over the key groups, some of them flushed.
    fn work(&mut self, operations: usize) {
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

    fn wait_until_settled(&self) {
        for backend in &self.backends {
            while backend.db.property("ferrostate.is-settling").expect("asked").as_deref()
                == Some("1")
            {
                std::thread::yield_now();
            }
        }
    }

    fn checkpoint(&mut self) -> Vec<PathBuf> {
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
    fn rescale(&mut self, parallelism: u16) {
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
    fn prepared(
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
            let files = rescale.add(&target, KeyRange { from, to }, &[]).expect("read");
            for name in files.expect("can be imported") {
                fs::hard_link(source.join(&name), target.join(&name)).expect("linked");
            }
        }
        (rescale, directory)
    }

    fn restored(&self, mut rescale: Rescale, directory: &Path, range: KeyRange) -> Backend {
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
    fn check(&self) {
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

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("listed").flatten();
    let mut names: Vec<_> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn content(directory: &Path) -> Vec<(String, Vec<u8>)> {
    let read = |name: String| {
        let bytes = fs::read(directory.join(&name)).expect("read");
        (name, bytes)
    };
    names(directory).into_iter().map(read).collect()
}

fn small_files() -> Config {
    Config {
        target_file_size: 16 << 10,
        level_base_size: 64 << 10,
        write_buffer_size: 64 << 10,
        ..Config::default()
    }
}

fn sst_bytes(db: &Db) -> u64 {
    let files = names(db.path()).into_iter().filter(|name| name.ends_with(".sst"));
    files.map(|name| fs::metadata(db.path().join(name)).expect("there").len()).sum()
}

/// Rescales through a list of parallelisms, with work and compaction in between now and then.
fn goes_through(parallelisms: Vec<u16>, seed: u64) {
    within(move || {
        let mut job = Job::new(small_files());
        job.seed = seed;
        job.work(3000);
        for (round, parallelism) in parallelisms.into_iter().enumerate() {
            job.rescale(parallelism);
            job.check();
            if round % 3 != 0 {
                job.wait_until_settled();
                job.check();
            }
            if round % 4 != 3 {
                job.work(600);
                job.check();
            }
        }
    });
}

#[test]
fn any_parallelism_to_any_other() {
    goes_through(vec![2, 3, 1, 2], 7);
}

#[test]
fn eight_to_three_and_back_again_and_again() {
    goes_through(vec![8, 3, 8, 3, 5, 1], 8);
}

#[test]
fn as_many_subtasks_as_key_groups() {
    goes_through(vec![1, 128, 1], 9);
}

/// 1 to 2 and back before anything is compacted: both halves still have the files of the whole.
#[test]
fn files_with_each_others_dead_keys_are_clipped() {
    within(|| {
        let config =
            Config { compaction_style: crate::config::CompactionStyle::None, ..small_files() };
        let mut job = Job::new(config);
        job.work(3000);
        job.backends[0].db.flush().expect("flushed");
        let checkpoint = job.checkpoint();
        let mut unsettled = Vec::new();
        for index in 0..2 {
            let (mut rescale, directory) =
                job.prepared(&checkpoint, &[range(0, 1)], &range(index, 2));
            let target = directory.join("db");
            rescale
                .run(&target, &directory.join("scratch"), &Cancel::new())
                .expect("assembled")
                .expect("not refused");
            // Not finished: nothing is compacted.
            let db = Db::open(&target, &job.config, None).expect("open");
            unsettled.push(Backend { db, range: range(index, 2), kept: Vec::new() });
        }
        job.backends = unsettled;
        job.check();
        let checkpoint = job.checkpoint();
        let (mut rescale, directory) =
            job.prepared(&checkpoint, &[range(0, 2), range(1, 2)], &range(0, 1));
        let views: Vec<_> = rescale.parts.iter().map(|p| (&p.range, &p.columns)).collect();
        assert_eq!(plan::in_each_others_way(&views).len(), 2, "the test's point");
        let scratch = directory.join("scratch");
        rescale.run(&directory.join("db"), &scratch, &Cancel::new()).expect("ok").expect("taken");
        assert!(rescale.copies.is_empty(), "no rows were copied");
        assert!(rescale.dead.is_empty(), "nothing foreign is left: {:?}", rescale.dead);
        let db = Db::open(&directory.join("db"), &job.config, None).expect("open");
        job.backends = vec![Backend { db, range: range(0, 1), kept: Vec::new() }];
        job.check();
    });
}

#[test]
fn whole_files_are_known_by_their_old_names() {
    within(|| {
        let mut job = Job::new(small_files());
        job.work(6000);
        job.backends[0].db.compact().expect("compacted");
        let checkpoint = job.checkpoint();
        job.rescale(2);
        for backend in &job.backends {
            assert!(backend.kept.len() > 2, "{:?}", backend.kept);
            for kept in &backend.kept {
                assert_eq!(kept.part, 0);
                let old = fs::read(checkpoint[0].join(&kept.name)).expect("an old file");
                if let Ok(new) = fs::read(backend.db.path().join(&kept.new_name)) {
                    assert_eq!(old, new);
                }
            }
        }
        // Everything but the few files on the border is of one backend only.
        let all = names(&checkpoint[0]).iter().filter(|name| name.ends_with(".sst")).count();
        let kept: usize = job.backends.iter().map(|backend| backend.kept.len()).sum();
        assert!(kept >= all && kept <= all + 2 * 4, "{kept} of {all}");

        // Back again: all files that were not rewritten meanwhile are kept.
        job.wait_until_settled();
        let second = job.checkpoint();
        job.rescale(1);
        let all = second.iter().flat_map(|directory| names(directory));
        let all = all.filter(|name| name.ends_with(".sst")).count();
        assert_eq!(job.backends[0].kept.len(), all, "no byte twice");
        job.check();
    });
}

/// After a scale-in nothing of it stays in level 0 that need not.
#[test]
fn many_small_parts_do_not_stall_writes() {
    within(|| {
        let mut job = Job::new(Config::default());
        job.work(2000);
        job.rescale(40);
        job.work(2000);
        job.backends.iter().for_each(|it| it.db.flush().expect("flushed"));
        job.rescale(1);
        let column = job.backends[0].db.column("values").expect("column");
        let level_0 = column.property("rocksdb.num-files-at-level0").expect("asked");
        let count: usize = level_0.expect("known").parse().expect("a number");
        assert!(count < 20, "{count} files: writes would slow down");
        job.work(500);
        job.check();
    });
}

/// FLINK-35576: what is written after an import is newer than what was imported.
#[test]
fn a22_new_rows_win_over_imported_ones_and_over_those_imported_again() {
    within(|| {
        let mut job = Job::new(small_files());
        job.work(3000);
        for _ in 0..3 {
            job.rescale(2);
            job.work(3000);
            job.backends.iter().for_each(|it| it.db.compact().expect("compacted"));
            job.check();
            job.rescale(1);
            job.work(1000);
            job.check();
        }
    });
}

/// FLINK-34050.
#[test]
fn a23_dead_keys_leave_the_disk() {
    within(|| {
        let mut job = Job::new(Config { target_file_size: 1 << 20, ..Config::default() });
        for group in 0..GROUPS as u8 {
            for row in 0..128_u8 {
                let value = (0..64).flat_map(|_| job.random().to_be_bytes()).collect::<Vec<_>>();
                let key = vec![group, row, 0];
                job.column(&key, "values").put(&key, &value).expect("put");
                job.rows.insert(("values".to_owned(), key), value);
            }
        }
        job.backends[0].db.compact().expect("compacted");
        let all = sst_bytes(&job.backends[0].db);
        job.rescale(4);
        job.wait_until_settled();
        for backend in &job.backends {
            let share = sst_bytes(&backend.db) as f64 / (all as f64 / 4.0);
            assert!(share < 1.3, "{share} times its share");
        }
        job.check();
    });
}

#[test]
fn a_cancel_before_any_step_leaves_no_database() {
    within(|| {
        let mut job = Job::new(small_files());
        job.work(1000);
        let checkpoint = job.checkpoint();
        let (mut rescale, directory) = job.prepared(&checkpoint, &[range(0, 1)], &range(0, 2));
        let cancel = Cancel::new();
        cancel.trigger();
        let error = rescale
            .run(&directory.join("db"), &directory.join("scratch"), &cancel)
            .expect_err("cancelled");
        assert_eq!(error.kind, Kind::Cancelled, "{error}");
        assert!(!directory.join("db").exists());
    });
}

/// Cancelled once the clipping has begun: both parts have all of the other's rows.
#[test]
fn a29_a_cancel_ends_the_clipping() {
    within(|| {
        let config = Config {
            compaction_style: crate::config::CompactionStyle::None,
            compression: vec![rocksdb::DBCompressionType::Zstd],
            ..Config::default()
        };
        let mut job = Job::new(config);
        for row in 0..200_000_u32 {
            let key = [&[(row % 128) as u8][..], &row.to_be_bytes(), &[0]].concat();
            let value: Vec<u8> = (0..32).flat_map(|_| job.random().to_be_bytes()).collect();
            job.column(&key, "values").put(&key, &value).expect("put");
        }
        let checkpoint = [job.checkpoint(), job.checkpoint()].concat();
        let (mut rescale, directory) =
            job.prepared(&checkpoint, &[range(0, 2), range(1, 2)], &range(0, 1));
        let (cancel, clipping) = (Cancel::new(), directory.join("scratch").join("clip-0"));
        let trigger = {
            let cancel = cancel.clone();
            std::thread::spawn(move || {
                while !clipping.join("CURRENT").exists() {
                    std::thread::yield_now();
                }
                cancel.trigger();
                Instant::now()
            })
        };
        let error = rescale
            .run(&directory.join("db"), &directory.join("scratch"), &cancel)
            .expect_err("cancelled");
        let since = trigger.join().expect("no panic").elapsed();
        assert_eq!(error.kind, Kind::Cancelled, "{error}");
        assert!(since < Duration::from_secs(5), "{since:?}");
        assert!(!directory.join("db").exists());
    });
}

/// A migration ingests such files; their rows have no sequence numbers of their own.
#[test]
fn ingested_files_keep_their_place() {
    within(|| {
        let job = Job::new(small_files());
        let ingested = job.root.path().join("ingested.sst");
        let options = crate::db::read_only_options().expect("options");
        let mut writer = rocksdb::SstFileWriter::create(&options);
        writer.open(&ingested).expect("open");
        writer.put([5, 1, 0], b"ingested").expect("put");
        writer.put([90, 1, 0], b"ingested").expect("put");
        writer.finish().expect("finished");

        let source = job.root.path().join("source");
        let mut create = options.clone();
        create.create_if_missing(true);
        let db = rocksdb::DB::open(&create, &source).expect("open");
        db.create_cf("values", &create).expect("created");
        let values = db.cf_handle("values").expect("values");
        let mut unlogged = rocksdb::WriteOptions::default();
        unlogged.disable_wal(true);
        db.put_cf_opt(&values, [5, 1, 0], b"older", &unlogged).expect("put");
        db.ingest_external_file_cf(&values, vec![&ingested]).expect("ingested");
        db.put_cf_opt(&values, [90, 1, 0], b"newer", &unlogged).expect("put");
        db.flush_cf(&values).expect("flushed");
        drop(values);
        drop(db);

        let mut job = job;
        for index in 0..2 {
            let wanted = range(index, 2);
            let (rescale, directory) =
                job.prepared(std::slice::from_ref(&source), &[range(0, 1)], &wanted);
            let backend = job.restored(rescale, &directory, wanted);
            let expected: (&[u8], &[u8]) =
                if index == 0 { (&[5, 1, 0], b"ingested") } else { (&[90, 1, 0], b"newer") };
            let rows = rows_of(&backend.db);
            let row = (("values".to_owned(), expected.0.to_vec()), expected.1.to_vec());
            assert_eq!(rows.into_iter().collect::<Vec<_>>(), [row]);
        }
    });
}

#[test]
fn a29_closing_does_not_wait_for_the_compaction() {
    within(|| {
        let mut job = Job::new(Config { write_buffer_size: 8 << 20, ..Config::default() });
        let value = vec![7; 512];
        for row in 0..60_000_u32 {
            let key =
                [&[(row % 128) as u8][..], &row.wrapping_mul(2_654_435_761).to_be_bytes(), &[0]]
                    .concat();
            job.column(&key, "values").put(&key, &value).expect("put");
        }
        job.rescale(2);
        let started = Instant::now();
        for backend in job.backends.drain(..) {
            backend.db.close();
        }
        assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    });
}

#[test]
fn files_that_rocksdb_refuses_are_left_to_a_copy() {
    within(|| {
        let mut job = Job::new(small_files());
        job.work(1000);
        let checkpoint = job.checkpoint();
        let (mut rescale, directory) = job.prepared(&checkpoint, &[range(0, 1)], &range(0, 1));
        let part = directory.join("part-0");
        let broken = names(&part).into_iter().find(|name| name.ends_with(".sst")).expect("one");
        fs::remove_file(part.join(&broken)).expect("deleted");
        fs::write(part.join(&broken), [0x55; 2000]).expect("broken");
        let kept = rescale.run(&directory.join("db"), &directory.join("scratch"), &Cancel::new());
        assert_eq!(kept.expect("not a failure"), None);
        assert!(!directory.join("db").exists());
    });
}

#[test]
fn a_file_that_is_not_there_is_named() {
    within(|| {
        let mut job = Job::new(small_files());
        job.work(1000);
        let checkpoint = job.checkpoint();
        let (mut rescale, directory) = job.prepared(&checkpoint, &[range(0, 1)], &range(0, 1));
        let part = directory.join("part-0");
        let missing = names(&part).into_iter().find(|name| name.ends_with(".sst")).expect("one");
        fs::remove_file(part.join(&missing)).expect("deleted");
        let error = rescale
            .run(&directory.join("db"), &directory.join("scratch"), &Cancel::new())
            .expect_err("missing");
        assert_eq!(error.kind, Kind::Missing);
        assert!(error.text.contains(&missing), "{error}");
    });
}

#[test]
fn a_state_without_a_column_family_is_an_error() {
    within(|| {
        let mut job = Job::new(small_files());
        job.work(100);
        let checkpoint = job.checkpoint();
        let states = ["values".to_owned(), "lost".to_owned()];
        let mut rescale = Rescale::new(Config::default());
        rescale.add(&checkpoint[0], range(0, 1), &states[..1]).expect("there").expect("usable");
        let error = rescale.add(&checkpoint[0], range(0, 1), &states).expect_err("lost");
        assert_eq!(error.kind, Kind::Corrupted);
        assert!(error.text.contains("'lost'"), "{error}");
    });
}
