//! How `show` says what it read, to people: tables, largest first.
use std::fmt::Write;

use super::Job;
use crate::render::{count, ratio, size, Table};
use crate::sizes::{OperatorSizes, SnapshotSizes};
use crate::usage::{Amount, Shared};

pub fn of_job(job: &Job, top: usize) -> String {
    let mut table = Table::new(&["CHECKPOINT", "KIND", ">FULL", ">NEW", ">FILES", ">INLINE"], 0);
    for read in &job.checkpoints {
        match &read.error {
            Some(error) => table.row([format!("chk-{}", read.id), format!("unreadable: {error}")]),
            None => table.row([
                format!("chk-{}", read.id),
                read.kind.unwrap_or("checkpoint").to_owned(),
                size(read.full),
                size(read.new),
                read.files.to_string(),
                size(read.inline),
            ]),
        }
    }
    let mut text = format!("{}\n\n{}", job.job, table.text());
    for path in &job.incomplete {
        let _ = writeln!(text, "{path} has no _metadata: in flight, or left over");
    }
    if let Some(shared) = &job.shared {
        text += &of_shared(shared, top);
    }
    for note in &job.notes {
        let _ = writeln!(text, "\nnote: {note}");
    }
    text += "\n";
    text + &of_snapshot(&job.latest, top)
}

pub fn of_snapshot(shown: &SnapshotSizes, top: usize) -> String {
    let mut text = format!(
        "{}\ncheckpoint {}, {}, version {}\nfull {}, new in it {}, {} files, {} inline\n",
        shown.path,
        shown.checkpoint_id,
        shown.kind.unwrap_or("kind not told"),
        shown.version,
        size(shown.full),
        size(shown.new),
        shown.files,
        size(shown.inline),
    );
    let mut section = |title: &str, table: Table| {
        if !table.is_empty() {
            let _ = write!(text, "\n{title}\n{}", table.text());
        }
    };
    section("Operators", operators(&shown.operators, top));
    section("States", states(&shown.operators, top));
    section("Subtasks", subtasks(&shown.operators, top));
    for note in &shown.notes {
        let _ = writeln!(text, "\nnote: {note}");
    }
    text
}

fn operators(operators: &[OperatorSizes], top: usize) -> Table {
    let headings =
        ["OPERATOR", "UID", ">SUBTASKS", ">FULL", ">NEW", ">FILES", ">INLINE", ">SKEW", "BACKEND"];
    let mut table = Table::new(&headings, top);
    for operator in operators {
        table.row([
            operator.label().to_owned(),
            operator.uid.clone().unwrap_or_default(),
            operator.parallelism.to_string(),
            size(operator.full),
            size(operator.new),
            operator.files.to_string(),
            size(operator.inline),
            operator.skew.map(ratio).unwrap_or_default(),
            operator.backends.join(", "),
        ]);
    }
    table
}

fn states(operators: &[OperatorSizes], top: usize) -> Table {
    let mut table = Table::new(&["OPERATOR", "STATE", "KIND", ">FULL", ">FILES", ">SUBTASKS"], top);
    let states = operators
        .iter()
        .flat_map(|operator| operator.states.iter().map(move |state| (operator.label(), state)));
    let mut states: Vec<_> = states.collect();
    states.sort_by_key(|(_, state)| std::cmp::Reverse(state.full));
    for (operator, state) in states {
        table.row([
            operator.to_owned(),
            state.name.clone(),
            state.kind.clone().unwrap_or_default(),
            size(state.full),
            state.files.to_string(),
            state.subtasks.to_string(),
        ]);
    }
    table
}

fn subtasks(operators: &[OperatorSizes], top: usize) -> Table {
    let headings =
        ["OPERATOR", ">SUBTASK", "KEY GROUPS", ">FULL", ">NEW", ">FILES", ">INLINE", "BACKEND"];
    let mut table = Table::new(&headings, top);
    let subtasks = operators.iter().flat_map(|operator| {
        operator.subtasks.iter().map(move |subtask| (operator.label(), subtask))
    });
    let mut subtasks: Vec<_> = subtasks.collect();
    subtasks.sort_by_key(|(_, subtask)| std::cmp::Reverse(subtask.full));
    for (operator, subtask) in subtasks {
        table.row([
            operator.to_owned(),
            subtask.index.to_string(),
            subtask.key_groups.clone().unwrap_or_default(),
            size(subtask.full),
            size(subtask.new),
            subtask.files.to_string(),
            size(subtask.inline),
            if subtask.finished { "finished" } else { subtask.backend.unwrap_or_default() }.into(),
        ]);
    }
    table
}

fn of_shared(shared: &Shared, top: usize) -> String {
    let amount = |amount: &Amount| {
        format!("{} in {}", size(amount.bytes as i64), count(amount.files, "file"))
    };
    let mut text = format!(
        "\nshared/ has {}\n  referred to by these checkpoints  {}\n  by none, older than a day         {}\n  \
         by none, younger than a day       {}\n",
        amount(&shared.all),
        amount(&shared.referenced),
        amount(&shared.unreferenced),
        amount(&shared.young),
    );
    if shared.elsewhere.files > 0 {
        let elsewhere = amount(&shared.elsewhere);
        let _ =
            writeln!(text, "outside of the job's directory, but of these checkpoints: {elsewhere}");
    }
    if shared.unreferenced.files > 0 {
        text += "ferrostate orphans says which of what none refers to may go\n";
    }
    let mut table = Table::new(&["CHECKPOINT", ">IN SHARED/", ">FILES", ">DELETING IT FREES"], top);
    for checkpoint in &shared.checkpoints {
        table.row([
            format!("chk-{}", checkpoint.id),
            size(checkpoint.bytes as i64),
            checkpoint.files.to_string(),
            size(checkpoint.frees.bytes as i64),
        ]);
    }
    let _ = write!(text, "\n{}", table.text());
    let headings = ["OPERATOR", ">IN SHARED/", ">FILES", ">OF THE NEWEST", ">OF OLDER ONES ONLY"];
    let mut table = Table::new(&headings, top);
    for operator in &shared.operators {
        table.row([
            operator.operator.clone(),
            size(operator.bytes as i64),
            operator.files.to_string(),
            size(operator.newest as i64),
            size(operator.older() as i64),
        ]);
    }
    if !table.is_empty() {
        let _ = write!(text, "\n{}", table.text());
    }
    text
}
