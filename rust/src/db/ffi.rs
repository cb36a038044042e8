//! Calls of RocksDB's C API that the crate lacks or makes slow. Every other use of RocksDB goes
//! through the crate. All of this module's `unsafe` is about one thing: pointers that `Db` owns.
use crate::error::{Error, Result};
use librocksdb_sys as sys;
use rocksdb::{AsRawPtr, DBWithThreadMode, MultiThreaded, Options, ReadOptions};
use std::ffi::{c_char, CStr};
use std::ptr;

extern "C" {
    fn ferrostate_options_no_recovery(
        options: *mut sys::rocksdb_options_t,
        error: *mut *mut c_char,
    ) -> bool;
    fn ferrostate_options_hash_memtable(
        options: *mut sys::rocksdb_options_t,
        error: *mut *mut c_char,
    ) -> bool;
}

/// Read and write options made once a database; freed with it.
pub(super) struct RawOptions {
    read: *mut sys::rocksdb_readoptions_t,
    /// Leaves the block cache as it is.
    read_past_cache: *mut sys::rocksdb_readoptions_t,
    pub(super) write: *mut sys::rocksdb_writeoptions_t,
}

// SAFETY: RocksDB only reads these options after they are made.
unsafe impl Send for RawOptions {}
// SAFETY: as above.
unsafe impl Sync for RawOptions {}

impl RawOptions {
    pub(super) fn new() -> Self {
        // SAFETY: plain constructors and setters of the C API on fresh objects.
        unsafe {
            let read = sys::rocksdb_readoptions_create();
            let read_past_cache = sys::rocksdb_readoptions_create();
            sys::rocksdb_readoptions_set_fill_cache(read_past_cache, 0);
            let write = sys::rocksdb_writeoptions_create();
            sys::rocksdb_writeoptions_disable_WAL(write, 1);
            Self { read, read_past_cache, write }
        }
    }
}

impl Drop for RawOptions {
    fn drop(&mut self) {
        // SAFETY: made by `new`, freed once.
        unsafe {
            sys::rocksdb_readoptions_destroy(self.read);
            sys::rocksdb_readoptions_destroy(self.read_past_cache);
            sys::rocksdb_writeoptions_destroy(self.write);
        }
    }
}

/// The pointers of one column family of an open database. Whoever holds it keeps both alive.
#[derive(Clone, Copy)]
pub(super) struct RawColumn {
    pub(super) db: *mut sys::rocksdb_t,
    pub(super) column: *mut sys::rocksdb_column_family_handle_t,
}

// SAFETY: RocksDB's database and column family handles may be used from any thread.
unsafe impl Send for RawColumn {}
// SAFETY: as above.
unsafe impl Sync for RawColumn {}

pub(super) fn raw_db(db: &DBWithThreadMode<MultiThreaded>) -> *mut sys::rocksdb_t {
    // SAFETY: the pointer is only used by columns, which keep the owner of `db` alive.
    unsafe { db.as_raw_ptr() }
}

/// Length of the value, which was written to `value` if it fits in; None when absent. `fill`: what is
/// read goes into the block cache.
///
/// # Safety
/// `raw` points to a live database; `value` is writable for `capacity` bytes.
pub(super) unsafe fn get(
    raw: RawColumn,
    (options, fill): (&RawOptions, bool),
    key: &[u8],
    value: *mut u8,
    capacity: usize,
) -> Result<Option<usize>> {
    let options = if fill { options.read } else { options.read_past_cache };
    let (mut length, mut found, mut error) = (0usize, 0u8, ptr::null_mut::<c_char>());
    // SAFETY: the caller vouches for the pointers; RocksDB writes at most `capacity` bytes.
    unsafe {
        sys::rocksdb_get_into_buffer_cf(
            raw.db,
            options,
            raw.column,
            key.as_ptr().cast(),
            key.len(),
            value.cast(),
            capacity,
            &raw mut length,
            &raw mut found,
            &raw mut error,
        );
    }
    check(error)?;
    Ok((found != 0).then_some(length))
}

/// `rocksdb_put_cf` or `rocksdb_merge_cf`.
type WriteRow = unsafe extern "C" fn(
    *mut sys::rocksdb_t,
    *const sys::rocksdb_writeoptions_t,
    *mut sys::rocksdb_column_family_handle_t,
    *const c_char,
    usize,
    *const c_char,
    usize,
    *mut *mut c_char,
);

/// # Safety
/// `raw` points to a live database.
#[inline]
pub(super) unsafe fn put(
    raw: RawColumn,
    options: &RawOptions,
    key: &[u8],
    value: &[u8],
) -> Result<()> {
    // SAFETY: the caller vouches for `raw`.
    unsafe { write_row(sys::rocksdb_put_cf, raw, options, key, value) }
}

/// # Safety
/// `raw` points to a live database.
#[inline]
pub(super) unsafe fn merge(
    raw: RawColumn,
    options: &RawOptions,
    key: &[u8],
    operand: &[u8],
) -> Result<()> {
    // SAFETY: the caller vouches for `raw`.
    unsafe { write_row(sys::rocksdb_merge_cf, raw, options, key, operand) }
}

/// # Safety
/// `raw` points to a live database.
#[inline(always)]
unsafe fn write_row(
    call: WriteRow,
    raw: RawColumn,
    options: &RawOptions,
    key: &[u8],
    value: &[u8],
) -> Result<()> {
    let mut error = ptr::null_mut::<c_char>();
    // SAFETY: the caller vouches for `raw`; the slices live through the call.
    unsafe {
        call(
            raw.db,
            options.write,
            raw.column,
            key.as_ptr().cast(),
            key.len(),
            value.as_ptr().cast(),
            value.len(),
            &raw mut error,
        );
    }
    check(error)
}

/// # Safety
/// `raw` points to a live database.
pub(super) unsafe fn delete(raw: RawColumn, options: &RawOptions, key: &[u8]) -> Result<()> {
    let mut error = ptr::null_mut::<c_char>();
    // SAFETY: the caller vouches for `raw`; the slice lives through the call.
    unsafe {
        sys::rocksdb_delete_cf(
            raw.db,
            options.write,
            raw.column,
            key.as_ptr().cast(),
            key.len(),
            &raw mut error,
        );
    }
    check(error)
}

/// The crate's options lack this setter. Close must not write what nobody will read.
pub(super) fn avoid_flush_during_shutdown(options: &mut Options) {
    // SAFETY: the pointer is that of the live `options`, used at once.
    unsafe { sys::rocksdb_options_set_avoid_flush_during_shutdown(options.as_raw_ptr(), 1) }
}

/// A background error stays, and fails writes, instead of being recovered from behind our back; see
/// `shim/no_recovery.cc`.
pub(super) fn no_recovery(options: &mut Options) -> Result<()> {
    let mut error = ptr::null_mut::<c_char>();
    // SAFETY: the pointer is that of the live `options`, used at once.
    unsafe { ferrostate_options_no_recovery(options.as_raw_ptr(), &raw mut error) };
    check(error)
}

/// Memtables of our own instead of skip lists, unless the options rule it out; see `shim/memtable_rep.cc`.
pub(super) fn hash_memtable(options: &mut Options) -> Result<bool> {
    let mut error = ptr::null_mut::<c_char>();
    // SAFETY: the pointer is that of the live `options`, used at once.
    let taken = unsafe { ferrostate_options_hash_memtable(options.as_raw_ptr(), &raw mut error) };
    check(error)?;
    Ok(taken)
}

/// For scans that end where `upper` begins. `filtered`: all of it shares the prefix that the column
/// family's filters know; else they must not be asked.
pub(super) fn scan_options(upper: Option<Vec<u8>>, filtered: bool) -> ReadOptions {
    let mut options = ReadOptions::default();
    options.set_total_order_seek(!filtered);
    options.set_prefix_same_as_start(filtered);
    options.set_auto_readahead_size(true);
    if let Some(upper) = upper {
        options.set_iterate_upper_bound(upper);
    }
    options
}

/// Takes a message that RocksDB, or the shim, allocated.
pub(super) fn check(error: *mut c_char) -> Result<()> {
    if error.is_null() {
        return Ok(());
    }
    // SAFETY: a NUL-terminated string of RocksDB's, freed here and nowhere else.
    let text = unsafe {
        let text = CStr::from_ptr(error).to_string_lossy().into_owned();
        sys::rocksdb_free(error.cast());
        text
    };
    Err(Error::rocksdb_text("rocksdb", &text))
}
