use crate::config::Config;
use crate::db::Fill;
use crate::error::Kind;
use crate::state::{Database, State};
use crate::timers::Layout;
use std::path::Path;

const LAYOUT: Layout = Layout { first: 0, groups: 4, bytes: 1 };
const NAME: &str = "_timer_state/event_t";

fn open(path: &Path, buffer: &str, empty: bool) -> (Database, State) {
    let config = Config::parse([("buffer.enabled", buffer)]).expect("config");
    let database = Database::open(path, &config, None).expect("opens");
    let state = database.state(NAME).expect("column family");
    state.open_timers(LAYOUT, empty, 128).expect("a queue");
    (database, state)
}

/// The keys of a page.
fn keys(page: &[u8]) -> Vec<Vec<u8>> {
    let int = |at: usize| page[at..].first_chunk().map_or(0, |b| u32::from_ne_bytes(*b)) as usize;
    let (count, mut at) = (int(0), 8);
    let mut keys = Vec::new();
    for _ in 0..count {
        assert_eq!(int(at + 4), 0, "values are empty");
        keys.push(page[at + 8..at + 8 + int(at)].to_vec());
        at += 8 + int(at);
    }
    keys
}

fn timers_of(state: &State, key_group: usize) -> Vec<Vec<u8>> {
    let Some(mut cursor) = state.timers_of(key_group).expect("cursor") else { return Vec::new() };
    let mut page = vec![0; 4096];
    assert!(matches!(cursor.next(&mut page).expect("next"), Fill::Used(_)));
    keys(&page)
}

/// Checkpoints, scans of the whole and a second look at the state: none of them asks for a flush.
#[test]
fn whoever_looks_at_the_database_finds_all_timers() {
    for buffer in ["true", "false"] {
        let dir = tempfile::tempdir().expect("temp dir");
        let (database, state) = open(&dir.path().join("db"), buffer, true);
        state.add_timer(b"\x01a").expect("add");
        let mut page = vec![0; 4096];
        state.cursor(true).expect("cursor").next(&mut page).expect("next");
        assert_eq!(keys(&page), [b"\x01a"]);
        state.add_timer(b"\x03b").expect("add");
        database.checkpoint(&dir.path().join("1")).expect("checkpoint");
        state.add_timer(b"\x02c").expect("add");
        state.poll_timer().expect("poll");
        database.checkpoint(&dir.path().join("2")).expect("checkpoint");
        drop((state, database));
        for (checkpoint, expected) in [("1", [b"\x01a", b"\x03b"]), ("2", [b"\x02c", b"\x03b"])] {
            let (_database, state) = open(&dir.path().join(checkpoint), buffer, false);
            let found: Vec<_> = (0..4).flat_map(|key_group| timers_of(&state, key_group)).collect();
            assert_eq!(found, expected);
            assert_eq!(state.count_timers().expect("count"), 2);
        }
    }
}

#[test]
fn a_cursor_sees_what_was_there_when_it_was_opened() {
    let dir = tempfile::tempdir().expect("temp dir");
    let (_database, state) = open(dir.path(), "true", true);
    state.add_timer(b"\x01a").expect("add");
    let mut cursor = state.timers_of(1).expect("cursor").expect("a timer");
    assert!(state.remove_timer(b"\x01a").expect("remove"));
    state.add_timer(b"\x01b").expect("add");
    assert_eq!(timers_of(&state, 1), [b"\x01b"]);
    let mut page = vec![0; 64];
    assert_eq!(cursor.next(&mut page).expect("next"), Fill::Used(8 + 8 + 2));
    assert_eq!(keys(&page), [b"\x01a"]);
    assert!(timers_of(&state, 2).is_empty());
}

#[test]
fn what_is_written_past_the_queue_is_found() {
    let dir = tempfile::tempdir().expect("temp dir");
    let (database, state) = open(dir.path(), "true", true);
    state.add_timer(b"\x01b").expect("add");
    state.past_buffer(|| state.column().put(b"\x00a", &[])).expect("written");
    let mut page = [0; 8];
    assert_eq!(state.first_timer(&mut page).expect("first"), Some(2));
    assert_eq!(&page[..2], b"\x00a");
    let write = |_: &_| {
        state.add_timer(b"\x03c")?;
        state.column().delete(b"\x00a")
    };
    database.past_buffer(write).expect("written");
    assert_eq!(state.first_timer(&mut page).expect("first"), Some(2));
    assert_eq!(&page[..2], b"\x01b");
    assert_eq!(state.count_timers().expect("count"), 2, "what is added meanwhile is kept");
}

#[test]
fn a_state_is_a_queue_once_and_says_so_when_it_is_none() {
    let dir = tempfile::tempdir().expect("temp dir");
    let (database, state) = open(dir.path(), "true", true);
    let error = state.open_timers(LAYOUT, true, 1).expect_err("refused");
    assert!(error.kind == Kind::Invalid && error.text.contains(NAME), "{error}");
    let other = database.state("other").expect("column family");
    let error = other.add_timer(b"\x01a").expect_err("refused");
    assert!(error.text.contains("'other' is no queue of timers"), "{error}");
}
