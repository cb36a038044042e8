//! Brings a checkpoint's files back, and rows of other key-group ranges out of them. Which handles to
//! restore from is Java's choice.
pub mod copy_range;
pub mod db_sink;
pub mod download;
