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

fn wanted(names: &[String]) -> Vec<Wanted> {
    names.iter().map(|name| Wanted { local_name: name.clone(), copy_of: None }).collect()
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
        upload_to(&store, self.local.path(), &wanted(&self.names), &self.uri, cancel)
    }

    /// Without anything that goes wrong.
    fn plain(&self, cancel: &Cancel) -> Uploaded {
        upload(self.local.path(), &wanted(&self.names), &self.uri, cancel).expect("uploaded")
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
            let objects = setting.plain(&cancel).keep();
            assert_eq!(objects.len(), FILES);
            for (name, stored) in setting.names.iter().zip(&objects) {
                assert!(!stored.duplicated);
                let object = layout::local_path(&stored.uri).expect("ours");
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
        assert!(uploaded.objects().is_empty());
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
        let uploaded = setting.plain(&Cancel::new());
        assert_eq!(setting.objects().len(), FILES + 1);
        // One is gone behind our back: no reason to stop (A11).
        let gone = layout::local_path(&uploaded.objects()[3].uri).expect("ours");
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
        let error =
            upload(setting.local.path(), &wanted(&names), &setting.uri, &cancel).expect_err("file");
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
        let uploaded = upload(setting.local.path(), &wanted(&setting.names), &target, &cancel);
        assert_eq!(uploaded.expect("made").objects().len(), FILES);
        // "theirs" is a file.
        let target = format!("{}/theirs/chk-7", setting.uri);
        let error = upload(setting.local.path(), &wanted(&setting.names), &target, &cancel);
        assert!(error.expect_err("not a directory").text.contains("theirs/chk-7"));
    });
}

// ---- copies of what the store has already ----

/// The same files, and where a first upload put them.
fn copies(setting: &Setting) -> Vec<Wanted> {
    let first = setting.plain(&Cancel::new()).keep();
    let pairs = setting.names.iter().zip(first);
    let wanted = |(name, stored): (&String, Stored)| Wanted {
        local_name: name.clone(),
        copy_of: Some(stored.uri),
    };
    pairs.map(wanted).collect()
}

fn copy_with(
    setting: &Setting,
    wanted: &[Wanted],
    fault: Fault,
    cancel: &Cancel,
) -> Result<Uploaded> {
    let store = Faulty::wrap(setting.store(), fault);
    upload_to(&store, setting.local.path(), wanted, &setting.uri, cancel)
}

fn assert_whole(setting: &Setting, objects: &[Stored]) {
    assert_eq!(objects.len(), FILES);
    for (n, stored) in objects.iter().enumerate() {
        let object = layout::local_path(&stored.uri).expect("ours");
        assert_eq!(fs::read(object).expect("there"), vec![n as u8; 100 * n]);
    }
    let mut uris: Vec<_> = objects.iter().map(|stored| &stored.uri).collect();
    uris.sort();
    uris.dedup();
    assert_eq!(uris.len(), FILES, "each its own");
    assert_eq!(objects.iter().filter(|stored| stored.uri.starts_with(&setting.uri)).count(), FILES);
}

#[test]
fn what_the_store_has_is_copied_and_each_outlives_the_other() {
    within(|| {
        let setting = setting();
        let wanted = copies(&setting);
        let copied = copy_with(&setting, &wanted, Fault::Refuse(usize::MAX), &Cancel::new());
        let copied = copied.expect("copied").keep();
        assert!(copied.iter().all(|stored| stored.duplicated));
        for source in wanted.iter().filter_map(|one| one.copy_of.as_ref()) {
            fs::remove_file(layout::local_path(source).expect("ours")).expect("deleted");
        }
        assert_whole(&setting, &copied);
    });
}

/// A checkpoint's owner may delete it at any time, also while it is copied.
#[test]
fn sources_that_are_gone_are_uploaded_instead() {
    within(|| {
        let setting = setting();
        let wanted = copies(&setting);
        for (n, one) in wanted.iter().enumerate() {
            let source = layout::local_path(one.copy_of.as_ref().expect("one")).expect("ours");
            match n % 4 {
                0 => fs::remove_file(source).expect("deleted"),
                1 => fs::write(source, "of another size").expect("written"),
                2 => {
                    fs::remove_file(&source).expect("deleted");
                    fs::create_dir(source).expect("made");
                }
                _ => {}
            }
        }
        let before = setting.objects().len();
        let fault = Fault::Refuse(usize::MAX);
        let objects = copy_with(&setting, &wanted, fault, &Cancel::new()).expect("stored").keep();
        assert_whole(&setting, &objects);
        let duplicated: Vec<_> = objects.iter().map(|stored| stored.duplicated).collect();
        assert_eq!(duplicated, (0..FILES).map(|n| n % 4 == 3).collect::<Vec<_>>());
        assert_eq!(setting.objects().len(), before + FILES);
    });
}

#[test]
fn a_copy_that_fails_at_any_file_is_an_upload_and_leaves_nothing() {
    within(|| {
        let faults: [fn(usize) -> Fault; 2] = [Fault::Refuse, Fault::LoseAnswer];
        for k in 0..FILES {
            for fault in faults {
                let setting = setting();
                let wanted = copies(&setting);
                let before = setting.objects().len();
                let what = format!("{:?}", fault(k));
                let stored = copy_with(&setting, &wanted, fault(k), &Cancel::new());
                let objects = stored.expect(&what).keep();
                assert_whole(&setting, &objects);
                assert_eq!(objects.iter().filter(|one| !one.duplicated).count(), 1, "{what}");
                assert_eq!(setting.objects().len(), before + FILES, "{what}");
            }
        }
    });
}

#[test]
fn a_copy_that_cannot_be_deleted_fails_no_checkpoint() {
    within(|| {
        let setting = setting();
        let wanted = copies(&setting);
        let stored = copy_with(&setting, &wanted, Fault::Stuck(3), &Cancel::new());
        assert_whole(&setting, &stored.expect("stored").keep());
    });
}

#[test]
fn a_cancel_while_copying_leaves_the_directory_as_it_was() {
    within(|| {
        let setting = setting();
        let wanted = copies(&setting);
        let before = setting.objects();
        for k in 0..FILES {
            let cancel = Cancel::new();
            let fault = Fault::CancelAt(k, cancel.clone());
            let error = copy_with(&setting, &wanted, fault, &cancel).expect_err("cancelled");
            assert_eq!(error.kind, Kind::Cancelled, "{error}");
            assert_eq!(setting.objects(), before, "cancel at {k}");
        }
    });
}

#[test]
fn copies_that_are_not_kept_are_deleted_and_their_sources_stay() {
    within(|| {
        let setting = setting();
        let wanted = copies(&setting);
        let before = setting.objects();
        let fault = Fault::Refuse(usize::MAX);
        drop(copy_with(&setting, &wanted, fault, &Cancel::new()).expect("copied"));
        assert_eq!(setting.objects(), before);
        copy_with(&setting, &wanted, Fault::Settle, &Cancel::new()).expect_err("not durable");
        assert_eq!(setting.objects(), before);
    });
}
