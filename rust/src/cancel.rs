//! A flag that asks a long call to stop. It says when; what is undone then is the caller's business.
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread;

use futures::executor::block_on;
use futures::future::{select, Either};
use tokio::sync::watch;

use crate::error::{Error, Result};

/// Clones share one flag; once triggered it stays triggered.
#[derive(Clone, Debug)]
pub struct Cancel(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    flag: AtomicBool,
    waiters: watch::Sender<bool>,
    #[cfg(test)]
    failpoint: testing::Failpoint,
}

impl Cancel {
    #[must_use]
    pub fn new() -> Self {
        Self(Arc::new(Shared {
            flag: AtomicBool::new(false),
            waiters: watch::Sender::new(false),
            #[cfg(test)]
            failpoint: testing::Failpoint::default(),
        }))
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
        #[cfg(test)]
        self.0.failpoint.pass(self, step)?;
        if self.is_triggered() {
            Err(Error::cancelled(step))
        } else {
            Ok(())
        }
    }

    /// Runs `work`, which does not look at the flag. Once that is set, `interrupt` is called on another
    /// thread: it makes `work` end soon, and does no harm if that has just ended by itself.
    pub fn interrupting<R>(&self, interrupt: impl FnOnce() + Send, work: impl FnOnce() -> R) -> R {
        let ended = Self::new();
        thread::scope(|scope| {
            let watch = || {
                let (cancelled, ended) = (pin!(self.triggered()), pin!(ended.triggered()));
                if let Either::Left(_) = block_on(select(cancelled, ended)) {
                    interrupt();
                }
            };
            let builder = thread::Builder::new().name("ferrostate-cancel".to_owned());
            if let Err(cause) = builder.spawn_scoped(scope, watch) {
                tracing::warn!("a cancel will be late, no thread waits for it: {cause}");
            }
            // Also if `work` panics: the scope waits for the thread.
            let _ended = TriggerWhenDropped(&ended);
            work()
        })
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

struct TriggerWhenDropped<'a>(&'a Cancel);

impl Drop for TriggerWhenDropped<'_> {
    fn drop(&mut self) {
        self.0.trigger();
    }
}

/// Something goes wrong at the n-th look at a flag, wherever that is.
#[cfg(test)]
pub(crate) mod testing {
    use std::sync::{Mutex, PoisonError};

    use super::Cancel;
    use crate::error::{Error, Kind, Result};

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum Event {
        Cancel,
        Fail,
    }

    #[derive(Debug, Default)]
    pub(super) struct Failpoint(Mutex<Plan>);

    #[derive(Debug, Default)]
    struct Plan {
        event: Option<(usize, Event)>,
        looks: usize,
        /// The step at which it happened.
        step: Option<String>,
    }

    impl Failpoint {
        pub(super) fn pass(&self, cancel: &Cancel, step: &str) -> Result<()> {
            let mut plan = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let look = plan.looks;
            plan.looks += 1;
            match plan.event {
                Some((at, event)) if at == look => {
                    plan.step = Some(step.to_owned());
                    if event == Event::Fail {
                        return Err(Error::new(Kind::Io, format!("{step}: injected")));
                    }
                    cancel.trigger();
                }
                _ => {}
            }
            Ok(())
        }
    }

    impl Cancel {
        pub(crate) fn with(event: Event, at_look: usize) -> Self {
            let cancel = Self::new();
            let mut plan = cancel.0.failpoint.0.lock().unwrap_or_else(PoisonError::into_inner);
            plan.event = Some((at_look, event));
            drop(plan);
            cancel
        }

        /// Where the event was; None if there were not so many looks.
        pub(crate) fn happened_at(&self) -> Option<String> {
            let plan = self.0.failpoint.0.lock().unwrap_or_else(PoisonError::into_inner);
            plan.step.clone()
        }
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
    fn interrupts_work_that_does_not_look() {
        let limit = std::time::Duration::from_secs(10);
        let cancel = Cancel::new();
        let (interrupt, interrupted) = std::sync::mpsc::channel();
        let work = || {
            cancel.trigger();
            interrupted.recv_timeout(limit)
        };
        let outcome = cancel.interrupting(|| interrupt.send(()).expect("work waits"), work);
        assert_eq!(outcome, Ok(()));
        // Not cancelled: it ends by itself, and so does the thread.
        assert_eq!(Cancel::new().interrupting(|| panic!("not cancelled"), || 7), 7);
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
