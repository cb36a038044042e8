//! How `orphans` says what it found, to people.
use super::{Report, SparedFiles};
use crate::leftovers::Spared;
use crate::render::{count, size, Table};

pub fn of(report: &Report) -> String {
    let prefix = format!("{}/", report.job);
    let below = |path: &str| path.strip_prefix(&prefix).unwrap_or(path).to_owned();
    let mut text = format!("{}\n", report.job);
    let mut table = Table::new(&[">AGE", ">SIZE", "PATH"], 0);
    for orphan in &report.orphans {
        table.row([age(orphan.age_seconds), size(orphan.size as i64), below(&orphan.path)]);
    }
    if !table.is_empty() {
        text += &table.text();
    }
    let mut table = Table::new(&[">AGE", ">SIZE", "OPEN MULTIPART UPLOAD TO", "ID"], 0);
    for upload in &report.uploads {
        let bytes = size(upload.size as i64);
        table.row([age(upload.age_seconds), bytes, below(&upload.path), upload.id.clone()]);
    }
    if !table.is_empty() {
        text += &table.text();
    }
    text += &format!("{}, {}", count(report.files, "orphan"), size(report.bytes as i64));
    if !report.uploads.is_empty() {
        let uploads = count(report.uploads.len() as u64, "open upload");
        text += &format!(", {uploads}, {}", size(report.upload_bytes as i64));
    }
    text += &format!(
        "; {}; {} checkpoints and savepoints were read\n",
        cost(report),
        report.snapshots.len()
    );
    for (spared, what) in [(&report.spared, "file"), (&report.spared_uploads, "open upload")] {
        for spared in spared {
            text += &format!("not listed: {}\n", kept(spared, what));
        }
    }
    for note in &report.notes {
        text += &format!("note: {note}\n");
    }
    text + &ended(report)
}

fn ended(report: &Report) -> String {
    let Some(done) = &report.deleted else {
        let some = !report.orphans.is_empty() || !report.uploads.is_empty();
        return if some { "nothing was deleted (--delete does)\n" } else { "" }.to_owned();
    };
    let mut text = format!(
        "deleted {} of {} planned, {}; journal: {}\n",
        done.deleted,
        done.planned,
        size(done.bytes as i64),
        done.journal,
    );
    if done.planned_uploads > 0 {
        text += &format!(
            "ended {} of {} planned\n",
            done.aborted,
            count(done.planned_uploads, "open upload")
        );
    }
    for failed in &done.failed {
        text += &format!("failed: {failed}\n");
    }
    text
}

/// What orphans cost, with its basis.
pub fn cost(report: &Report) -> String {
    let currency = &report.currency;
    format!("about {:.2} {currency} a month at {} {currency} a GiB", report.per_month, report.price)
}

fn kept(spared: &SparedFiles, what: &str) -> String {
    let text = format!(
        "{}, {}, {}",
        count(spared.files, what),
        size(spared.bytes as i64),
        reason(spared.why)
    );
    match until(spared) {
        Some(until) => format!("{text}: {until}"),
        None => text,
    }
}

/// When what is too young now is old enough.
pub fn until(spared: &SparedFiles) -> Option<String> {
    let (first, all) = (spared.first_in_seconds?, spared.all_in_seconds?);
    Some(match spared.files {
        1 => format!("old enough in {}", age(all)),
        _ => format!("the first is old enough in {}, all in {}", age(first), age(all)),
    })
}

/// Why a file is not listed.
pub fn reason(why: Spared) -> &'static str {
    match why {
        Spared::Young => "referred to by nothing, younger than --min-age",
        Spared::InFlight => "perhaps of a checkpoint in flight",
        Spared::TaskOwned => "in taskowned/ and younger than a day",
        Spared::Merging => "in directories of file merging",
        Spared::Unknown => "in no directory that Flink writes checkpoints to",
    }
}

pub fn age(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    }
}
