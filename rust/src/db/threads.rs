//! The background threads of this process's RocksDB. In there a thread that cannot be started (a limit on
//! processes, a cgroup) is a C++ exception that nobody catches and that ends the JVM: so whether they can
//! be had is tried out here, and RocksDB starts them at once.
use crate::error::{Error, Kind, Result};
use rocksdb::Env;
use std::sync::{Mutex, PoisonError};
use std::thread::{scope, Builder};

/// Threads a database may ask for. RocksDB starts all of them, and keeps them.
pub const MOST: i32 = 1024;

/// RocksDB's threads serve all databases of the process, so the largest wish counts.
static STARTED: Mutex<i32> = Mutex::new(0);

/// Makes sure that `jobs` flushes and compactions can run at a time.
pub(super) fn ensure(jobs: i32) -> Result<()> {
    let mut started = STARTED.lock().unwrap_or_else(PoisonError::into_inner);
    if jobs <= *started {
        return Ok(());
    }
    let failed = |cause: &dyn std::fmt::Display| {
        Error::new(
            Kind::Io,
            format!(
                "cannot start {jobs} threads for flushes and compactions (thread.num): {cause}"
            ),
        )
    };
    try_out(jobs - *started + 1).map_err(|cause| failed(&cause))?;
    let mut env = Env::new().map_err(|cause| failed(&cause))?;
    // RocksDB's own split of jobs.
    let flushes = (jobs / 4).max(1);
    env.set_high_priority_background_threads(flushes);
    env.set_low_priority_background_threads((jobs - flushes).max(1));
    *started = jobs;
    Ok(())
}

/// Threads that compact.
#[cfg(test)]
pub(super) fn compacting() -> i32 {
    let jobs = *STARTED.lock().unwrap_or_else(PoisonError::into_inner);
    (jobs - (jobs / 4).max(1)).max(1)
}

/// Has so many threads alive at one moment.
fn try_out(count: i32) -> std::io::Result<()> {
    let gate = Mutex::new(());
    let closed = gate.lock().unwrap_or_else(PoisonError::into_inner);
    scope(|scope| {
        let outcome = (0..count).try_for_each(|_| {
            let wait = || drop(gate.lock().unwrap_or_else(PoisonError::into_inner));
            Builder::new().name("ferrostate-try-out".into()).spawn_scoped(scope, wait).map(drop)
        });
        drop(closed);
        outcome
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_started_once_and_before_rocksdb_needs_them() {
        ensure(5).expect("five threads");
        let started = || *STARTED.lock().expect("no panic");
        assert!(started() >= 5);
        let before = started();
        ensure(1).expect("there already");
        assert_eq!(started(), before);
        assert!(try_out(20).is_ok());
    }
}
