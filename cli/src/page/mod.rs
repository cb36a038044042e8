//! One HTML page about a job's checkpoints: no script, no network; light and dark; every figure has its
//! numbers as text beside it and can be reached with the keyboard.
mod bars;
mod shared;
mod treemap;
mod words;

use std::fmt::Write;

use crate::commands::diff::reason;
use crate::commands::orphans::{age, cost, reason as spared, until};
use crate::commands::report::Contents;
use crate::leftovers::Spared;
use crate::render::{count, ratio, size};
use crate::sizes::OperatorSizes;
use bars::{Bar, Row};
use words::{date, escape};

const STYLE: &str = include_str!("style.css");

/// Rows of a table that may be without end.
const MOST: usize = 500;

pub fn html(contents: &Contents) -> String {
    let sections = [
        ("overview", "Overview", overview(contents)),
        ("checkpoints", "Retained checkpoints", checkpoints(contents)),
        ("state", "Who holds the state", state(contents)),
        ("uploads", "What was uploaded anew, and why", uploads(contents)),
        ("skew", "Skew", skew(contents)),
        ("shared", "What lies in shared/", shared::section(contents.shared.as_ref())),
        ("orphans", "Orphans", orphans(contents)),
    ];
    let mut navigation = String::new();
    let mut main = String::new();
    for (id, title, body) in &sections {
        let _ = write!(navigation, "<li><a href=\"#{id}\">{title}</a></li>");
        let _ = writeln!(main, "<section id=\"{id}\"><h2>{title}</h2>{body}</section>");
    }
    let title = format!("Checkpoints of {}", escape(&contents.job));
    let notes: String =
        contents.notes.iter().map(|note| format!("<p class=note>{}</p>", escape(note))).collect();
    format!(
        "<!doctype html>\n<html lang=en><head><meta charset=utf-8>\
         <meta name=viewport content=\"width=device-width, initial-scale=1\">\
         <meta name=color-scheme content=\"light dark\"><title>{title}</title>\
         <style>{STYLE}</style></head><body>\n<a class=skip href=\"#overview\">To the contents</a>\
         <header><h1>{title}</h1><p>ferrostate {version}, {made} UTC</p></header>\n\
         <nav aria-label=Sections><ul>{navigation}</ul></nav>\n<main>{notes}{main}</main></body></html>\n",
        version = env!("CARGO_PKG_VERSION"),
        made = date(contents.made),
    )
}

fn overview(contents: &Contents) -> String {
    let latest = &contents.latest;
    let orphans = contents.orphans.as_ref();
    let card = |name: &str, value: String, more: String| {
        format!("<div class=card><dt>{name}</dt><dd>{value}<small>{more}</small></dd></div>")
    };
    let amplification = contents.steps.last().and_then(|step| step.changes.write_amplification);
    let kind = latest.kind.unwrap_or("checkpoint");
    let mut cards = vec![
        card(
            "Newest",
            format!("chk-{}", latest.checkpoint_id),
            format!("{kind}, version {}", latest.version),
        ),
        card("Full size", size(latest.full), count(latest.files as u64, "file")),
        card("New in it", size(latest.new), format!("{} inline", size(latest.inline))),
    ];
    if let Some(amplification) = amplification {
        let more = "table files uploaded for each byte of new data".to_owned();
        cards.push(card("Write amplification", ratio(amplification), more));
    }
    if let Some(orphans) = orphans {
        let mut more = count(orphans.files, "file");
        if !orphans.uploads.is_empty() {
            let uploads = count(orphans.uploads.len() as u64, "open upload");
            more += &format!("; {uploads}, {}", size(orphans.upload_bytes as i64));
        }
        if let Some(young) = orphans.spared.iter().find(|spared| spared.why == Spared::Young) {
            let files = count(young.files, "file");
            more += &format!("; {files}, {} too young to tell", size(young.bytes as i64));
        }
        cards.push(card("Orphans", size(orphans.bytes as i64), more));
    }
    format!("<dl class=cards>{}</dl>", cards.concat())
}

fn table(headings: &[&str], rows: &[Vec<String>]) -> String {
    let mut html =
        String::from("<div class=scroll tabindex=0 role=group aria-label=Table><table><thead><tr>");
    for heading in headings {
        let class = if heading.starts_with('>') { " class=n" } else { "" };
        let _ =
            write!(html, "<th scope=col{class}>{}</th>", escape(heading.trim_start_matches('>')));
    }
    html += "</tr></thead><tbody>";
    for row in rows.iter().take(MOST) {
        html += "<tr>";
        for (cell, heading) in row.iter().zip(headings) {
            let class = if heading.starts_with('>') { " class=n" } else { "" };
            let _ = write!(html, "<td{class}>{}</td>", escape(cell));
        }
        html += "</tr>";
    }
    html += "</tbody></table></div>";
    if rows.len() > MOST {
        let _ = write!(html, "<p>... and {} more</p>", rows.len() - MOST);
    }
    html
}

fn details(summary: &str, body: &str) -> String {
    format!("<details><summary>{summary}</summary>{body}</details>")
}

fn checkpoints(contents: &Contents) -> String {
    let rows: Vec<_> = contents
        .checkpoints
        .iter()
        .map(|checkpoint| Row {
            label: format!("chk-{}", checkpoint.id),
            note: date(checkpoint.written),
            bars: vec![Bar::new("full", checkpoint.full, 0), Bar::new("new", checkpoint.new, 1)],
        })
        .collect();
    let numbers: Vec<_> = contents
        .checkpoints
        .iter()
        .map(|checkpoint| {
            vec![
                format!("chk-{}", checkpoint.id),
                checkpoint.kind.unwrap_or_default().to_owned(),
                date(checkpoint.written),
                size(checkpoint.full),
                size(checkpoint.new),
                checkpoint.files.to_string(),
            ]
        })
        .collect();
    let headings = ["Checkpoint", "Kind", "Written (UTC)", ">Full", ">New", ">Files"];
    bars::beside("Full and new bytes of each checkpoint", &rows)
        + &details("Numbers", &table(&headings, &numbers))
}

fn state(contents: &Contents) -> String {
    let operators = &contents.latest.operators;
    let mut numbers = Vec::new();
    for operator in operators {
        for state in &operator.states {
            numbers.push((
                state.full,
                vec![
                    operator.label().to_owned(),
                    state.name.clone(),
                    state.kind.clone().unwrap_or_default(),
                    size(state.full),
                    state.files.to_string(),
                    state.subtasks.to_string(),
                ],
            ));
        }
    }
    numbers.sort_by_key(|(full, _)| std::cmp::Reverse(*full));
    let numbers: Vec<_> = numbers.into_iter().map(|(_, row)| row).collect();
    let headings = ["Operator", "State", "Kind", ">Full", ">Files", ">Subtasks"];
    let subtasks: Vec<_> = operators
        .iter()
        .flat_map(|operator| {
            operator.subtasks.iter().map(|subtask| {
                vec![
                    operator.label().to_owned(),
                    subtask.index.to_string(),
                    subtask.key_groups.clone().unwrap_or_default(),
                    size(subtask.full),
                    size(subtask.new),
                    subtask.backend.unwrap_or_default().to_owned(),
                ]
            })
        })
        .collect();
    let of_subtasks = ["Operator", ">Subtask", "Key groups", ">Full", ">New", "Backend"];
    format!(
        "{}{}{}{}",
        treemap::of(
            "Bytes by operator and state",
            &groups(operators, |operator| {
                operator.states.iter().map(|state| (state.name.clone(), state.full)).collect()
            })
        ),
        treemap::of(
            "Bytes by operator and subtask",
            &groups(operators, |operator| {
                let subtasks = operator.subtasks.iter();
                subtasks
                    .map(|subtask| (format!("subtask {}", subtask.index), subtask.full))
                    .collect()
            })
        ),
        details("States", &table(&headings, &numbers)),
        details("Subtasks", &table(&of_subtasks, &subtasks)),
    )
}

fn groups(
    operators: &[OperatorSizes],
    parts: impl Fn(&OperatorSizes) -> Vec<(String, i64)>,
) -> Vec<treemap::Group> {
    let group = |operator: &OperatorSizes| treemap::Group {
        name: operator.label().to_owned(),
        parts: parts(operator),
    };
    operators.iter().map(group).collect()
}

fn uploads(contents: &Contents) -> String {
    if contents.steps.is_empty() {
        return "<p>There is one checkpoint, and nothing to compare it with.</p>".to_owned();
    }
    let mut kinds: Vec<_> =
        contents.steps.iter().flat_map(|step| &step.changes.why).map(|why| why.why).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let rows: Vec<_> = contents
        .steps
        .iter()
        .map(|step| {
            let bytes = |kind| {
                let found = step.changes.why.iter().find(|why| why.why == kind);
                found.map_or(0, |why| why.bytes)
            };
            let bars = kinds.iter().enumerate();
            Row {
                label: format!("chk-{} to chk-{}", step.from, step.to),
                note: size(step.changes.uploaded.bytes),
                bars: bars.map(|(at, kind)| Bar::new(reason(*kind), bytes(*kind), at)).collect(),
            }
        })
        .collect();
    let numbers: Vec<_> = contents
        .steps
        .iter()
        .flat_map(|step| {
            step.changes.parts.iter().map(move |part| {
                vec![
                    format!("chk-{}", step.to),
                    part.operator.clone(),
                    part.subtask.map(|subtask| subtask.to_string()).unwrap_or_default(),
                    part.state.clone(),
                    reason(part.why).to_owned(),
                    size(part.bytes),
                ]
            })
        })
        .collect();
    let headings = ["Checkpoint", "Operator", ">Subtask", "State", "Why", ">Bytes"];
    let compactions: Vec<_> = contents
        .steps
        .iter()
        .flat_map(|step| {
            step.changes.compactions.iter().map(move |compaction| {
                vec![
                    format!("chk-{}", step.to),
                    compaction.operator.clone(),
                    compaction.subtask.to_string(),
                    compaction.state.clone(),
                    size(compaction.input_bytes as i64),
                    size(compaction.output_bytes as i64),
                    size(compaction.old_bytes as i64),
                ]
            })
        })
        .collect();
    let of_compactions =
        ["Checkpoint", "Operator", ">Subtask", "State", ">Went", ">Came", ">Old state again"];
    bars::stacked("Bytes uploaded from checkpoint to checkpoint, by reason", &rows)
        + &details("Where", &table(&headings, &numbers))
        + &details(
            "Old state that compaction uploaded again",
            &table(&of_compactions, &compactions),
        )
}

fn skew(contents: &Contents) -> String {
    let operators = contents.latest.operators.iter();
    let skewed: Vec<_> = operators.filter(|operator| operator.skew.is_some()).collect();
    if skewed.is_empty() {
        return "<p>No operator has state in more than one subtask.</p>".to_owned();
    }
    let mut html = String::from(
        "<p>The largest subtask in sizes of the median one: 1 is even, and the slowest subtask decides.</p>",
    );
    for operator in skewed {
        let mut subtasks: Vec<_> = operator.subtasks.iter().collect();
        subtasks.sort_by_key(|subtask| std::cmp::Reverse(subtask.full));
        let rows: Vec<_> = subtasks
            .into_iter()
            .take(16)
            .map(|subtask| Row {
                label: format!("subtask {}", subtask.index),
                note: subtask
                    .key_groups
                    .clone()
                    .map(|groups| format!("key groups {groups}"))
                    .unwrap_or_default(),
                bars: vec![Bar::new("full", subtask.full, 0)],
            })
            .collect();
        let skew = ratio(operator.skew.unwrap_or_default());
        let title = format!("{}: {skew}", escape(operator.label()));
        let chart = bars::beside(&format!("Largest subtasks of {}", operator.label()), &rows);
        let _ = write!(html, "<h3>{title}</h3>{chart}");
    }
    html
}

fn orphans(contents: &Contents) -> String {
    let Some(report) = &contents.orphans else {
        return "<p>They were not looked for.</p>".to_owned();
    };
    let prefix = format!("{}/", report.job);
    let rows: Vec<_> = report
        .orphans
        .iter()
        .map(|orphan| {
            let path = orphan.path.strip_prefix(&prefix).unwrap_or(&orphan.path);
            vec![age(orphan.age_seconds), size(orphan.size as i64), path.to_owned()]
        })
        .collect();
    let mut html = format!(
        "<p>{}, {}, {}, that none of {} checkpoints and savepoints refers to.</p>",
        count(report.files, "file"),
        size(report.bytes as i64),
        escape(&cost(report)),
        report.snapshots.len(),
    );
    if !rows.is_empty() {
        html += &table(&[">Age", ">Size", "Path"], &rows);
    }
    if !report.uploads.is_empty() {
        let uploads = count(report.uploads.len() as u64, "multipart upload");
        let bytes = size(report.upload_bytes as i64);
        let _ = write!(html, "<p>{uploads}, {bytes}, that were never completed.</p>");
    }
    for note in &report.notes {
        let _ = write!(html, "<p class=note>{}</p>", escape(note));
    }
    for kept in &report.spared {
        let bytes = size(kept.bytes as i64);
        let files = count(kept.files, "file");
        let until = until(kept).map(|until| format!(": {until}")).unwrap_or_default();
        let _ = write!(html, "<p>Not listed: {files}, {bytes}, {}{until}.</p>", spared(kept.why));
    }
    html
}

#[cfg(test)]
#[path = "page_test.rs"]
mod tests;
