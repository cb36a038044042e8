//! How `files` says what it found, to people.
use super::Listing;
use crate::render::{size, Table};
use crate::store::Location;

pub fn of(listing: &Listing, home: &Location) -> String {
    let headings = [
        ">SIZE",
        "SCOPE",
        ">SINCE",
        "OPERATOR",
        ">SUBTASK",
        "STATE",
        ">LEVEL",
        "KEY GROUPS",
        "LOCAL",
        "PATH",
    ];
    let mut table = Table::new(&headings, 0);
    let home = format!("{home}/");
    for file in &listing.files {
        for (at, owner) in file.owners.iter().enumerate() {
            let first = |text: String| if at == 0 { text } else { String::new() };
            table.row([
                first(size(file.size as i64)),
                first(file.scope.to_owned()),
                first(file.since.to_string()),
                owner.operator.clone(),
                owner.subtask.map(|subtask| subtask.to_string()).unwrap_or_default(),
                owner.state.clone(),
                owner.level.map(|level| level.to_string()).unwrap_or_default(),
                owner.key_groups.clone().unwrap_or_default(),
                owner.local.clone().unwrap_or_default(),
                first(file.path.strip_prefix(&home).unwrap_or(&file.path).to_owned()),
            ]);
        }
    }
    let sum: u64 = listing.files.iter().map(|file| file.size).sum();
    let ids: Vec<_> = listing.checkpoints.iter().map(i64::to_string).collect();
    let home = home.trim_end_matches('/');
    format!(
        "{home}\ncheckpoints {}: {} files, {}\n\n{}",
        ids.join(", "),
        listing.files.len(),
        size(sum as i64),
        table.text(),
    )
}
