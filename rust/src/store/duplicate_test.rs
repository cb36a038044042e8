use std::os::unix::fs::{chown, symlink};

use tempfile::TempDir;

use super::*;

type Link = fn(&Path, &Path) -> io::Result<()>;

fn place() -> TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    fs::write(directory.path().join("source"), "bytes").expect("written");
    directory
}

fn by(place: &TempDir, user: Option<u32>, hard_link: Link) -> Result<()> {
    let (from, to) = (place.path().join("source"), place.path().join("copy"));
    duplicate_by(hard_link, user, &from, 5, &to, &Cancel::new())
}

fn links(path: &Path) -> u64 {
    fs::metadata(path).expect("there").nlink()
}

fn assert_copied_not_linked(place: &TempDir, what: &str) {
    let copy = place.path().join("copy");
    assert_eq!(fs::read(&copy).expect("there"), b"bytes", "{what}");
    assert_eq!(links(&copy), 1, "{what}");
}

fn real(from: &Path, to: &Path) -> io::Result<()> {
    fs::hard_link(from, to)
}

#[test]
fn what_is_ours_is_linked() {
    let place = place();
    by(&place, owner(), real).expect("duplicated");
    assert_eq!(links(&place.path().join("copy")), 2);
}

/// EXDEV (also between mounts of one file system), EMLINK, EPERM, ENOTSUP.
#[test]
fn a_file_system_that_refuses_the_link_copies() {
    let refusals: [Link; 4] = [
        |_, _| Err(io::ErrorKind::CrossesDevices.into()),
        |_, _| Err(io::ErrorKind::TooManyLinks.into()),
        |_, _| Err(io::ErrorKind::PermissionDenied.into()),
        |_, _| Err(io::ErrorKind::Unsupported.into()),
    ];
    for refusal in refusals {
        let place = place();
        by(&place, owner(), refusal).expect("copied");
        assert_copied_not_linked(&place, "refused");
    }
}

/// They could change it or its permissions, and keep us from reading it.
#[test]
fn what_belongs_to_another_user_is_copied_not_linked() {
    let place = place();
    by(&place, owner().map(|ours| ours + 1), real).expect("copied");
    assert_copied_not_linked(&place, "of another user");

    let place = self::place();
    by(&place, None, real).expect("copied");
    assert_copied_not_linked(&place, "the system does not tell");

    let place = self::place();
    if chown(place.path().join("source"), Some(12_345), None).is_ok() {
        let (from, to) = (place.path().join("source"), place.path().join("copy"));
        duplicate(&from, 5, &to, &Cancel::new()).expect("copied");
        assert_copied_not_linked(&place, "owned by another user");
    }
}

/// NFS repeats a call whose answer was lost, and hears that the name exists.
#[test]
fn a_link_that_says_it_exists_though_it_was_made_is_a_success() {
    let place = place();
    by(&place, owner(), |from, to| {
        fs::hard_link(from, to)?;
        Err(io::ErrorKind::AlreadyExists.into())
    })
    .expect("linked");
    assert_eq!(links(&place.path().join("copy")), 2);
}

#[test]
fn an_object_of_that_name_is_not_touched() {
    let place = place();
    let copy = place.path().join("copy");
    fs::write(&copy, "other").expect("written");
    by(&place, owner(), real).expect_err("exists");
    assert_eq!(fs::read(copy).expect("there"), b"other");
}

#[test]
fn a_source_that_changes_hands_before_the_link_is_noticed() {
    let place = place();
    let error = by(&place, owner(), |from, to| {
        fs::rename(from, from.with_extension("old"))?;
        fs::write(from, "other")?;
        fs::hard_link(from, to)
    })
    .expect_err("another file");
    assert!(error.text.contains("another file"), "{error}");
    assert!(!place.path().join("copy").exists());
}

#[test]
fn a_source_that_vanishes_before_the_link_leaves_nothing() {
    let place = place();
    let error = by(&place, owner(), |from, to| {
        fs::remove_file(from)?;
        fs::hard_link(from, to)
    })
    .expect_err("gone");
    assert_eq!(error.kind, Kind::Missing);
    assert!(!place.path().join("copy").exists());
}

#[test]
fn a_symbolic_link_is_not_duplicated() {
    let place = place();
    let source = place.path().join("source");
    fs::rename(&source, place.path().join("file")).expect("renamed");
    symlink(place.path().join("file"), &source).expect("linked");
    assert_eq!(by(&place, owner(), real).expect_err("refused").kind, Kind::Invalid);
    assert!(!place.path().join("copy").exists());
}

/// The local file is as near.
#[test]
fn a28_nothing_is_copied_from_another_file_system() {
    let place = place();
    let Ok(elsewhere) = tempfile::tempdir_in("/dev/shm") else { return };
    let (from, to) = (place.path().join("source"), elsewhere.path().join("copy"));
    let error = duplicate(&from, 5, &to, &Cancel::new()).expect_err("another file system");
    assert!(error.text.contains("another file system"), "{error}");
    assert!(!to.exists());
}
