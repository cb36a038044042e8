use super::*;
use crate::db::{read_only_options, testing};
use crate::runtime::testing::within;
use rocksdb::SstFileWriter;
use std::time::{Duration, Instant};

const FILES: u32 = 1500;

/// Files of level 1 with a few rows each.
fn files(directory: &Path) -> Vec<TableFile> {
    let options = read_only_options().expect("options");
    let internal = |key: [u8; 4]| [&key[..], &[1, 0, 0, 0, 0, 0, 0, 0]].concat();
    (0..FILES)
        .map(|n| {
            let (first, last) = ((2 * n).to_be_bytes(), (2 * n + 1).to_be_bytes());
            let path = directory.join(format!("{:06}.sst", n + 10));
            let mut writer = SstFileWriter::create(&options);
            writer.open(&path).expect("open");
            writer.put(first, [0; 100]).expect("put");
            writer.put(last, [0; 100]).expect("put");
            writer.finish().expect("finished");
            TableFile {
                number: u64::from(n) + 10,
                size: std::fs::metadata(&path).expect("there").len(),
                level: 1,
                smallest: internal(first),
                largest: internal(last),
                smallest_seqno: 0,
                largest_seqno: 0,
                epoch: 0,
            }
        })
        .collect()
}

/// RocksDB opens each file and looks at no flag meanwhile: 0.2 ms a file, more on a cold disk.
#[test]
fn a29_a_cancel_ends_an_import_of_many_files() {
    within(|| {
        let root = tempfile::tempdir().expect("a directory");
        let part = root.path().join("part");
        std::fs::create_dir(&part).expect("made");
        let files = files(&part);
        let open =
            |name: &str| Assembly::open(&root.path().join(name), &Config::default()).expect("open");

        let mut cancelled = open("cancelled");
        let links = root.path().join("links");
        std::fs::create_dir(&links).expect("made");
        for file in &files {
            std::fs::hard_link(part.join(file.name()), links.join(file.name())).expect("linked");
        }
        let cancel = Cancel::new();
        cancel.trigger();
        let started = Instant::now();
        let error = cancelled.import("values", &[(&links, files.clone())], &cancel);
        drop(cancelled);
        let early = started.elapsed();
        assert_eq!(error.expect_err("cancelled").kind, Kind::Cancelled);
        assert!(testing::names(&links).is_empty());
        let left = testing::names(&root.path().join("cancelled"));
        assert!(!left.iter().any(|name| name.ends_with(".sst")), "{left:?}");

        let started = Instant::now();
        open("whole").import("values", &[(&part, files)], &Cancel::new()).expect("imported");
        let whole = started.elapsed();
        assert!(early < whole / 2, "{early:?}, and without a cancel {whole:?}");
    });
}

/// The threads are those of all databases: a compaction may have to wait long for one.
#[test]
fn a29_a_cancel_ends_a_compaction_that_waits_for_a_thread() {
    within(|| {
        let root = tempfile::tempdir().expect("a directory");
        let part = root.path().join("part");
        std::fs::create_dir(&part).expect("made");
        let mut assembly =
            Assembly::open(&root.path().join("db"), &Config::default()).expect("open");
        assembly
            .import("values", &[(&part, files(&part)[..2].to_vec())], &Cancel::new())
            .expect("imported");
        assembly.delete_range("values", &[0], &[0, 0, 0, 2]).expect("deleted");
        assembly.flush("values").expect("flushed");
        let _busy = testing::BusyThreads::begin();
        let cancel = Cancel::new();
        let raw = assembly.raw("values").expect("imported");
        let trigger = {
            let cancel = cancel.clone();
            std::thread::spawn(move || {
                let raw = raw;
                while !testing::is_compaction_picked(raw) {
                    std::thread::yield_now();
                }
                cancel.trigger();
                Instant::now()
            })
        };
        let outcome = assembly.compact("values", None, &cancel);
        let started = trigger.join().expect("no panic");
        assert_eq!(outcome.expect_err("cancelled").kind, Kind::Cancelled);
        assembly.close();
        assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    });
}
