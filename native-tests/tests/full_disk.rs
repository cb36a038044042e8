//! A full local disk: the write that meets it fails with a kind and a path, and what was there before
//! is still readable. Needs root for a small tmpfs; elsewhere it says so and checks nothing.
use ferrostate::config::Config;
use ferrostate::state::Database;
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
    fill("false", 10_000);
}

/// With what did not reach the disk still there, and every further write refused.
#[test]
fn so_it_is_with_a_buffer_in_front() {
    fill("true", 10_000);
}

/// Values so small that the buffer has them.
#[test]
fn so_it_is_when_the_buffer_has_them() {
    fill("true", 500);
}

fn fill(buffer: &str, length: usize) {
    let Some(disk) = SmallDisk::mount("24m") else {
        eprintln!("not checked: mounting a tmpfs needs root");
        return;
    };
    let config = Config::parse([
        ("writebuffer.size", "1048576"),
        ("compression.per.level", "NO"),
        ("buffer.enabled", buffer),
        ("buffer.size", "4194304"),
    ])
    .expect("config");
    let path = disk.path().join("db");
    let database = Database::open(&path, &config, None).expect("open");
    let state = database.state("counts").expect("state");
    state.put(b"first", 0, b"kept").expect("there is room");
    let value = vec![7u8; length];
    let (full, error) = (0u32..100_000)
        .find_map(|key| Some((key, state.put(&key.to_be_bytes(), 0, &value).err()?)))
        .expect("the disk fills long before");
    assert_eq!(error.kind, Kind::Full, "{error}");
    assert!(error.text.contains("'counts'"), "names the state: {error}");
    assert!(error.text.contains(&*disk.path().to_string_lossy()), "names the path: {error}");
    assert_eq!(state.get(b"first").expect("reads go on").as_deref(), Some(&b"kept"[..]));
    let again = state.put(b"first", 0, b"lost").expect_err("no write passes any more");
    assert_eq!(again.kind, Kind::Full, "{again}");
    let error = database.checkpoint(&disk.path().join("chk")).expect_err("nor a checkpoint");
    assert_eq!(error.kind, Kind::Full, "{error}");
    for key in 0..full {
        let found = state.get(&key.to_be_bytes()).expect("reads go on");
        assert_eq!(found.as_deref(), Some(&value[..]), "{key} of {full}");
    }
}
