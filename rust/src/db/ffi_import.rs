//! The import of the C++ shim (`shim/import.cc`) and what else a database under assembly needs of RocksDB
//! beyond the crate. All `unsafe` here is about pointers that live through one call.
use super::ffi::{check, RawColumn, RawOptions};
use super::table_files::TableFile;
use crate::cancel::Cancel;
use crate::error::{Error, Kind, Result};
use librocksdb_sys as sys;
use rocksdb::{AsRawPtr, Options};
use std::ffi::c_char;
use std::path::Path;
use std::ptr;
use std::sync::atomic::AtomicBool;

/// Mirrors `Bytes`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Bytes {
    data: *const u8,
    size: usize,
}

impl Bytes {
    const NONE: Self = Self { data: ptr::null(), size: 0 };
}

impl From<&[u8]> for Bytes {
    fn from(slice: &[u8]) -> Self {
        Self { data: slice.as_ptr(), size: slice.len() }
    }
}

/// Mirrors `ferrostate_table_file`.
#[repr(C)]
struct RawFile {
    number: u64,
    size: u64,
    level: i32,
    epoch: u64,
    smallest_seqno: u64,
    largest_seqno: u64,
    name: Bytes,
    smallest: Bytes,
    largest: Bytes,
}

/// Mirrors `ferrostate_part`.
#[repr(C)]
struct RawPart {
    directory: Bytes,
    files: *const RawFile,
    count: usize,
}

extern "C" {
    fn ferrostate_import(
        db: *mut sys::rocksdb_t,
        options: *const sys::rocksdb_options_t,
        name: Bytes,
        parts: *const RawPart,
        count: usize,
        error: *mut *mut c_char,
    ) -> *mut sys::rocksdb_column_family_handle_t;
    fn ferrostate_compact_range(
        db: *mut sys::rocksdb_t,
        column: *mut sys::rocksdb_column_family_handle_t,
        from: Bytes,
        to: Bytes,
        canceled: *const AtomicBool,
        error: *mut *mut c_char,
    );
}

/// A column family handle that the crate does not know of. Destroyed before its database.
pub(super) struct ImportedColumn(*mut sys::rocksdb_column_family_handle_t);

impl ImportedColumn {
    pub(super) fn raw(&self) -> *mut sys::rocksdb_column_family_handle_t {
        self.0
    }
}

impl Drop for ImportedColumn {
    fn drop(&mut self) {
        // SAFETY: made by the import, destroyed once; its database is still open.
        unsafe { sys::rocksdb_column_family_handle_destroy(self.0) }
    }
}

/// Files with their directories, oldest of level 0 first.
///
/// # Safety
/// `db` is open and outlives the result.
pub(super) unsafe fn import(
    db: *mut sys::rocksdb_t,
    options: &Options,
    name: &str,
    parts: &[(&Path, Vec<TableFile>)],
) -> Result<ImportedColumn> {
    let names: Vec<Vec<String>> =
        parts.iter().map(|(_, files)| files.iter().map(TableFile::name).collect()).collect();
    let files: Vec<Vec<RawFile>> =
        parts.iter().zip(&names).map(|((_, files), names)| raw_files(files, names)).collect();
    let raw: Vec<_> = parts
        .iter()
        .zip(&files)
        .map(|((directory, _), files)| RawPart {
            directory: directory.as_os_str().as_encoded_bytes().into(),
            files: files.as_ptr(),
            count: files.len(),
        })
        .collect();
    let mut error = ptr::null_mut();
    // SAFETY: the caller vouches for `db`; everything else lives through the call.
    let column = unsafe {
        ferrostate_import(
            db,
            options.as_raw_ptr(),
            name.as_bytes().into(),
            raw.as_ptr(),
            raw.len(),
            &raw mut error,
        )
    };
    check(error)?;
    if column.is_null() {
        return Err(Error::new(Kind::Io, "the import gave neither a column family nor a reason"));
    }
    Ok(ImportedColumn(column))
}

fn raw_files(files: &[TableFile], names: &[String]) -> Vec<RawFile> {
    files
        .iter()
        .zip(names)
        .zip(1..)
        .map(|((file, name), epoch)| RawFile {
            number: file.number,
            size: file.size,
            level: file.level as i32,
            // RocksDB numbers them anew in this order.
            epoch,
            smallest_seqno: file.smallest_seqno,
            largest_seqno: file.largest_seqno,
            name: name.as_bytes().into(),
            smallest: file.smallest.as_slice().into(),
            largest: file.largest.as_slice().into(),
        })
        .collect()
}

/// Makes compactions that were asked for end soon: also those that wait, maybe for long, for one of the
/// threads that all databases share. There will be no more of them.
///
/// # Safety
/// `raw` points to a live database.
pub(super) unsafe fn end_compactions(raw: RawColumn) {
    // SAFETY: the caller vouches for `raw`.
    unsafe { sys::rocksdb_disable_manual_compaction(raw.db) }
}

/// Compacts the files that have keys of a range, or all, until `cancel` or [`end_compactions`] ends it;
/// while it waits for a thread only the latter does.
///
/// # Safety
/// `raw` points to a live database.
pub(super) unsafe fn compact_range(
    raw: RawColumn,
    range: Option<(&[u8], &[u8])>,
    cancel: &Cancel,
) -> Result<()> {
    let (from, to) =
        range.map_or((Bytes::NONE, Bytes::NONE), |(from, to)| (from.into(), to.into()));
    let mut error = ptr::null_mut();
    // SAFETY: the caller vouches for `raw`; C++'s atomic bool is one byte, as Rust's is.
    unsafe {
        ferrostate_compact_range(
            raw.db,
            raw.column,
            from,
            to,
            ptr::from_ref(cancel.flag()),
            &raw mut error,
        );
    }
    check(error)
}

/// # Safety
/// `raw` points to a live database.
pub(super) unsafe fn delete_range(
    raw: RawColumn,
    options: &RawOptions,
    from: &[u8],
    to: &[u8],
) -> Result<()> {
    let mut error = ptr::null_mut();
    // SAFETY: the caller vouches for `raw`; the slices live through the call.
    unsafe {
        sys::rocksdb_delete_range_cf(
            raw.db,
            options.write,
            raw.column,
            from.as_ptr().cast(),
            from.len(),
            to.as_ptr().cast(),
            to.len(),
            &raw mut error,
        );
    }
    check(error)
}

/// # Safety
/// `raw` points to a live database.
pub(super) unsafe fn flush(raw: RawColumn) -> Result<()> {
    let mut error = ptr::null_mut();
    // SAFETY: the caller vouches for `raw`; the options are made and freed here.
    unsafe {
        let options = sys::rocksdb_flushoptions_create();
        // Else it waits for compactions, however long these take.
        sys::rocksdb_flushoptions_set_allow_write_stall(options, 1);
        sys::rocksdb_flush_cf(raw.db, options, raw.column, &raw mut error);
        sys::rocksdb_flushoptions_destroy(options);
    }
    check(error)
}
