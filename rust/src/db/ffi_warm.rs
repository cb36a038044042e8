//! The part of the C++ shim that brings files into memory (`shim/warm.cc`). All `unsafe` here is about
//! pointers that live through one call.
use super::ffi::{check, RawColumn};
use crate::error::Result;
use librocksdb_sys as sys;
use rocksdb::{AsRawPtr, Options};
use std::ffi::{c_char, c_int, c_void, OsStr};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr;

/// A table file that a column family has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LiveTable {
    pub(super) path: PathBuf,
    pub(super) level: i32,
    pub(super) number: u64,
    /// Bytes.
    pub(super) size: u64,
    /// Bytes of index and filter that can be loaded from outside the database.
    pub(super) finding: u64,
}

/// Mirrors `ferrostate_live_table`.
#[repr(C)]
struct RawTable {
    path: *const u8,
    path_size: usize,
    size: u64,
    number: u64,
    finding: u64,
    level: i32,
}

extern "C" {
    fn ferrostate_live_tables(
        db: *mut sys::rocksdb_t,
        column: *mut sys::rocksdb_column_family_handle_t,
        with_finding: bool,
        visit: extern "C" fn(*mut c_void, *const RawTable),
        visitor: *mut c_void,
        error: *mut *mut c_char,
    );
    fn ferrostate_load_finding(
        options: *const sys::rocksdb_options_t,
        path: *const u8,
        path_size: usize,
        error: *mut *mut c_char,
    ) -> bool;
    fn ferrostate_read_ahead(file: c_int, offset: u64, length: u64);
    fn ferrostate_no_guessing(file: c_int);
}

/// The files, which are not read. `finding` is 0 unless it is asked for.
///
/// # Safety
/// `raw` points to a live database.
pub(super) unsafe fn live_tables(raw: RawColumn, with_finding: bool) -> Result<Vec<LiveTable>> {
    let mut tables: Vec<LiveTable> = Vec::new();
    let mut error = ptr::null_mut();
    // SAFETY: the caller vouches for `raw`; `tables` is what `collect` takes it for, and is not used
    // otherwise until the call returns.
    unsafe {
        ferrostate_live_tables(
            raw.db,
            raw.column,
            with_finding,
            collect,
            (&raw mut tables).cast(),
            &raw mut error,
        );
    }
    check(error)?;
    Ok(tables)
}

extern "C" fn collect(tables: *mut c_void, table: *const RawTable) {
    // SAFETY: called by `live_tables` with what it gave, and with a table that lives through the call.
    unsafe {
        let table = &*table;
        let path = std::slice::from_raw_parts(table.path, table.path_size);
        (*tables.cast::<Vec<LiveTable>>()).push(LiveTable {
            path: OsStr::from_bytes(path).into(),
            level: table.level,
            number: table.number,
            size: table.size,
            finding: table.finding,
        });
    }
}

/// Loads index and filter of a file into the block cache of the options. False if the file is gone.
pub(super) fn load_finding(options: &Options, path: &Path) -> Result<bool> {
    let path = path.as_os_str().as_bytes();
    let mut error = ptr::null_mut();
    // SAFETY: all live through the call.
    let loaded = unsafe {
        ferrostate_load_finding(options.as_raw_ptr(), path.as_ptr(), path.len(), &raw mut error)
    };
    check(error)?;
    Ok(loaded)
}

/// Tells the kernel to bring a part of the file into memory, and does not wait.
pub(super) fn read_ahead(file: &File, offset: u64, length: u64) {
    // SAFETY: `file` is open through the call; this is a hint that changes nothing.
    unsafe { ferrostate_read_ahead(file.as_raw_fd(), offset, length) }
}

/// Tells the kernel to bring in nothing of the file by itself.
pub(super) fn no_guessing(file: &File) {
    // SAFETY: as above.
    unsafe { ferrostate_no_guessing(file.as_raw_fd()) }
}
