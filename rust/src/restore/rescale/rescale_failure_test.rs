use std::fs;
use std::time::{Duration, Instant};

use super::testing::*;
use super::*;
use crate::cancel::testing::Event;
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

/// Wherever it looks at the flag, a cancel ends it there and a failure is told as one.
#[test]
fn a_cancel_or_a_failure_at_any_step_leaves_no_database() {
    within(|| {
        let mut job = Job::new(Config::default());
        for name in ["values", "list"] {
            for group in 0..GROUPS as u8 {
                job.column(&[group], name).put(&[group, 0], &[group]).expect("put");
            }
        }
        // Both parts have all rows, so they are clipped before they are imported.
        let checkpoint = [job.checkpoint(), job.checkpoint()].concat();
        let parts = [range(0, 2), range(1, 2)];
        for event in [Event::Cancel, Event::Fail] {
            let mut steps = std::collections::BTreeSet::new();
            for look in 0.. {
                let (mut rescale, directory) = job.prepared(&checkpoint, &parts, &range(0, 1));
                let (target, scratch) = (directory.join("db"), directory.join("scratch"));
                let cancel = Cancel::with(event, look);
                let outcome = rescale.run(&target, &scratch, &cancel);
                let Some(step) = cancel.happened_at() else {
                    outcome.expect("nothing happened").expect("not refused");
                    break;
                };
                let error = outcome.expect_err("stopped");
                let kind = if event == Event::Cancel { Kind::Cancelled } else { Kind::Io };
                assert_eq!(error.kind, kind, "{step}: {error}");
                assert!(error.text.contains(&step), "{step}: {error}");
                assert!(!target.exists(), "{step}");
                steps.insert(step);
            }
            for step in ["linking of files", "clipping", "compaction", "import of files"] {
                assert!(steps.iter().any(|it| it.contains(step)), "{step}: {steps:?}");
            }
        }
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
        let manifest = table_files::read(&checkpoint[0]).expect("read").expect("usable");
        let mut states: Vec<_> = manifest.columns.into_keys().collect();
        let mut rescale = Rescale::new(Config::default());
        rescale.add(&checkpoint[0], range(0, 1), &states).expect("there").expect("usable");
        states.push("lost".to_owned());
        let error = rescale.add(&checkpoint[0], range(0, 1), &states).expect_err("lost");
        assert_eq!(error.kind, Kind::Corrupted);
        assert!(error.text.contains("'lost'"), "{error}");
    });
}
