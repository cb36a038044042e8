//! Names in a `_metadata` are a user's: nothing in them steers a terminal, turns text around or forges a line,
//! whatever is printed or written.
mod common;

use std::fs;

use common::left::job;
use common::{run, snapshots, tool};

#[test]
fn names_steer_no_terminal() {
    let job = job("rocksdb-incremental");
    let pair = snapshots(&job.directory);
    // Escape, delete, right-to-left override and a new line, in as many bytes.
    let (from, to) = (b"Counts", "\u{1b}\u{7f}\u{202e}\n".as_bytes());
    for snapshot in &pair {
        let path = snapshot.join("_metadata");
        let mut bytes = fs::read(&path).expect("read");
        let at: Vec<_> = (0..bytes.len() - 6).filter(|at| bytes[*at..].starts_with(from)).collect();
        assert!(!at.is_empty(), "no such name");
        at.iter().for_each(|at| bytes[*at..*at + 6].copy_from_slice(to));
        fs::write(&path, bytes).expect("written");
    }
    fs::write(job.directory.join("shared/\u{1b}[2J\u{9b}\u{2066}\nwhole: all"), b"x")
        .expect("written");
    let page = job.root.path().join("page.html");
    let said = |command: &str, more: &[&str]| {
        let mut tool = tool(job.root.path());
        tool.arg(command).args(more);
        match command {
            "diff" => tool.args(&pair),
            "report" => tool.arg(&job.directory).arg("--out").arg(&page),
            "orphans" => tool.arg(&job.directory).args(["--stopped", "--min-age", "0s"]),
            _ => tool.arg(&job.directory),
        };
        let (out, error, _) = run(&mut tool);
        out + &error
    };
    let harmless = |text: &str, what: &str| {
        let harmful = "\u{1b}\u{7f}\u{9b}\u{202e}\u{2066}";
        let found = text.chars().find(|c| harmful.contains(*c));
        assert_eq!(found, None, "{what}: {text}");
    };
    for command in ["show", "files", "diff", "orphans", "report"] {
        harmless(&said(command, &[]), command);
        let text = said(command, &["--json"]);
        harmless(&text, command);
        serde_json::from_str::<serde_json::Value>(&text).expect("JSON");
    }
    harmless(&fs::read_to_string(&page).expect("the page"), "the page");
    // Who misses a file is named.
    for entry in fs::read_dir(job.directory.join("shared")).expect("a directory") {
        fs::remove_file(entry.expect("an entry").path()).expect("deleted");
    }
    let text = said("verify", &[]);
    harmless(&text, "verify");
    assert!(!text.lines().any(|line| line.starts_with(", subtask")), "{text}");
    harmless(&said("verify", &["--json"]), "verify --json");
}
