//! What every implementation of `Store` must do, run against each.
use std::fs;
use std::path::Path;
use std::sync::Arc;

use tempfile::TempDir;

use super::fault::{Fault, Faulty};
use super::limit::Limited;
use super::local::LocalStore;
use super::{Bring, Store};
use crate::cancel::Cancel;
use crate::checkpoint::layout;
use crate::error::Kind;
use crate::runtime::block_on;
use crate::runtime::testing::within;

/// Larger than one step of a copy.
const LARGE: usize = (32 << 20) + 12_345;

struct Place {
    local: TempDir,
    // Kept: it is deleted when dropped.
    remote: TempDir,
    store: Arc<dyn Store>,
}

impl Place {
    fn file(&self, name: &str, bytes: &[u8]) -> std::path::PathBuf {
        let path = self.local.path().join(name);
        fs::write(&path, bytes).expect("written");
        path
    }

    fn names(&self) -> Vec<String> {
        block_on(self.store.list()).expect("a runtime").expect("listed")
    }
}

fn place(remote: TempDir, wrap: &dyn Fn(LocalStore) -> Arc<dyn Store>) -> Place {
    let uri = layout::uri(remote.path()).expect("a path");
    let store = wrap(LocalStore::open(&uri, remote.path()).expect("a store"));
    Place { local: tempfile::tempdir().expect("a directory"), remote, store }
}

fn run(check: fn(&Place)) {
    within(move || {
        let plain = |store| -> Arc<dyn Store> { Arc::new(store) };
        let limited = |store| -> Arc<dyn Store> { Arc::new(Limited::new(store)) };
        let faulty = |store| Faulty::wrap(Arc::new(store), Fault::Refuse(usize::MAX));
        let wraps: [&dyn Fn(LocalStore) -> Arc<dyn Store>; 3] = [&plain, &limited, &faulty];
        for wrap in wraps {
            check(&place(odd_directory(), wrap));
        }
    });
}

/// With what URIs escape in its name.
fn odd_directory() -> TempDir {
    tempfile::Builder::new().prefix("a b%20#ä+").tempdir().expect("a directory")
}

fn wait<T>(work: impl std::future::Future<Output = T>) -> T {
    block_on(work).expect("a runtime")
}

#[test]
fn what_is_put_is_got() {
    run(|place| {
        let cancel = Cancel::new();
        let bytes: Vec<u8> = (0..LARGE).map(|n| (n % 251) as u8).collect();
        for (name, bytes) in [("empty", &bytes[..0]), ("small", &bytes[..7]), ("large", &bytes)] {
            let from = place.file(name, bytes);
            let written = wait(place.store.put(&from, name, &cancel)).expect("put");
            assert_eq!(written, bytes.len() as u64);
            for how in [Bring::Copy, Bring::Link] {
                let to = place.local.path().join(format!("{name} {how:?}"));
                wait(place.store.get(name, written, &to, how, &cancel)).expect("got");
                assert!(fs::read(&to).expect("read") == *bytes);
            }
        }
        wait(place.store.settle()).expect("durable");
        assert_eq!(place.names(), ["empty", "large", "small"]);
    });
}

#[test]
fn an_object_is_never_overwritten() {
    run(|place| {
        let cancel = Cancel::new();
        let (old, new) = (place.file("old", b"old"), place.file("new", b"newer"));
        wait(place.store.put(&old, "object", &cancel)).expect("put");
        wait(place.store.put(&new, "object", &cancel)).expect_err("exists");
        let to = place.local.path().join("back");
        wait(place.store.get("object", 3, &to, Bring::Copy, &cancel)).expect("still the old one");
        wait(place.store.get("object", 3, &to, Bring::Copy, &cancel)).expect_err("exists");
        wait(place.store.get("object", 3, &to, Bring::Link, &cancel)).expect_err("exists");
        assert_eq!(fs::read(&to).expect("read"), b"old");
    });
}

#[test]
fn a_size_that_differs_is_an_error_and_leaves_nothing() {
    run(|place| {
        let cancel = Cancel::new();
        let from = place.file("file", b"four");
        wait(place.store.put(&from, "object", &cancel)).expect("put");
        let to = place.local.path().join("back");
        for how in [Bring::Copy, Bring::Link] {
            for (name, size, kind) in [
                ("object", 5, Kind::Missing),
                ("object", 3, Kind::Corrupted),
                ("no", 4, Kind::Missing),
            ] {
                let error =
                    wait(place.store.get(name, size, &to, how, &cancel)).expect_err("wrong");
                assert_eq!(error.kind, kind, "{error}");
                assert!(error.text.contains(name), "{error}");
                assert!(!to.exists());
            }
        }
    });
}

#[test]
fn a_cancelled_call_leaves_nothing() {
    run(|place| {
        let cancel = Cancel::new();
        let from = place.file("file", b"four");
        wait(place.store.put(&from, "before", &cancel)).expect("put");
        cancel.trigger();
        let error = wait(place.store.put(&from, "object", &cancel)).expect_err("cancelled");
        assert_eq!(error.kind, Kind::Cancelled);
        assert_eq!(place.names(), ["before"]);
        let to = place.local.path().join("back");
        let error =
            wait(place.store.get("before", 4, &to, Bring::Copy, &cancel)).expect_err("cancelled");
        assert_eq!(error.kind, Kind::Cancelled);
        assert!(!to.exists());
    });
}

#[test]
fn a11_deleting_what_is_gone_is_a_success() {
    run(|place| {
        let from = place.file("file", b"four");
        wait(place.store.put(&from, "object", &Cancel::new())).expect("put");
        for _ in 0..2 {
            wait(place.store.delete("object")).expect("deleted");
        }
        assert!(place.names().is_empty());
    });
}

#[test]
fn names_do_not_lead_out_of_the_directory() {
    run(|place| {
        let (cancel, from) = (Cancel::new(), place.file("file", b"four"));
        for name in ["../x", "..", "", "a/b"] {
            let error = wait(place.store.put(&from, name, &cancel)).expect_err("refused");
            assert_eq!(error.kind, Kind::Invalid);
            assert!(wait(place.store.delete(name)).is_err());
            assert!(wait(place.store.get(name, 4, &from, Bring::Copy, &cancel)).is_err());
        }
    });
}

#[test]
fn errors_name_what_is_missing() {
    run(|place| {
        let absent = place.local.path().join("absent.sst");
        let error = wait(place.store.put(&absent, "object", &Cancel::new())).expect_err("absent");
        assert_eq!(error.kind, Kind::Missing);
        assert!(error.text.contains("absent.sst"), "{error}");
        assert!(place.names().is_empty());
    });
    let error = super::open("file:/no/such/directory").expect_err("absent");
    assert_eq!(error.kind, Kind::Missing);
    assert!(error.text.contains("/no/such/directory"), "{error}");
    assert_eq!(super::open("s3://bucket/a").expect_err("not reached").kind, Kind::Invalid);
}

#[cfg(target_os = "linux")]
#[test]
fn a28_links_on_one_file_system_and_copies_to_another() {
    use std::os::unix::fs::MetadataExt as _;
    run(|place| {
        let cancel = Cancel::new();
        let from = place.file("file", b"four");
        wait(place.store.put(&from, "object", &cancel)).expect("put");
        let inode = |path: &Path| fs::metadata(path).expect("there").ino();
        let to = place.local.path().join("linked");
        wait(place.store.get("object", 4, &to, Bring::Link, &cancel)).expect("got");
        assert_eq!(inode(&to), inode(&place.remote.path().join("object")));

        let Ok(elsewhere) = tempfile::tempdir_in("/dev/shm") else { return };
        let to = elsewhere.path().join("copied");
        wait(place.store.get("object", 4, &to, Bring::Link, &cancel)).expect("got");
        assert_eq!(fs::read(&to).expect("read"), b"four");
    });
}

#[test]
fn a_symbolic_link_in_the_store_is_copied() {
    run(|place| {
        let from = place.file("file", b"four");
        std::os::unix::fs::symlink(&from, place.remote.path().join("object")).expect("linked");
        let to = place.local.path().join("back");
        wait(place.store.get("object", 4, &to, Bring::Link, &Cancel::new())).expect("got");
        assert!(fs::symlink_metadata(&to).expect("there").is_file());
    });
}

#[test]
fn a_duplicate_outlives_its_source_and_the_other_way_round() {
    run(|place| {
        let cancel = Cancel::new();
        let from = place.file("file", b"four");
        wait(place.store.put(&from, "object", &cancel)).expect("put");
        let source = layout::object_uri(place.store.uri(), "object");
        for name in ["one", "two"] {
            wait(place.store.duplicate(&source, 4, name, &cancel)).expect("duplicated");
        }
        wait(place.store.settle()).expect("durable");
        assert_eq!(place.names(), ["object", "one", "two"]);
        wait(place.store.delete("two")).expect("deleted");
        wait(place.store.delete("object")).expect("deleted");
        let to = place.local.path().join("back");
        wait(place.store.get("one", 4, &to, Bring::Copy, &cancel)).expect("got");
        assert_eq!(fs::read(&to).expect("read"), b"four");
    });
}

#[test]
fn a_duplicate_that_fails_leaves_nothing() {
    run(|place| {
        let cancel = Cancel::new();
        let from = place.file("file", b"four");
        for name in ["object", "taken"] {
            wait(place.store.put(&from, name, &cancel)).expect("put");
        }
        let source = layout::object_uri(place.store.uri(), "object");
        let absent = layout::object_uri(place.store.uri(), "absent");
        for (source, size, name, kind) in [
            (&source, 5, "new", Kind::Missing),
            (&source, 3, "new", Kind::Corrupted),
            (&absent, 4, "new", Kind::Missing),
            (&source, 4, "taken", Kind::Io),
            (&source, 4, "../new", Kind::Invalid),
            (&"s3://bucket/object".to_string(), 4, "new", Kind::Invalid),
            (&layout::uri(place.remote.path()).expect("a path"), 4, "new", Kind::Invalid),
        ] {
            let result = wait(place.store.duplicate(source, size, name, &cancel));
            let error = result.expect_err("refused");
            assert_eq!(error.kind, kind, "{error}");
            assert_eq!(place.names(), ["object", "taken"]);
        }
        cancel.trigger();
        let result = wait(place.store.duplicate(&source, 4, "new", &cancel));
        assert_eq!(result.expect_err("cancelled").kind, Kind::Cancelled);
        assert_eq!(place.names(), ["object", "taken"]);
    });
}
