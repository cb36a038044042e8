//! Ferrostate: a keyed state backend for Apache Flink. The flow, one folder a stage:
//!
//! ```text
//! record  -> state  -> buffer -> db            reads and writes of one column family a state
//! timer   -> state  -> timers -> db            a queue over key groups, its earliest timers in memory
//! barrier -> checkpoint: plan | upload -> store   reuse confirmed files, bring the rest
//! restore -> store: download -> db                open, or copy a key-group range
//! ```
//!
//! Java enters through `jni`, which nobody else imports. `plan`, `ledger` and `layout` do no I/O.
#![deny(unsafe_op_in_unsafe_fn)]
#![warn(clippy::undocumented_unsafe_blocks)]

pub mod buffer;
pub mod cancel;
pub mod checkpoint;
pub mod config;
pub mod db;
pub mod error;
pub mod free_memory;
mod jni;
pub mod limits;
pub mod local;
pub mod memory;
pub mod restore;
pub mod runtime;
pub mod state;
pub mod store;
pub mod timers;

pub use error::{Error, Kind, Result};
