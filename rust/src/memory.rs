//! The memory of one slot's share: a block cache, a write buffer manager that charges into it, and the
//! buffers of the databases, for which the cache makes room. Shared by every database of the slot. How
//! the share was found is Flink's business.
use crate::error::{Error, Result};
use rocksdb::{Cache, LruCacheOptions, WriteBufferManager};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A shard of a cache is at least so large. RocksDB's own choice, 512 KiB, is less than the index of
/// one file: whether such a block stays in the cache then depends on what else hashes to its shard, and
/// where it does not, each read loads and decompresses it anew (0.4 ms instead of 10 us, measured).
const SHARD_BYTES: usize = 64 << 20;

/// What buffers leave to the block cache at least, for what finds a row: index and filter.
const LEAST_CACHE_PART: usize = 4;

/// Of the states of a slot that are hardly used, besides what is in their memtables.
const MEMTABLE_BLOCKS: usize = 16 << 20;

/// More shards keep no more threads apart.
const MOST_SHARD_BITS: u32 = 6;

/// Cache and write buffers, sized as Flink sizes them (flink-compatibility D4).
pub struct Memory {
    cache: Cache,
    write_buffers: WriteBufferManager,
    /// Of the cache, when nothing else wants memory.
    capacity: usize,
    buffers: Mutex<Buffers>,
}

/// What the databases keep in front of RocksDB (`buffer`).
#[derive(Default)]
struct Buffers {
    count: usize,
    /// Of timers (`timers`).
    queues: usize,
    /// Of `bytes` those that queues take.
    queue_bytes: usize,
    bytes: usize,
    /// The most that memtables took lately, without what they are above their limit while they are flushed.
    memtables: usize,
}

/// Bytes, at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    pub capacity: usize,
    pub cache: usize,
    pub pinned: usize,
    pub write_buffers: usize,
    /// What the databases keep in front of RocksDB.
    pub buffers: usize,
}

/// `(cache, write buffers)` in bytes for a share of `total` bytes: `(3-r)/3*M` and `2/3*M*r`. Write
/// buffers may overshoot by half, which is what the difference leaves room for.
#[must_use]
pub fn split(total: usize, write_buffer_ratio: f64) -> (usize, usize) {
    let total = total as f64;
    let cache = (3.0 - write_buffer_ratio) * total / 3.0;
    let write_buffers = 2.0 * total * write_buffer_ratio / 3.0;
    (cache as usize, write_buffers as usize)
}

/// A cache of blocks.
#[must_use]
pub fn block_cache(capacity: usize) -> Cache {
    let mut options = LruCacheOptions::default();
    options.set_capacity(capacity);
    options.set_num_shard_bits(shard_bits(capacity) as i32);
    Cache::new_lru_cache_opts(&options)
}

/// True if a block more pushes others out of a cache of that capacity.
#[must_use]
pub fn is_full(cache: &Cache, capacity: usize) -> bool {
    cache.get_usage() >= capacity - capacity / 16
}

fn shard_bits(capacity: usize) -> u32 {
    (capacity / SHARD_BYTES).max(1).ilog2().min(MOST_SHARD_BITS)
}

impl Memory {
    pub fn new(total: i64, write_buffer_ratio: f64) -> Result<Self> {
        let total = usize::try_from(total)
            .ok()
            .filter(|t| *t > 0)
            .ok_or_else(|| Error::invalid(format!("memory of {total} bytes: must be positive")))?;
        if !(0.0..=1.0).contains(&write_buffer_ratio) {
            return Err(Error::invalid(format!(
                "memory.write-buffer-ratio is {write_buffer_ratio}: must lie between 0 and 1"
            )));
        }
        let (capacity, buffers) = split(total, write_buffer_ratio);
        let cache = block_cache(capacity);
        let write_buffers =
            WriteBufferManager::new_write_buffer_manager_with_cache(buffers, false, cache.clone());
        Ok(Self { cache, write_buffers, capacity, buffers: Mutex::default() })
    }

    #[must_use]
    pub fn cache(&self) -> &Cache {
        &self.cache
    }

    #[must_use]
    pub fn write_buffers(&self) -> &WriteBufferManager {
        &self.write_buffers
    }

    #[must_use]
    pub fn usage(&self) -> Usage {
        Usage {
            capacity: self.capacity,
            cache: self.cache.get_usage(),
            pinned: self.cache.get_pinned_usage(),
            write_buffers: self.write_buffers.get_usage(),
            buffers: self.buffers().bytes,
        }
    }

    fn buffers(&self) -> MutexGuard<'_, Buffers> {
        self.buffers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True if memtables take more than half above their share, and much: less is the first blocks of many
    /// states, which no flush makes fewer.
    #[inline]
    #[must_use]
    pub fn memtables_overshoot(&self) -> bool {
        let share = self.write_buffers.get_buffer_size();
        share > 0 && self.write_buffers.get_usage() > share + share / 2 + MEMTABLE_BLOCKS
    }

    /// A database with a buffer more shares this memory.
    pub fn join_buffers(&self) {
        self.buffers().count += 1;
    }

    /// One less, which has given back what it took.
    pub fn leave_buffers(&self) {
        self.buffers().count -= 1;
    }

    /// Bytes that all buffers, or all queues, together may take when memtables take nothing.
    #[must_use]
    pub fn whole_buffer_share(&self, ratio: f64) -> usize {
        (self.capacity as f64 * ratio).min((self.capacity - self.least_cache()) as f64) as usize
    }

    fn least_cache(&self) -> usize {
        self.capacity / LEAST_CACHE_PART
    }

    /// Bytes that a buffer may take now which has taken `mine`: one part of so many, and no more than
    /// the others have left, who may have taken theirs when they were fewer and be idle since.
    #[must_use]
    pub fn buffer_share(&self, ratio: f64, mine: usize) -> usize {
        let mut buffers = self.buffers();
        let memtables = self.write_buffers.get_usage().min(self.write_buffers.get_buffer_size());
        buffers.memtables = buffers.memtables.max(memtables);
        let taken = self.least_cache() + buffers.memtables + buffers.queue_bytes;
        let left = self.capacity.saturating_sub(taken);
        let all = self.whole_buffer_share(ratio).min(left);
        let others = buffers.bytes.saturating_sub(buffers.queue_bytes + mine);
        (all / buffers.count.max(1)).min(all.saturating_sub(others))
    }

    /// To be called now and then: what memtables took long ago they need no more.
    pub fn forget_memtables(&self) {
        let mut buffers = self.buffers();
        buffers.memtables -= buffers.memtables / 8;
    }

    /// Bytes that the cache may take now, and those of them that nothing takes.
    #[must_use]
    pub fn cache_room(&self) -> (usize, usize) {
        let capacity = self.cache_capacity();
        (capacity, capacity.saturating_sub(self.cache.get_usage()))
    }

    fn cache_capacity(&self) -> usize {
        self.capacity.saturating_sub(self.buffers().bytes)
    }

    /// True if a block more pushes others out of the cache.
    #[must_use]
    pub fn is_cache_full(&self) -> bool {
        is_full(&self.cache, self.cache_capacity())
    }

    /// A queue of timers more shares this memory.
    pub fn join_queues(&self) {
        self.buffers().queues += 1;
    }

    /// One less, which has given back what it took.
    pub fn leave_queues(&self) {
        self.buffers().queues -= 1;
    }

    /// Bytes that each of the queues may take now.
    #[must_use]
    pub fn queue_share(&self, ratio: f64) -> usize {
        self.whole_buffer_share(ratio) / self.buffers().queues.max(1)
    }

    /// A queue takes `now` bytes instead of `before`.
    pub fn charge_queue(&self, before: usize, now: usize) {
        {
            let mut buffers = self.buffers();
            buffers.queue_bytes = buffers.queue_bytes + now - before;
        }
        self.charge_buffer(before, now);
    }

    /// A buffer takes `now` bytes instead of `before`; the cache gets along with the rest.
    pub fn charge_buffer(&self, before: usize, now: usize) {
        let mut buffers = self.buffers();
        buffers.bytes = buffers.bytes + now - before;
        self.cache.clone().set_capacity(self.capacity.saturating_sub(buffers.bytes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_like_flink() {
        // Flink's RocksDBMemoryControllerUtils for 30 MiB and the default ratio 0.5.
        assert_eq!(split(30 << 20, 0.5), (25 << 20, 10 << 20));
    }

    #[test]
    fn a_shard_has_room_for_the_index_of_a_file() {
        for (megabytes, bits) in [(1, 0), (26, 0), (127, 0), (128, 1), (1 << 10, 4), (1 << 20, 6)] {
            assert_eq!(shard_bits(megabytes << 20), bits, "{megabytes} MiB");
        }
    }

    #[test]
    fn what_buffers_take_the_cache_lacks() {
        let memory = Memory::new(30 << 20, 0.5).expect("memory");
        memory.join_buffers();
        assert_eq!(memory.buffer_share(0.2, 0), 5 << 20);
        memory.join_buffers();
        assert_eq!(memory.buffer_share(0.2, 0), 5 << 19);
        memory.charge_buffer(0, 3 << 20);
        memory.charge_buffer(0, 1 << 20);
        memory.charge_buffer(3 << 20, 2 << 20);
        assert_eq!(memory.usage().buffers, 3 << 20);
        memory.leave_buffers();
        assert_eq!(memory.buffer_share(0.2, 3 << 20), 5 << 20);
    }

    #[test]
    fn who_comes_late_takes_what_those_before_have_left() {
        let memory = Memory::new(30 << 20, 0.5).expect("memory");
        memory.join_buffers();
        memory.charge_buffer(0, memory.buffer_share(0.2, 0)); // idle from now on
        memory.join_buffers();
        assert_eq!(memory.buffer_share(0.2, 0), 0);
        assert_eq!(memory.buffer_share(0.2, 5 << 20), 5 << 19, "used again, it gives back");
        memory.charge_buffer(5 << 20, 5 << 19);
        assert_eq!(memory.buffer_share(0.2, 0), 5 << 19);
    }

    #[test]
    fn queues_share_what_is_theirs() {
        let memory = Memory::new(30 << 20, 0.5).expect("memory");
        memory.join_buffers();
        memory.join_queues();
        assert_eq!(memory.queue_share(0.2), 5 << 20);
        memory.join_queues();
        assert_eq!(memory.queue_share(0.2), 5 << 19);
        assert_eq!(memory.buffer_share(0.2, 0), 5 << 20);
        memory.leave_queues();
        assert_eq!(memory.queue_share(0.2), 5 << 20);
    }

    #[test]
    fn refuses_what_is_no_memory() {
        assert!(Memory::new(0, 0.5).is_err());
        assert!(Memory::new(1 << 20, 1.5).is_err());
        assert!(Memory::new(1 << 20, f64::NAN).is_err());
    }
}
