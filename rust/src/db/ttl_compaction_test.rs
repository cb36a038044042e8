//! The filter at work in a database: what compactions leave, by which clock, and under which rule.
use super::*;
use crate::config::Config;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

fn open(path: &Path) -> Arc<Db> {
    Db::open(path, &Config::default(), None).expect("open")
}

fn column(db: &Arc<Db>, name: &str) -> Arc<Column> {
    Arc::new(db.column(name).expect("column family"))
}

fn rule(kind: TtlKind) -> TtlRule {
    // Elements of two bytes.
    TtlRule { kind, ttl_millis: 10, query_time_after: 1000, layout: vec![1, 0, 0, 0, 2] }
}

fn stamped(timestamp: i64, value: &[u8]) -> Vec<u8> {
    [&timestamp.to_be_bytes(), value].concat()
}

fn rows(column: &Column) -> Vec<Vec<u8>> {
    let mut iterator = column.iterate(b"").expect("iterate");
    iterator.seek_to_first();
    let mut found = Vec::new();
    while let Some(key) = iterator.key() {
        found.push(key.to_vec());
        iterator.next();
    }
    found
}

#[test]
fn compaction_drops_what_has_expired_at_the_time_that_was_set() {
    let dir = tempfile::tempdir().expect("temp dir");
    let db = open(dir.path());
    let state = column(&db, "s");
    state.expire_by(&rule(TtlKind::Value)).expect("configure");
    state.put(b"old", &stamped(100, b"v")).expect("put");
    state.put(b"young", &stamped(105, b"v")).expect("put");
    state.put(b"short", b"v").expect("put");

    state.compact().expect("compact");
    assert_eq!(rows(&state).len(), 3, "nobody has said what time it is");

    db.ttl_clock().set(109);
    state.compact().expect("compact");
    assert_eq!(rows(&state).len(), 3);

    db.ttl_clock().set(110);
    state.compact().expect("compact");
    assert_eq!(rows(&state), [b"short".to_vec(), b"young".to_vec()]);

    db.ttl_clock().use_system();
    state.compact().expect("compact");
    assert_eq!(rows(&state), [b"short".to_vec()], "1970 is long ago");
}

#[test]
fn without_a_rule_or_with_it_taken_back_nothing_goes() {
    let dir = tempfile::tempdir().expect("temp dir");
    let db = open(dir.path());
    let (never, formerly) = (column(&db, "never"), column(&db, "formerly"));
    formerly.expire_by(&rule(TtlKind::Value)).expect("configure");
    formerly.expire_by(&TtlRule::disabled()).expect("configure");
    db.ttl_clock().use_system();
    for state in [&never, &formerly] {
        state.put(b"k", &stamped(0, b"v")).expect("put");
        state.compact().expect("compact");
        assert_eq!(rows(state).len(), 1);
    }
}

/// States are registered after the database was opened with their files.
#[test]
fn a_rule_reaches_column_families_that_were_there_at_opening() {
    let dir = tempfile::tempdir().expect("temp dir");
    {
        let db = open(dir.path());
        column(&db, "s").put(b"k", &stamped(0, b"v")).expect("put");
        column(&db, "t").put(b"k", &stamped(0, b"v")).expect("put");
        db.flush().expect("flush");
    }
    let db = open(dir.path());
    db.ttl_clock().set(1000);
    let (with, without) = (column(&db, "s"), column(&db, "t"));
    column(&db, "s").expire_by(&rule(TtlKind::Value)).expect("another handle of it");
    db.compact().expect("compact");
    assert_eq!((rows(&with).len(), rows(&without).len()), (0, 1));
}

#[test]
fn lists_lose_their_front_also_where_it_is_not_merged_yet() {
    let dir = tempfile::tempdir().expect("temp dir");
    let db = open(dir.path());
    let state = column(&db, "s");
    state.expire_by(&rule(TtlKind::List)).expect("configure");
    db.ttl_clock().set(100);
    let two = |first, second| [stamped(first, b",,"), stamped(second, b"ab")].join(&b","[..]);
    state.put(b"cut", &two(1, 95)).expect("put");
    state.put(b"gone", &two(1, 2)).expect("put");
    state.put(b"late", &two(95, 1)).expect("put");
    state.merge(b"operands", &two(1, 95)).expect("merge");
    state.merge(b"operands", &stamped(3, b"cd")).expect("merge");
    state.merge(b"operands", &stamped(99, b"ef")).expect("merge");
    state.merge(b"vanished", &stamped(3, b"cd")).expect("merge");
    state.merge(b"vanished", &two(1, 2)).expect("merge");
    state.compact().expect("compact");

    assert_eq!(rows(&state), [b"cut".to_vec(), b"late".to_vec(), b"operands".to_vec()]);
    assert_eq!(state.get(b"cut").expect("get"), Some(stamped(95, b"ab")));
    assert_eq!(state.get(b"late").expect("get"), Some(two(95, 1)));
    let operands = [stamped(95, b"ab"), stamped(99, b"ef")].join(&b","[..]);
    assert_eq!(state.get(b"operands").expect("get"), Some(operands));
}

/// A filter that outlives its configuration's owner must not hold anything of Rust's.
#[test]
fn a_dropped_state_and_a_closed_database_take_their_filters_along() {
    let dir = tempfile::tempdir().expect("temp dir");
    let db = open(dir.path());
    let state = column(&db, "s");
    state.expire_by(&rule(TtlKind::Value)).expect("configure");
    state.drop_column().expect("drop");
    let again = column(&db, "s");
    db.ttl_clock().set(1000);
    again.put(b"k", &stamped(0, b"v")).expect("put");
    again.compact().expect("compact");
    assert_eq!(rows(&again).len(), 1, "a new column family begins without a rule");
    db.close();
    let refused = again.expire_by(&rule(TtlKind::Value)).expect_err("closed");
    assert_eq!(refused.kind, crate::Kind::Closed);
}

#[test]
fn the_age_at_which_files_are_compacted_is_the_column_familys_own() {
    let dir = tempfile::tempdir().expect("temp dir");
    let config =
        Config::parse([("compaction.filter.periodic-compaction-time", "7200")]).expect("two hours");
    let db = Db::open(dir.path(), &config, None).expect("open");
    column(&db, "plain");
    column(&db, "hourly").compact_every(3600).expect("set");
    column(&db, "never").compact_every(0).expect("set");
    let options = std::fs::read_dir(dir.path())
        .expect("list")
        .filter_map(|entry| entry.ok())
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("OPTIONS-"))
        .max_by_key(|entry| entry.file_name())
        .expect("an OPTIONS file");
    let text = std::fs::read_to_string(options.path()).expect("read");
    let period = |name: &str| {
        let family = text.split(&format!("[CFOptions \"{name}\"]")).nth(1).expect("a section");
        let line = family.lines().find(|line| line.contains("periodic_compaction_seconds="));
        line.expect("the option").trim().to_owned()
    };
    assert_eq!(period("plain"), "periodic_compaction_seconds=7200");
    assert_eq!(period("hourly"), "periodic_compaction_seconds=3600");
    assert_eq!(period("never"), "periodic_compaction_seconds=0");
}

/// Rules and clock change while compactions go by them; what is alive under each of them stays.
#[test]
fn rules_and_clock_may_change_at_any_time() {
    let dir = tempfile::tempdir().expect("temp dir");
    let db = open(dir.path());
    let state = column(&db, "s");
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0.. {
                if done.load(Ordering::Relaxed) {
                    break;
                }
                let rules = [rule(TtlKind::Value), TtlRule::disabled(), rule(TtlKind::List)];
                state.expire_by(&rules[round % rules.len()]).expect("configure");
                db.ttl_clock().set(round as i64 % 1000);
            }
        });
        for round in 0..20u64 {
            for key in 0..500u64 {
                let timestamp = if key % 2 == 0 { 5000 } else { 0 };
                state
                    .put(&(round * 500 + key).to_be_bytes(), &stamped(timestamp, b"xy"))
                    .expect("put");
            }
            state.compact().expect("compact");
        }
        done.store(true, Ordering::Relaxed);
    });
    state.expire_by(&rule(TtlKind::Value)).expect("configure");
    db.ttl_clock().set(1000);
    state.compact().expect("compact");
    assert_eq!(rows(&state).len(), 20 * 250);
}
