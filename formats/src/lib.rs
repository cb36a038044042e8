//! Readers of the bytes in a Flink checkpoint. Pure: bytes in, values out; who fetches the bytes and what
//! is said about them is the callers' business (`cli/`, the state backend in `rust/`).
//!
//! All input is hostile: an error names the offset and the field; memory is bounded by the length of the
//! input, never by a count in it; recursion is bounded; nothing panics.
pub mod keyed_meta;
mod malformed;
pub mod metadata;
pub mod rocksdb;
#[cfg(feature = "sst")]
pub mod sst;

pub use malformed::{Malformed, Result};
