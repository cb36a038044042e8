//! A flag that asks a long call to stop. It says when; what is undone then is the caller's business.
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use tokio::sync::watch;

use crate::error::{Error, Result};

/// Clones share one flag; once triggered it stays triggered.
#[derive(Clone, Debug)]
pub struct Cancel(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    flag: AtomicBool,
    waiters: watch::Sender<bool>,
}

impl Cancel {
    #[must_use]
    pub fn new() -> Self {
        Self(Arc::new(Shared { flag: AtomicBool::new(false), waiters: watch::Sender::new(false) }))
    }

    pub fn trigger(&self) {
        self.0.flag.store(true, Ordering::Relaxed);
        self.0.waiters.send_replace(true);
    }

    #[must_use]
    pub fn is_triggered(&self) -> bool {
        self.0.flag.load(Ordering::Relaxed)
    }

    /// The flag itself, for RocksDB to look at.
    #[must_use]
    pub fn flag(&self) -> &AtomicBool {
        &self.0.flag
    }

    /// An error of kind Cancelled once the flag is set. `step` says what is given up.
    pub fn check(&self, step: &str) -> Result<()> {
        if self.is_triggered() {
            Err(Error::cancelled(step))
        } else {
            Ok(())
        }
    }

    /// Ends when the flag is set.
    pub async fn triggered(&self) {
        // The sender lives in `self`, so waiting cannot fail.
        let _ = self.0.waiters.subscribe().wait_for(|triggered| *triggered).await;
    }
}

impl Default for Cancel {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Kind;

    #[test]
    fn stays_triggered_for_every_clone() {
        let cancel = Cancel::new();
        let clone = cancel.clone();
        assert!(clone.check("the step").is_ok());
        cancel.trigger();
        let error = clone.check("the step").expect_err("triggered");
        assert_eq!((error.kind, error.text.as_str()), (Kind::Cancelled, "the step was cancelled"));
    }

    #[test]
    fn wakes_those_who_wait_and_those_who_come_late() {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_time()
            .build()
            .expect("a runtime");
        let cancel = Cancel::new();
        let waiter = {
            let cancel = cancel.clone();
            runtime.spawn(async move { cancel.triggered().await })
        };
        cancel.trigger();
        runtime.block_on(async {
            let limit = std::time::Duration::from_secs(10);
            tokio::time::timeout(limit, waiter).await.expect("in time").expect("no panic");
            tokio::time::timeout(limit, cancel.triggered()).await.expect("late ones too");
        });
    }
}
