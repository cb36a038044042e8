use super::*;
use crate::config::Config;
use crate::error::Kind;
use crate::memory::Memory;
use std::path::Path;
use std::sync::Arc;

fn open(path: &Path) -> Arc<Db> {
    Db::open(path, &Config::default(), None).expect("a fresh directory opens")
}

fn column(db: &Arc<Db>, name: &str) -> Arc<Column> {
    Arc::new(db.column(name).expect("column family"))
}

type Entry = (Vec<u8>, Vec<u8>);

/// The entries of a page, decoded the way Java does it, and whether more may follow.
fn entries(page: &[u8]) -> (Vec<Entry>, bool) {
    let int =
        |at: usize| u32::from_ne_bytes(page[at..at + 4].try_into().expect("four bytes")) as usize;
    let (count, more, mut at) = (int(0), int(4), 8);
    let mut found = Vec::new();
    for _ in 0..count {
        let (key, value) = (int(at), int(at + 4));
        at += 8;
        found.push((page[at..at + key].to_vec(), page[at + key..at + key + value].to_vec()));
        at += key + value;
    }
    (found, more == 1)
}

#[test]
fn the_format_is_pinned_so_that_flinks_rocksdb_reads_it() {
    let dir = tempfile::tempdir().expect("temp dir");
    let memory = Arc::new(Memory::new(64 << 20, 0.5).expect("memory"));
    let db = Db::open(dir.path(), &Config::default(), Some(memory)).expect("open");
    column(&db, "counts");
    let options = std::fs::read_dir(dir.path())
        .expect("list")
        .filter_map(|entry| entry.ok())
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("OPTIONS-"))
        .max_by_key(|entry| entry.file_name())
        .expect("an OPTIONS file");
    let text = std::fs::read_to_string(options.path()).expect("read");
    for (pin, times) in [
        ("format_version=5", 2),
        ("uniform_cv_threshold=-1", 2),
        ("separate_key_value_in_data_block=false", 2),
        ("StringAppendTESTOperator", 2),
        ("comparator=leveldb.BytewiseComparator", 2),
        ("avoid_flush_during_shutdown=true", 1),
        ("enable_blob_files=false", 2),
    ] {
        assert_eq!(text.matches(pin).count(), times, "{pin} in\n{text}");
    }
}

/// Written before and after the filters know the prefix, in files and in memory; keys shorter than it too.
#[test]
fn filters_know_which_prefixes_a_file_has_and_no_scan_loses_a_row() {
    use rocksdb::statistics::Ticker::{LastLevelSeekFiltered, NonLastLevelSeekFiltered};
    let dir = tempfile::tempdir().expect("temp dir");
    let db = open(dir.path());
    let state = column(&db, "maps");
    let put = |rows: &[&str]| {
        for row in rows {
            state.put(row.as_bytes(), b"v").expect("put");
        }
    };
    put(&["aa", "aaa1", "ccc1", "eee1"]);
    state.flush().expect("flush");
    put(&["aaa2", "ddd1"]);
    state.filter_prefix(3).expect("set");
    put(&["aaa3", "b"]);
    state.flush().expect("flush");
    put(&["aaa4", "ccc2"]);
    state.flush().expect("flush");
    put(&["aaa5", "zzz1"]);

    let scan = |prefix: &str| {
        let mut page = [0; 400];
        state.scan(prefix.as_bytes(), prefix.len(), false, 100, &mut page).expect("scan");
        let keys = entries(&page).0.into_iter().map(|(key, _)| key);
        keys.map(|key| String::from_utf8(key).expect("text")).collect::<Vec<_>>().join(" ")
    };
    let filtered = || {
        let count = |ticker| db.statistics.get_ticker_count(ticker);
        count(LastLevelSeekFiltered) + count(NonLastLevelSeekFiltered)
    };
    let before = filtered();
    assert_eq!(scan("bbb"), "");
    assert!(filtered() > before, "the last file has no such prefix");
    assert_eq!(scan("aaa"), "aaa1 aaa2 aaa3 aaa4 aaa5");
    assert_eq!(scan("ccc"), "ccc1 ccc2");
    assert_eq!(scan("ddd"), "ddd1");
    assert_eq!(scan("zzz"), "zzz1");
    assert_eq!(scan("aaa3"), "aaa3", "a longer prefix");
    assert_eq!(scan("aa"), "aa aaa1 aaa2 aaa3 aaa4 aaa5", "a shorter one");
    let all = "aa aaa1 aaa2 aaa3 aaa4 aaa5 b ccc1 ccc2 ddd1 eee1 zzz1";
    assert_eq!(scan(""), all);
    state.filter_prefix(2).expect("stays as it is");
    state.compact().expect("compact");
    assert_eq!(scan(""), all);
    assert_eq!(scan("aaa"), "aaa1 aaa2 aaa3 aaa4 aaa5");
    let other_handle = column(&db, "maps");
    let mut page = [0; 400];
    other_handle.scan(b"", 0, false, 100, &mut page).expect("scan");
    assert_eq!(entries(&page).0.len(), 12, "knows of no prefix, and needs none");
}

#[test]
fn reads_back_what_was_written_and_not_what_was_deleted() {
    let dir = tempfile::tempdir().expect("temp dir");
    let db = open(dir.path());
    let state = column(&db, "s");
    state.put(b"k", b"value").expect("put");
    let mut buffer = [0u8; 5];
    // SAFETY: the buffer is as long as said.
    let length = unsafe { state.get_into(b"k", buffer.as_mut_ptr(), 5) }.expect("get");
    assert_eq!((length, &buffer), (Some(5), b"value"));
    // SAFETY: nothing is written where it does not fit.
    let length = unsafe { state.get_into(b"k", buffer.as_mut_ptr(), 4) }.expect("get");
    assert_eq!(length, Some(5));
    state.put(b"", b"").expect("an empty key is a key");
    assert_eq!(state.get(b"").expect("get"), Some(Vec::new()));
    state.delete(b"k").expect("delete");
    assert_eq!(state.get(b"k").expect("get"), None);
}

#[test]
fn merge_joins_with_a_comma_also_behind_an_empty_value() {
    let dir = tempfile::tempdir().expect("temp dir");
    let db = open(dir.path());
    let state = column(&db, "list");
    state.merge(b"k", b"a").expect("merge");
    state.merge(b"k", b"b").expect("merge");
    state.put(b"e", b"").expect("put");
    state.merge(b"e", b"x").expect("merge");
    db.flush().expect("flush");
    state.merge(b"k", b"c").expect("merge");
    assert_eq!(state.get(b"k").expect("get").as_deref(), Some(&b"a,b,c"[..]));
    assert_eq!(state.get(b"e").expect("get").as_deref(), Some(&b",x"[..]));
}

#[test]
fn a_scan_goes_on_after_a_full_page_and_stays_inside_its_prefix() {
    let dir = tempfile::tempdir().expect("temp dir");
    let db = open(dir.path());
    let state = column(&db, "map");
    for key in [&b"a\xff1"[..], b"a\xff2", b"a\xff3", b"a\xfe9", b"b", b"a\xff"] {
        state.put(key, b"v").expect("put");
    }
    let prefix = b"a\xff";
    let (mut from, mut after, mut seen) = (prefix.to_vec(), false, Vec::new());
    loop {
        let mut page = vec![0u8; 8 + 2 * (8 + 3 + 1)];
        let fill = state.scan(&from, prefix.len(), after, 10, &mut page).expect("scan");
        assert!(matches!(fill, Fill::Used(_)));
        let (found, more) = entries(&page);
        seen.extend(found.into_iter().map(|(key, _)| key));
        from = seen.last().expect("progress").clone();
        after = true;
        if !more {
            break;
        }
    }
    assert_eq!(seen, [&b"a\xff"[..], b"a\xff1", b"a\xff2", b"a\xff3"]);
    let mut small = vec![0u8; 12];
    let fill = state.scan(prefix, prefix.len(), false, 1, &mut small).expect("scan");
    assert_eq!(fill, Fill::Needs(8 + 8 + 2 + 1));
    assert!(state.scan(b"a", 2, false, 1, &mut small).is_err(), "prefix longer than the key");
}

#[test]
fn successor_of_a_prefix_is_the_end_of_its_range() {
    assert_eq!(successor(b"a"), Some(b"b".to_vec()));
    assert_eq!(successor(b"a\xff\xff"), Some(b"b".to_vec()));
    assert_eq!(successor(b"\xff\xff"), None);
    assert_eq!(successor(b""), None);
}

#[test]
fn prefixes_of_all_ones_are_found_and_deleted_too() {
    let dir = tempfile::tempdir().expect("temp dir");
    let db = open(dir.path());
    let state = column(&db, "map");
    for key in [&b"\xff\xff"[..], b"\xff\xff1", b"\xff\xfe"] {
        state.put(key, b"v").expect("put");
    }
    assert!(state.contains_prefix(b"\xff\xff").expect("look"));
    state.delete_prefix(b"\xff\xff").expect("delete");
    assert!(!state.contains_prefix(b"\xff\xff").expect("look"));
    assert!(state.contains_prefix(b"\xff\xfe").expect("look"));
}

#[test]
fn a_cursor_sees_the_moment_it_was_opened() {
    let dir = tempfile::tempdir().expect("temp dir");
    let db = open(dir.path());
    let state = column(&db, "s");
    state.put(b"1", b"old").expect("put");
    let mut cursor = state.cursor(false).expect("cursor");
    state.put(b"1", b"new").expect("put");
    state.put(b"2", b"new").expect("put");
    let mut page = vec![0u8; 1024];
    cursor.next(&mut page).expect("next");
    assert_eq!(entries(&page).0, [(b"1".to_vec(), b"old".to_vec())]);
    cursor.next(&mut page).expect("next");
    assert!(entries(&page).0.is_empty());
}

#[test]
fn after_close_every_use_is_an_error_and_children_keep_the_memory() {
    let dir = tempfile::tempdir().expect("temp dir");
    let db = open(dir.path());
    let state = column(&db, "s");
    let mut cursor = state.cursor(true).expect("cursor");
    db.close();
    drop(db);
    assert_eq!(state.put(b"k", b"v").expect_err("closed").kind, Kind::Closed);
    assert_eq!(state.get(b"k").expect_err("closed").kind, Kind::Closed);
    assert_eq!(cursor.next(&mut [0; 64]).expect_err("closed").kind, Kind::Closed);
    drop(state);
    assert_eq!(cursor.next(&mut [0; 64]).expect_err("closed").kind, Kind::Closed);
}

#[test]
fn a_poisoned_database_says_why() {
    let dir = tempfile::tempdir().expect("temp dir");
    let db = open(dir.path());
    let state = column(&db, "s");
    db.poison("the sky fell");
    let error = state.put(b"k", b"v").expect_err("poisoned");
    assert_eq!(error.kind, Kind::Panic);
    assert!(error.text.contains("the sky fell"), "{error}");
}

#[test]
fn a_local_checkpoint_opens_with_all_its_columns() {
    let dir = tempfile::tempdir().expect("temp dir");
    let db = open(&dir.path().join("db"));
    column(&db, "one").put(b"k", b"1").expect("put");
    column(&db, "two").put(b"k", b"2").expect("put");
    let target = dir.path().join("chk-1");
    db.checkpoint(&target).expect("checkpoint");
    assert_eq!(db.checkpoint(&target).expect_err("exists").kind, Kind::Invalid);
    column(&db, "one").put(b"k", b"later").expect("put");
    let restored = open(&target);
    assert_eq!(restored.column_names().expect("names"), ["one", "two"]);
    assert_eq!(column(&restored, "one").get(b"k").expect("get"), Some(b"1".to_vec()));
}

#[test]
fn dropping_a_column_frees_its_name() {
    let dir = tempfile::tempdir().expect("temp dir");
    let db = open(dir.path());
    let old = column(&db, "s");
    old.put(b"k", b"old").expect("put");
    old.drop_column().expect("drop");
    assert!(db.column_names().expect("names").is_empty());
    assert_eq!(column(&db, "s").get(b"k").expect("get"), None);
}

#[test]
fn errors_name_what_is_wrong() {
    let dir = tempfile::tempdir().expect("temp dir");
    let db = open(dir.path());
    let error = db.column("default").err().expect("refused");
    assert!(error.text.contains("default"), "{error}");
    let file = dir.path().join("a-file");
    std::fs::write(&file, b"x").expect("write");
    let error = Db::open(&file.join("db"), &Config::default(), None).err().expect("no directory");
    assert!(error.text.contains("a-file"), "{error}");
}

#[test]
fn a_corrupted_sst_is_an_error_that_names_the_state_or_file() {
    let dir = tempfile::tempdir().expect("temp dir");
    let db = open(dir.path());
    let state = column(&db, "s");
    for key in 0..2000u32 {
        state.put(&key.to_be_bytes(), &[7; 100]).expect("put");
    }
    db.flush().expect("flush");
    drop(state);
    drop(db);
    let sst = std::fs::read_dir(dir.path())
        .expect("list")
        .filter_map(|entry| entry.ok())
        .map(|entry| entry.path())
        .find(|path| path.extension().is_some_and(|kind| kind == "sst"))
        .expect("an sst file");
    let mut bytes = std::fs::read(&sst).expect("read");
    for byte in &mut bytes[100..600] {
        *byte ^= 0x5a;
    }
    std::fs::write(&sst, bytes).expect("write");
    let db = open(dir.path());
    let state = column(&db, "s");
    let error = (0..2000u32)
        .find_map(|key| state.get(&key.to_be_bytes()).err())
        .expect("some block is corrupted");
    assert_eq!(error.kind, Kind::Corrupted, "{error}");
    assert!(error.text.contains("'s'"), "{error}");
}

#[test]
fn five_hundred_databases_leave_no_memory_behind() {
    let memory = Arc::new(Memory::new(32 << 20, 0.5).expect("memory"));
    for _ in 0..500 {
        let dir = tempfile::tempdir().expect("temp dir");
        let db = Db::open(dir.path(), &Config::default(), Some(Arc::clone(&memory))).expect("open");
        column(&db, "s").put(b"k", &[1; 1000]).expect("put");
    }
    assert_eq!(Arc::strong_count(&memory), 1);
    assert_eq!(memory.usage().write_buffers, 0);
    assert_eq!(memory.usage().pinned, 0);
}

/// So many states of one database, which has so much memory.
fn sharing(memory: i64, states: usize) -> (tempfile::TempDir, Arc<Memory>, Vec<Arc<Column>>) {
    let dir = tempfile::tempdir().expect("temp dir");
    let memory = Arc::new(Memory::new(memory, 0.5).expect("memory"));
    let db = Db::open(dir.path(), &Config::default(), Some(Arc::clone(&memory))).expect("open");
    let states = (0..states).map(|n| column(&db, &format!("s{n}"))).collect();
    (dir, memory, states)
}

/// Many states, each of which has a memtable that is filled while another one is flushed.
#[test]
fn writers_do_not_outrun_flushes() {
    const STATES: usize = 20;
    let (_dir, memory, states) = sharing(32 << 20, STATES);
    let key = |n: u64| n.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes();
    let share = memory.write_buffers().get_buffer_size();
    let mut most = 0;
    for n in 0..800_000 {
        states[n % STATES].put(&key(n as u64), &[7; 100]).expect("put");
        most = most.max(memory.usage().write_buffers);
    }
    assert!(most > share, "the test writes enough");
    assert!(most < share / 4 * 7 + (16 << 20), "{most} bytes of {share}");
    for n in (0..800_000).step_by(9973) {
        assert_eq!(states[n % STATES].get(&key(n as u64)).expect("read"), Some(vec![7; 100]));
    }
}

/// The first blocks of so many memtables are more than their part, which no flush makes less.
#[test]
fn writers_do_not_wait_for_what_flushes_cannot_give_back() {
    const STATES: usize = 400;
    let (_dir, memory, states) = sharing(8 << 20, STATES);
    let start = std::time::Instant::now();
    for n in 0u32..20_000 {
        states[n as usize % STATES].put(&n.to_be_bytes(), &[7; 100]).expect("put");
    }
    assert!(memory.memtables_overshoot(), "{:?}", memory.usage());
    let took = start.elapsed();
    assert!(took < std::time::Duration::from_secs(10), "{took:?}");
}
