//! How much memory a buffer may take: a part of the share that the databases of a slot have, which the
//! block cache gives up while the buffer has it, or so many bytes where there is no share.
use crate::memory::Memory;
use std::sync::Arc;

/// A buffer has at least so many segments, so that queues can move.
const LEAST_SEGMENTS: usize = 6;
/// At most so many bytes are dirty: a checkpoint waits for them.
const MOST_DIRTY: usize = 8 << 20;
/// Places are words of eight bytes, in 32 bits; half of them leaves room for what is moved meanwhile.
const MOST_BYTES: usize = 16 << 30;
const LEAST_SEGMENT: usize = 1 << 10;
const MOST_SEGMENT: usize = 1 << 20;

/// Holds a buffer's claim on memory, until it is dropped.
pub(super) struct Limit {
    memory: Option<Arc<Memory>>,
    /// Part of the memory, or bytes without one.
    ratio: f64,
    bytes: usize,
    taken: usize,
    /// So many times it was found that half would do.
    halved: u32,
}

/// A part of it stays, so that what would be found in more is noticed, and batches are worth it.
const MOST_HALVED: u32 = 4;
/// Less one: then one of so many keys that are read is kept.
const SAMPLE: u32 = 7;
/// Uses after which it is decided anew how much memory is of use.
const WINDOW: u64 = 1 << 15;
/// Of all uses, those that more memory than this part of them would spare call for more of it.
const GROWS_FROM: u64 = 5;
/// Less than this part of them does not pay: the block cache makes more of the memory.
const SHRINKS_BELOW: u64 = 8;

impl Limit {
    pub(super) fn new(memory: Option<Arc<Memory>>, ratio: f64, bytes: usize) -> Self {
        if let Some(memory) = &memory {
            memory.join_buffers();
        }
        Self { memory, ratio, bytes, taken: 0, halved: 0 }
    }

    /// Bytes that it may take now.
    pub(super) fn bytes(&self) -> usize {
        self.most_bytes() >> self.halved
    }

    /// Bytes that it may take when they are of use.
    pub(super) fn most_bytes(&self) -> usize {
        match &self.memory {
            Some(memory) => memory.buffer_share(self.ratio, self.taken),
            None => self.bytes,
        }
    }

    /// After so many uses it is decided anew how much memory is of use: sooner while one of so many keys is
    /// kept, so that it takes as many operations.
    #[inline]
    pub(super) fn window(&self) -> u64 {
        if self.samples() {
            WINDOW / u64::from(SAMPLE + 1)
        } else {
            WINDOW
        }
    }

    /// Of so many uses, `worthwhile` ones found a record, or one that had been there a while ago. It shrinks
    /// step by step and grows at once: what is found in a part would be found in the whole.
    pub(super) fn adapt(&mut self, uses: u64, worthwhile: u64) {
        if let Some(memory) = &self.memory {
            memory.forget_memtables();
        }
        if worthwhile * GROWS_FROM >= uses {
            self.halved = 0;
        } else if worthwhile * SHRINKS_BELOW < uses {
            self.halved = (self.halved + 1).min(MOST_HALVED);
        }
    }

    /// True if a key that was read is to be kept. While little is of use it is one of so many: to see
    /// whether that changes, they do.
    #[inline]
    pub(super) fn admits(&self, hash: u32) -> bool {
        !self.samples() || hash >> 16 & SAMPLE == 0
    }

    #[inline]
    fn samples(&self) -> bool {
        self.halved == MOST_HALVED
    }

    pub(super) fn most_dirty(&self) -> usize {
        self.bytes().min(MOST_DIRTY)
    }

    /// A power of two; the whole is some tens of them.
    pub(super) fn segment_bytes(&self) -> usize {
        let whole = match &self.memory {
            Some(memory) => memory.whole_buffer_share(self.ratio),
            None => self.bytes,
        };
        (whole / 128).clamp(LEAST_SEGMENT, MOST_SEGMENT).next_power_of_two()
    }

    /// Segments that it may have, when something else takes so many bytes.
    pub(super) fn segments(&self, segment: usize, else_taken: usize) -> usize {
        let bytes = self.bytes().saturating_sub(else_taken).min(MOST_BYTES);
        (bytes / segment).max(LEAST_SEGMENTS)
    }

    /// Says how many bytes are taken.
    pub(super) fn take(&mut self, bytes: usize) {
        if let Some(memory) = &self.memory {
            memory.charge_buffer(self.taken, bytes);
        }
        self.taken = bytes;
    }

    pub(super) fn taken(&self) -> usize {
        self.taken
    }
}

impl Drop for Limit {
    fn drop(&mut self) {
        self.take(0);
        if let Some(memory) = &self.memory {
            memory.leave_buffers();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_has_a_number() {
        let limit = Limit::new(None, 0.5, 1 << 40);
        let segment = limit.segment_bytes();
        let words = limit.segments(segment, 0) as u64 * (segment as u64 / 8);
        assert!(words <= 1 << 31, "{words}");
    }
}
