//! RocksDB, owned: one database a keyed backend. Knows column families and bytes; nothing of state
//! types, checkpoints' plans or JNI.
mod columns;
mod ffi;
mod ffi_batch;
mod ffi_ttl;
mod open;
mod options;
mod owner;
mod scan;

pub use columns::Column;
pub use ffi_ttl::{TtlClock, TtlKind, TtlRule};
pub use options::{read_only_options, MERGE_OPERATOR};
pub use owner::Db;
pub use scan::{successor, Cursor, Fill};

#[cfg(test)]
#[path = "db_test.rs"]
mod tests;

#[cfg(test)]
#[path = "ttl_compaction_test.rs"]
mod ttl_compaction_tests;
