//! What compaction did between two snapshots: which table files went, which came, and how much of what
//! came is old state.
use std::collections::{BTreeMap, BTreeSet};

use ferrostate_formats::metadata::{Incremental, OperatorId, Reference};

use super::why::Earlier;
use super::{Compaction, Side, Why};
use crate::databases::{Database, Databases, Table};
use crate::sizes::label;

/// New table files of databases that the earlier snapshot had too.
#[derive(Default)]
pub(super) struct Outputs<'s> {
    pub bytes: i64,
    by_database: BTreeMap<&'s str, (&'s Incremental, OperatorId, i32, BTreeSet<&'s str>)>,
}

impl<'s> Outputs<'s> {
    pub fn add(&mut self, reference: &Reference<'s>, why: Why, size: i64) {
        self.bytes = self.bytes.saturating_add(size);
        let (Some(handle), Some(name)) = (reference.database, reference.name) else { return };
        if why == Why::Compaction {
            let subtask = reference.subtask.unwrap_or_default();
            let new = || (handle, reference.operator.id, subtask, BTreeSet::new());
            self.by_database.entry(&handle.backend).or_insert_with(new).3.insert(name);
        }
    }
}

pub(super) fn compactions(
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
    let gone =
        |(name, table): &(&String, &Table)| table.state == state && !now.tables.contains_key(*name);
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
