use crate::config::Config;
use crate::db::{Db, Fill};
use crate::error::Kind;
use crate::state::{Database, State};
use rocksdb::statistics::Ticker;
use std::path::Path;
use std::sync::Arc;

fn open(path: &Path) -> (Arc<Db>, State) {
    let database = Database::open(path, &Config::default(), None).expect("a fresh directory opens");
    let state = database.state("_timer_state/event_t").expect("column family");
    (Arc::clone(database.db()), state)
}

/// A page as Java fills it.
fn page(changes: &[(&[u8], u8)]) -> Vec<u8> {
    let mut page = Vec::new();
    for (key, change) in changes {
        page.extend((key.len() as i32).to_ne_bytes());
        page.push(*change);
        page.extend(*key);
    }
    page
}

fn keys(state: &State, from: &[u8], prefix: usize) -> Vec<Vec<u8>> {
    let mut cursor = state.timers_at(from, prefix).expect("cursor");
    let mut page = vec![0u8; 4096];
    let mut keys = Vec::new();
    loop {
        assert!(matches!(cursor.next(&mut page).expect("next"), Fill::Used(_)));
        let int = |at: usize| {
            u32::from_ne_bytes(page[at..at + 4].try_into().expect("four bytes")) as usize
        };
        let (count, mut at) = (int(0), 8);
        if count == 0 {
            return keys;
        }
        for _ in 0..count {
            let (key, value) = (int(at), int(at + 4));
            assert_eq!(value, 0);
            keys.push(page[at + 8..at + 8 + key].to_vec());
            at += 8 + key;
        }
    }
}

#[test]
fn a_page_of_changes_is_written_and_what_was_taken_back_is_not() {
    let dir = tempfile::tempdir().expect("temp dir");
    let (_db, state) = open(dir.path());
    state
        .write_timers(&page(&[(b"\x01c", 2), (b"\x01a", 1), (b"\x01b", 0), (b"\x02a", 1)]))
        .expect("write");
    assert_eq!(keys(&state, b"\x01", 1), [b"\x01a", b"\x01c"]);
    state.write_timers(&page(&[(b"\x01a", 3), (b"\x01z", 3), (b"", 1)])).expect("write");
    assert_eq!(keys(&state, b"\x01", 1), [b"\x01c"]);
    assert_eq!(keys(&state, b"\x01d", 1), Vec::<Vec<u8>>::new());
    assert_eq!(keys(&state, b"", 0), [&b""[..], b"\x01c", b"\x02a"]);
    state.write_timers(&[]).expect("nothing is fine");
}

#[test]
fn a_cursor_sees_what_was_there_when_it_was_opened() {
    let dir = tempfile::tempdir().expect("temp dir");
    let (_db, state) = open(dir.path());
    state.write_timers(&page(&[(b"\x01a", 1)])).expect("write");
    let mut cursor = state.timers_at(b"\x01", 1).expect("cursor");
    state.write_timers(&page(&[(b"\x01a", 3), (b"\x01b", 1)])).expect("write");
    let mut page = vec![0u8; 64];
    assert_eq!(cursor.next(&mut page).expect("next"), Fill::Used(8 + 8 + 2));
    assert_eq!(&page[16..18], b"\x01a");
}

#[test]
fn a_page_that_is_cut_off_or_garbled_is_refused_and_nothing_is_written() {
    let dir = tempfile::tempdir().expect("temp dir");
    let (_db, state) = open(dir.path());
    let good = page(&[(b"\x01a", 1), (b"\x01b", 1)]);
    let mut negative = good.clone();
    negative[7..11].copy_from_slice(&(-1i32).to_ne_bytes());
    let unknown = page(&[(b"\x01a", 1), (b"\x01b", 9)]);
    for bad in [&good[..good.len() - 1], &good[..10], &negative, &unknown] {
        let error = state.write_timers(bad).expect_err("refused");
        assert_eq!(error.kind, Kind::Invalid, "{error}");
    }
    assert!(keys(&state, b"", 0).is_empty());
}

const FIRED: u32 = 100_000;

/// Rows that RocksDB steps over while it reads timers from `from` on.
fn stepped_over(state: &State, from: &[u8], prefix: usize) -> u64 {
    let skipped = || state.db().statistics.get_ticker_count(Ticker::NumberIterSkip);
    let before = skipped();
    let mut page = vec![0u8; 4096];
    let fill = state.scan(from, prefix, false, 128, &mut page).expect("scan");
    assert_eq!(fill, Fill::Used(8), "there is no timer");
    skipped() - before
}

/// Key group 1 had many timers, all of them fired.
fn fire_many(state: &State) -> Vec<u8> {
    let timers: Vec<[u8; 5]> = (0..FIRED)
        .map(|i| {
            let [a, b, c, d] = i.to_be_bytes();
            [1, a, b, c, d]
        })
        .collect();
    for change in [1, 3] {
        for some in timers.chunks(1000) {
            let changes: Vec<(&[u8], u8)> = some.iter().map(|key| (&key[..], change)).collect();
            state.write_timers(&page(&changes)).expect("write");
        }
    }
    timers.last().expect("one").to_vec()
}

#[test]
fn neither_neighbours_nor_readers_behind_them_step_over_fired_timers() {
    let dir = tempfile::tempdir().expect("temp dir");
    let (db, state) = open(dir.path());
    let last = fire_many(&state);
    for place in ["memtable", "file"] {
        let unbounded = stepped_over(&state, b"\x00", 0);
        assert!(
            unbounded >= u64::from(FIRED),
            "{place}: {unbounded}, so that the rest says something"
        );
        for neighbour in [b"\x00", b"\x02"] {
            let skipped = stepped_over(&state, neighbour, 1);
            assert!(skipped <= 2, "{place}: neighbour {neighbour:?} stepped over {skipped}");
        }
        let skipped = stepped_over(&state, &last, 1);
        assert!(skipped <= 2, "{place}: from the last one on {skipped}");
        db.flush().expect("flush");
    }
}
