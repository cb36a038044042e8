use std::io::Write as _;
use std::process::Command;

use super::*;
use crate::checkpoint::{layout, upload};
use crate::runtime::testing::within;

#[test]
fn copies_files_around_the_size_of_a_step() {
    within(|| {
        let directory = tempfile::tempdir().expect("a directory");
        for size in [0, 1, STEP - 1, STEP, STEP + 1] {
            let from = directory.path().join("from");
            let to = directory.path().join(format!("to {size}"));
            let mut file = File::create(&from).expect("created");
            file.write_all(&vec![7; size as usize]).expect("written");
            for durability in [Durability::Synced, Durability::Buffered] {
                let copied = copy_new(&from, &to, durability, &Cancel::new()).expect("copied");
                assert_eq!(copied, size);
                assert!(fs::read(&to).expect("there") == fs::read(&from).expect("there"));
                fs::remove_file(&to).expect("deleted");
            }
        }
    });
}

#[test]
fn a_target_that_cannot_be_made_is_named() {
    within(|| {
        let directory = tempfile::tempdir().expect("a directory");
        let from = directory.path().join("from");
        fs::write(&from, "bytes").expect("written");
        let into_a_file = from.join("to");
        let error = copy_new(&from, &into_a_file, Durability::Synced, &Cancel::new());
        let error = error.expect_err("not a directory");
        assert!(error.text.contains("from/to"), "{error}");
    });
}

/// Not a test of its own: the upload, and the copy of it, that [`a20_files_and_their_directory_are_synced`] watches.
#[test]
fn helper_uploads() {
    let Some(root) = std::env::var_os("FERROSTATE_TEST_UPLOAD") else { return };
    let root = Path::new(&root);
    let names = ["000001.sst".to_string(), "MANIFEST-000002".to_string()];
    let uri = layout::uri(&root.join("made/remote")).expect("a path");
    let mut wanted = names.map(|local_name| upload::Wanted { local_name, copy_of: None });
    let uploaded = upload::upload(&root.join("local"), &wanted, &uri, &Cancel::new());
    for (stored, file) in uploaded.expect("uploaded").keep().into_iter().zip(&mut wanted) {
        println!("object {}", stored.uri);
        file.copy_of = Some(stored.uri);
    }
    let uri = layout::uri(&root.join("made/copies")).expect("a path");
    let copied = upload::upload(&root.join("local"), &wanted, &uri, &Cancel::new());
    for stored in copied.expect("copied").keep() {
        assert!(stored.duplicated);
        println!("copy {}", stored.uri);
    }
}

/// Needs strace; says so where there is none.
#[test]
fn a20_files_and_their_directory_are_synced() {
    within(|| {
        let root = tempfile::tempdir().expect("a directory");
        fs::create_dir(root.path().join("local")).expect("made");
        for name in ["000001.sst", "MANIFEST-000002"] {
            fs::write(root.path().join("local").join(name), "bytes").expect("written");
        }
        let log = root.path().join("calls");
        let output = Command::new("strace")
            .args(["-f", "-y", "-e", "trace=fsync,copy_file_range,unlink,link,linkat", "-o"])
            .arg(&log)
            .arg(std::env::current_exe().expect("this test"))
            .args(["--exact", "store::copy::tests::helper_uploads", "--nocapture"])
            .env("FERROSTATE_TEST_UPLOAD", root.path())
            .output();
        let Ok(calls) = fs::read_to_string(&log) else {
            eprintln!("not checked: strace does not run here ({output:?})");
            return;
        };
        let printed = String::from_utf8(output.expect("ran").stdout).expect("UTF-8");
        let objects = printed.split_whitespace().filter(|word| word.starts_with("file:"));
        let mut objects: Vec<_> =
            objects.map(|uri| layout::local_path(uri).expect("ours")).collect();
        assert_eq!(objects.len(), 4, "{printed}");
        let copies = objects.split_off(2);
        let synced = |path: &Path| {
            let shown = format!("<{}>", path.display());
            calls.lines().position(|call| call.contains("fsync(") && call.contains(&shown))
        };
        synced(root.path()).expect("the directory that got the directories made for the upload");
        synced(&root.path().join("made")).expect("the one between");
        let directory = synced(&root.path().join("made/remote")).expect("the directory");
        for object in &objects {
            assert!(synced(object).expect("the file") < directory, "names after bytes");
        }
        // Whoever wrote the source may not have synced it.
        let names = synced(&root.path().join("made/copies")).expect("the directory of the copies");
        for (object, copy) in objects.iter().zip(&copies) {
            let line = |wanted: &[&str]| {
                calls.lines().position(|call| wanted.iter().all(|part| call.contains(part)))
            };
            let linked = line(&["link", &copy.display().to_string()]).expect("a link");
            let again = calls.lines().take(linked).filter(|call| {
                call.contains("fsync(") && call.contains(&format!("<{}>", object.display()))
            });
            assert_eq!(again.count(), 2, "once uploaded, once before the link");
            assert!(linked < names, "names after bytes");
        }
        assert!(!calls.contains("unlink("), "{calls}");
    });
}
