//! How much memory a queue may take: a part of the buffers' share of the managed memory, and so much at least
//! that each key group reads a few timers at a time. The block cache gives up what the queues take.
use crate::config::Config;
use crate::memory::Memory;
use std::sync::Arc;

/// Of what the buffers may take of a shared memory, all queues together may take this part.
const SHARED_PART: usize = 11;
/// Of a buffer's size where nothing is shared, a queue may take this part.
const PART: usize = 4;
/// What a small timer takes, about.
const TIMER_BYTES: usize = 64;
/// The least is never more than this, however many key groups there are.
const MOST_LEAST: usize = 32 << 20;
/// What is not in the database yet: a checkpoint waits for it.
const MOST_DIRTY: usize = 4 << 20;
/// Timers of a key group that are read at a time take so many bytes at most.
const MOST_READ: usize = 64 << 10;
/// The cache is told in steps.
const STEP: usize = 256 << 10;

/// Where the memory for queues comes from. Whether there is a buffer for other states does not matter.
#[derive(Clone)]
pub struct Share {
    memory: Option<Arc<Memory>>,
    ratio: f64,
    bytes: usize,
}

impl Share {
    #[must_use]
    pub fn new(config: &Config, memory: Option<Arc<Memory>>) -> Self {
        let ratio = config.buffer_ratio / SHARED_PART as f64;
        Self { memory, ratio, bytes: config.buffer_size / PART }
    }

    fn bytes(&self) -> usize {
        match &self.memory {
            Some(memory) => memory.queue_share(self.ratio),
            None => self.bytes,
        }
    }
}

/// Holds a queue's claim on memory, until it is dropped.
pub(super) struct Limit {
    share: Share,
    least: usize,
    most: usize,
    /// As the memory knows.
    taken: usize,
    joined: bool,
}

impl Limit {
    /// `ahead`: so many timers of each key group may be in memory at least.
    pub(super) fn new(share: Share, groups: usize, ahead: usize) -> Self {
        let least = groups.saturating_mul(ahead).saturating_mul(TIMER_BYTES).min(MOST_LEAST);
        Self { share, least, most: least, taken: 0, joined: false }
    }

    /// Bytes that it may take.
    #[inline]
    pub(super) fn most(&self) -> usize {
        self.most
    }

    pub(super) fn most_dirty(&self) -> usize {
        (self.most / 2).min(MOST_DIRTY)
    }

    /// Bytes of timers that are read at a time.
    pub(super) fn ahead(&self, groups: usize) -> usize {
        (self.most / groups.max(1) / 2).clamp(1, MOST_READ)
    }

    /// True if the memory is to be told.
    #[inline]
    pub(super) fn is_news(&self, size: usize) -> bool {
        size.abs_diff(self.taken) >= STEP || !self.joined && size > 0
    }

    /// Says how many bytes are taken, and looks how many may be.
    pub(super) fn take(&mut self, size: usize) {
        if let Some(memory) = &self.share.memory {
            if !self.joined {
                memory.join_queues();
            }
            memory.charge_queue(self.taken, size);
        }
        self.joined = true;
        self.taken = size;
        self.most = self.share.bytes().max(self.least);
    }
}

impl Drop for Limit {
    fn drop(&mut self) {
        if let (Some(memory), true) = (&self.share.memory, self.joined) {
            memory.charge_queue(self.taken, 0);
            memory.leave_queues();
        }
    }
}
