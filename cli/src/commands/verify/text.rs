//! How `verify` says what it found, to people.
use super::Report;
use crate::render::{plain, size};

pub fn of(report: &Report) -> String {
    let mut lines = Vec::new();
    for snapshot in &report.snapshots {
        let deep = match (snapshot.table_files, snapshot.blocks) {
            (Some(files), Some(blocks)) => format!("; {blocks} blocks of {files} table files read"),
            _ => "; sizes compared, --deep reads the contents".to_owned(),
        };
        let files = format!("{} files, {}{deep}", snapshot.files, size(snapshot.bytes as i64));
        match snapshot.findings.len() {
            0 => lines.push(format!("whole: {} ({files})", snapshot.path)),
            1 => lines.push(format!("NOT WHOLE: {} ({files}; 1 finding)", snapshot.path)),
            many => lines.push(format!("NOT WHOLE: {} ({files}; {many} findings)", snapshot.path)),
        }
        for finding in &snapshot.findings {
            lines.push(format!("  {}: {}", finding.path, finding.what));
            lines.extend(finding.owners.iter().map(|owner| format!("    of {owner}")));
        }
        lines.extend(snapshot.hint.iter().map(|hint| format!("  {hint}")));
    }
    let incomplete = report.incomplete.iter();
    lines.extend(incomplete.map(|path| format!("no _metadata: {path}, in flight or left over")));
    // A name that ends a line could say that all is whole.
    lines.iter().map(|line| plain(line) + "\n").collect()
}
