//! RocksDB, owned: one database a keyed backend. Knows column families and bytes; nothing of state
//! types, checkpoints' plans or JNI.
mod admission;
mod assembly;
mod background;
mod columns;
#[cfg(test)]
mod failing;
mod ffi;
mod ffi_batch;
mod ffi_import;
mod ffi_sst;
mod ffi_ttl;
mod ffi_warm;
mod ingest;
mod manifest;
mod open;
mod options;
mod owner;
mod rows;
mod scan;
mod settle;
pub mod table_files;
mod threads;
mod warm;
mod write_batch;

pub use assembly::{Assembly, DeadRange};
pub use columns::Column;
#[cfg(test)]
pub(crate) use failing::{fail_writes, fail_writes_after};
pub use ffi_ttl::{TtlClock, TtlKind, TtlRule};
pub use ingest::Ingest;
pub use manifest::check_manifest;
pub use options::{read_only_options, MERGE_OPERATOR};
pub use owner::Db;
pub use scan::{successor, Cursor, Entries, Fill};
pub use threads::MOST as MOST_THREADS;
pub use write_batch::WriteBatch;

#[cfg(test)]
mod testing;

#[cfg(test)]
#[path = "db_test.rs"]
mod tests;

#[cfg(test)]
#[path = "memtable_test.rs"]
mod memtable_tests;

#[cfg(test)]
#[path = "ttl_compaction_test.rs"]
mod ttl_compaction_tests;
