//! Who holds how much of a snapshot: by operator, subtask and state, as Flink counts it. Reads nothing: the
//! snapshot and what is known of its databases are given.
use std::collections::{BTreeMap, BTreeSet, HashSet};

use ferrostate_formats::metadata::{
    Channel, Keyed, Operator, OperatorState, Reference, Role, Stream, Subtask, SubtaskState,
};
use serde::Serialize;

use crate::databases::{Database, Databases};
use crate::snapshot::Snapshot;

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

/// Changes that a changelog holds in `_metadata` itself, of all subtasks.
fn in_memory_changes(operator: &Operator) -> i64 {
    let states = operator.subtasks.iter().flatten().filter_map(|subtask| subtask.state.as_deref());
    states.map(in_memory_of).sum()
}

fn in_memory_of(state: &SubtaskState) -> i64 {
    changes_of(state).0
}

/// What a changelog holds: in `_metadata` itself, and in files, of which others may hold parts too.
fn changes_of(state: &SubtaskState) -> (i64, i64) {
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

fn range(keyed: &Keyed) -> ferrostate_formats::metadata::KeyGroupRange {
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

fn skew(subtasks: &[SubtaskSizes]) -> Option<f64> {
    let mut sizes: Vec<_> = subtasks.iter().filter(|s| !s.finished).map(|s| s.full).collect();
    sizes.sort_unstable();
    let (largest, median) = (*sizes.last()?, sizes[(sizes.len() - 1) / 2]);
    // Of an even number the lower one of the two in the middle, so that two subtasks can be told apart.
    (sizes.len() > 1 && median > 0).then(|| largest as f64 / median as f64)
}

/// Collects sizes by state.
#[derive(Default)]
struct ByState<'m> {
    states: BTreeMap<&'m str, Held<'m>>,
}

#[derive(Default)]
struct Held<'m> {
    kind: Option<&'m str>,
    full: i64,
    counted: Counted<'m>,
    subtasks: BTreeSet<i32>,
}

impl<'m> ByState<'m> {
    fn add(&mut self, name: &'m str, kind: Option<&'m str>, size: i64, subtask: Option<i32>) {
        let held = self.states.entry(name).or_default();
        held.full = held.full.saturating_add(size);
        held.kind = held.kind.or(kind);
        held.subtasks.extend(subtask);
    }

    fn file(&mut self, name: &'m str, stream: &'m Stream) {
        self.states.entry(name).or_default().counted.add(stream);
    }

    fn finish(self) -> Vec<StateSizes> {
        let states = self.states.into_iter().map(|(name, held)| StateSizes {
            name: name.to_owned(),
            kind: held.kind.map(str::to_owned),
            full: held.full,
            files: held.counted.files.len(),
            subtasks: held.subtasks.len(),
        });
        let mut states: Vec<_> = states.collect();
        states.sort_by_key(|state| std::cmp::Reverse(state.full));
        states
    }
}

fn states<'m>(
    operator: &'m Operator,
    references: &'m [Reference<'m>],
    databases: &'m Databases,
) -> Vec<StateSizes> {
    let mut by_state = ByState::default();
    for reference in references {
        let database = reference.database.and_then(|handle| databases.of(handle));
        let name = state_of(reference, database);
        match reference.role {
            // Their streams are shared; what is whose is added below.
            Role::InputChannel | Role::OutputChannel | Role::Changelog => {}
            Role::OperatorState | Role::RawOperatorState => {}
            _ => {
                let kind = database.and_then(|database| database.kinds.get(name));
                let kind = kind.map(String::as_str);
                by_state.add(name, kind, reference.stream.size(), reference.subtask);
            }
        }
        by_state.file(name, reference.stream);
    }
    for subtask in operator.subtasks.iter().flatten() {
        let Some(state) = subtask.state.as_deref() else { continue };
        for operator_state in [&state.managed_operator, &state.raw_operator].into_iter().flatten() {
            partitions(operator_state, subtask.index, &mut by_state);
        }
        let sides = [(INPUT, &state.input_channels), (OUTPUT, &state.output_channels)];
        for (name, channels) in sides {
            let size = channels.iter().map(|channel: &Channel| channel.size).sum();
            if !channels.is_empty() {
                by_state.add(name, None, size, Some(subtask.index));
            }
        }
        let (in_memory, in_files) = changes_of(state);
        if in_memory > 0 || in_files > 0 {
            let size = in_memory.saturating_add(in_files);
            by_state.add("(changelog)", None, size, Some(subtask.index));
        }
    }
    // Registered, but without a file of their own.
    for database in references.iter().filter_map(|r| databases.of(r.database?)) {
        for name in &database.empty {
            by_state.add(name, database.kinds.get(name).map(String::as_str), 0, None);
        }
    }
    by_state.finish()
}

const INPUT: &str = "(in flight, input)";
const OUTPUT: &str = "(in flight, output)";
const OPERATOR: &str = "(operator state, descriptions)";

/// The state that a stream is of, or in parentheses what it is.
pub fn state_of<'a>(reference: &'a Reference<'_>, database: Option<&'a Database>) -> &'a str {
    match reference.role {
        Role::Coordinator => "(coordinator)",
        Role::OperatorState | Role::RawOperatorState => OPERATOR,
        Role::KeyedStream if reference.raw => "(raw keyed state)",
        Role::KeyedStream => "(all keyed state)",
        Role::KeyedMeta => "(descriptions)",
        Role::Changelog => "(changelog)",
        Role::InputChannel => INPUT,
        Role::OutputChannel => OUTPUT,
        Role::KeyedShared | Role::KeyedPrivate => {
            let name = reference.name.unwrap_or_default();
            match database.and_then(|database| database.tables.get(name)) {
                Some(table) => &table.state,
                None if name.ends_with(".sst") => "(table files of unknown states)",
                None => "(database files)",
            }
        }
    }
}

/// A partition ends where the next one begins, of whichever state.
fn partitions<'m>(state: &'m OperatorState, subtask: i32, by_state: &mut ByState<'m>) {
    let size = state.size();
    let mut begins: Vec<(i64, &str)> = state
        .states
        .iter()
        .flat_map(|named| named.offsets.iter().map(move |offset| (*offset, named.name.as_str())))
        .collect();
    begins.sort_unstable();
    let ends = begins.iter().skip(1).map(|(begin, _)| *begin).chain([size]);
    let mut rest = size;
    for ((begin, name), end) in begins.iter().zip(ends) {
        let length = end.min(size).saturating_sub(*begin).clamp(0, rest);
        rest -= length;
        by_state.add(name, Some("OPERATOR"), length, Some(subtask));
    }
    by_state.add(OPERATOR, None, rest, Some(subtask));
}
