//! Pairs of snapshots whose difference may not mean what it seems to.
use std::collections::HashSet;

use ferrostate_formats::metadata::{Keyed, SnapshotKind};

use crate::changes::{Changes, Why};
use crate::snapshot::Snapshot;
use crate::store::Location;

pub fn notes(from: &Snapshot, to: &Snapshot, changes: &Changes) -> Vec<String> {
    let mut notes = Vec::new();
    let (ids, places) = (
        (from.metadata.checkpoint_id, to.metadata.checkpoint_id),
        (from.directory.to_string(), to.directory.to_string()),
    );
    let of = |snapshot: &Snapshot| -> HashSet<_> {
        snapshot.metadata.operators.iter().map(|operator| operator.id).collect()
    };
    if of(from).is_disjoint(&of(to)) && !of(to).is_empty() {
        notes.push("A and B have no operator in common: they are of different jobs".to_owned());
    } else if let (Some(a), Some(b)) = (checkpoints_of(from), checkpoints_of(to)) {
        if a != b {
            notes.push(format!(
                "A and B are of different jobs, {a} and {b}: unless B was restored from A, all of B is new"
            ));
        }
    }
    if places.0 == places.1 {
        notes.push("A and B are the same".to_owned());
    } else if ids.1 < ids.0 {
        notes.push(format!(
            "B (checkpoint {}) is older than A (checkpoint {}): try ferrostate diff {} {}",
            ids.1, ids.0, places.1, places.0
        ));
    }
    for (name, snapshot) in [("A", from), ("B", to)] {
        if is_canonical(snapshot) {
            notes.push(format!(
                "{name} is a canonical savepoint, which shares no file with any other snapshot: all of it was \
                 written out, and what changed cannot be told"
            ));
        }
    }
    if changes.why.iter().any(|why| why.why == Why::FullSnapshot) && !is_canonical(to) {
        notes.push(
            "files of a full snapshot count as uploaded; where they are copies within the store of a \
             checkpoint's files they were not sent, and on local disks they may be hard links that take no \
             space"
                .to_owned(),
        );
    }
    notes
}

/// Old versions do not tell the kind, but the handles are told apart.
fn is_canonical(snapshot: &Snapshot) -> bool {
    let subtasks = snapshot.metadata.operators.iter().flat_map(|o| o.subtasks.iter().flatten());
    let mut keyed = subtasks.filter_map(|subtask| subtask.state.as_ref()?.managed_keyed.as_ref());
    snapshot.metadata.kind == Some(SnapshotKind::CanonicalSavepoint)
        || keyed.any(|keyed| matches!(keyed, Keyed::KeyGroups { savepoint: true, .. }))
}

/// The job's directory that a checkpoint lies in; of a savepoint none is told.
fn checkpoints_of(snapshot: &Snapshot) -> Option<Location> {
    snapshot.directory.name().starts_with("chk-").then(|| snapshot.directory.parent())?
}
