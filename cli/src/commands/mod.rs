//! One file a command: what it reads, what it says.
pub mod files;
pub mod show;
pub mod verify;
