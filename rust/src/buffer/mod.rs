//! The write buffer in front of RocksDB: what is known of the keys that were used lately, so that reading
//! and writing them does not enter it (docs/decisions/0009). One a database, with a limit on its memory.
//! It has the last word about rows that it has: whoever looks at the database below flushes it first.
//! Knows bytes and column families; nothing of state types or Java.
mod arena;
mod evict;
mod flush;
mod hash;
mod index;
mod limit;
mod map_rows;
mod maps;
mod memory;
mod packed;
mod record;
mod rows;
mod shared;
mod table;

pub use map_rows::map_rows;
pub use shared::{Buffer, Rows};
pub use table::Counters;

#[cfg(test)]
#[path = "buffer_test.rs"]
mod tests;

#[cfg(test)]
#[path = "model_test.rs"]
mod model_tests;

#[cfg(test)]
#[path = "maps_test.rs"]
mod maps_tests;
