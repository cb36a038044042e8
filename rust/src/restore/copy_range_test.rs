use std::collections::BTreeMap;
use std::sync::Arc;

use rocksdb::WriteOptions;
use tempfile::TempDir;

use super::*;
use crate::config::Config;
use crate::db::Db;
use crate::error::Kind;
use crate::restore::db_sink::DbSink;
use crate::runtime::testing::within;

type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

#[derive(Default)]
struct Collected {
    columns: Vec<(String, Rows)>,
    batches: usize,
    cancel_at: Option<(usize, Cancel)>,
    fail: bool,
}

impl RangeSink for Collected {
    fn begin_column(&mut self, name: &str) -> Result<()> {
        self.columns.push((name.to_string(), Rows::new()));
        Ok(())
    }

    fn end_column(&mut self) -> Result<()> {
        Ok(())
    }

    fn put_batch(&mut self, rows: &[Row]) -> Result<()> {
        assert!(!rows.is_empty());
        if self.fail {
            return Err(Error::invalid("the sink is full"));
        }
        self.batches += 1;
        if let Some((_, cancel)) = self.cancel_at.take_if(|(batch, _)| *batch == self.batches) {
            cancel.trigger();
        }
        let (_, column) = self.columns.last_mut().expect("begun");
        for (key, value) in rows {
            let after_the_last = column.last_key_value().is_none_or(|(last, _)| **last < **key);
            assert!(after_the_last, "in byte order, each once");
            column.insert(key.to_vec(), value.to_vec());
        }
        Ok(())
    }
}

impl Collected {
    fn column(&self, name: &str) -> &Rows {
        &self.columns.iter().find(|(column, _)| column == name).expect("copied").1
    }
}

/// 256 key groups of one byte; a list state; the default column family must not be copied.
fn database(rows_a_group: u16) -> TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    let mut options = read_only_options().expect("options");
    options.create_if_missing(true);
    let db = DB::open(&options, directory.path()).expect("open");
    for name in ["values", "list", "empty"] {
        db.create_cf(name, &options).expect("created");
    }
    let mut unlogged = WriteOptions::default();
    unlogged.disable_wal(true);
    db.put_opt(b"\x01default", b"never", &unlogged).expect("put");
    let (values, list) = (db.cf_handle("values").expect("a"), db.cf_handle("list").expect("b"));
    for group in 0..=255_u8 {
        for row in 0..rows_a_group {
            let key = [&[group][..], &row.to_be_bytes()].concat();
            db.put_cf_opt(&values, &key, vec![group; 100], &unlogged).expect("put");
        }
        db.merge_cf_opt(&list, [group], b"a", &unlogged).expect("merged");
        db.merge_cf_opt(&list, [group], b"b", &unlogged).expect("merged");
    }
    for name in ["values", "list"] {
        db.flush_cf(&db.cf_handle(name).expect("a column family")).expect("flushed");
    }
    db.merge_cf_opt(&list, [7], b"c", &unlogged).expect("merged");
    db.delete_cf_opt(&values, [7, 0, 0], &unlogged).expect("deleted");
    for name in ["values", "list"] {
        db.flush_cf(&db.cf_handle(name).expect("a column family")).expect("flushed");
    }
    directory
}

fn names(directory: &TempDir) -> Vec<(std::ffi::OsString, u64)> {
    let entries = std::fs::read_dir(directory.path()).expect("listed").flatten();
    let size = |entry: &std::fs::DirEntry| entry.metadata().expect("there").len();
    let mut names: Vec<_> = entries.map(|entry| (entry.file_name(), size(&entry))).collect();
    names.sort();
    names
}

#[test]
fn copies_the_range_with_operands_merged() {
    within(|| {
        let directory = database(20);
        for (from, to) in [(0, Some(256)), (5, Some(9)), (7, Some(8)), (250, None), (9, Some(9))] {
            let mut sink = Collected::default();
            let upper = to.and_then(|to: u16| u8::try_from(to).ok()).map(|to| vec![to]);
            copy_range(directory.path(), &[from], upper.as_deref(), &mut sink, &Cancel::new())
                .expect("copied");
            let groups = u16::from(from)..to.unwrap_or(256);
            let deleted = usize::from(groups.contains(&7));
            assert_eq!(sink.columns.len(), 3, "even the empty one, and not default");
            assert_eq!(sink.column("values").len(), 20 * groups.len() - deleted);
            assert!(sink.column("empty").is_empty());
            for group in groups {
                let expected: &[u8] = if group == 7 { b"a,b,c" } else { b"a,b" };
                assert_eq!(sink.column("list")[&vec![group as u8]], expected);
            }
        }
    });
}

#[test]
fn copies_in_batches_and_ends_with_cancel() {
    within(|| {
        let directory = database(100);
        let mut sink = Collected::default();
        copy_range(directory.path(), &[], None, &mut sink, &Cancel::new()).expect("copied");
        assert_eq!(sink.column("values").len(), 25_599);
        let batches = sink.batches;
        assert!(batches > 4, "{batches}");

        let cancel = Cancel::new();
        let mut sink = Collected { cancel_at: Some((2, cancel.clone())), ..Default::default() };
        let error = copy_range(directory.path(), &[], None, &mut sink, &cancel);
        let error = error.expect_err("cancelled");
        assert_eq!((error.kind, sink.batches), (Kind::Cancelled, 2), "{error}");
    });
}

#[test]
fn a21_changes_nothing_in_the_source() {
    within(|| {
        let directory = database(5);
        let before = names(&directory);
        copy_range(directory.path(), &[], None, &mut Collected::default(), &Cancel::new())
            .expect("copied");
        assert_eq!(names(&directory), before);
    });
}

#[test]
fn a_sink_that_fails_ends_the_copy_with_its_reason() {
    within(|| {
        let directory = database(5);
        let mut sink = Collected { fail: true, ..Default::default() };
        let error = copy_range(directory.path(), &[], None, &mut sink, &Cancel::new());
        let error = error.expect_err("failed");
        assert!(error.text.contains("the sink is full"), "{error}");
        assert!(error.text.contains("column family"), "{error}");
    });
}

#[test]
fn a_missing_or_broken_source_is_named() {
    within(|| {
        let mut sink = Collected::default();
        let absent = Path::new("/no/such/database");
        let error = copy_range(absent, &[], None, &mut sink, &Cancel::new()).expect_err("absent");
        assert!(error.text.contains("/no/such/database"), "{error}");

        let directory = database(5);
        let (sst, _) = names(&directory)
            .into_iter()
            .find(|(name, _)| name.to_string_lossy().ends_with(".sst"))
            .expect("an SST");
        std::fs::write(directory.path().join(&sst), vec![0x55; 2000]).expect("broken");
        let error = copy_range(directory.path(), &[], None, &mut sink, &Cancel::new());
        let error = error.expect_err("broken");
        assert!(matches!(error.kind, Kind::Corrupted | Kind::Missing), "{error}");
        assert!(error.text.contains(&*sst.to_string_lossy()), "{error}");
    });
}

/// The number of rows.
fn count(db: &Arc<Db>, name: &str) -> usize {
    let column = db.column(name).expect("column");
    let mut rows = column.iterate(&[]).expect("iterator");
    rows.seek_to_first();
    std::iter::from_fn(|| rows.valid().then(|| rows.next())).count()
}

/// Wherever it is stopped, the database has whole column families of the source or nothing of them, and
/// no files lie beside it.
#[test]
fn a_cancel_or_a_failure_at_any_step_leaves_no_half_column() {
    use crate::cancel::testing::Event;
    within(|| {
        let source = database(50);
        let copy = |cancel: &Cancel| {
            let target = tempfile::tempdir().expect("a directory");
            let path = target.path().join("db");
            let db = Db::open(&path, &Config::default(), None).expect("open");
            let mut sink = DbSink::new(Arc::clone(&db));
            let outcome = copy_range(source.path(), &[1], Some(&[200]), &mut sink, cancel);
            drop(sink);
            assert_eq!(std::fs::read_dir(target.path()).expect("listed").count(), 1);
            (outcome, [count(&db, "values"), count(&db, "list")])
        };
        let (outcome, whole) = copy(&Cancel::new());
        outcome.expect("copied");
        assert!(whole[0] > 9000 && whole[1] == 199, "{whole:?}");
        for event in [Event::Cancel, Event::Fail] {
            for look in 0.. {
                let cancel = Cancel::with(event, look);
                let (outcome, rows) = copy(&cancel);
                let Some(step) = cancel.happened_at() else {
                    assert!(outcome.is_ok() && rows == whole && look > 3, "{look} looks");
                    break;
                };
                let error = outcome.expect_err("stopped");
                let kind = if event == Event::Cancel { Kind::Cancelled } else { Kind::Io };
                assert_eq!(error.kind, kind, "{step}: {error}");
                for (rows, whole) in rows.into_iter().zip(whole) {
                    assert!(rows == 0 || rows == whole, "{step}: {rows} of {whole} rows");
                }
            }
        }
    });
}
