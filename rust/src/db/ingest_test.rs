use super::*;
use crate::config::Config;
use crate::db::Db;
use crate::error::Kind;

fn open(path: &Path, options: &[(&str, &str)]) -> Arc<Db> {
    let config = Config::parse(options.iter().copied()).expect("good options");
    Db::open(path, &config, None).expect("a fresh directory opens")
}

fn column(db: &Arc<Db>, name: &str) -> Arc<Column> {
    Arc::new(db.column(name).expect("column family"))
}

fn page(rows: &[(&[u8], &[u8])]) -> Vec<u8> {
    let mut page = (rows.len() as u32).to_ne_bytes().to_vec();
    page.extend_from_slice(&[0; 4]);
    for (key, value) in rows {
        page.extend_from_slice(&(key.len() as u32).to_ne_bytes());
        page.extend_from_slice(&(value.len() as u32).to_ne_bytes());
        page.extend_from_slice(key);
        page.extend_from_slice(value);
    }
    page
}

/// Everything beside the database.
fn leftovers(root: &Path) -> Vec<String> {
    std::fs::read_dir(root)
        .expect("listed")
        .map(|entry| entry.expect("entry").file_name().to_string_lossy().into_owned())
        .filter(|name| name != "db")
        .collect()
}

fn number(n: u32) -> [u8; 4] {
    n.to_be_bytes()
}

#[test]
fn rows_replace_those_with_the_same_keys_wherever_they_lie() {
    let dir = tempfile::tempdir().expect("temp dir");
    let db = open(&dir.path().join("db"), &[]);
    let list = column(&db, "list");
    list.put(b"1", b"in a file").expect("put");
    list.merge(b"2", b"operand in a file").expect("merge");
    db.flush().expect("flush");
    list.merge(b"2", b"operand in memory").expect("merge");
    list.merge(b"3", b"operand in memory").expect("merge");
    list.put(b"4", b"deleted").expect("put");
    list.delete(b"4").expect("delete");
    let mut load = list.load().expect("begin");
    load.add(&page(&[(b"1", b"one"), (b"2", b"two")])).expect("add");
    load.add(&page(&[(b"3", b"three"), (b"4", b"four")])).expect("add");
    assert_eq!(list.get(b"1").expect("get").as_deref(), Some(&b"in a file"[..]), "not yet");
    load.ingest().expect("ingest");
    drop(load);
    list.merge(b"2", b"later").expect("merge");
    for round in ["before", "after compaction"] {
        for (key, value) in [("1", "one"), ("2", "two,later"), ("3", "three"), ("4", "four")] {
            let found = list.get(key.as_bytes()).expect("get");
            assert_eq!(found.as_deref(), Some(value.as_bytes()), "{key} {round}");
        }
        db.compact().expect("compact");
    }
    assert!(leftovers(dir.path()).is_empty());
}

#[test]
fn many_rows_become_several_files_of_the_target_size() {
    const ROWS: u32 = 2000;
    let dir = tempfile::tempdir().expect("temp dir");
    let options =
        [("compaction.level.target-file-size-base", "65536"), ("compression.per.level", "NO")];
    let db = open(&dir.path().join("db"), &options);
    let state = column(&db, "s");
    let mut load = state.load().expect("begin");
    for n in 0..ROWS {
        load.add(&page(&[(&number(n), &[n as u8; 500])])).expect("add");
    }
    let files = load.files.paths.len();
    assert!((10..=20).contains(&files), "{files} files");
    load.ingest().expect("ingest");
    for n in 0..ROWS {
        assert_eq!(state.get(&number(n)).expect("get"), Some(vec![n as u8; 500]));
    }
    let mut seen = 0;
    let mut rows = state.iterate(&[]).expect("iterate");
    rows.seek_to_first();
    while rows.valid() {
        seen += 1;
        rows.next();
    }
    assert_eq!(seen, ROWS);

    // Over what is there now, fewer and larger ones.
    let mut load = state.load().expect("begin");
    for n in 0..ROWS {
        load.add(&page(&[(&number(n), &[n as u8; 500])])).expect("add");
    }
    let over = load.files.paths.len();
    assert!(over <= FILES as usize + 1 && over < files, "{over} files over {files}");
}

#[test]
fn a_load_that_is_given_up_leaves_neither_rows_nor_files() {
    let dir = tempfile::tempdir().expect("temp dir");
    let db = open(&dir.path().join("db"), &[]);
    let state = column(&db, "s");
    state.put(b"k", b"old").expect("put");
    let mut load = state.load().expect("begin");
    load.add(&page(&[(b"k", b"new")])).expect("add");
    assert_eq!(leftovers(dir.path()).len(), 1);
    drop(load);
    assert!(leftovers(dir.path()).is_empty());
    assert_eq!(state.get(b"k").expect("get").as_deref(), Some(&b"old"[..]));
}

#[test]
fn after_a_failure_nothing_is_ingested_any_more() {
    let dir = tempfile::tempdir().expect("temp dir");
    let db = open(&dir.path().join("db"), &[]);
    let state = column(&db, "the state");
    let mut load = state.load().expect("begin");
    load.add(&page(&[(b"b", b"1")])).expect("add");
    let error = load.add(&page(&[(b"a", b"2")])).expect_err("keys descend");
    assert_eq!(error.kind, Kind::Invalid, "{error}");
    assert!(error.text.contains("'the state'") && error.text.contains(".sst"), "{error}");
    assert_eq!(load.add(&page(&[(b"c", b"3")])).expect_err("again").text, error.text);
    assert_eq!(load.ingest().expect_err("again").text, error.text);
    drop(load);
    assert_eq!(state.get(b"b").expect("get"), None);
    assert!(leftovers(dir.path()).is_empty());
}

#[test]
fn nothing_to_load_is_no_failure() {
    let dir = tempfile::tempdir().expect("temp dir");
    let db = open(&dir.path().join("db"), &[]);
    let state = column(&db, "s");
    let mut load = state.load().expect("begin");
    load.add(&page(&[])).expect("add");
    load.ingest().expect("ingest");
    assert_eq!(state.get(b"k").expect("get"), None);
}

#[test]
fn a_cursor_that_was_open_before_sees_the_former_rows() {
    let dir = tempfile::tempdir().expect("temp dir");
    let db = open(&dir.path().join("db"), &[]);
    let state = column(&db, "s");
    state.put(b"k", b"old").expect("put");
    let mut cursor = state.cursor(false).expect("cursor");
    let mut load = state.load().expect("begin");
    load.add(&page(&[(b"k", b"new"), (b"l", b"new")])).expect("add");
    load.ingest().expect("ingest");
    let mut seen = vec![0u8; 1024];
    cursor.next(&mut seen).expect("next");
    assert_eq!(&seen[..20], &page(&[(b"k", b"old")])[..20]);
    assert_eq!(state.get(b"k").expect("get").as_deref(), Some(&b"new"[..]));
}

#[test]
fn a_closed_database_takes_no_load() {
    let dir = tempfile::tempdir().expect("temp dir");
    let db = open(&dir.path().join("db"), &[]);
    let state = column(&db, "s");
    let mut load = state.load().expect("begin");
    load.add(&page(&[(b"k", b"v")])).expect("add");
    db.close();
    assert_eq!(load.ingest().expect_err("closed").kind, Kind::Closed);
    assert_eq!(state.load().err().expect("closed").kind, Kind::Closed);
    drop(load);
    assert!(leftovers(dir.path()).is_empty());
}

#[test]
fn ingested_files_are_part_of_a_checkpoint() {
    let dir = tempfile::tempdir().expect("temp dir");
    let db = open(&dir.path().join("db"), &[]);
    let state = column(&db, "s");
    state.put(b"k", b"old").expect("put");
    let mut load = state.load().expect("begin");
    load.add(&page(&[(b"k", b"new")])).expect("add");
    load.ingest().expect("ingest");
    let target = dir.path().join("chk");
    db.checkpoint(&target).expect("checkpoint");
    let restored = column(&open(&target, &[]), "s");
    assert_eq!(restored.get(b"k").expect("get").as_deref(), Some(&b"new"[..]));
}
