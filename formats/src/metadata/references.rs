//! Every stream that a checkpoint refers to, with its owner. In the order of `_metadata`.
use super::handles::{
    Incremental, KeyGroupRange, Keyed, Metadata, Operator, OperatorState, Stream, SubtaskState,
};

/// What a stream is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    Coordinator,
    OperatorState,
    RawOperatorState,
    /// All rows of some key groups in one stream.
    KeyedStream,
    /// The description of the states of a RocksDB database.
    KeyedMeta,
    /// A database's table files; in an incremental checkpoint, Flink shares them.
    KeyedShared,
    /// A database's other files; in a checkpoint that is not incremental, all.
    KeyedPrivate,
    Changelog,
    InputChannel,
    OutputChannel,
}

impl Role {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Coordinator => "coordinator",
            Self::OperatorState => "operator state",
            Self::RawOperatorState => "raw operator state",
            Self::KeyedStream => "keyed stream",
            Self::KeyedMeta => "keyed meta",
            Self::KeyedShared => "keyed shared",
            Self::KeyedPrivate => "keyed private",
            Self::Changelog => "changelog",
            Self::InputChannel => "input channel",
            Self::OutputChannel => "output channel",
        }
    }
}

/// A stream and whose it is.
#[derive(Debug, Clone, Copy)]
pub struct Reference<'m> {
    pub operator: &'m Operator,
    /// None: the operator's coordinator.
    pub subtask: Option<i32>,
    pub role: Role,
    /// Raw keyed state, that is, not of the state backend.
    pub raw: bool,
    pub range: Option<KeyGroupRange>,
    /// The database that the stream is a file of, and the file's name there.
    pub database: Option<&'m Incremental>,
    pub name: Option<&'m str>,
    pub stream: &'m Stream,
}

impl Metadata {
    /// A stream with key groups in it is that stream itself.
    #[must_use]
    pub fn references(&self) -> Vec<Reference<'_>> {
        let mut all = Vec::new();
        for operator in &self.operators {
            let owner = |stream| Reference {
                operator,
                subtask: None,
                role: Role::Coordinator,
                raw: false,
                range: None,
                database: None,
                name: None,
                stream,
            };
            all.extend(operator.coordinator.iter().map(owner));
            for subtask in operator.subtasks.iter().flatten() {
                let Some(state) = &subtask.state else { continue };
                of_subtask(state, &mut |found| {
                    all.push(Reference {
                        operator,
                        subtask: Some(subtask.index),
                        stream: plain(found.stream),
                        ..found.with(operator)
                    });
                });
            }
        }
        all
    }
}

/// A [`Reference`] without its operator.
#[derive(Clone, Copy)]
struct Found<'m> {
    role: Role,
    raw: bool,
    range: Option<KeyGroupRange>,
    database: Option<&'m Incremental>,
    name: Option<&'m str>,
    stream: &'m Stream,
}

impl<'m> Found<'m> {
    fn new(role: Role, stream: &'m Stream) -> Self {
        Self { role, raw: false, range: None, database: None, name: None, stream }
    }

    fn with(self, operator: &'m Operator) -> Reference<'m> {
        let Self { role, raw, range, database, name, stream } = self;
        Reference { operator, subtask: None, role, raw, range, database, name, stream }
    }
}

fn plain(stream: &Stream) -> &Stream {
    match stream {
        Stream::KeyGroups(groups) => groups.stream.as_ref().map_or(stream, plain),
        _ => stream,
    }
}

fn of_subtask<'m>(state: &'m SubtaskState, found: &mut impl FnMut(Found<'m>)) {
    let mut operator_state = |role, state: &'m Option<OperatorState>| {
        if let Some(stream) = state.as_ref().and_then(|state| state.stream.as_ref()) {
            found(Found::new(role, stream));
        }
    };
    operator_state(Role::OperatorState, &state.managed_operator);
    operator_state(Role::RawOperatorState, &state.raw_operator);
    for (raw, keyed) in [(false, &state.managed_keyed), (true, &state.raw_keyed)] {
        if let Some(keyed) = keyed {
            of_keyed(keyed, raw, found);
        }
    }
    let channels = [
        (Role::InputChannel, &state.input_channels),
        (Role::OutputChannel, &state.output_channels),
    ];
    for (role, channels) in channels {
        channels.iter().filter_map(|channel| channel.stream.as_ref()).for_each(|stream| {
            found(Found::new(role, stream));
        });
    }
}

fn of_keyed<'m>(keyed: &'m Keyed, raw: bool, found: &mut impl FnMut(Found<'m>)) {
    let new = |role, range, stream| Found { raw, range: Some(range), ..Found::new(role, stream) };
    match keyed {
        Keyed::KeyGroups { groups, .. } => {
            if let Some(stream) = &groups.stream {
                found(new(Role::KeyedStream, groups.range, stream));
            }
        }
        Keyed::Incremental(handle) => {
            let database = Some(&**handle);
            if let Some(meta) = &handle.meta {
                found(Found { database, ..new(Role::KeyedMeta, handle.range, meta) });
            }
            let files =
                [(Role::KeyedShared, &handle.shared), (Role::KeyedPrivate, &handle.private)];
            for (role, file) in files
                .into_iter()
                .flat_map(|(role, files)| files.iter().map(move |file| (role, file)))
            {
                let name = Some(file.name.as_str());
                found(Found { database, name, ..new(role, handle.range, &file.stream) });
            }
        }
        Keyed::Changelog(handle) => {
            for part in handle.materialized.iter().chain(&handle.changes) {
                of_keyed(part, raw, found);
            }
        }
        Keyed::InMemoryChangelog(_) => {}
        Keyed::ChangelogFiles(handle) => {
            for (stream, _) in &handle.streams {
                found(new(Role::Changelog, handle.range, stream));
            }
        }
    }
}
