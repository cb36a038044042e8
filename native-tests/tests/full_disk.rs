//! A full local disk: the write that meets it fails with a kind and a path, and what was there before
//! is still readable. Needs root for a small tmpfs; elsewhere it says so and checks nothing.
use ferrostate::config::Config;
use ferrostate::db::Db;
use ferrostate::state::State;
use ferrostate::Kind;
use std::path::Path;
use std::process::Command;

/// A mount that goes with the value.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn mount(size: &str) -> Option<Self> {
        let dir = tempfile::tempdir().expect("temp dir");
        let options = format!("size={size}");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", options.as_str(), "tmpfs"])
            .arg(dir.path())
            .output()
            .is_ok_and(|out| out.status.success());
        mounted.then_some(Self(dir))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: RocksDB's threads may still hold a file for a moment.
        let _ = Command::new("umount").arg("-l").arg(self.path()).status();
    }
}

#[test]
fn a_full_disk_is_an_error_of_its_own_kind_that_names_the_path() {
    let Some(disk) = SmallDisk::mount("24m") else {
        eprintln!("not checked: mounting a tmpfs needs root");
        return;
    };
    let config = Config::parse([("writebuffer.size", "1048576"), ("compression.per.level", "NO")])
        .expect("config");
    let path = disk.path().join("db");
    let state =
        State::open(&Db::open(&path, &config, None).expect("open"), "counts").expect("state");
    state.put(b"first", b"kept").expect("there is room");
    let value = [7u8; 10_000];
    let error = (0u32..100_000)
        .find_map(|key| state.put(&key.to_be_bytes(), &value).err())
        .expect("the disk fills long before");
    assert_eq!(error.kind, Kind::Full, "{error}");
    assert!(error.text.contains("'counts'"), "names the state: {error}");
    assert!(error.text.contains(&*disk.path().to_string_lossy()), "names the path: {error}");
    assert_eq!(state.get(b"first").expect("reads go on").as_deref(), Some(&b"kept"[..]));
}
