//! Damaged checkpoints in a job's directory: every command ends with an exit code of its own and says what is
//! wrong, in bounded time. What the readers do with any bytes is fuzzed in formats/.
mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use common::{copied, run, snapshots, tool};

/// As random as a test may be that fails the same way twice.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

fn commands(root: &Path, job: &Path, pair: &[PathBuf]) {
    let out = root.join("page.html");
    for name in ["show", "files", "verify", "orphans", "report", "diff"] {
        let mut command = tool(root);
        command.arg(name);
        match name {
            "diff" => command.args(pair),
            "report" => command.arg(job).arg("--out").arg(&out),
            _ => command.arg(job),
        };
        let begun = Instant::now();
        let (said, error, code) = run(&mut command);
        assert!((0..=4).contains(&code), "{name}: {code} {said}{error}");
        assert!(code == 0 || !(said + &error).is_empty(), "{name}: {code}");
        assert!(begun.elapsed() < Duration::from_secs(30), "{name}: {:?}", begun.elapsed());
    }
}

#[test]
fn damaged_checkpoints_end_no_command_badly() {
    let mut numbers = Numbers(7);
    for kind in ["rocksdb-incremental", "rocksdb-changelog", "rocksdb-merging", "unaligned"] {
        let (root, copy) = copied(kind);
        let pair: Vec<_> = snapshots(&copy).into_iter().rev().take(2).collect();
        let job = pair[0].parent().expect("a job").to_owned();
        let path = pair[0].join("_metadata");
        let good = fs::read(&path).expect("read");
        for round in 0..10 {
            let mut bytes = good.clone();
            match round % 3 {
                0 => bytes.truncate(numbers.below(good.len())),
                1 => bytes[numbers.below(good.len())] ^= 1 << numbers.below(8),
                // Counts and sizes that are absurd.
                _ => {
                    let at = numbers.below(good.len() - 8);
                    bytes[at..at + 8]
                        .copy_from_slice(&[0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]);
                }
            }
            fs::write(&path, bytes).expect("written");
            commands(root.path(), &job, &pair);
        }
    }
}
