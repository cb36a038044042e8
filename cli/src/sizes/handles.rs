//! What the keyed handles of a subtask tell: the backend that wrote them, their key groups, and how much
//! of a changelog lies in `_metadata`. Adds nothing up over states: that is `states.rs`.
use ferrostate_formats::metadata::{KeyGroupRange, Keyed, Operator, SubtaskState};

/// Changes that a changelog holds in `_metadata` itself, of all subtasks.
pub(super) fn in_memory_changes(operator: &Operator) -> i64 {
    let states = operator.subtasks.iter().flatten().filter_map(|subtask| subtask.state.as_deref());
    states.map(in_memory_of).sum()
}

pub(super) fn in_memory_of(state: &SubtaskState) -> i64 {
    changes_of(state).0
}

/// What a changelog holds: in `_metadata` itself, and in files, of which others may hold parts too.
pub(super) fn changes_of(state: &SubtaskState) -> (i64, i64) {
    fn of(keyed: &Keyed) -> (i64, i64) {
        match keyed {
            Keyed::InMemoryChangelog(changes) => (changes.size, 0),
            Keyed::ChangelogFiles(changes) => (0, changes.size),
            Keyed::Changelog(handle) => {
                sum(handle.materialized.iter().chain(&handle.changes).map(of))
            }
            _ => (0, 0),
        }
    }
    fn sum(pairs: impl Iterator<Item = (i64, i64)>) -> (i64, i64) {
        pairs.fold((0, 0), |(a, b), (c, d)| (a.saturating_add(c), b.saturating_add(d)))
    }
    sum([&state.managed_keyed, &state.raw_keyed].into_iter().flatten().map(of))
}

pub(super) fn range(keyed: &Keyed) -> KeyGroupRange {
    match keyed {
        Keyed::KeyGroups { groups, .. } => groups.range,
        Keyed::Incremental(handle) => handle.range,
        Keyed::Changelog(handle) => handle.range,
        Keyed::InMemoryChangelog(handle) => handle.range,
        Keyed::ChangelogFiles(handle) => handle.range,
    }
}

/// What a handle tells of the backend that wrote it.
pub fn backend(keyed: &Keyed) -> &'static str {
    match keyed {
        Keyed::KeyGroups { savepoint: true, .. } => "canonical savepoint",
        Keyed::KeyGroups { savepoint: false, .. } => "hashmap",
        Keyed::Incremental(handle) if handle.shared.is_empty() => "rocksdb files, full",
        Keyed::Incremental(_) => "rocksdb files",
        Keyed::Changelog(handle) => match handle.materialized.first() {
            Some(Keyed::Incremental(_)) => "changelog over rocksdb files",
            Some(_) => "changelog over hashmap",
            None => "changelog",
        },
        Keyed::InMemoryChangelog(_) | Keyed::ChangelogFiles(_) => "changelog",
    }
}
