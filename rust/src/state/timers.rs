//! Timers of a state: its queue (`timers`), once it has one, and the queues of a database, which whoever looks at
//! that as a whole flushes first.
use super::State;
use crate::config::Config;
use crate::db::Cursor;
use crate::error::{Error, Result};
use crate::memory::Memory;
use crate::timers::{Layout, Queue, Share};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

/// The queues of a database.
pub(super) struct Queues {
    share: Share,
    open: Mutex<Vec<Weak<Mutex<Queue>>>>,
}

/// A state's queue. One thread at a time uses it; a panic inside poisons the database.
pub(super) struct Timers {
    queues: Arc<Queues>,
    queue: OnceLock<Arc<Mutex<Queue>>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Queues {
    pub(super) fn new(config: &Config, memory: Option<Arc<Memory>>) -> Self {
        Self { share: Share::new(config, memory), open: Mutex::default() }
    }

    fn all(&self) -> Vec<Arc<Mutex<Queue>>> {
        let mut open = lock(&self.open);
        open.retain(|queue| queue.strong_count() > 0);
        open.iter().filter_map(Weak::upgrade).collect()
    }

    pub(super) fn flush(&self) -> Result<()> {
        self.all().iter().try_for_each(|queue| lock(queue).flush_all())
    }

    pub(super) fn forget(&self) -> Result<()> {
        self.all().iter().try_for_each(|queue| lock(queue).forget())
    }
}

impl Timers {
    pub(super) fn new(queues: &Arc<Queues>) -> Self {
        Self { queues: Arc::clone(queues), queue: OnceLock::new() }
    }

    pub(super) fn flush(&self) -> Result<()> {
        self.queue.get().map_or(Ok(()), |queue| lock(queue).flush_all())
    }

    pub(super) fn forget(&self) -> Result<()> {
        self.queue.get().map_or(Ok(()), |queue| lock(queue).forget())
    }
}

impl State {
    /// Makes it a queue of timers. `empty`, `ahead`: see `Queue::new`.
    pub fn open_timers(&self, layout: Layout, empty: bool, ahead: usize) -> Result<()> {
        self.flush_buffer()?;
        let queues = &self.timers.queues;
        let column = Arc::clone(self.column());
        let queue = Queue::new(column, layout, empty, queues.share.clone(), ahead)?;
        let queue = Arc::new(Mutex::new(queue));
        let weak = Arc::downgrade(&queue);
        self.timers.queue.set(queue).map_err(|_| self.unfit("is a queue of timers already"))?;
        lock(&queues.open).push(weak);
        Ok(())
    }

    #[cold]
    fn unfit(&self, why: &str) -> Error {
        Error::invalid(format!("state '{}' {why}", self.column().name()))
    }

    #[inline]
    fn on_timers<R>(&self, step: &str, call: impl FnOnce(&mut Queue) -> Result<R>) -> Result<R> {
        match self.timers.queue.get() {
            Some(queue) => call(&mut lock(queue)).map_err(|e| self.failed(step, e)),
            None => Err(self.unfit("is no queue of timers")),
        }
    }

    /// True if the timer is the first one now.
    #[inline]
    pub fn add_timer(&self, timer: &[u8]) -> Result<bool> {
        self.on_timers("add a timer to", |queue| queue.add(timer))
    }

    /// True if the timer was the first one.
    #[inline]
    pub fn remove_timer(&self, timer: &[u8]) -> Result<bool> {
        self.on_timers("remove a timer of", |queue| queue.remove(timer))
    }

    /// Removes the first timer, if there is one.
    #[inline]
    pub fn poll_timer(&self) -> Result<()> {
        self.on_timers("poll a timer of", |queue| queue.poll().map(|_| ()))
    }

    /// Length of the first timer, which stands in `page` if it fits; None when there is none.
    #[inline]
    pub fn first_timer(&self, page: &mut [u8]) -> Result<Option<usize>> {
        self.on_timers("find the first timer of", |queue| queue.first(page))
    }

    pub fn count_timers(&self) -> Result<u64> {
        self.on_timers("count the timers of", Queue::count)
    }

    /// The timers of a key group as they are now; None when there are none.
    pub fn timers_of(&self, key_group: usize) -> Result<Option<Cursor>> {
        self.on_timers("read the timers of", |queue| {
            queue.flush_all()?;
            let Some(start) = queue.start_of(key_group)? else { return Ok(None) };
            let keys_only = true;
            self.column().cursor_at(&start, queue.layout().bytes, keys_only).map(Some)
        })
    }
}

#[cfg(test)]
#[path = "timers_test.rs"]
mod tests;
