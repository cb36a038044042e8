use std::fs;

use super::testing::*;
use super::*;
use crate::runtime::testing::within;

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
