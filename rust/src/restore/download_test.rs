use std::os::unix::fs::MetadataExt as _;
use std::sync::mpsc::channel;
use std::sync::Mutex as StdMutex;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::*;
use crate::error::Kind;
use crate::runtime::testing::within;
use crate::store::fault::{Fault, Faulty};

/// Objects in two directories, as shared/ and chk-N are, and a local directory not made yet.
struct Setting {
    root: TempDir,
    wanted: Vec<Wanted>,
}

fn setting() -> Setting {
    let root = tempfile::Builder::new().prefix("a b").tempdir().expect("a directory");
    let mut wanted = Vec::new();
    for (n, (directory, local_name)) in [
        ("shared", "000001.sst"),
        ("shared", "000002.sst"),
        ("chk-3", "CURRENT"),
        ("chk-3", "MANIFEST-000004"),
        ("shared", "000005.sst"),
    ]
    .into_iter()
    .enumerate()
    {
        let directory = root.path().join(directory);
        fs::create_dir_all(&directory).expect("made");
        let object = directory.join(layout::new_object_name());
        let size = 10 + 100 * n;
        fs::write(&object, vec![n as u8; size]).expect("written");
        let uri = layout::uri(&object).expect("a path");
        wanted.push(Wanted { uri, size: size as u64, local_name: local_name.to_string() });
    }
    Setting { root, wanted }
}

impl Setting {
    fn local(&self) -> PathBuf {
        self.root.path().join("local/db")
    }

    fn object(&self, n: usize) -> PathBuf {
        layout::local_path(&self.wanted[n].uri).expect("ours")
    }

    fn download(&self) -> Result<()> {
        download(&self.wanted, &self.local(), &Cancel::new())
    }

    /// The n-th directory's store has the fault; the other one has none.
    fn faulty(&self, fault: Fault, cancel: &Cancel) -> Result<()> {
        let fault = StdMutex::new(Some(fault));
        let open = |uri: &str| {
            let store = store::open(uri)?;
            let fault = fault.lock().expect("no panic").take();
            Ok(fault.map_or(Arc::clone(&store), |fault| Faulty::wrap(store, fault)))
        };
        download_from(&open, &self.wanted, &self.local(), cancel)
    }
}

#[test]
fn links_ssts_and_copies_the_rest() {
    within(|| {
        let setting = setting();
        setting.download().expect("downloaded");
        for (n, wanted) in setting.wanted.iter().enumerate() {
            let (object, local) = (setting.object(n), setting.local().join(&wanted.local_name));
            assert_eq!(fs::read(&local).expect("there"), fs::read(&object).expect("there"));
            let inode = |path: &Path| fs::metadata(path).expect("there").ino();
            let linked = inode(&local) == inode(&object);
            assert_eq!(linked, wanted.local_name.ends_with(".sst"), "{}", wanted.local_name);
        }
    });
}

#[test]
fn a_missing_object_is_named_and_nothing_is_left() {
    within(|| {
        let setting = setting();
        for n in 0..setting.wanted.len() {
            let object = setting.object(n);
            let aside = object.with_extension("aside");
            fs::rename(&object, &aside).expect("moved");
            let error = setting.download().expect_err("missing");
            assert_eq!(error.kind, Kind::Missing, "{error}");
            let wanted = &setting.wanted[n];
            for part in [&wanted.uri, &wanted.local_name, &wanted.size.to_string()] {
                assert!(error.text.contains(part.as_str()), "{error}");
            }
            assert!(!setting.local().exists());
            fs::rename(&aside, &object).expect("moved back");
        }
    });
}

#[test]
fn a_short_object_is_named_with_both_sizes() {
    within(|| {
        let mut setting = setting();
        for n in 0..setting.wanted.len() {
            setting.wanted[n].size += 7;
            let error = setting.download().expect_err("short");
            assert_eq!(error.kind, Kind::Missing, "{error}");
            let wanted = &setting.wanted[n];
            let both = format!("should have {} bytes and has {}", wanted.size, wanted.size - 7);
            assert!(error.text.contains(&both) && error.text.contains(&wanted.uri), "{error}");
            assert!(!setting.local().exists());
            setting.wanted[n].size -= 7;
        }
    });
}

#[test]
fn a_missing_directory_is_missing_objects() {
    within(|| {
        let setting = setting();
        fs::remove_dir_all(setting.root.path().join("chk-3")).expect("deleted");
        let error = setting.download().expect_err("missing");
        assert_eq!(error.kind, Kind::Missing, "{error}");
        assert!(error.text.contains(&setting.wanted[2].uri), "{error}");
    });
}

#[test]
fn a_failure_or_panic_at_any_file_leaves_nothing() {
    within(|| {
        let setting = setting();
        let faults: [fn(usize) -> Fault; 3] = [Fault::Refuse, Fault::LoseAnswer, Fault::Panic];
        for k in 0..2 {
            for fault in faults {
                setting.faulty(fault(k), &Cancel::new()).expect_err("injected");
                assert!(!setting.local().exists(), "{:?}", fault(k));
            }
            let cancel = Cancel::new();
            let error = setting.faulty(Fault::CancelAt(k, cancel.clone()), &cancel);
            assert_eq!(error.expect_err("cancelled").kind, Kind::Cancelled);
            assert!(!setting.local().exists());
        }
        setting.download().expect("nothing in the way");
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
        let fault = Fault::Hang(StdMutex::new(began));
        let error = setting.faulty(fault, &cancel).expect_err("cancelled");
        let since = trigger.join().expect("no panic").elapsed();
        assert_eq!(error.kind, Kind::Cancelled);
        assert!(since < Duration::from_secs(1), "{since:?}");
        assert!(!setting.local().exists());
    });
}

#[test]
fn what_was_in_the_directory_stays() {
    within(|| {
        let setting = setting();
        fs::create_dir_all(setting.local()).expect("made");
        let theirs = setting.local().join("000002.sst");
        fs::write(&theirs, "theirs").expect("written");
        let error = setting.download().expect_err("in the way");
        assert_eq!(error.kind, Kind::Invalid, "{error}");
        assert_eq!(fs::read(&theirs).expect("there"), b"theirs");
        assert_eq!(fs::read_dir(setting.local()).expect("listed").count(), 1);
        fs::remove_file(theirs).expect("deleted");
        fs::remove_file(setting.object(0)).expect("deleted");
        setting.download().expect_err("missing");
        assert!(setting.local().exists(), "the directory was there before");
        assert_eq!(fs::read_dir(setting.local()).expect("listed").count(), 0);
    });
}

#[test]
fn names_that_lead_elsewhere_or_come_twice_are_refused() {
    within(|| {
        let mut setting = setting();
        setting.wanted[0].local_name = "../escaped.sst".into();
        assert_eq!(setting.download().expect_err("refused").kind, Kind::Invalid);
        setting.wanted[0].local_name = setting.wanted[1].local_name.clone();
        setting.download().expect_err("twice");
        assert!(!setting.local().exists());
    });
}
