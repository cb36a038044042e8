use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use super::*;
use crate::error::Kind;
use crate::runtime::testing::within;

fn root() -> TempDir {
    tempfile::tempdir().expect("a directory")
}

fn fill(directory: &Path) {
    fs::create_dir_all(directory.join("db/deep")).expect("made");
    fs::write(directory.join("db/000001.sst"), "bytes").expect("written");
    fs::write(directory.join("db/deep/LOG"), "bytes").expect("written");
}

#[test]
fn a_live_claim_is_kept_and_a_dropped_one_swept() {
    let root = root();
    let (live, dead) = (root.path().join("live"), root.path().join("dead"));
    let held = claim(&live).expect("claimed");
    let dropped = claim(&dead).expect("claimed");
    fill(&live);
    fill(&dead);
    assert!(sweep(root.path()).expect("swept").is_empty());
    drop(dropped);
    assert_eq!(sweep(root.path()).expect("swept"), std::slice::from_ref(&dead));
    assert!(!dead.exists());
    assert!(live.join("db/000001.sst").exists());
    assert_eq!(held.directory(), live);
    drop(held);
    assert_eq!(sweep(root.path()).expect("swept"), [live]);
}

#[test]
fn a_held_directory_cannot_be_claimed_again() {
    let root = root();
    let directory = root.path().join("mine");
    let held = claim(&directory).expect("claimed");
    let error = claim(&directory).expect_err("held");
    assert_eq!(error.kind, Kind::Invalid);
    assert!(error.text.contains("mine"), "{error}");
    drop(held);
    let again = claim(&directory).expect("free again");
    assert!(sweep(root.path()).expect("swept").is_empty());
    drop(again);
    // One lock file, and nothing else, was ever left by us.
    let names: Vec<_> = fs::read_dir(&directory).expect("listed").flatten().collect();
    assert_eq!(names.len(), 1);
}

#[test]
fn what_is_not_ours_stays() {
    let (root, elsewhere) = (root(), root());
    let theirs = root.path().join("theirs");
    fill(&theirs);
    fs::write(root.path().join("file"), "bytes").expect("written");
    // A lock file that is a directory, or a link, is not ours.
    let odd = root.path().join("odd");
    fs::create_dir_all(odd.join(LOCK_FILE)).expect("made");
    let linked_lock = root.path().join("linked-lock");
    fs::create_dir(&linked_lock).expect("made");
    symlink(elsewhere.path().join("any"), linked_lock.join(LOCK_FILE)).expect("linked");
    // A link to an abandoned directory elsewhere.
    let abandoned = elsewhere.path().join("abandoned");
    drop(claim(&abandoned).expect("claimed"));
    symlink(&abandoned, root.path().join("link")).expect("linked");
    assert!(sweep(root.path()).expect("swept").is_empty());
    for path in [theirs, odd, linked_lock, abandoned] {
        assert!(path.exists(), "{}", path.display());
    }
}

#[test]
fn links_inside_are_deleted_and_not_followed() {
    let (root, elsewhere) = (root(), root());
    fill(elsewhere.path());
    let dead = root.path().join("dead");
    drop(claim(&dead).expect("claimed"));
    symlink(elsewhere.path(), dead.join("link")).expect("linked");
    fs::create_dir(dead.join("sub")).expect("made");
    symlink(elsewhere.path(), dead.join("sub/link")).expect("linked");
    assert_eq!(sweep(root.path()).expect("swept"), [dead]);
    assert!(elsewhere.path().join("db/000001.sst").exists());
}

#[test]
fn a_root_that_is_not_there_has_nothing_to_sweep() {
    assert!(sweep(Path::new("/no/such/root")).expect("swept").is_empty());
}

#[test]
fn an_unusable_directory_is_named() {
    let root = root();
    let file = root.path().join("file");
    fs::write(&file, "bytes").expect("written");
    let error = claim(&file.join("sub")).expect_err("not a directory");
    assert!(error.text.contains("file/sub"), "{error}");
}

/// Not a test of its own: the process that [`the_lock_dies_with_its_process`] kills.
#[test]
fn helper_claims_and_waits() {
    let Some(directory) = std::env::var_os("FERROSTATE_TEST_CLAIM") else { return };
    let _held = claim(Path::new(&directory)).expect("claimed");
    println!("claimed");
    let _ = std::io::stdin().read_line(&mut String::new());
}

#[test]
fn the_lock_dies_with_its_process() {
    within(|| {
        let root = root();
        let directory = root.path().join("theirs");
        let mut child = Command::new(std::env::current_exe().expect("this test"))
            .args(["--exact", "local::tests::helper_claims_and_waits", "--nocapture"])
            .env("FERROSTATE_TEST_CLAIM", &directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("started");
        let output = BufReader::new(child.stdout.take().expect("piped"));
        assert!(output.lines().map_while(std::io::Result::ok).any(|line| line.contains("claimed")));
        fill(&directory);
        assert!(sweep(root.path()).expect("swept").is_empty());
        assert_eq!(claim(&directory).expect_err("held").kind, Kind::Invalid);
        child.kill().expect("killed");
        child.wait().expect("gone");
        assert_eq!(sweep(root.path()).expect("swept"), [directory]);
    });
}

#[test]
fn sweeps_at_the_same_time_as_claims_never_take_a_live_directory() {
    within(|| {
        let root = root();
        std::thread::scope(|scope| {
            for thread in 0..3 {
                let root = root.path();
                scope.spawn(move || {
                    for round in 0..100 {
                        let directory = root.join(format!("{thread}-{round}"));
                        let held = claim(&directory).expect("a name of its own");
                        let file = directory.join("file");
                        fs::write(&file, "bytes").expect("still there");
                        assert!(file.exists());
                        drop(held);
                    }
                });
            }
            for _ in 0..2 {
                let root = root.path();
                scope.spawn(move || {
                    for _ in 0..100 {
                        sweep(root).expect("swept");
                    }
                });
            }
        });
        sweep(root.path()).expect("swept");
        assert_eq!(fs::read_dir(root.path()).expect("listed").count(), 0);
    });
}
