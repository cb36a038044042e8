//! Which uploaded files the next snapshot may refer to, by Flink's rules for incremental checkpoints
//! (flink-compatibility.md D6, D10), and which it may copy from. Never deletes anything: files belong to
//! the JobManager.
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How a checkpoint came by an SST file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// This checkpoint uploaded it.
    Uploaded,
    /// It refers to the upload of an earlier one.
    Placeholder,
}

/// An SST file as a checkpoint handed it over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedFile {
    pub local_name: String,
    pub size: u64,
    /// Flink's physical id of the handle.
    pub physical_id: String,
    pub origin: Origin,
    /// Written through Flink's file merging.
    pub merged: bool,
}

/// Checkpoints since the last confirmed one, each with its SST files. Savepoints never enter.
#[derive(Debug, Clone)]
pub struct Ledger {
    recorded: BTreeMap<i64, Vec<SharedFile>>,
    last_completed: i64,
    /// Files of the snapshot restored from that only it may refer to.
    lent: Vec<SharedFile>,
    /// Bases of the checkpoints that are on their way, by the order of freezing.
    in_flight: BTreeMap<u64, Arc<Base>>,
    next_freeze: u64,
}

/// What a checkpoint may reuse, frozen in its sync part.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Base {
    files: HashMap<String, SharedFile>,
    /// Objects with the bytes of a local file, the youngest of each. Any of them may go at any time.
    copies: HashMap<String, SharedFile>,
}

impl Ledger {
    #[must_use]
    pub fn new() -> Self {
        Self {
            recorded: BTreeMap::new(),
            last_completed: -1,
            lent: Vec::new(),
            in_flight: BTreeMap::new(),
            next_freeze: 0,
        }
    }

    /// A checkpoint was handed over; it may be reused once it is confirmed.
    pub fn record(&mut self, checkpoint: i64, files: Vec<SharedFile>) {
        self.recorded.insert(checkpoint, files);
    }

    /// The checkpoint restored from: confirmed already.
    pub fn restore(&mut self, checkpoint: i64, files: Vec<SharedFile>) {
        self.recorded.insert(checkpoint, files);
        self.last_completed = checkpoint;
    }

    /// Files of the snapshot restored from that are private to it: to be copied, never referred to.
    pub fn lend(&mut self, files: Vec<SharedFile>) {
        self.lent = files;
    }

    /// An id never recorded is a savepoint's (FLINK-23949), an older one is late: both change nothing.
    pub fn confirm(&mut self, checkpoint: i64) {
        if checkpoint > self.last_completed && self.recorded.contains_key(&checkpoint) {
            self.recorded = self.recorded.split_off(&checkpoint);
            self.last_completed = checkpoint;
            self.lent.clear();
        }
    }

    pub fn abort(&mut self, checkpoint: i64) {
        self.recorded.remove(&checkpoint);
    }

    /// What a checkpoint that begins now may reuse: the files of the last confirmed checkpoint, without
    /// those that another one uploaded again since or may be uploading. The JobManager may complete
    /// that one first and delete the older copy.
    #[must_use]
    pub fn base(&self) -> Base {
        Base { files: self.reusable(), copies: self.copies() }
    }

    fn reusable(&self) -> HashMap<String, SharedFile> {
        let Some(confirmed) = self.recorded.get(&self.last_completed) else {
            return HashMap::new();
        };
        let mut files: HashMap<_, _> =
            confirmed.iter().map(|file| (file.local_name.clone(), file.clone())).collect();
        let later = self.recorded.range(self.last_completed..).skip(1).flat_map(|(_, files)| files);
        for file in later.filter(|file| file.origin == Origin::Uploaded) {
            files.remove(&file.local_name);
        }
        files.retain(|name, _| self.in_flight.values().all(|base| base.get(name).is_some()));
        files
    }

    /// Of unconfirmed checkpoints too: an object that is gone is uploaded instead. Not out of a file
    /// that others are in as well.
    fn copies(&self) -> HashMap<String, SharedFile> {
        let all = self.lent.iter().chain(self.recorded.values().flatten());
        let whole = all.filter(|file| !file.merged);
        whole.map(|file| (file.local_name.clone(), file.clone())).collect()
    }

    /// `base`, held as that of a checkpoint on its way until `thaw`.
    pub fn freeze(&mut self) -> (u64, Arc<Base>) {
        let base = Arc::new(self.base());
        let number = self.next_freeze;
        self.next_freeze += 1;
        self.in_flight.insert(number, Arc::clone(&base));
        (number, base)
    }

    /// That checkpoint turns out to reuse nothing.
    pub fn reuses_nothing(&mut self, frozen: u64) {
        if let Some(base) = self.in_flight.get_mut(&frozen) {
            *base = Arc::default();
        }
    }

    /// That snapshot is recorded, or will never be.
    pub fn thaw(&mut self, frozen: u64) {
        self.in_flight.remove(&frozen);
    }
}

impl Default for Ledger {
    fn default() -> Self {
        Self::new()
    }
}

impl Base {
    /// The confirmed copy of a local file. Names are trusted because RocksDB never uses a number twice.
    #[must_use]
    pub fn get(&self, local_name: &str) -> Option<&SharedFile> {
        self.files.get(local_name)
    }

    /// An object with the bytes of a local file, if it is still there.
    #[must_use]
    pub fn copy_of(&self, local_name: &str) -> Option<&SharedFile> {
        self.copies.get(local_name)
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.files.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }
}

/// The base of one checkpoint on its way, from the synchronous part until it is dropped: after the
/// checkpoint was recorded or given up.
pub struct FrozenBase {
    base: Arc<Base>,
    number: u64,
    ledger: Arc<SharedLedger>,
}

impl FrozenBase {
    #[must_use]
    pub fn freeze(ledger: Arc<SharedLedger>) -> Self {
        let (number, base) = ledger.lock().freeze();
        Self { base, number, ledger }
    }

    #[must_use]
    pub fn base(&self) -> &Base {
        &self.base
    }

    /// See `Ledger::reuses_nothing`.
    pub fn reuses_nothing(&self) {
        self.ledger.lock().reuses_nothing(self.number);
    }

    /// Nobody will ever refer to this snapshot's files: others need not wait for what it uploads.
    pub fn concerns_nobody(&self) {
        self.ledger.lock().thaw(self.number);
    }
}

impl Drop for FrozenBase {
    fn drop(&mut self) {
        self.ledger.lock().thaw(self.number);
    }
}

/// The ledger as threads share it: notifications come on the task's thread, records on others.
#[derive(Debug, Default)]
pub struct SharedLedger(Mutex<Ledger>);

impl SharedLedger {
    pub fn lock(&self) -> MutexGuard<'_, Ledger> {
        // No call leaves the ledger half changed, so a panic elsewhere does not spoil it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
#[path = "ledger_test.rs"]
mod tests;
