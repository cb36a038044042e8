//! Why a stream of the later snapshot was uploaded, told from what the earlier one had.
use std::collections::{HashMap, HashSet};

use ferrostate_formats::metadata::{Incremental, OperatorId, Reference, Role};

use super::Why;
use crate::databases::{Database, Databases};

/// Databases of the earlier snapshot.
pub(super) struct Earlier<'s> {
    pub by_backend: HashMap<&'s str, &'s Incremental>,
    ranges: HashMap<OperatorId, HashSet<(i32, i32)>>,
}

impl<'s> Earlier<'s> {
    pub fn of(references: &[Reference<'s>]) -> Self {
        let mut earlier = Self { by_backend: HashMap::new(), ranges: HashMap::new() };
        for reference in references {
            let Some(handle) = reference.database else { continue };
            earlier.by_backend.insert(&handle.backend, handle);
            let ranges = earlier.ranges.entry(reference.operator.id).or_default();
            ranges.insert((handle.range.start, handle.range.count));
        }
        earlier
    }
}

pub(super) fn why(
    reference: &Reference<'_>,
    database: Option<&Database>,
    earlier: &Earlier<'_>,
    databases: &Databases,
    full: bool,
) -> Why {
    match reference.role {
        Role::KeyedShared | Role::KeyedPrivate | Role::KeyedMeta => {}
        Role::Changelog => return Why::Changelog,
        _ => return Why::WrittenWhole,
    }
    let (Some(handle), Some(name)) = (reference.database, reference.name) else {
        return Why::DatabaseFiles;
    };
    if !name.ends_with(".sst") {
        return Why::DatabaseFiles;
    }
    if full || handle.shared.is_empty() {
        return Why::FullSnapshot;
    }
    let Some(before) = earlier.by_backend.get(handle.backend.as_str()) else {
        let range = (handle.range.start, handle.range.count);
        return match earlier.ranges.get(&reference.operator.id) {
            Some(ranges) if !ranges.contains(&range) => Why::Rescale,
            Some(_) => Why::Restore,
            None => Why::Flush,
        };
    };
    if before.shared.iter().chain(&before.private).any(|file| file.name == name) {
        return Why::Again;
    }
    let (Some(table), Some(old)) =
        (database.and_then(|database| database.tables.get(name)), databases.of(before))
    else {
        return Why::Flush;
    };
    let of_state = old.tables.values().filter(|other| other.state == table.state);
    let newest = old.tables.values().map(|other| other.largest_seqno).max().unwrap_or_default();
    if table.level == 0 || table.smallest_seqno > newest || of_state.count() == 0 {
        return Why::Flush;
    }
    Why::Compaction
}
