//! Who holds how much of a snapshot: by operator, subtask and state, as Flink counts it. Reads nothing: the
//! snapshot and what is known of its databases are given.
mod handles;
mod states;

use std::collections::{BTreeSet, HashSet};

use ferrostate_formats::metadata::{Operator, Reference, Stream, Subtask, SubtaskState};
use serde::Serialize;

pub use states::state_of;

use crate::databases::Databases;
use crate::snapshot::Snapshot;
use handles::{backend, in_memory_changes, in_memory_of, range};
use states::states;

#[derive(Debug, Serialize)]
pub struct SnapshotSizes {
    pub path: String,
    pub checkpoint_id: i64,
    pub version: u32,
    pub kind: Option<&'static str>,
    pub full: i64,
    pub new: i64,
    /// Files, each once.
    pub files: usize,
    pub inline: i64,
    /// Largest first.
    pub operators: Vec<OperatorSizes>,
    pub notes: Vec<String>,
}

#[derive(Debug, Serialize)]
pub struct OperatorSizes {
    #[serde(skip)]
    label: String,
    pub id: String,
    pub name: Option<String>,
    pub uid: Option<String>,
    pub parallelism: i32,
    pub max_parallelism: i32,
    pub finished: bool,
    pub full: i64,
    pub new: i64,
    pub files: usize,
    pub inline: i64,
    /// The largest subtask in sizes of the median one.
    pub skew: Option<f64>,
    pub backends: Vec<&'static str>,
    /// Largest first.
    pub states: Vec<StateSizes>,
    pub subtasks: Vec<SubtaskSizes>,
}

#[derive(Debug, Default, Serialize)]
pub struct StateSizes {
    /// In parentheses what is of no single state.
    pub name: String,
    pub kind: Option<String>,
    pub full: i64,
    pub files: usize,
    pub subtasks: usize,
}

#[derive(Debug, Serialize)]
pub struct SubtaskSizes {
    pub index: i32,
    pub finished: bool,
    pub full: i64,
    pub new: i64,
    pub files: usize,
    pub inline: i64,
    pub key_groups: Option<String>,
    pub backend: Option<&'static str>,
}

impl OperatorSizes {
    pub fn label(&self) -> &str {
        &self.label
    }
}

/// The name, with the uid (or else the id) where another operator has the same one.
pub fn label(operator: &Operator, among: &[Operator]) -> String {
    let Some(name) = operator.name.as_deref() else {
        return operator.uid.clone().unwrap_or_else(|| operator.id.to_string());
    };
    let namesakes = among.iter().filter(|other| other.name.as_deref() == Some(name)).count();
    match (namesakes, &operator.uid) {
        (0 | 1, _) => name.to_owned(),
        (_, Some(uid)) => format!("{name} [{uid}]"),
        (_, None) => format!("{name} [{}]", operator.id),
    }
}

/// Files each once, and bytes in `_metadata`.
#[derive(Default)]
struct Counted<'m> {
    files: HashSet<&'m str>,
    inline: i64,
}

impl<'m> Counted<'m> {
    fn add(&mut self, stream: &'m Stream) {
        match stream {
            Stream::Inline { bytes, .. } => self.inline += bytes.len() as i64,
            Stream::File { path, .. } | Stream::Relative { path, .. } => {
                self.files.insert(path);
            }
            Stream::Segment(segment) => {
                self.files.insert(&segment.path);
            }
            Stream::EmptySegment => {}
            Stream::KeyGroups(groups) => {
                if let Some(stream) = &groups.stream {
                    self.add(stream);
                }
            }
        }
    }
}

impl SnapshotSizes {
    pub fn of(snapshot: &Snapshot, databases: &Databases) -> Self {
        let references = snapshot.metadata.references();
        let mut all = Counted::default();
        references.iter().for_each(|reference| all.add(reference.stream));
        let mut operators = Vec::new();
        let mut rest = references.as_slice();
        for operator in &snapshot.metadata.operators {
            let mine = rest.iter().take_while(|r| std::ptr::eq(r.operator, operator)).count();
            let (references, after) = rest.split_at(mine);
            rest = after;
            let label = label(operator, &snapshot.metadata.operators);
            operators.push(operator_sizes(operator, label, references, databases));
        }
        operators.sort_by_key(|operator| std::cmp::Reverse(operator.full));
        let in_memory = snapshot.metadata.operators.iter().map(in_memory_changes).sum::<i64>();
        let total = snapshot.metadata.sizes();
        let mut notes: Vec<_> = databases
            .unknown()
            .map(|failure| format!("table files cannot be told apart by state: {failure}"))
            .collect();
        notes.sort();
        Self {
            path: snapshot.directory.to_string(),
            checkpoint_id: snapshot.metadata.checkpoint_id,
            version: snapshot.metadata.version,
            kind: snapshot.metadata.kind.map(|kind| kind.name()),
            full: total.full,
            new: total.new,
            files: all.files.len(),
            inline: all.inline + in_memory,
            operators,
            notes,
        }
    }
}

fn operator_sizes(
    operator: &Operator,
    label: String,
    references: &[Reference<'_>],
    databases: &Databases,
) -> OperatorSizes {
    let mut all = Counted::default();
    references.iter().for_each(|reference| all.add(reference.stream));
    let mut subtasks = Vec::new();
    let mut rest = references;
    if rest.first().is_some_and(|reference| reference.subtask.is_none()) {
        rest = &rest[1..];
    }
    for subtask in operator.subtasks.iter().flatten() {
        let mine = rest.iter().take_while(|r| r.subtask == Some(subtask.index)).count();
        subtasks.push(subtask_sizes(subtask, &rest[..mine]));
        rest = &rest[mine..];
    }
    let backends: BTreeSet<_> = subtasks.iter().filter_map(|subtask| subtask.backend).collect();
    let sizes = operator.sizes();
    OperatorSizes {
        label,
        id: operator.id.to_string(),
        name: operator.name.clone(),
        uid: operator.uid.clone(),
        parallelism: operator.parallelism,
        max_parallelism: operator.max_parallelism,
        finished: operator.subtasks.is_none(),
        full: sizes.full,
        new: sizes.new,
        files: all.files.len(),
        inline: all.inline + in_memory_changes(operator),
        skew: skew(&subtasks),
        backends: backends.into_iter().collect(),
        states: states(operator, references, databases),
        subtasks,
    }
}

fn subtask_sizes(subtask: &Subtask, references: &[Reference<'_>]) -> SubtaskSizes {
    let mut counted = Counted::default();
    references.iter().for_each(|reference| counted.add(reference.stream));
    let state = subtask.state.as_deref();
    let keyed = state.and_then(|state| state.managed_keyed.as_ref());
    let sizes = state.map(SubtaskState::sizes).unwrap_or_default();
    SubtaskSizes {
        index: subtask.index,
        finished: state.is_none(),
        full: sizes.full,
        new: sizes.new,
        files: counted.files.len(),
        inline: counted.inline + state.map_or(0, in_memory_of),
        key_groups: keyed.map(|keyed| range(keyed).to_string()),
        backend: keyed.map(backend),
    }
}

fn skew(subtasks: &[SubtaskSizes]) -> Option<f64> {
    let mut sizes: Vec<_> = subtasks.iter().filter(|s| !s.finished).map(|s| s.full).collect();
    sizes.sort_unstable();
    let (largest, median) = (*sizes.last()?, sizes[(sizes.len() - 1) / 2]);
    // Of an even number the lower one of the two in the middle, so that two subtasks can be told apart.
    (sizes.len() > 1 && median > 0).then(|| largest as f64 / median as f64)
}
