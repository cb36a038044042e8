//! A thread of its own for one piece of work beside the use of a database: started at most once, ended by
//! closing. What the work is, and that it looks at the flag, is the caller's business.
use crate::cancel::Cancel;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

/// The thread, if there is one.
#[derive(Default)]
pub(super) struct Background {
    cancel: Cancel,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Background {
    /// Begins the work, unless there was or will be none.
    pub(super) fn start(
        &self,
        name: &str,
        work: impl FnOnce(&Cancel) + Send + 'static,
    ) -> io::Result<()> {
        let mut thread = self.thread();
        if thread.is_none() && !self.cancel.is_triggered() {
            let cancel = self.cancel.clone();
            let builder = thread::Builder::new().name(name.to_owned());
            *thread = Some(builder.spawn(move || work(&cancel))?);
        }
        Ok(())
    }

    /// Makes the thread end soon; there will be no other.
    pub(super) fn cancel(&self) {
        self.cancel.trigger();
    }

    /// Waits for its end. Not for the thread itself, which may be the last to hold the database.
    pub(super) fn join(&self) {
        let thread = self.thread().take();
        if let Some(thread) = thread.filter(|it| it.thread().id() != thread::current().id()) {
            // A panic there is logged by the panic hook.
            let _ = thread.join();
        }
    }

    pub(super) fn is_running(&self) -> bool {
        self.thread().as_ref().is_some_and(|thread| !thread.is_finished())
    }

    fn thread(&self) -> MutexGuard<'_, Option<JoinHandle<()>>> {
        self.thread.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
