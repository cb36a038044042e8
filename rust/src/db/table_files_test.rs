use super::*;
use rocksdb::checkpoint::Checkpoint;
use rocksdb::{Options, WriteOptions, DB};
use tempfile::TempDir;

fn unlogged() -> WriteOptions {
    let mut options = WriteOptions::default();
    options.disable_wal(true);
    options
}

/// Two column families after flushes, compactions, a drop, range deletions and a merge.
fn database(directory: &Path) -> DB {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_disable_auto_compactions(true);
    let db = DB::open(&options, directory).expect("open");
    for name in ["values", "dropped", "empty"] {
        db.create_cf(name, &options).expect("created");
    }
    let values = db.cf_handle("values").expect("values");
    for round in 0..4_u8 {
        for key in 0..100_u8 {
            db.put_cf_opt(&values, [key, round], [round; 64], &unlogged()).expect("put");
        }
        db.delete_range_cf_opt(&values, [200, 0], [210, 1], &unlogged()).expect("deleted");
        db.flush_cf(&values).expect("flushed");
        if round == 1 {
            db.compact_range_cf(&values, None::<&[u8]>, None::<&[u8]>);
        }
    }
    db.put_cf_opt(&db.cf_handle("dropped").expect("dropped"), b"k", b"v", &unlogged())
        .expect("put");
    db.flush_cf(&db.cf_handle("dropped").expect("dropped")).expect("flushed");
    db.drop_cf("dropped").expect("dropped");
    drop(values);
    db
}

/// Name, size, level, first and last key.
type Described = (String, u64, u32, Vec<u8>, Vec<u8>);

/// The files of a database as RocksDB itself tells them.
fn live(db: &DB) -> Vec<Described> {
    let mut files: Vec<_> = db
        .live_files()
        .expect("listed")
        .into_iter()
        .map(|file| {
            (
                file.name.trim_start_matches('/').to_owned(),
                file.size as u64,
                file.level as u32,
                file.start_key.expect("a key"),
                file.end_key.expect("a key"),
            )
        })
        .collect();
    files.sort();
    files
}

fn checkpoint(db: &DB, root: &TempDir) -> std::path::PathBuf {
    let directory = root.path().join("checkpoint");
    Checkpoint::new(db).expect("a checkpoint").create_checkpoint(&directory).expect("made");
    directory
}

#[test]
fn says_what_rocksdb_says() {
    let root = tempfile::tempdir().expect("a directory");
    let db = database(&root.path().join("db"));
    let manifest = read(&checkpoint(&db, &root)).expect("read").expect("usable");
    let names: Vec<_> = manifest.columns.keys().map(String::as_str).collect();
    assert_eq!(names, ["empty", "values"]);
    assert!(manifest.columns["empty"].is_empty());
    let mut found: Vec<_> = manifest.columns["values"]
        .iter()
        .map(|file| {
            (
                file.name(),
                file.size,
                file.level,
                file.first_key().to_vec(),
                file.last_key().to_vec(),
            )
        })
        .collect();
    found.sort();
    assert_eq!(found, live(&db));
    assert!(manifest.columns["values"].iter().any(|file| file.level > 0));
    assert!(manifest.columns["values"].iter().any(TableFile::ends_before_last_key));
    assert!(manifest.columns["values"].iter().all(|file| file.epoch > 0));
    let ordered = |file: &TableFile| file.smallest_seqno <= file.largest_seqno;
    assert!(manifest.columns["values"].iter().all(ordered));
    assert!(manifest.columns["values"].iter().any(|file| file.smallest_seqno > 0));
}

#[test]
fn a_damaged_manifest_is_an_error_with_its_path() {
    let root = tempfile::tempdir().expect("a directory");
    let directory = checkpoint(&database(&root.path().join("db")), &root);
    let name = fs::read_to_string(directory.join("CURRENT")).expect("read");
    let path = directory.join(name.trim_end());
    let mut bytes = fs::read(&path).expect("read");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::remove_file(&path).expect("deleted");
    fs::write(&path, bytes).expect("written");
    let error = read(&directory).expect_err("damaged");
    assert_eq!(error.kind, Kind::Corrupted);
    assert!(error.text.contains("MANIFEST-"), "{error}");
    for empty in [Vec::new(), vec![0; 4096]] {
        fs::write(&path, empty).expect("written");
        assert_eq!(read(&directory).expect_err("nothing in it").kind, Kind::Corrupted);
    }
    fs::remove_file(&path).expect("deleted");
    assert_eq!(read(&directory).expect_err("gone").kind, Kind::Missing);
}

#[test]
fn what_an_import_would_lose_is_not_usable() {
    let root = tempfile::tempdir().expect("a directory");
    let mut options = Options::default();
    options.create_if_missing(true);
    let db = DB::open(&options, root.path().join("default")).expect("open");
    db.put_opt(b"k", b"v", &unlogged()).expect("put");
    db.flush().expect("flushed");
    let reason = read(&root.path().join("default")).expect("read").expect_err("not usable");
    assert!(reason.contains("default"), "{reason}");

    let logged = root.path().join("logged");
    let db = DB::open(&options, &logged).expect("open");
    db.create_cf("state", &options).expect("created");
    db.put_cf(&db.cf_handle("state").expect("state"), b"k", b"v").expect("put");
    let reason = read(&logged).expect("read").expect_err("not usable");
    assert!(reason.contains(".log"), "{reason}");

    let db = DB::open(&options, root.path().join("blobs")).expect("open");
    let mut blobs = Options::default();
    blobs.set_enable_blob_files(true);
    db.create_cf("state", &blobs).expect("created");
    let state = db.cf_handle("state").expect("state");
    db.put_cf_opt(&state, b"k", [1; 4096], &unlogged()).expect("put");
    db.flush_cf(&state).expect("flushed");
    assert!(!matches!(read(&root.path().join("blobs")), Ok(Ok(_))), "rows in blob files");

    let mut reversed = Options::default();
    reversed.set_comparator("reversed", Box::new(|a: &[u8], b: &[u8]| b.cmp(a)));
    let db = DB::open(&options, root.path().join("reversed")).expect("open");
    db.create_cf("state", &reversed).expect("created");
    let reason = read(&root.path().join("reversed")).expect("read").expect_err("not usable");
    assert!(reason.contains("reversed"), "{reason}");
}
