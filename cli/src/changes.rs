//! What a checkpoint has that an earlier one had not, and why it was written. Compares what was read; does no
//! I/O.
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use ferrostate_formats::metadata::{
    Incremental, OperatorId, Reference, Role, SnapshotKind, Stream,
};
use serde::Serialize;

use crate::databases::{Database, Databases};
use crate::sizes::{label, state_of};
use crate::snapshot::Snapshot;

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

/// Databases of the earlier snapshot.
struct Earlier<'s> {
    by_backend: HashMap<&'s str, &'s Incremental>,
    ranges: HashMap<OperatorId, HashSet<(i32, i32)>>,
}

impl<'s> Earlier<'s> {
    fn of(references: &[Reference<'s>]) -> Self {
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

/// New table files of databases that the earlier snapshot had too.
#[derive(Default)]
struct Outputs<'s> {
    bytes: i64,
    by_database: BTreeMap<&'s str, (&'s Incremental, OperatorId, i32, BTreeSet<&'s str>)>,
}

impl<'s> Outputs<'s> {
    fn add(&mut self, reference: &Reference<'s>, why: Why, size: i64) {
        self.bytes = self.bytes.saturating_add(size);
        let (Some(handle), Some(name)) = (reference.database, reference.name) else { return };
        if why == Why::Compaction {
            let subtask = reference.subtask.unwrap_or_default();
            let new = || (handle, reference.operator.id, subtask, BTreeSet::new());
            self.by_database.entry(&handle.backend).or_insert_with(new).3.insert(name);
        }
    }
}

fn why(
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

fn compactions(
    to: &Side<'_>,
    before: &Databases,
    earlier: &Earlier<'_>,
    outputs: &Outputs<'_>,
) -> Vec<Compaction> {
    let operators = &to.snapshot.metadata.operators;
    let mut all = Vec::new();
    for (backend, (handle, operator, subtask, names)) in &outputs.by_database {
        let now = to.databases.of(handle);
        let then = earlier.by_backend.get(backend).and_then(|handle| before.of(handle));
        let (Some(now), Some(then)) = (now, then) else { continue };
        let operator = operators.iter().find(|other| other.id == *operator);
        let operator = operator.map(|operator| label(operator, operators)).unwrap_or_default();
        let states: BTreeSet<_> =
            names.iter().filter_map(|name| Some(&now.tables.get(*name)?.state)).collect();
        for state in states {
            all.push(compaction(operator.clone(), *subtask, state, now, then, names));
        }
    }
    all.sort_by_key(|compaction: &Compaction| std::cmp::Reverse(compaction.old_bytes));
    all
}

/// All of a state at once: what went and what came in its place.
fn compaction(
    operator: String,
    subtask: i32,
    state: &str,
    now: &Database,
    then: &Database,
    names: &BTreeSet<&str>,
) -> Compaction {
    let gone = |(name, table): &(&String, &crate::databases::Table)| {
        table.state == state && !now.tables.contains_key(*name)
    };
    let mut inputs: Vec<_> = then.tables.iter().filter(gone).collect();
    inputs.sort_by_key(|(name, _)| (*name).clone());
    let outputs: Vec<_> = names
        .iter()
        .filter_map(|name| Some((*name, now.tables.get(*name)?)))
        .filter(|(_, table)| table.state == state)
        .collect();
    let input_bytes: u64 = inputs.iter().map(|(_, table)| table.size).sum();
    let output_bytes: u64 = outputs.iter().map(|(_, table)| table.size).sum();
    Compaction {
        operator,
        subtask,
        state: state.to_owned(),
        inputs: inputs.into_iter().map(|(name, _)| name.clone()).collect(),
        input_bytes,
        outputs: outputs.into_iter().map(|(name, _)| name.to_owned()).collect(),
        output_bytes,
        old_bytes: input_bytes.min(output_bytes),
    }
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
