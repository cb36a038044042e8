//! Damaged inputs against every reader: no panic, no more memory than the input warrants, no endless work.
//! How to use it: `fuzz/README.md`.
use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::HashSet;
use std::fs;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use ferrostate_formats::metadata::Metadata;
use ferrostate_formats::rocksdb::{log, Manifest};
use ferrostate_formats::{keyed_meta, sst, Malformed};

/// Counts what is allocated.
struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: everything is left to the system's allocator; only sizes are counted.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Relaxed) + layout.size();
        MOST.fetch_max(now, Relaxed);
        // SAFETY: the caller's contract is the system allocator's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What a reader said, without its numbers.
type Answer = String;

struct Reader {
    name: &'static str,
    read: fn(&[u8]) -> Result<(), Malformed>,
    /// Bytes of memory that an input may take: for each of its bytes, and in any case.
    factor: usize,
    base: usize,
    inputs: Vec<Vec<u8>>,
    answers: HashSet<Answer>,
}

fn metadata(bytes: &[u8]) -> Result<(), Malformed> {
    let read = Metadata::read(bytes)?;
    let _ = (read.sizes(), read.references());
    Ok(())
}

fn manifest(bytes: &[u8]) -> Result<(), Malformed> {
    Manifest::read(bytes).map(drop)
}

/// The input is cut into records, of which each begins with its length.
fn edits(bytes: &[u8]) -> Result<(), Malformed> {
    let mut records = Vec::new();
    let mut rest = bytes;
    while let [low, high, tail @ ..] = rest {
        let length = usize::from(u16::from_le_bytes([*low, *high])).min(tail.len());
        let (record, after) = tail.split_at(length);
        records.push(record);
        rest = after;
    }
    Manifest::read(&log::write(records)).map(drop)
}

fn table(bytes: &[u8]) -> Result<(), Malformed> {
    let mut read = |offset: u64, length: usize| {
        let from = offset as usize;
        Ok(bytes[from..from + length].to_vec())
    };
    sst::check::<Malformed>(bytes.len() as u64, &mut read).map(drop)
}

fn keyed(bytes: &[u8]) -> Result<(), Malformed> {
    match keyed_meta::states(bytes).len() {
        0 => Err(Malformed::new(0, "states", "none")),
        _ => Ok(()),
    }
}

fn home() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz")
}

fn files(root: &Path) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    let mut left = vec![root.to_owned()];
    while let Some(directory) = left.pop() {
        let Ok(entries) = fs::read_dir(directory) else { continue };
        for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
            match path.is_dir() {
                true => left.push(path),
                false => found.push(path),
            }
        }
    }
    found.sort(); // the same run for the same seed
    found.iter().filter_map(|path| fs::read(path).ok()).collect()
}

/// A byte of the footer says which checksum there is: 0, none.
fn without_checksums(mut bytes: Vec<u8>) -> Vec<u8> {
    let footer = bytes.len() - 53;
    bytes[footer] = 0;
    bytes
}

fn as_records(manifest: &[u8]) -> Option<Vec<u8>> {
    let mut records = Vec::new();
    for record in log::records(manifest).ok().filter(|records| !records.is_empty())? {
        records.extend(u16::try_from(record.bytes.len()).ok()?.to_le_bytes());
        records.extend(record.bytes);
    }
    Some(records)
}

fn readers() -> Vec<Reader> {
    let fixtures = files(&home().join("../fixtures"));
    let of = |good: fn(&[u8]) -> Result<(), Malformed>| {
        fixtures.iter().filter(move |bytes| good(bytes).is_ok()).cloned().collect::<Vec<_>>()
    };
    let manifests = of(manifest);
    let records = manifests.iter().filter_map(|manifest| as_records(manifest)).collect();
    let tables = of(table).into_iter().map(without_checksums).collect();
    let reader = |name, read, factor, base, inputs: Vec<_>| {
        assert!(!inputs.is_empty(), "no fixture for {name}");
        Reader { name, read, factor, base, inputs, answers: HashSet::new() }
    };
    // Compressed bytes may stand for many more, up to a limit.
    vec![
        reader("metadata", metadata, 64, 1 << 20, of(metadata)),
        reader("manifest", manifest, 64, 1 << 20, manifests),
        reader("edits", edits, 64, 1 << 20, records),
        reader("table", table, 64, 160 << 20, tables),
        reader("keyed-meta", keyed, 64, 1 << 20, of(keyed)),
    ]
}

/// Xorshift: the same numbers for the same seed on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }
}

const ODD: [i64; 10] = [0, 1, -1, 127, 128, 255, 0x7fff, 0x7fff_ffff, i64::MAX, i64::MIN];

fn mutate(bytes: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    for _ in 0..1 + random.below(4) {
        let at = random.below(bytes.len());
        let chunk = 1 + random.below(40);
        match random.below(8) {
            0 if !bytes.is_empty() => bytes[at] ^= 1 << random.below(8),
            1 if !bytes.is_empty() => bytes[at] = random.next() as u8,
            2 => bytes.truncate(at),
            3 => drop(bytes.drain(at..bytes.len().min(at + chunk))),
            4 => {
                let copied = bytes[at..bytes.len().min(at + chunk)].to_vec();
                let to = random.below(bytes.len());
                bytes.splice(to..to, copied);
            }
            5 => {
                let from = random.below(other.len());
                let taken = other[from..other.len().min(from + chunk)].to_vec();
                bytes.splice(at..bytes.len().min(at + taken.len()), taken);
            }
            _ => {
                let value = ODD[random.below(ODD.len())];
                let width = 1 << random.below(4);
                let mut written = value.to_be_bytes()[8 - width..].to_vec();
                if random.below(2) == 0 {
                    written.reverse();
                }
                bytes.splice(at..bytes.len().min(at + width), written);
            }
        }
    }
}

impl Reader {
    /// Reads; the error is a finding.
    fn run(&self, bytes: &[u8]) -> Result<Answer, String> {
        let begun = Instant::now();
        let before = NOW.load(Relaxed);
        MOST.store(before, Relaxed);
        let read = catch_unwind(AssertUnwindSafe(|| (self.read)(bytes)));
        let used = MOST.load(Relaxed).saturating_sub(before);
        let allowed = bytes.len() * self.factor + self.base;
        if used > allowed {
            return Err(format!("{used} bytes of memory for {} of input", bytes.len()));
        }
        // A machine may be busy: this is about loops that never end in reasonable time.
        if begun.elapsed() > Duration::from_secs(5) {
            return Err(format!("{:?} for {} bytes", begun.elapsed(), bytes.len()));
        }
        match read {
            Ok(Ok(())) => Ok("read".to_owned()),
            Ok(Err(wrong)) => {
                let field = wrong.field.rsplit('.').next().unwrap_or_default();
                let text = format!("{field}: {}", wrong.what);
                // Numbers, hexadecimal ones too, would make each answer a new one.
                let number = |word: &str| {
                    let letters = word.trim_matches(|c: char| c.is_ascii_punctuation());
                    let hexadecimal = letters.chars().all(|c| c.is_ascii_hexdigit());
                    word.contains(|c: char| c.is_ascii_digit()) || hexadecimal && letters.len() > 5
                };
                Ok(text.split_whitespace().filter(|part| !number(part)).collect())
            }
            Err(panic) => Err(format!("panic: {:?}", panic.downcast_ref::<String>())),
        }
    }

    /// Reads and, if the answer is new, keeps the input.
    fn take(&mut self, bytes: Vec<u8>, seed: u64, keep: bool) {
        match self.run(&bytes) {
            Ok(answer) => {
                // Names in answers are without end.
                if self.answers.len() < 4000 && self.answers.insert(answer.clone()) {
                    if keep && bytes.len() < 2048 && answer.len() < 120 {
                        let name = format!("{:04}", self.answers.len());
                        let _ = fs::write(home().join("corpus").join(self.name).join(name), &bytes);
                    }
                    self.inputs.push(bytes);
                }
            }
            Err(finding) => {
                let path = home().join("findings").join(format!("{}-{seed}", self.name));
                let _ = fs::create_dir_all(home().join("findings"));
                let _ = fs::write(&path, bytes);
                panic!("{}: {finding}; the input is in {}", self.name, path.display());
            }
        }
    }
}

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

#[test]
fn damaged_inputs() {
    let seconds = number("FERROSTATE_FUZZ_SECONDS", 4);
    let seed = number("FERROSTATE_FUZZ_SEED", 0x9e37_79b9_7f4a_7c15);
    let keep = number("FERROSTATE_FUZZ_KEEP", 0) != 0;
    let mut random = Random(seed);
    let mut readers = readers();
    let mut runs = 0_u64;
    for reader in &mut readers {
        for bytes in files(&home().join("corpus").join(reader.name)) {
            reader.take(bytes, seed, false);
        }
    }
    let end = Instant::now() + Duration::from_secs(seconds);
    while Instant::now() < end {
        for reader in &mut readers {
            for _ in 0..50 {
                // New answers are the last ones: they are tried more often.
                let count = reader.inputs.len();
                let at = if random.below(2) == 0 {
                    random.below(count)
                } else {
                    count - 1 - random.below(count.min(16))
                };
                let other = random.below(count);
                let mut bytes = reader.inputs[at].clone();
                mutate(&mut bytes, &reader.inputs[other], &mut random);
                reader.take(bytes, seed, keep);
                runs += 1;
            }
        }
    }
    for reader in &readers {
        println!(
            "{}: {} answers, {} inputs",
            reader.name,
            reader.answers.len(),
            reader.inputs.len()
        );
    }
    println!("{runs} runs in {seconds} s");
    assert!(runs > 100 * seconds, "only {runs} runs");
}
