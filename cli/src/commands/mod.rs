//! One file a command: what it reads, what it says.
pub mod diff;
pub mod files;
pub mod orphans;
pub mod report;
pub mod show;
pub mod verify;
