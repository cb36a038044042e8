//! `verify`: whole checkpoints are whole; whatever is missing, short or damaged has its exit code and name.
mod common;

use std::fs;
use std::path::{Path, PathBuf};

use ferrostate_formats::metadata::{
    write, Incremental, KeyGroupRange, Keyed, LocalFile, Metadata, Operator, OperatorId, Stream,
    Subtask, SubtaskState,
};

use common::{copied, fixtures, json, latest, run, snapshots, tool, WRITTEN_AT};

/// Exit code and what is said.
fn verify(root: &Path, path: &Path, deep: bool) -> (i32, String) {
    let mut command = tool(root);
    command.arg("verify").arg(path);
    if deep {
        command.arg("--deep");
    }
    let (out, error, code) = run(&mut command);
    (code, out + &error)
}

#[test]
fn what_flink_wrote_is_whole() {
    let fixtures = fixtures();
    for snapshot in snapshots(&fixtures) {
        let (code, said) = verify(&fixtures, &snapshot, true);
        assert_eq!(code, 0, "{said}");
        assert!(said.starts_with("whole: "), "{said}");
    }
}

/// A copy of the kind: its root, the newest snapshot, and its table files.
fn damaged(kind: &str) -> (tempfile::TempDir, PathBuf, Vec<PathBuf>) {
    let (root, _) = copied(kind);
    let snapshot = latest(root.path(), kind);
    let listed = json(tool(root.path()).arg("files").arg(&snapshot));
    let mut tables = Vec::new();
    for file in listed["files"].as_array().expect("files") {
        let local = file["owners"][0]["local"].as_str().unwrap_or_default();
        if local.ends_with(".sst") {
            tables.push(PathBuf::from(file["path"].as_str().expect("a path")));
        }
    }
    (root, snapshot, tables)
}

/// A directory with many more files than are looked for is not listed to its end.
#[test]
fn files_among_many_others_are_found() {
    let (root, snapshot, tables) = damaged("rocksdb-incremental");
    let shared = tables[0].parent().expect("a directory");
    for other in 0..3000 {
        fs::write(shared.join(format!("{other}")), b"").expect("written");
    }
    let (code, said) = verify(root.path(), &snapshot, false);
    assert_eq!(code, 0, "{said}");
    fs::remove_file(&tables[0]).expect("deleted");
    let (code, said) = verify(root.path(), &snapshot, false);
    assert!(code == 3 && said.matches("missing").count() == 1, "{code}: {said}");
}

#[test]
fn a_missing_or_short_file_is_3() {
    let (root, snapshot, tables) = damaged("rocksdb-incremental");
    fs::remove_file(&tables[0]).expect("deleted");
    let bytes = fs::read(&tables[1]).expect("read");
    fs::write(&tables[1], &bytes[..bytes.len() - 1]).expect("written");
    for deep in [false, true] {
        let (code, said) = verify(root.path(), &snapshot, deep);
        assert_eq!(code, 3, "{said}");
        for (table, what) in [(&tables[0], "missing"), (&tables[1], "short: ")] {
            assert!(said.contains(&format!("{}: {what}", table.display())), "{said}");
        }
        assert!(said.contains("of Counts, subtask") && said.contains("2 findings"), "{said}");
        assert!(said.contains(", state "), "{said}");
        assert!(!said.contains("hint: "), "{said}");
    }
    // The job's other checkpoint may have them too; the worst decides.
    let (code, _) = verify(root.path(), snapshot.parent().expect("a job"), false);
    assert_eq!(code, 3);
}

#[test]
fn a_file_that_grew_is_4() {
    let (root, snapshot, tables) = damaged("rocksdb-incremental");
    let mut bytes = fs::read(&tables[0]).expect("read");
    bytes.push(0);
    fs::write(&tables[0], bytes).expect("written");
    let (code, said) = verify(root.path(), &snapshot, false);
    assert_eq!(code, 4, "{said}");
    assert!(said.contains("long: "), "{said}");
}

/// Every byte of a table file is under a checksum, but for padding in the footer that RocksDB ignores too.
#[test]
fn a_changed_bit_in_a_table_file_is_4() {
    for kind in ["rocksdb-incremental", "ferrostate", "rocksdb-native"] {
        let (root, snapshot, tables) = damaged(kind);
        let good = fs::read(&tables[0]).expect("read");
        let footer = good.len() - 53;
        let mut places: Vec<usize> = (0..footer).step_by(footer / 24).collect();
        places.extend([footer, footer + 1, footer + 2, footer + 41, footer + 45, footer + 52]);
        for at in places {
            let mut bytes = good.clone();
            bytes[at] ^= 0x40;
            fs::write(&tables[0], bytes).expect("written");
            let (code, said) = verify(root.path(), &snapshot, true);
            assert_eq!(code, 4, "{kind}, byte {at} of {}: {said}", good.len());
            assert!(said.contains(&format!("{}: byte ", tables[0].display())), "{said}");
        }
    }
}

#[test]
fn a_changed_bit_anywhere_in_the_footer_is_4() {
    let (root, snapshot, tables) = damaged("rocksdb-incremental");
    let good = fs::read(&tables[0]).expect("read");
    for at in good.len() - 53..good.len() {
        let mut bytes = good.clone();
        bytes[at] ^= 1 << (at % 8);
        fs::write(&tables[0], bytes).expect("written");
        let (code, said) = verify(root.path(), &snapshot, true);
        assert_eq!(code, 4, "byte {at} of {}: {said}", good.len());
    }
}

#[test]
fn a_manifest_that_says_something_else_is_4() {
    let (root, snapshot, _) = damaged("rocksdb-full");
    let listed = json(tool(root.path()).arg("files").arg(&snapshot));
    let files = listed["files"].as_array().expect("files");
    let of = |name: &str| {
        let named = |file: &&serde_json::Value| {
            file["owners"][0]["local"].as_str().is_some_and(|local| local.starts_with(name))
        };
        PathBuf::from(files.iter().find(named).expect("there")["path"].as_str().expect("a path"))
    };
    let manifest = of("MANIFEST");
    let good = fs::read(&manifest).expect("read");
    let mut bytes = good.clone();
    bytes[40] ^= 1;
    fs::write(&manifest, bytes).expect("written");
    let (code, said) = verify(root.path(), &snapshot, true);
    assert_eq!(code, 4, "{said}");
    assert!(said.contains("MANIFEST-") && said.contains("checksum"), "{said}");
    // Its size is right, so that only --deep sees it.
    assert_eq!(verify(root.path(), &snapshot, false).0, 0);
    fs::write(&manifest, good).expect("written");

    fs::write(of("CURRENT"), b"MANIFEST-999999\n").expect("written");
    let (code, said) = verify(root.path(), &snapshot, true);
    assert!(code == 3 && said.contains("has no MANIFEST-999999"), "{code} {said}");
}

#[test]
fn without_metadata_is_2() {
    let (root, snapshot, _) = damaged("rocksdb-incremental");
    let job = snapshot.parent().expect("a job").to_owned();
    let nowhere = root.path().join("nowhere");
    assert_eq!(verify(root.path(), &nowhere, false).0, 2);
    fs::remove_file(snapshot.join("_metadata")).expect("deleted");
    assert_eq!(verify(root.path(), &snapshot, false).0, 2);
    // The job still has another one.
    let (code, said) = verify(root.path(), &job, false);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains(&format!("no _metadata: {}", snapshot.display())), "{said}");
    for snapshot in snapshots(&job) {
        fs::remove_file(snapshot.join("_metadata")).expect("deleted");
    }
    assert_eq!(verify(root.path(), &job, false).0, 2);
}

#[test]
fn damaged_metadata_is_4_with_byte_and_field() {
    let (root, snapshot, _) = damaged("hashmap");
    let path = snapshot.join("_metadata");
    let good = fs::read(&path).expect("read");
    for cut in [3, 20, good.len() / 2, good.len() - 1] {
        fs::write(&path, &good[..cut]).expect("written");
        let (code, said) = verify(root.path(), &snapshot, false);
        assert_eq!(code, 4, "{said}");
        assert!(said.contains("_metadata: byte "), "{said}");
        let (_, error, code) = run(tool(root.path()).arg("show").arg(&snapshot));
        assert!(code == 4 && error.contains("_metadata: byte "), "{error}");
    }
}

/// Without --map the absolute paths lead to where Flink wrote them.
#[test]
fn absolute_paths_are_followed() {
    let copy = copied("rocksdb-incremental");
    let snapshot = latest(copy.0.path(), "rocksdb-incremental");
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_ferrostate"));
    let found = json(command.arg("files").arg(&snapshot));
    let elsewhere = found["files"].as_array().expect("files").iter();
    let path = |file: &serde_json::Value| file["path"].as_str().unwrap_or_default().to_owned();
    assert!(elsewhere.map(path).any(|path| path.starts_with(WRITTEN_AT)));
}

/// A checkpoint of three shared files, of which two lie in the directory of the job it was restored from.
fn with_absolute_paths(root: &Path) -> PathBuf {
    let paths = ["job/shared/a", "restored/shared/b", "restored/shared/c"];
    let shared = paths.map(|path| {
        let path = root.join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("made");
        fs::write(&path, b"state").expect("written");
        let path = format!("file:{}", path.display());
        LocalFile { name: "000012.sst".to_owned(), stream: Stream::File { path, size: 5 } }
    });
    let incremental = Incremental {
        checkpoint_id: 7,
        backend: "backend".into(),
        range: KeyGroupRange { start: 0, count: 128 },
        checkpointed_size: None,
        meta: None,
        shared: shared.into(),
        private: Vec::new(),
    };
    let managed_keyed = Some(Keyed::Incremental(Box::new(incremental)));
    let state = SubtaskState { managed_keyed, ..SubtaskState::default() };
    let operator = Operator {
        name: Some("Counts".into()),
        uid: None,
        id: OperatorId([7; 16]),
        parallelism: 1,
        max_parallelism: 128,
        coordinator: None,
        subtasks: Some(vec![Subtask { index: 0, state: Some(Box::new(state)) }]),
    };
    let metadata = Metadata {
        version: 6,
        checkpoint_id: 7,
        master_states: Vec::new(),
        operators: vec![operator],
        kind: None,
    };
    let snapshot = root.join("job/chk-7");
    fs::create_dir_all(&snapshot).expect("made");
    fs::write(snapshot.join("_metadata"), write::bytes(&metadata)).expect("written");
    snapshot
}

/// What was moved is found, and what is to be given said.
#[test]
fn a_moved_directory_is_told() {
    let root = tempfile::tempdir().expect("a directory");
    let [old, new] = ["old", "new"].map(|name| root.path().join(name));
    let verify = |path: &Path, map: &str| {
        let mut tool = std::process::Command::new(env!("CARGO_BIN_EXE_ferrostate"));
        tool.arg("verify").arg(path);
        if !map.is_empty() {
            tool.args(["--map", map]);
        }
        let (out, error, code) = run(&mut tool);
        (code, out + &error)
    };
    let snapshot = with_absolute_paths(&old);
    assert_eq!(verify(&snapshot, "").0, 0);
    fs::rename(&old, &new).expect("moved");
    let snapshot = new.join("job/chk-7");
    let (code, said) = verify(&snapshot, "");
    assert_eq!(code, 3, "{said}");
    let (_, map) = said.split_once("Add --map ").expect("a hint");
    assert_eq!(map.trim(), format!("{}={}", old.display(), new.display()));
    assert_eq!(verify(&snapshot, map.trim()).0, 0);
    // Some other mapping was given.
    let (_, said) = verify(&snapshot, "/a=/b");
    assert!(said.contains("does --map say where they are now?"), "{said}");
    // Where they are nowhere, nothing is made up; where only some are missing, nothing was moved.
    fs::remove_file(new.join("job/shared/a")).expect("deleted");
    let (code, said) = verify(&snapshot, "");
    assert!(code == 3 && said.contains("=<directory>"), "{said}");
    let (code, said) = verify(&snapshot, map.trim());
    assert!(code == 3 && !said.contains("hint: "), "{said}");
}

/// Whole is what was looked at: the originals, unless the user says otherwise.
#[test]
fn a_copy_beside_its_original_is_told() {
    let root = tempfile::tempdir().expect("a directory");
    let [old, copy] = ["old", "copy"].map(|name| root.path().join(name));
    let snapshot = with_absolute_paths(&old);
    let copied = with_absolute_paths(&copy);
    fs::copy(snapshot.join("_metadata"), copied.join("_metadata")).expect("copied");
    let verify = |map: &[String]| {
        let mut tool = std::process::Command::new(env!("CARGO_BIN_EXE_ferrostate"));
        run(tool.arg("verify").arg(&copied).args(map))
    };
    let (said, _, code) = verify(&[]);
    let map = format!("--map {}={}", old.display(), copy.display());
    assert!(code == 0 && said.contains(&map), "{said}");
    fs::remove_file(copy.join("job/shared/a")).expect("deleted");
    let (said, _, code) =
        verify(&["--map".into(), format!("{}={}", old.display(), copy.display())]);
    assert_eq!(code, 3, "{said}");
    // A slip of the pen does not end as if it had been looked at.
    let (said, error, code) = verify(&["--map".into(), "/odl=/copy".into()]);
    assert!(code == 64 && error.contains("--map /odl"), "{said}{error}");
}

#[test]
fn a_wrong_command_line_is_64() {
    for wrong in [&["show"][..], &["verify", "--nope", "x"], &["show", "x", "--option", "novalue"]]
    {
        let (_, error, code) = run(tool(&fixtures()).args(wrong));
        assert_eq!(code, 64, "{error}");
    }
    for right in
        [&["--help"][..], &["show", "--help"], &["--version"], &["man"], &["completions", "zsh"]]
    {
        let (out, _, code) = run(tool(&fixtures()).args(right));
        assert!(code == 0 && !out.is_empty(), "{right:?}");
    }
    for command in ["show", "files", "diff", "verify", "orphans", "report", "completions", "man"] {
        let (out, _, _) = run(tool(&fixtures()).args([command, "--help"]));
        assert!(out.contains("Example: ferrostate "), "{out}");
    }
}
