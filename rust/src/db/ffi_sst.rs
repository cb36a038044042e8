//! RocksDB's writer of single SST files, which the crate ties to a borrow of its options. What goes in
//! and what becomes of the files is `ingest.rs`'s business.
use super::ffi::check;
use crate::error::{Error, Result};
use librocksdb_sys as sys;
use rocksdb::{AsRawPtr, Options};
use std::ffi::{c_char, CString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

/// Bytes of a file that may wait to be written to the disk.
const UNWRITTEN: u64 = 8 << 20;

/// Writes one file at a time, in the format that the options say.
pub(super) struct SstWriter(*mut sys::rocksdb_sstfilewriter_t);

// SAFETY: the writer has no ties to a thread; `&mut` keeps uses apart.
unsafe impl Send for SstWriter {}

impl SstWriter {
    pub(super) fn new(options: &Options) -> Self {
        // SAFETY: the writer copies both kinds of options, and what they share it shares too.
        unsafe {
            let files = sys::rocksdb_envoptions_create();
            // Else completing a large file could take long, and nothing could end it.
            sys::rocksdb_envoptions_set_bytes_per_sync(files, UNWRITTEN);
            sys::rocksdb_envoptions_set_strict_bytes_per_sync(files, 1);
            let writer = sys::rocksdb_sstfilewriter_create(files, options.as_raw_ptr());
            sys::rocksdb_envoptions_destroy(files);
            Self(writer)
        }
    }

    /// Begins a file.
    pub(super) fn open(&mut self, path: &Path) -> Result<()> {
        let name = CString::new(path.as_os_str().as_bytes())
            .map_err(|_| Error::invalid(format!("a path with a NUL: {}", path.display())))?;
        let mut error = ptr::null_mut::<c_char>();
        // SAFETY: a live writer and a NUL-terminated name.
        unsafe { sys::rocksdb_sstfilewriter_open(self.0, name.as_ptr(), &raw mut error) };
        check(error)
    }

    /// Adds a row to the open file; keys must ascend.
    pub(super) fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let mut error = ptr::null_mut::<c_char>();
        // SAFETY: a live writer; the slices live through the call.
        unsafe {
            sys::rocksdb_sstfilewriter_put(
                self.0,
                key.as_ptr().cast(),
                key.len(),
                value.as_ptr().cast(),
                value.len(),
                &raw mut error,
            );
        }
        check(error)
    }

    /// Bytes of the open file so far.
    pub(super) fn file_size(&self) -> u64 {
        let mut size = 0;
        // SAFETY: a live writer, on which this is a plain read.
        unsafe { sys::rocksdb_sstfilewriter_file_size(self.0, &raw mut size) };
        size
    }

    /// Completes the open file and brings it to disk.
    pub(super) fn finish(&mut self) -> Result<()> {
        let mut error = ptr::null_mut::<c_char>();
        // SAFETY: a live writer.
        unsafe { sys::rocksdb_sstfilewriter_finish(self.0, &raw mut error) };
        check(error)
    }
}

impl Drop for SstWriter {
    fn drop(&mut self) {
        // SAFETY: made by `new`, freed once. An unfinished file is abandoned, not deleted.
        unsafe { sys::rocksdb_sstfilewriter_destroy(self.0) }
    }
}
