//! The one tokio runtime and the one limiter of all transfers in this process, whichever backend
//! asked for them. Its threads never enter Java. What a transfer does is not decided here.
use std::future::Future;
use std::sync::OnceLock;

use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::task::{JoinError, JoinSet};

use crate::cancel::Cancel;
use crate::error::{Error, Kind, Result};

/// Transfers that move bytes at the same time. More do not make one disk faster, and every TaskManager
/// thread's checkpoint shares them.
const TRANSFERS_AT_ONCE: usize = 8;

static RUNTIME: OnceLock<std::result::Result<Runtime, Error>> = OnceLock::new();
static TRANSFERS: Semaphore = Semaphore::const_new(TRANSFERS_AT_ONCE);

/// Started by the first transfer; lives as long as the process.
pub fn runtime() -> Result<&'static Runtime> {
    RUNTIME.get_or_init(start).as_ref().map_err(Clone::clone)
}

fn start() -> Result<Runtime> {
    Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(2 * TRANSFERS_AT_ONCE)
        .thread_name("ferrostate-transfer")
        .enable_time()
        .build()
        .map_err(|cause| Error::new(Kind::Io, format!("cannot start transfer threads: {cause}")))
}

/// Runs `work` on the caller's thread with the runtime behind it. Not for the runtime's own threads.
pub fn block_on<F: Future>(work: F) -> Result<F::Output> {
    Ok(runtime()?.block_on(work))
}

/// A turn to move bytes, in the order of asking; gives up when cancelled.
pub async fn transfer_turn(cancel: &Cancel, step: &str) -> Result<SemaphorePermit<'static>> {
    tokio::select! {
        biased;
        () = cancel.triggered() => Err(Error::cancelled(step)),
        turn = TRANSFERS.acquire() => turn.map_err(|_| Error::closed("the limiter of transfers is closed")),
    }
}

/// Runs file system calls on a thread that may block.
pub async fn blocking<T: Send + 'static>(
    step: &str,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(ended) => Err(task_error(step, ended)),
    }
}

/// Waits for all transfers and returns the first failure. A failure or a cancel triggers `stop`, which
/// they look at; they are waited for even then, because a straggler could still write.
pub async fn finish(
    mut transfers: JoinSet<Result<()>>,
    stop: &Cancel,
    cancel: &Cancel,
) -> Result<()> {
    let mut failure = None;
    loop {
        let ended = tokio::select! {
            biased;
            () = cancel.triggered(), if !stop.is_triggered() => {
                stop.trigger();
                failure.get_or_insert_with(|| Error::cancelled("the transfer"));
                continue;
            }
            ended = transfers.join_next() => ended,
        };
        let error = match ended {
            None => return failure.map_or(Ok(()), Err),
            Some(Ok(Ok(()))) => continue,
            Some(Ok(Err(error))) => error,
            Some(Err(panicked)) => task_error("a transfer", panicked),
        };
        stop.trigger();
        failure.get_or_insert(error);
    }
}

/// A task that ended by a panic (or was dropped with the runtime) as an error of kind Panic.
fn task_error(step: &str, ended: JoinError) -> Error {
    let text = match ended.try_into_panic() {
        Ok(payload) => panic_text(payload.as_ref()),
        Err(ended) => ended.to_string(),
    };
    Error::new(Kind::Panic, format!("{step} panicked: {text}"))
}

/// What a panic said.
pub(crate) fn panic_text(payload: &(dyn std::any::Any + Send)) -> String {
    if let Some(text) = payload.downcast_ref::<&str>() {
        (*text).to_string()
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text.clone()
    } else {
        "(no text)".to_string()
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use std::sync::mpsc::{channel, RecvTimeoutError};
    use std::time::Duration;

    /// Runs a test's body and fails if it takes too long: a hang must not stop the whole run.
    pub(crate) fn within(body: impl FnOnce() + Send + 'static) {
        let (done, ended) = channel();
        let thread = std::thread::spawn(move || {
            body();
            let _ = done.send(());
        });
        if ended.recv_timeout(Duration::from_secs(60)) == Err(RecvTimeoutError::Timeout) {
            panic!("the test did not end in a minute");
        }
        if let Err(panic) = thread.join() {
            std::panic::resume_unwind(panic);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_in_blocking_work_becomes_an_error_with_its_text() {
        let error = block_on(blocking::<()>("the step", || panic!("by design")))
            .expect("a runtime")
            .expect_err("panicked");
        assert_eq!(error.kind, Kind::Panic);
        assert_eq!(error.text, "the step panicked: by design");
    }

    #[test]
    fn only_so_many_transfers_move_bytes_at_once() {
        use futures::FutureExt as _;
        testing::within(|| {
            let cancel = Cancel::new();
            block_on(async {
                let mut turns = Vec::new();
                for _ in 0..TRANSFERS_AT_ONCE {
                    turns.push(transfer_turn(&cancel, "a transfer").await.expect("a turn"));
                }
                assert!(transfer_turn(&cancel, "one more").now_or_never().is_none());
                turns.clear();
                drop(transfer_turn(&cancel, "one more").await.expect("a turn"));
            })
            .expect("a runtime");
        });
    }

    #[test]
    fn waiting_for_a_turn_ends_with_cancel() {
        let cancel = Cancel::new();
        cancel.trigger();
        let error = block_on(transfer_turn(&cancel, "the upload"))
            .expect("a runtime")
            .expect_err("cancelled");
        assert_eq!(error.kind, Kind::Cancelled);
    }
}
