//! Timers: the earliest ones of a queue in memory, in their order, all of them in RocksDB (docs/decisions/0010).
//! A queue is a column family whose keys are `key group, timer` and whose values are empty; it has the last
//! word about its timers until it is flushed. Knows bytes; nothing of serializers or Java.
mod flush;
mod group;
mod key;
mod leaf;
mod limit;
mod log;
mod queue;
mod refill;
mod winners;

pub use limit::Share;
pub use queue::{Layout, Queue};

#[cfg(test)]
#[path = "queue_test.rs"]
mod tests;
