//! What tests of databases share: directories' names, and compactions that find no thread.
use std::path::Path;
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use librocksdb_sys as sys;
use rocksdb::{CompactionDecision, Options, DB};
use tempfile::TempDir;

use super::ffi::RawColumn;

pub(super) fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).expect("listed").flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// Two at a time would wait for each other.
static BUSY: Mutex<()> = Mutex::new(());

/// Keeps all threads that compact busy, those of all databases of this process, until it is dropped.
pub(super) struct BusyThreads {
    gates: Vec<Sender<()>>,
    compactions: Vec<JoinHandle<()>>,
    _root: TempDir,
    _only_one: MutexGuard<'static, ()>,
}

impl BusyThreads {
    pub(super) fn begin() -> Self {
        let only_one = BUSY.lock().unwrap_or_else(PoisonError::into_inner);
        let root = tempfile::tempdir().expect("a directory");
        let (mut gates, mut compactions) = (Vec::new(), Vec::new());
        for n in 0..super::threads::compacting() {
            let (gate, open) = channel();
            let (began, begun) = channel();
            let db = blocking(&root.path().join(n.to_string()), began, open);
            gates.push(gate);
            compactions.push(std::thread::spawn(move || {
                db.compact_range(None::<&[u8]>, None::<&[u8]>);
            }));
            begun.recv().expect("a thread");
        }
        Self { gates, compactions, _root: root, _only_one: only_one }
    }
}

impl Drop for BusyThreads {
    fn drop(&mut self) {
        self.gates.clear();
        for compaction in self.compactions.drain(..) {
            let _ = compaction.join();
        }
    }
}

/// A database whose compaction says that it began and goes on when the gate is gone.
fn blocking(path: &Path, began: Sender<()>, gate: Receiver<()>) -> DB {
    let gate = Arc::new(Mutex::new((began, gate)));
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_disable_auto_compactions(true);
    options.set_compaction_filter("blocking", move |_, _: &[u8], _: &[u8]| {
        let gate = gate.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = gate.0.send(());
        let _ = gate.1.recv();
        CompactionDecision::Keep
    });
    let db = DB::open(&options, path).expect("open");
    for round in 0..2_u8 {
        db.put([1], [round]).expect("put");
        db.flush().expect("flush");
    }
    db
}

/// True if a compaction has taken files, whether it found a thread or not.
pub(super) fn is_compaction_picked(raw: RawColumn) -> bool {
    // SAFETY: the caller keeps the database open; the text is freed once.
    let stats = unsafe {
        let text = sys::rocksdb_property_value_cf(
            raw.db,
            raw.column,
            c"rocksdb.cfstats-no-file-histogram".as_ptr(),
        );
        let stats = std::ffi::CStr::from_ptr(text).to_string_lossy().into_owned();
        sys::rocksdb_free(text.cast());
        stats
    };
    // Files of a level, and how many of them are being compacted: "L1  2/1".
    let levels = stats.lines().filter(|line| line.trim_start().starts_with('L'));
    levels
        .filter_map(|line| line.split_whitespace().nth(1)?.split_once('/'))
        .any(|(_, picked)| picked != "0")
}
