//! `report`: one page that loads nothing, says what the commands say, and shows names as text.
mod common;

use std::fs;

use common::{copied, latest, run, tool};

fn page(kind: &str, leave: bool) -> String {
    let (root, _) = copied(kind);
    let job = latest(root.path(), kind).parent().expect("a job").to_owned();
    if leave {
        fs::write(job.join("notes"), b"left").expect("written");
        fs::write(job.join("shared/young"), b"young").expect("written");
    }
    let out = root.path().join("page.html");
    let (said, error, code) = run(tool(root.path()).arg("report").arg(&job).arg("--out").arg(&out));
    assert_eq!((said.trim(), code), (out.to_str().expect("UTF-8"), 0), "{error}");
    fs::read_to_string(out).expect("the page")
}

#[test]
fn the_page_loads_nothing_and_runs_nothing() {
    for kind in ["ferrostate", "hashmap", "rocksdb-changelog", "rocksdb-merging", "unaligned"] {
        let page = page(kind, false);
        for never in ["http", "<script", "src=", "@import", "url(", "<link", "<img"] {
            assert!(!page.contains(never), "{kind}: {never}");
        }
        let links =
            page.match_indices("href=\"").filter(|(at, _)| !page[at + 6..].starts_with('#'));
        assert_eq!(links.count(), 0, "{kind}");
        for opened in ["section", "svg", "table", "details", "figure", "span", "ul", "dl", "div"] {
            let begins = page.matches(&format!("<{opened}>")).count()
                + page.matches(&format!("<{opened} ")).count();
            assert_eq!(begins, page.matches(&format!("</{opened}>")).count(), "{kind}: {opened}");
        }
        // A figure's parts can be reached and say what they are.
        let reached = page.matches("tabindex=0 role=img aria-label=\"").count();
        assert!(reached > 3 && reached == page.matches("<title>").count() - 1, "{kind}: {reached}");
        let tiles = page.matches("<input type=radio name=\"Bytes by ").count();
        assert!(tiles > 3 && tiles == page.matches("<input").count(), "{kind}: {tiles}");
    }
}

#[test]
fn the_page_says_what_there_is() {
    let page = page("ferrostate", true);
    for said in [
        "prefers-color-scheme:dark",
        "Counts, _timer_state/event_user-timers: 28.99 KiB",
        "chk-4, new: 110.02 KiB",
        "chk-3 to chk-4, rewritten by compaction: 15.86 KiB",
        "Counts: 1.05",
        "Not listed: 1 file, 4 B, in no directory that Flink writes checkpoints to.",
        "0 files, 0 B, about 0.00 USD a month at 0.023 USD a GiB, that none of 2 checkpoints",
        "0 files; 1 file, 5 B too young to tell",
        "<td>by none, younger: perhaps of a checkpoint in flight</td><td class=n>1</td><td class=n>5 B</td>",
        "Bytes in shared/ by operator",
        "Deleting it frees",
    ] {
        assert!(page.contains(said), "{said}");
    }
}

#[test]
fn without_checkpoints_there_is_no_page() {
    let root = tempfile::tempdir().expect("a directory");
    let out = root.path().join("page.html");
    let (_, error, code) =
        run(tool(root.path()).arg("report").arg(root.path()).arg("--out").arg(&out));
    assert!(code == 2 && !out.exists(), "{error}");
}
