//! Brings a checkpoint's files back, makes databases for other key-group ranges out of them, and copies
//! rows where files will not do. Which handles to restore from is Java's choice.
pub mod complete;
pub mod copy_range;
pub mod db_sink;
pub mod download;
pub mod rescale;
