//! Files of a RocksDB database that say what it consists of. Table files: `sst`.
mod edit;
pub mod log;
mod manifest;
mod numbers;

pub use manifest::{current, Column, Manifest, TableFile, DEFAULT_COLUMN, TRAILER};
pub(crate) use numbers::Numbers;
