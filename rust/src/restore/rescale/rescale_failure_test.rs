use std::fs;
use std::time::{Duration, Instant};

use super::testing::*;
use super::*;
use crate::runtime::testing::within;

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
