//! A batch of writes of one column family, which is written and filled again: the crate gives its batches
//! away with the write. Raw calls only, like `ffi`.
use super::ffi::{check, RawColumn, RawOptions};
use crate::error::Result;
use librocksdb_sys as sys;
use std::ffi::c_char;
use std::ptr;

/// What a row takes besides its bytes, about.
const ROW_BYTES: usize = 8;

/// Writes that happen together or not at all.
pub(super) struct Batch {
    raw: *mut sys::rocksdb_writebatch_t,
    /// About; 0 when there are no rows.
    bytes: usize,
}

impl Batch {
    pub(super) fn new() -> Self {
        // SAFETY: a plain constructor of the C API.
        Self { raw: unsafe { sys::rocksdb_writebatch_create() }, bytes: 0 }
    }

    /// # Safety
    /// `column` belongs to a live database.
    pub(super) unsafe fn put(&mut self, column: RawColumn, key: &[u8], value: &[u8]) {
        self.bytes += ROW_BYTES + key.len() + value.len();
        // SAFETY: `raw` is live until drop, the caller vouches for `column`; RocksDB copies the slices.
        unsafe {
            sys::rocksdb_writebatch_put_cf(
                self.raw,
                column.column,
                key.as_ptr().cast(),
                key.len(),
                value.as_ptr().cast(),
                value.len(),
            );
        }
    }

    /// # Safety
    /// `column` belongs to a live database.
    pub(super) unsafe fn merge(&mut self, column: RawColumn, key: &[u8], operand: &[u8]) {
        self.bytes += ROW_BYTES + key.len() + operand.len();
        // SAFETY: as in `put`.
        unsafe {
            sys::rocksdb_writebatch_merge_cf(
                self.raw,
                column.column,
                key.as_ptr().cast(),
                key.len(),
                operand.as_ptr().cast(),
                operand.len(),
            );
        }
    }

    /// # Safety
    /// `column` belongs to a live database.
    pub(super) unsafe fn delete(&mut self, column: RawColumn, key: &[u8]) {
        self.bytes += ROW_BYTES + key.len();
        // SAFETY: as in `put`.
        unsafe {
            sys::rocksdb_writebatch_delete_cf(
                self.raw,
                column.column,
                key.as_ptr().cast(),
                key.len(),
            );
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn clear(&mut self) {
        self.bytes = 0;
        // SAFETY: `raw` is live until drop.
        unsafe { sys::rocksdb_writebatch_clear(self.raw) }
    }

    /// Writes the rows and keeps them until `clear`.
    ///
    /// # Safety
    /// `column` belongs to the live database that the rows are for.
    pub(super) unsafe fn write(&self, column: RawColumn, options: &RawOptions) -> Result<()> {
        let mut error = ptr::null_mut::<c_char>();
        // SAFETY: the caller vouches for `column`; RocksDB leaves the batch as it is.
        unsafe { sys::rocksdb_write(column.db, options.write, self.raw, &raw mut error) };
        check(error)
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        // SAFETY: made by `new`, freed once.
        unsafe { sys::rocksdb_writebatch_destroy(self.raw) }
    }
}
