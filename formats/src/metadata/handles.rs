//! What `_metadata` says: operators, subtasks, and the handles to their state. Names are Flink's. Values
//! only.
use std::fmt;
use std::ops::Range;

/// A checkpoint or savepoint.
#[derive(Debug, Clone, PartialEq)]
pub struct Metadata {
    pub version: u32,
    pub checkpoint_id: i64,
    pub master_states: Vec<MasterState>,
    pub operators: Vec<Operator>,
    /// From version 4 on.
    pub kind: Option<super::SnapshotKind>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MasterState {
    pub name: String,
    pub size: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OperatorId(pub [u8; 16]);

impl fmt::Display for OperatorId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for OperatorId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Operator {
    /// From version 5 on, where the job has them.
    pub name: Option<String>,
    pub uid: Option<String>,
    pub id: OperatorId,
    pub parallelism: i32,
    pub max_parallelism: i32,
    pub coordinator: Option<Stream>,
    /// None: all of it has finished.
    pub subtasks: Option<Vec<Subtask>>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Subtask {
    pub index: i32,
    /// None: it has finished.
    pub state: Option<Box<SubtaskState>>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct SubtaskState {
    pub managed_operator: Option<OperatorState>,
    pub raw_operator: Option<OperatorState>,
    pub managed_keyed: Option<Keyed>,
    pub raw_keyed: Option<Keyed>,
    pub input_channels: Vec<Channel>,
    pub output_channels: Vec<Channel>,
}

/// A handle to a stream of bytes.
#[derive(Debug, Clone, PartialEq)]
pub enum Stream {
    /// In `_metadata` itself, at that place of it.
    Inline {
        name: String,
        bytes: Range<usize>,
    },
    File {
        path: String,
        size: i64,
    },
    /// Beside `_metadata`.
    Relative {
        path: String,
        size: i64,
    },
    /// A part of a file, of Flink's file merging.
    Segment(Box<Segment>),
    EmptySegment,
    KeyGroups(Box<KeyGroups>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    pub path: String,
    pub start: i64,
    pub size: i64,
    pub shared: bool,
    pub logical_id: String,
}

/// Key groups from `start` on; for each, where it begins in the stream.
#[derive(Debug, Clone, PartialEq)]
pub struct KeyGroups {
    pub range: KeyGroupRange,
    pub offsets: Vec<i64>,
    pub stream: Option<Stream>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyGroupRange {
    pub start: i32,
    pub count: i32,
}

impl fmt::Display for KeyGroupRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.count {
            0 => f.write_str("none"),
            count => write!(f, "{}-{}", self.start, self.start.saturating_add(count - 1)),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum Keyed {
    /// All key groups in one stream: the hashmap backend, raw keyed state, canonical savepoints.
    KeyGroups {
        savepoint: bool,
        groups: KeyGroups,
    },
    Incremental(Box<Incremental>),
    Changelog(Box<Changelog>),
    InMemoryChangelog(Box<InMemoryChangelog>),
    ChangelogFiles(Box<ChangelogFiles>),
}

/// Files of a RocksDB database.
#[derive(Debug, Clone, PartialEq)]
pub struct Incremental {
    pub checkpoint_id: i64,
    pub backend: String,
    pub range: KeyGroupRange,
    /// None where the writer did not say.
    pub checkpointed_size: Option<i64>,
    pub meta: Option<Stream>,
    pub shared: Vec<LocalFile>,
    pub private: Vec<LocalFile>,
}

/// A file and its name in the database's directory.
#[derive(Debug, Clone, PartialEq)]
pub struct LocalFile {
    pub name: String,
    pub stream: Stream,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Changelog {
    pub range: KeyGroupRange,
    pub checkpointed_size: i64,
    pub materialized: Vec<Keyed>,
    pub changes: Vec<Keyed>,
    pub materialization_id: i64,
    pub checkpoint_id: i64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct InMemoryChangelog {
    pub range: KeyGroupRange,
    /// Of all changes.
    pub size: i64,
    pub changes: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ChangelogFiles {
    pub range: KeyGroupRange,
    /// A stream and where in it the changes begin.
    pub streams: Vec<(Stream, i64)>,
    pub size: i64,
    pub checkpointed_size: i64,
}

/// Operator state: a stream, and for each state where its partitions begin.
#[derive(Debug, Clone, PartialEq)]
pub struct OperatorState {
    pub states: Vec<PartitionedState>,
    /// Of Flink's file merging.
    pub directories: Option<Box<MergingDirectories>>,
    pub stream: Option<Stream>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergingDirectories {
    pub task_owned: String,
    pub shared: String,
    pub empty: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionedState {
    pub name: String,
    pub mode: Mode,
    pub offsets: Vec<i64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    SplitDistribute,
    Union,
    Broadcast,
}

/// Data in flight, of an unaligned checkpoint.
#[derive(Debug, Clone, PartialEq)]
pub struct Channel {
    pub subtask: i32,
    /// Gate and channel, or partition and subpartition; None: many in one handle.
    pub place: Option<(i32, i32)>,
    pub size: i64,
    pub stream: Option<Stream>,
}
