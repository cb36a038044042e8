use std::time::{Duration, Instant};

use super::*;
use crate::config::Config;
use crate::db::testing;
use crate::runtime::testing::within;

/// Files with rows and with a deletion of some of them.
fn database(root: &std::path::Path, config: &Config) -> Arc<Db> {
    let db = Db::open(&root.join("db"), config, None).expect("open");
    let values = db.column("values").expect("column");
    for round in 0..3_u8 {
        for key in 0..100_u8 {
            values.put(&[key], &[round; 100]).expect("put");
        }
        values.flush().expect("flush");
    }
    db
}

/// Whatever waits for one of the threads that all databases share has not begun: nobody waits for it.
#[test]
fn a29_closing_does_not_wait_for_the_compactions_of_other_databases() {
    within(|| {
        let root = tempfile::tempdir().expect("a directory");
        let config = Config::default();
        let db = database(root.path(), &config);
        let values = db.column("values").expect("column");
        let _busy = testing::BusyThreads::begin();
        db.settle(vec![DeadRange { column: "values".into(), from: vec![0], to: vec![50] }]);
        while !testing::is_compaction_picked(values.raw()) {
            std::thread::yield_now();
        }
        let started = Instant::now();
        db.close();
        drop((values, db));
        assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    });
}

/// As above, of a compaction that RocksDB wants itself.
#[test]
fn a29_closing_does_not_wait_for_a_thread() {
    within(|| {
        let root = tempfile::tempdir().expect("a directory");
        let _busy = testing::BusyThreads::begin();
        let db = database(root.path(), &Config::default());
        let values = db.column("values").expect("column");
        while values.property("rocksdb.compaction-pending").expect("asked").as_deref() != Some("1")
        {
            values.put(&[1], &[1]).expect("put");
            values.flush().expect("flush");
        }
        let started = Instant::now();
        db.close();
        drop((values, db));
        assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    });
}

/// Nothing works in the directory any more once a database is closed, even if children are still open.
#[test]
fn no_job_runs_when_close_returns() {
    within(|| {
        let root = tempfile::tempdir().expect("a directory");
        let db =
            database(root.path(), &Config { write_buffer_size: 64 << 10, ..Config::default() });
        let values = db.column("values").expect("column");
        let mut key = 0_u32;
        while db.rocks.property_int_value("rocksdb.num-running-compactions").expect("asked")
            != Some(1)
        {
            key = key.wrapping_mul(2_654_435_761).wrapping_add(1);
            values.put(&key.to_be_bytes(), &[7; 1000]).expect("put");
        }
        db.close();
        let running = db.rocks.property_int_value("rocksdb.num-running-compactions");
        assert_eq!(running.expect("asked"), Some(0));
        let before = testing::names(db.path());
        std::fs::remove_dir_all(db.path()).expect("deleted");
        assert!(!before.is_empty() && !db.path().exists());
    });
}
