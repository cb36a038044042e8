//! `ferrostate diff`: reads two snapshots, says what the later one uploaded and why. How reasons are told:
//! `changes.rs`.
mod unlike;

use std::fmt::Write;

use serde::Serialize;

use super::show::json;
use crate::args::{Common, Diff};
use crate::changes::{compare, Changes, Side, Why};
use crate::databases::Databases;
use crate::failure::{Failure, Result, UNABLE};
use crate::find::{find, Target};
use crate::render::{ratio, size, Table};
use crate::snapshot::Snapshot;
use crate::store::Stores;

#[derive(Debug, Serialize)]
struct Report {
    from: End,
    to: End,
    #[serde(flatten)]
    changes: Changes,
    notes: Vec<String>,
}

#[derive(Debug, Serialize)]
struct End {
    path: String,
    checkpoint_id: i64,
    kind: Option<&'static str>,
    full: i64,
    new: i64,
}

pub async fn run(stores: &Stores, args: &Diff, common: &Common) -> Result<String> {
    let from = snapshot(stores, &args.from).await?;
    let to = snapshot(stores, &args.to).await?;
    let report = report(stores, &from, &to).await;
    Ok(if common.json { json(&report)? } else { text(&report, args.top) })
}

async fn snapshot(stores: &Stores, path: &str) -> Result<Snapshot> {
    match find(stores, path).await? {
        Target::Snapshot(directory) => Snapshot::read(stores, directory).await,
        Target::Job { .. } => {
            let text = format!("{path} is a job's directory; name one of its checkpoints");
            Err(Failure::new(UNABLE, text))
        }
        Target::Several(several) => Err(several.failure()),
    }
}

async fn report(stores: &Stores, from: &Snapshot, to: &Snapshot) -> Report {
    let before = Databases::read(stores, from).await;
    let after = Databases::read(stores, to).await;
    let mut notes: Vec<_> = before
        .unknown()
        .chain(after.unknown())
        .map(|failure| format!("table files cannot be told apart: {failure}"))
        .collect();
    notes.sort();
    notes.dedup();
    let changes = compare(
        &Side { snapshot: from, databases: &before },
        &Side { snapshot: to, databases: &after },
    );
    notes.extend(unlike::notes(from, to, &changes));
    Report { from: end(from), to: end(to), changes, notes }
}

fn end(snapshot: &Snapshot) -> End {
    let sizes = snapshot.metadata.sizes();
    End {
        path: snapshot.directory.to_string(),
        checkpoint_id: snapshot.metadata.checkpoint_id,
        kind: snapshot.metadata.kind.map(|kind| kind.name()),
        full: sizes.full,
        new: sizes.new,
    }
}

pub fn reason(why: Why) -> &'static str {
    match why {
        Why::Flush => "new data",
        Why::Compaction => "rewritten by compaction",
        Why::Rescale => "rescaled",
        Why::Restore => "restored",
        Why::FullSnapshot => "full snapshot",
        Why::Again => "the same file again",
        Why::DatabaseFiles => "database files",
        Why::WrittenWhole => "written whole each time",
        Why::Changelog => "changelog",
    }
}

fn text(report: &Report, top: usize) -> String {
    let changes = &report.changes;
    let end = |end: &End| {
        let kind = end.kind.unwrap_or("kind not told");
        format!("{} (checkpoint {}, {kind}, full {})", end.path, end.checkpoint_id, size(end.full))
    };
    let amount = |amount: &crate::changes::Amount| {
        format!("{} in {} files and inline streams", size(amount.bytes), amount.files)
    };
    let mut text = format!(
        "from {}\nto   {}\nuploaded anew {}\nreused        {}\ngone          {}\n",
        end(&report.from),
        end(&report.to),
        amount(&changes.uploaded),
        amount(&changes.reused),
        amount(&changes.gone),
    );
    if let Some(amplification) = changes.write_amplification {
        let _ = writeln!(
            text,
            "write amplification {} (table files uploaded for each byte of new data, of which there are about {})",
            ratio(amplification),
            size(changes.new_data),
        );
    }
    let mut section = |title: &str, table: Table| {
        if !table.is_empty() {
            let _ = write!(text, "\n{title}\n{}", table.text());
        }
    };
    let mut table = Table::new(&["WHY", ">BYTES", ">FILES"], 0);
    for why in &changes.why {
        table.row([reason(why.why).to_owned(), size(why.bytes), why.files.to_string()]);
    }
    section("Why", table);
    let mut table = Table::new(&["OPERATOR", ">SUBTASK", "STATE", "WHY", ">BYTES", ">FILES"], top);
    for part in &changes.parts {
        table.row([
            part.operator.clone(),
            part.subtask.map(|subtask| subtask.to_string()).unwrap_or_default(),
            part.state.clone(),
            reason(part.why).to_owned(),
            size(part.bytes),
            part.files.to_string(),
        ]);
    }
    section("Where", table);
    section("Compactions", compactions(changes, top));
    for note in &report.notes {
        let _ = writeln!(text, "\nnote: {note}");
    }
    text
}

fn compactions(changes: &Changes, top: usize) -> Table {
    let headings =
        ["OPERATOR", ">SUBTASK", "STATE", ">WENT", ">CAME", ">OLD STATE AGAIN", "FILES THAT WENT"];
    let mut table = Table::new(&headings, top);
    for compaction in &changes.compactions {
        table.row([
            compaction.operator.clone(),
            compaction.subtask.to_string(),
            compaction.state.clone(),
            size(compaction.input_bytes as i64),
            size(compaction.output_bytes as i64),
            size(compaction.old_bytes as i64),
            few(&compaction.inputs),
        ]);
    }
    table
}

fn few(names: &[String]) -> String {
    const MOST: usize = 4;
    let shown = names.iter().take(MOST).cloned().collect::<Vec<_>>().join(", ");
    match names.len() {
        0..=MOST => shown,
        more => format!("{shown} and {} more", more - MOST),
    }
}
