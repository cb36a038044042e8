//! The page's section about `shared/`: who holds its bytes, and what deleting a checkpoint would free.
//! The sums are `usage`'s.
use super::bars::{self, Bar, Row};
use super::{details, table};
use crate::render::{count, size};
use crate::usage::{Amount, OfCheckpoint, OfOperator, Shared};

pub fn section(shared: Option<&Shared>) -> String {
    let Some(shared) = shared else {
        return "<p>It was not looked at: that needs the job's directory.</p>".to_owned();
    };
    let mut rows = vec![
        row("referred to by these checkpoints", &shared.referenced),
        row("by none, older than a day", &shared.unreferenced),
        row("by none, younger: perhaps of a checkpoint in flight", &shared.young),
    ];
    if shared.elsewhere.files > 0 {
        rows.push(row(
            "outside of this directory, referred to by these checkpoints",
            &shared.elsewhere,
        ));
    }
    let headings = ["Files", ">Number", ">Bytes"];
    format!(
        "<p>It has {}, {}.</p>{}{}{}",
        count(shared.all.files, "file"),
        size(shared.all.bytes as i64),
        table(&headings, &rows),
        of_operators(&shared.operators),
        of_checkpoints(&shared.checkpoints),
    )
}

fn row(what: &str, amount: &Amount) -> Vec<String> {
    vec![what.to_owned(), amount.files.to_string(), size(amount.bytes as i64)]
}

fn of_operators(operators: &[OfOperator]) -> String {
    let bars: Vec<_> = operators
        .iter()
        .take(16)
        .map(|operator| Row {
            label: operator.operator.clone(),
            note: count(operator.files, "file"),
            bars: vec![
                Bar::new("of the newest checkpoint", operator.newest as i64, 0),
                Bar::new("of older ones only", operator.older() as i64, 1),
            ],
        })
        .collect();
    let numbers: Vec<_> = operators
        .iter()
        .map(|operator| {
            vec![
                operator.operator.clone(),
                operator.files.to_string(),
                size(operator.bytes as i64),
                size(operator.newest as i64),
                size(operator.older() as i64),
            ]
        })
        .collect();
    let headings = ["Operator", ">Files", ">In shared/", ">Of the newest", ">Of older ones only"];
    bars::stacked("Bytes in shared/ by operator", &bars)
        + &details("By operator", &table(&headings, &numbers))
}

fn of_checkpoints(checkpoints: &[OfCheckpoint]) -> String {
    let numbers: Vec<_> = checkpoints
        .iter()
        .map(|checkpoint| {
            vec![
                format!("chk-{}", checkpoint.id),
                checkpoint.files.to_string(),
                size(checkpoint.bytes as i64),
                format!(
                    "{} ({})",
                    size(checkpoint.frees.bytes as i64),
                    count(checkpoint.frees.files, "file")
                ),
            ]
        })
        .collect();
    let headings = ["Checkpoint", ">Files", ">In shared/", ">Deleting it frees"];
    details("By checkpoint, and what deleting it frees", &table(&headings, &numbers))
}
