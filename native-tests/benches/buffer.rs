//! What the buffer is worth, without Java: operations on two databases, one without and one with it, in
//! turns. CPU time of the thread for each operation, median of the rounds, and that of the process over
//! all of them; the ratio counts. Likewise any other option of two values, by its name in `OPTION`.
//!
//! `[OPTION=memtable.hash] cargo bench -p native-tests --bench buffer -- [small|zipf|uniform] [get|put|..] [full]`
use ferrostate::config::Config;
use ferrostate::memory::Memory;
use ferrostate::state::{Database, State};
use std::sync::Arc;

const ROUNDS: usize = 5;
const VALUE: usize = 100;

struct Space {
    name: &'static str,
    keys: usize,
    memory: i64,
    skewed: bool,
    operations: usize,
}

fn spaces(full: bool) -> [Space; 3] {
    let large = if full { 4_000_000 } else { 1_000_000 };
    let space =
        |name, keys, memory, skewed, operations| Space { name, keys, memory, skewed, operations };
    [
        space("small", 10_000, 256 << 20, false, 300_000),
        space("zipf", large, 32 * large as i64, true, 400_000),
        space("uniform", large, 32 * large as i64, false, 100_000),
    ]
}

/// Nanoseconds that this thread had a CPU.
fn cpu() -> u64 {
    cpu_of("/proc/thread-self")
}

fn cpu_of(task: &str) -> u64 {
    let times = std::fs::read_to_string(format!("{task}/schedstat")).unwrap_or_default();
    times.split(' ').next().and_then(|ns| ns.parse().ok()).unwrap_or(0)
}

/// That all threads which are still there had one.
fn process_cpu() -> u64 {
    std::fs::read_dir("/proc/self/task")
        .expect("Linux")
        .flatten()
        .map(|task| cpu_of(&task.path().to_string_lossy()))
        .sum()
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// A key of a space; Zipf with exponent 1 by inversion, hot keys scattered.
    fn key(&mut self, space: &Space) -> usize {
        let n = self.next();
        if !space.skewed {
            return n as usize % space.keys;
        }
        let unit = (n >> 11) as f64 / (1u64 << 53) as f64;
        let rank = (space.keys as f64).powf(unit) as usize;
        (rank as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) as usize % space.keys
    }
}

/// As Flink would write them: key group, long, void namespace.
fn row(key: usize) -> [u8; 10] {
    let mut row = [0; 10];
    row[0] = (key as u64).wrapping_mul(0x9E37_79B9) as u8 & 127;
    row[1..9].copy_from_slice(&(key as u64).to_be_bytes());
    row
}

struct Subject {
    _dir: tempfile::TempDir,
    database: Database,
    state: State,
    random: Random,
    page: Vec<u8>,
}

impl Subject {
    fn new(space: &Space, option: &str, value: bool) -> Self {
        let dir = tempfile::tempdir().expect("temp dir");
        // Without partitions an index block that does not fit into a shard of the cache decides all.
        let config = Config::parse([
            ("memory.partitioned-index-filters", "true"),
            (option, &*value.to_string()),
        ])
        .expect("config");
        let memory = Arc::new(Memory::new(space.memory, 0.5).expect("memory"));
        let database = Database::open(dir.path(), &config, Some(memory)).expect("open");
        let state = database.state("state").expect("state");
        for key in 0..space.keys {
            state.put(&row(key), 0, &[1; VALUE]).expect("put");
        }
        if space.name != "small" {
            database.compact().expect("compact");
        }
        Self { _dir: dir, database, state, random: Random(7), page: vec![0; 1 << 16] }
    }

    fn count(&self, name: &str) -> String {
        let property = self.database.property(&format!("ferrostate.buffer-{name}"));
        property.expect("property").unwrap_or_default()
    }

    fn get(&mut self, space: &Space) {
        let key = self.random.key(space);
        self.state.read(&row(key), 0, &mut self.page).expect("get");
    }

    fn put(&mut self, space: &Space) {
        let key = self.random.key(space);
        self.state.put(&row(key), 0, &[2; VALUE]).expect("put");
    }

    fn read_modify_write(&mut self, space: &Space) {
        let key = row(self.random.key(space));
        self.state.read(&key, 0, &mut self.page).expect("get");
        self.state.put(&key, 0, &self.page[..VALUE]).expect("put");
    }

    /// A row, and then the rows next to it as those of a map.
    fn put_and_scan(&mut self, space: &Space) {
        let key = row(self.random.key(space));
        self.state.put(&key, 0, &[4; VALUE]).expect("put");
        self.state.scan(&key[..9], 9, false, 100, &mut self.page).expect("scan");
    }

    fn merge(&mut self, space: &Space) {
        let key = self.random.key(space);
        self.state.merge(&row(key), &[3; 8]).expect("merge");
    }
}

type Operation = (&'static str, fn(&mut Subject, &Space));

const OPERATIONS: [Operation; 5] = [
    ("get", Subject::get),
    ("put", Subject::put),
    ("read-modify-write", Subject::read_modify_write),
    ("merge", Subject::merge),
    ("put-and-scan", Subject::put_and_scan),
];

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let full = arguments.iter().any(|argument| argument == "full");
    // Of spaces and operations alike: all, or those that are named.
    let wanted = |all: &[&str], name: &str| {
        let named = |argument: &String| all.contains(&argument.as_str());
        !arguments.iter().any(named) || arguments.iter().any(|argument| argument == name)
    };
    let spaces = spaces(full);
    let all: Vec<_> = spaces.iter().map(|space| space.name).collect();
    let operations: Vec<_> = OPERATIONS.iter().map(|(name, _)| *name).collect();
    let option = std::env::var("OPTION").unwrap_or_else(|_| "buffer.enabled".to_owned());
    for space in spaces.iter().filter(|space| wanted(&all, space.name)) {
        let mut subjects =
            [std::env::var("SAME").is_ok(), true].map(|value| Subject::new(space, &option, value));
        println!("{}: {} keys", space.name, space.keys);
        for (name, operation) in
            OPERATIONS.into_iter().filter(|(name, _)| wanted(&operations, name))
        {
            let mut times = [Vec::new(), Vec::new()];
            let mut all = [0.0; 2];
            for round in 0..=ROUNDS {
                for ((subject, times), all) in subjects.iter_mut().zip(&mut times).zip(&mut all) {
                    let (start, start_all) = (cpu(), process_cpu());
                    for _ in 0..space.operations {
                        operation(subject, space);
                    }
                    if round > 0 {
                        times.push((cpu() - start) as f64 / space.operations as f64);
                        *all +=
                            (process_cpu() - start_all) as f64 / (ROUNDS * space.operations) as f64;
                    }
                }
            }
            let [without, with] = times.map(median);
            println!(
                "  {name:18} {without:7.0} ns without, {with:7.0} ns with {option}: {:5.2}x, process {:5.0} to {:5.0}",
                without / with,
                all[0],
                all[1]
            );
        }
        let with = &subjects[1];
        let counts = ["hits", "misses", "flushes", "written", "bytes"];
        println!("  {:?}", counts.map(|name| format!("{name} {}", with.count(name))));
    }
}
