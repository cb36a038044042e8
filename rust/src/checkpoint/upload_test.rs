use std::fs;
use std::sync::mpsc::channel;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::*;
use crate::error::Kind;
use crate::runtime::testing::within;
use crate::store::fault::{Fault, Faulty};
use crate::store::local::LocalStore;

const FILES: usize = 20;

/// A local checkpoint, and a store with an object of somebody else's.
struct Setting {
    local: TempDir,
    remote: TempDir,
    uri: String,
    names: Vec<String>,
}

fn setting() -> Setting {
    let (local, remote) = (tempfile::tempdir().expect("one"), tempfile::tempdir().expect("two"));
    let names: Vec<_> = (0..FILES).map(|n| format!("{n:06}.sst")).collect();
    for (n, name) in names.iter().enumerate() {
        fs::write(local.path().join(name), vec![n as u8; 100 * n]).expect("written");
    }
    fs::write(remote.path().join("theirs"), "theirs").expect("written");
    let uri = layout::uri(remote.path()).expect("a path");
    Setting { local, remote, uri, names }
}

impl Setting {
    fn store(&self) -> Arc<dyn Store> {
        Arc::new(LocalStore::open(&self.uri, self.remote.path()).expect("a store"))
    }

    fn objects(&self) -> Vec<String> {
        let entries = fs::read_dir(self.remote.path()).expect("listed");
        let mut names: Vec<_> = entries
            .map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"))
            .collect();
        names.sort();
        names
    }

    fn upload(&self, fault: Fault, cancel: &Cancel) -> Result<Uploaded> {
        let store = Faulty::wrap(self.store(), fault);
        upload_to(&store, self.local.path(), &self.names, &self.uri, cancel)
    }

    fn assert_untouched(&self, what: &str) {
        assert_eq!(self.objects(), ["theirs"], "{what}");
    }
}

#[test]
fn writes_every_file_under_a_name_of_its_own_in_the_order_asked() {
    within(|| {
        let setting = setting();
        let cancel = Cancel::new();
        for round in 1..=2 {
            let uris = upload(setting.local.path(), &setting.names, &setting.uri, &cancel)
                .expect("uploaded")
                .keep();
            assert_eq!(uris.len(), FILES);
            for (name, uri) in setting.names.iter().zip(&uris) {
                let object = layout::local_path(uri).expect("ours");
                assert_eq!(object.parent(), Some(setting.remote.path()));
                let local = setting.local.path().join(name);
                assert_eq!(fs::read(object).expect("there"), fs::read(local).expect("there"));
            }
            assert_eq!(setting.objects().len(), round * FILES + 1);
        }
    });
}

#[test]
fn nothing_to_upload_is_a_success() {
    within(|| {
        let setting = setting();
        let uploaded =
            upload(setting.local.path(), &[], &setting.uri, &Cancel::new()).expect("uploaded");
        assert!(uploaded.uris().is_empty());
    });
}

#[test]
fn a01_a_failure_at_any_file_leaves_the_directory_as_it_was() {
    within(|| {
        let setting = setting();
        let faults: [fn(usize) -> Fault; 3] = [Fault::Refuse, Fault::LoseAnswer, Fault::Panic];
        for k in 0..FILES {
            for fault in faults {
                let what = format!("{:?}", fault(k));
                let error = setting.upload(fault(k), &Cancel::new()).expect_err("injected");
                let kind = if what.starts_with("Panic") { Kind::Panic } else { Kind::Io };
                assert_eq!(error.kind, kind, "{error}");
                assert!(error.text.contains(&setting.uri), "{error}");
                assert!(error.text.contains("injected"), "{error}");
                assert!(error.text.contains("whatever it wrote was deleted"), "{error}");
                setting.assert_untouched(&what);
            }
        }
    });
}

#[test]
fn names_that_cannot_be_made_durable_are_a_failure() {
    within(|| {
        let setting = setting();
        setting.upload(Fault::Settle, &Cancel::new()).expect_err("injected");
        setting.assert_untouched("settle");
    });
}

#[test]
fn a_cancel_at_any_file_leaves_the_directory_as_it_was() {
    within(|| {
        let setting = setting();
        for k in 0..FILES {
            let cancel = Cancel::new();
            let error =
                setting.upload(Fault::CancelAt(k, cancel.clone()), &cancel).expect_err("cancelled");
            assert_eq!(error.kind, Kind::Cancelled, "{error}");
            setting.assert_untouched(&format!("cancel at {k}"));
        }
    });
}

#[test]
fn a29_a_cancel_ends_transfers_that_hang() {
    within(|| {
        let setting = setting();
        let cancel = Cancel::new();
        let (began, begun) = channel();
        let trigger = {
            let cancel = cancel.clone();
            std::thread::spawn(move || {
                begun.recv().expect("a transfer began");
                cancel.trigger();
                Instant::now()
            })
        };
        let error = setting.upload(Fault::Hang(Mutex::new(began)), &cancel).expect_err("cancelled");
        let since = trigger.join().expect("no panic").elapsed();
        assert_eq!(error.kind, Kind::Cancelled, "{error}");
        assert!(since < Duration::from_secs(1), "{since:?}");
        setting.assert_untouched("hang");
    });
}

#[test]
fn what_is_not_kept_is_deleted() {
    within(|| {
        let setting = setting();
        let uploaded = upload(setting.local.path(), &setting.names, &setting.uri, &Cancel::new())
            .expect("uploaded");
        assert_eq!(setting.objects().len(), FILES + 1);
        // One is gone behind our back: no reason to stop (A11).
        let gone = layout::local_path(&uploaded.uris()[3]).expect("ours");
        fs::remove_file(gone).expect("deleted");
        drop(uploaded);
        setting.assert_untouched("dropped");
    });
}

#[test]
fn objects_that_cannot_be_deleted_are_named() {
    within(|| {
        let setting = setting();
        let error = setting.upload(Fault::Stuck(FILES - 1), &Cancel::new()).expect_err("injected");
        assert!(error.text.contains("could not delete"), "{error}");
        for object in setting.objects().iter().filter(|object| *object != "theirs") {
            assert!(error.text.contains(&layout::object_uri(&setting.uri, object)), "{object}");
        }
    });
}

#[test]
fn a_file_that_is_not_there_is_named() {
    within(|| {
        let setting = setting();
        let cancel = Cancel::new();
        let names = ["absent.sst".to_string()];
        let error = upload(setting.local.path(), &names, &setting.uri, &cancel).expect_err("file");
        assert_eq!(error.kind, Kind::Missing);
        assert!(error.text.contains("absent.sst"), "{error}");
        setting.assert_untouched("missing");
    });
}

#[test]
fn a_directory_that_is_not_there_is_made_or_named() {
    within(|| {
        let setting = setting();
        let cancel = Cancel::new();
        let target = format!("{}/chk-7", setting.uri);
        let uploaded = upload(setting.local.path(), &setting.names, &target, &cancel);
        assert_eq!(uploaded.expect("made").uris().len(), FILES);
        // "theirs" is a file.
        let target = format!("{}/theirs/chk-7", setting.uri);
        let error = upload(setting.local.path(), &setting.names, &target, &cancel);
        assert!(error.expect_err("not a directory").text.contains("theirs/chk-7"));
    });
}
