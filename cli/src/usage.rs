//! Why `shared/` is as large as it is: whose its files are, which checkpoints hold them, what a checkpoint
//! would free. Adds up what was read and listed; does no I/O, but for the places of files.
use std::collections::{HashMap, HashSet};
use std::time::{Duration, SystemTime};

use ferrostate_formats::metadata::OperatorId;
use serde::Serialize;

use crate::sizes::label;
use crate::snapshot::{Place, Snapshot, METADATA};
use crate::store::{Entry, Location, Stores};

/// As `orphans` has it when it is told nothing else.
const YOUNG: Duration = Duration::from_secs(24 * 60 * 60);

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Amount {
    pub files: u64,
    pub bytes: u64,
}

impl Amount {
    fn add(&mut self, bytes: u64) {
        self.files += 1;
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

/// Of a job's `shared/`.
#[derive(Debug, Serialize)]
pub struct Shared {
    /// All that lies there.
    pub all: Amount,
    /// By a retained checkpoint.
    pub referenced: Amount,
    /// By none of them, and old enough to be an orphan; a savepoint or another job may still need it.
    pub unreferenced: Amount,
    /// By none of them, but younger than a day: perhaps of a checkpoint in flight.
    pub young: Amount,
    /// What the retained checkpoints refer to outside of the job's directory.
    pub elsewhere: Amount,
    pub checkpoints: Vec<OfCheckpoint>,
    /// Largest first.
    pub operators: Vec<OfOperator>,
}

#[derive(Debug, Serialize)]
pub struct OfCheckpoint {
    pub id: i64,
    /// In `shared/`.
    pub files: u64,
    pub bytes: u64,
    /// Files of the job's directory that no other retained checkpoint refers to.
    pub frees: Amount,
}

#[derive(Debug, Serialize)]
pub struct OfOperator {
    pub operator: String,
    pub operator_id: String,
    pub uid: Option<String>,
    pub files: u64,
    pub bytes: u64,
    /// What the newest checkpoint has of these bytes; only older ones have the rest.
    pub newest: u64,
}

impl OfOperator {
    /// Bytes that only older checkpoints than the newest have.
    pub fn older(&self) -> u64 {
        self.bytes.saturating_sub(self.newest)
    }
}

/// Who uses a file: numbers of checkpoints and operators.
#[derive(Default)]
struct Use {
    size: u64,
    checkpoints: Vec<usize>,
    operators: Vec<usize>,
}

/// What retained checkpoints refer to, oldest first.
pub struct Uses {
    job: Location,
    files: HashMap<Location, Use>,
    checkpoints: Vec<i64>,
    operators: Vec<(OperatorId, String, Option<String>)>,
}

impl Uses {
    pub fn new(job: Location) -> Self {
        Self { job, files: HashMap::new(), checkpoints: Vec::new(), operators: Vec::new() }
    }

    pub fn shared(&self) -> Location {
        self.job.join("shared")
    }

    /// A reference that leads to no place is passed over: `verify` tells of it.
    pub fn add(&mut self, stores: &Stores, snapshot: &Snapshot) {
        let checkpoint = self.checkpoints.len();
        self.checkpoints.push(snapshot.metadata.checkpoint_id);
        let operators = &snapshot.metadata.operators;
        let mut numbers: HashMap<OperatorId, usize> = HashMap::new();
        for operator in operators {
            let known = self.operators.iter().position(|(id, ..)| *id == operator.id);
            let number = known.unwrap_or_else(|| {
                let label = label(operator, operators);
                self.operators.push((operator.id, label, operator.uid.clone()));
                self.operators.len() - 1
            });
            numbers.insert(operator.id, number);
        }
        let metadata = self.files.entry(snapshot.directory.join(METADATA)).or_default();
        metadata.size = snapshot.raw.len() as u64;
        metadata.checkpoints.push(checkpoint);
        for reference in snapshot.metadata.references() {
            let place = snapshot.place(stores, reference.stream);
            let Ok(Place::File { location, start, size, .. }) = place else { continue };
            let file = self.files.entry(location).or_default();
            file.size = file.size.max(start.saturating_add(size));
            if file.checkpoints.last() != Some(&checkpoint) {
                file.checkpoints.push(checkpoint);
            }
            if let Some(number) = numbers.get(&reference.operator.id) {
                if !file.operators.contains(number) {
                    file.operators.push(*number);
                }
            }
        }
    }

    /// `listed`: all files of `shared/`.
    pub fn finish(self, listed: &[Entry], now: SystemTime) -> Shared {
        let shared = self.shared();
        let sizes: HashMap<&Location, u64> =
            listed.iter().map(|entry| (&entry.location, entry.size)).collect();
        let mut sums = Sums::new(&self.checkpoints, &self.operators);
        for (location, file) in &self.files {
            let here = location.below(&self.job).is_some();
            let size = sizes.get(location).copied().unwrap_or(file.size);
            sums.add(file, size, here, location.below(&shared).is_some());
        }
        // The names are unique: what is referred to by another path, as in a copy, is in use too.
        let names: HashSet<&str> = self.files.keys().map(Location::name).collect();
        let [mut all, mut referenced, mut unreferenced, mut young] = [Amount::default(); 4];
        for entry in listed {
            all.add(entry.size);
            let old = now.duration_since(entry.modified).is_ok_and(|age| age >= YOUNG);
            match (names.contains(entry.location.name()), old) {
                (true, _) => referenced.add(entry.size),
                (false, true) => unreferenced.add(entry.size),
                (false, false) => young.add(entry.size),
            }
        }
        let Sums { elsewhere, checkpoints, operators } = sums;
        let mut operators: Vec<_> =
            operators.into_iter().filter(|operator| operator.files > 0).collect();
        operators.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.operator.cmp(&b.operator)));
        Shared { all, referenced, unreferenced, young, elsewhere, checkpoints, operators }
    }
}

struct Sums {
    elsewhere: Amount,
    checkpoints: Vec<OfCheckpoint>,
    operators: Vec<OfOperator>,
}

impl Sums {
    fn new(checkpoints: &[i64], operators: &[(OperatorId, String, Option<String>)]) -> Self {
        let checkpoint =
            |id: &i64| OfCheckpoint { id: *id, files: 0, bytes: 0, frees: Amount::default() };
        let operator = |(id, label, uid): &(OperatorId, String, Option<String>)| OfOperator {
            operator: label.clone(),
            operator_id: id.to_string(),
            uid: uid.clone(),
            files: 0,
            bytes: 0,
            newest: 0,
        };
        Self {
            elsewhere: Amount::default(),
            checkpoints: checkpoints.iter().map(checkpoint).collect(),
            operators: operators.iter().map(operator).collect(),
        }
    }

    fn add(&mut self, file: &Use, size: u64, here: bool, shared: bool) {
        if !here {
            self.elsewhere.add(size);
            return;
        }
        if let [only] = file.checkpoints[..] {
            self.checkpoints[only].frees.add(size);
        }
        if !shared {
            return;
        }
        for checkpoint in &file.checkpoints {
            let checkpoint = &mut self.checkpoints[*checkpoint];
            checkpoint.files += 1;
            checkpoint.bytes = checkpoint.bytes.saturating_add(size);
        }
        let newest = file.checkpoints.last().is_some_and(|last| last + 1 == self.checkpoints.len());
        for operator in &file.operators {
            let operator = &mut self.operators[*operator];
            operator.files += 1;
            operator.bytes = operator.bytes.saturating_add(size);
            operator.newest = operator.newest.saturating_add(if newest { size } else { 0 });
        }
    }
}
