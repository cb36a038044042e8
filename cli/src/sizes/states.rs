//! How much each state of an operator holds: keyed state by the table files of its column family, operator
//! state by its partitions, and in parentheses what is of no single state.
use std::collections::{BTreeMap, BTreeSet};

use ferrostate_formats::metadata::{Channel, Operator, OperatorState, Reference, Role, Stream};

use super::handles::changes_of;
use super::{Counted, StateSizes};
use crate::databases::{Database, Databases};

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

pub(super) fn states<'m>(
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
