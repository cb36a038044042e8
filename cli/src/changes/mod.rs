//! What a checkpoint has that an earlier one had not, and why it was written. Compares what was read; does no
//! I/O.
mod compactions;
mod why;

use std::collections::{BTreeMap, HashMap, HashSet};

use ferrostate_formats::metadata::{OperatorId, SnapshotKind, Stream};
use serde::Serialize;

use crate::databases::Databases;
use crate::sizes::{label, state_of};
use crate::snapshot::Snapshot;
use compactions::{compactions, Outputs};
use why::{why, Earlier};

/// Why something was uploaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Why {
    /// New data: memtables that were flushed, and what became of them alone.
    Flush,
    /// Old data that compaction has written anew.
    Compaction,
    /// The subtask has other key groups than before.
    Rescale,
    /// The database is another one, of the same key groups: the job was restored.
    Restore,
    /// The snapshot is of a kind that uploads everything.
    FullSnapshot,
    /// The same file of the same database once more.
    Again,
    /// MANIFEST, CURRENT, OPTIONS and descriptions.
    DatabaseFiles,
    /// State that is written whole each time: streams, operator state, data in flight.
    WrittenWhole,
    /// Changes that Flink's changelog wrote.
    Changelog,
}

#[derive(Debug, Default, Clone, Copy, Serialize)]
pub struct Amount {
    pub files: u64,
    pub bytes: i64,
}

impl Amount {
    fn add(&mut self, bytes: i64) {
        self.files += 1;
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

#[derive(Debug, Serialize)]
pub struct Changes {
    pub uploaded: Amount,
    pub reused: Amount,
    /// Of the earlier one, no longer needed.
    pub gone: Amount,
    /// Bytes of table files that hold what is new, as an estimate.
    pub new_data: i64,
    /// Uploaded bytes of table files for each of those.
    pub write_amplification: Option<f64>,
    /// Largest first.
    pub why: Vec<Reason>,
    pub parts: Vec<Part>,
    pub compactions: Vec<Compaction>,
}

#[derive(Debug, Serialize)]
pub struct Reason {
    pub why: Why,
    pub files: u64,
    pub bytes: i64,
}

/// What a subtask uploaded of a state for one reason.
#[derive(Debug, Serialize)]
pub struct Part {
    pub operator: String,
    pub operator_id: String,
    pub subtask: Option<i32>,
    pub state: String,
    pub why: Why,
    pub files: u64,
    pub bytes: i64,
}

/// What compaction did to a state of a subtask.
#[derive(Debug, Serialize)]
pub struct Compaction {
    pub operator: String,
    pub subtask: i32,
    pub state: String,
    /// Table files that went.
    pub inputs: Vec<String>,
    pub input_bytes: u64,
    pub outputs: Vec<String>,
    pub output_bytes: u64,
    /// How much of the output is old state, uploaded again.
    pub old_bytes: u64,
}

/// A snapshot and its databases.
pub struct Side<'s> {
    pub snapshot: &'s Snapshot,
    pub databases: &'s Databases,
}

/// The same bytes have the same name: a path and a place, or the name of an inline stream.
fn identity(stream: &Stream) -> Option<(&str, i64)> {
    match stream {
        Stream::Inline { name, .. } => Some((name, 0)),
        Stream::File { path, .. } | Stream::Relative { path, .. } => Some((path, 0)),
        Stream::Segment(segment) => Some((&segment.path, segment.start)),
        Stream::EmptySegment | Stream::KeyGroups(_) => None,
    }
}

pub fn compare(from: &Side<'_>, to: &Side<'_>) -> Changes {
    let before = from.snapshot.metadata.references();
    let after = to.snapshot.metadata.references();
    let had: HashSet<_> =
        before.iter().filter_map(|reference| identity(reference.stream)).collect();
    let has: HashSet<_> = after.iter().filter_map(|reference| identity(reference.stream)).collect();
    let earlier = Earlier::of(&before);
    let kind = to.snapshot.metadata.kind;
    let full = !matches!(kind, None | Some(SnapshotKind::Checkpoint));

    let (mut uploaded, mut reused, mut gone) =
        (Amount::default(), Amount::default(), Amount::default());
    let mut by_part: BTreeMap<(OperatorId, Option<i32>, String, Why), Amount> = BTreeMap::new();
    let mut seen = HashSet::new();
    let mut outputs = Outputs::default();
    for reference in &after {
        let Some(identity) = identity(reference.stream) else { continue };
        if !seen.insert(identity) {
            continue;
        }
        let size = reference.stream.size();
        if had.contains(&identity) {
            reused.add(size);
            continue;
        }
        let database = reference.database.and_then(|handle| to.databases.of(handle));
        let why = why(reference, database, &earlier, from.databases, full);
        uploaded.add(size);
        let state = state_of(reference, database).to_owned();
        let key = (reference.operator.id, reference.subtask, state, why);
        by_part.entry(key).or_default().add(size);
        if matches!(why, Why::Flush | Why::Compaction) {
            outputs.add(reference, why, size);
        }
    }
    let mut seen = HashSet::new();
    for reference in &before {
        let Some(identity) = identity(reference.stream) else { continue };
        if seen.insert(identity) && !has.contains(&identity) {
            gone.add(reference.stream.size());
        }
    }
    let compactions = compactions(to, from.databases, &earlier, &outputs);
    let old: u64 = compactions.iter().map(|compaction| compaction.old_bytes).sum();
    let new_data = outputs.bytes.saturating_sub(old as i64).max(0);
    let write_amplification = (new_data > 0).then(|| outputs.bytes as f64 / new_data as f64);
    let parts = parts(to, by_part);
    let why = reasons(&parts);
    Changes { uploaded, reused, gone, new_data, write_amplification, why, parts, compactions }
}

fn parts(
    to: &Side<'_>,
    by_part: BTreeMap<(OperatorId, Option<i32>, String, Why), Amount>,
) -> Vec<Part> {
    let operators = &to.snapshot.metadata.operators;
    let labels: HashMap<_, _> =
        operators.iter().map(|operator| (operator.id, label(operator, operators))).collect();
    let mut parts: Vec<_> = by_part
        .into_iter()
        .map(|((id, subtask, state, why), amount)| Part {
            operator: labels.get(&id).cloned().unwrap_or_default(),
            operator_id: id.to_string(),
            subtask,
            state,
            why,
            files: amount.files,
            bytes: amount.bytes,
        })
        .collect();
    parts.sort_by_key(|part| std::cmp::Reverse(part.bytes));
    parts
}

fn reasons(parts: &[Part]) -> Vec<Reason> {
    let mut by_reason: BTreeMap<Why, Amount> = BTreeMap::new();
    for part in parts {
        let amount = by_reason.entry(part.why).or_default();
        amount.files += part.files;
        amount.bytes = amount.bytes.saturating_add(part.bytes);
    }
    let mut reasons: Vec<_> = by_reason
        .into_iter()
        .map(|(why, Amount { files, bytes })| Reason { why, files, bytes })
        .collect();
    reasons.sort_by_key(|reason| std::cmp::Reverse(reason.bytes));
    reasons
}
