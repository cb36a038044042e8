//! The compaction filter of the C++ shim (`shim/ttl_filter.cc`) and its clock, as Rust objects. What is
//! dropped when is decided there; what it means for a state is `state/ttl.rs`'s business.
use crate::error::{Error, Result};
use librocksdb_sys as sys;
use rocksdb::{AsRawPtr, Options};
use std::ffi::c_char;
use std::ptr::{self, NonNull};
use std::sync::Arc;

/// Opaque, the shim's.
#[repr(C)]
struct RawClock {
    _opaque: [u8; 0],
}

/// Opaque, the shim's.
#[repr(C)]
struct RawFilter {
    _opaque: [u8; 0],
}

extern "C" {
    fn ferrostate_ttl_clock_create(error: *mut *mut c_char) -> *mut RawClock;
    fn ferrostate_ttl_clock_destroy(clock: *mut RawClock);
    fn ferrostate_ttl_clock_set(clock: *mut RawClock, millis: i64);
    fn ferrostate_ttl_clock_use_system(clock: *mut RawClock);
    fn ferrostate_ttl_filter_create(
        clock: *mut RawClock,
        error: *mut *mut c_char,
    ) -> *mut RawFilter;
    fn ferrostate_ttl_filter_destroy(filter: *mut RawFilter);
    fn ferrostate_ttl_filter_install(filter: *mut RawFilter, options: *mut sys::rocksdb_options_t);
    fn ferrostate_ttl_filter_configure(
        filter: *mut RawFilter,
        kind: i32,
        ttl_millis: i64,
        query_time_after: i64,
        layout: *const u8,
        layout_length: usize,
        error: *mut *mut c_char,
    ) -> bool;
}

/// What time it is for all filters of a database. Until it is set nothing expires.
pub struct TtlClock(NonNull<RawClock>);

// SAFETY: the shim keeps the time in atomics.
unsafe impl Send for TtlClock {}
// SAFETY: as above.
unsafe impl Sync for TtlClock {}

impl TtlClock {
    pub(super) fn new() -> Result<Arc<Self>> {
        let mut error = ptr::null_mut();
        // SAFETY: a plain constructor; `error` is writable.
        let raw = unsafe { ferrostate_ttl_clock_create(&raw mut error) };
        made(raw, error).map(|raw| Arc::new(Self(raw)))
    }

    /// It is `millis` until it is set again.
    pub fn set(&self, millis: i64) {
        // SAFETY: the pointer lives as long as `self`.
        unsafe { ferrostate_ttl_clock_set(self.0.as_ptr(), millis) }
    }

    /// From now on the system's clock is read.
    pub fn use_system(&self) {
        // SAFETY: as above.
        unsafe { ferrostate_ttl_clock_use_system(self.0.as_ptr()) }
    }
}

impl Drop for TtlClock {
    fn drop(&mut self) {
        // SAFETY: made by `new`, freed once; filters hold the shim's own reference.
        unsafe { ferrostate_ttl_clock_destroy(self.0.as_ptr()) }
    }
}

/// What a filter does with which values; the numbers are the shim's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TtlKind {
    Disabled = 0,
    Value = 1,
    Map = 2,
    List = 3,
}

/// How the values of a state expire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TtlRule {
    pub kind: TtlKind,
    pub ttl_millis: i64,
    /// Entries between two looks at the clock.
    pub query_time_after: i64,
    /// Lists: how long an element is, see `shim/element_layout.h`; empty when nobody can tell.
    pub layout: Vec<u8>,
}

impl TtlRule {
    #[must_use]
    pub fn disabled() -> Self {
        Self { kind: TtlKind::Disabled, ttl_millis: 0, query_time_after: 0, layout: Vec::new() }
    }
}

/// The filter of one column family.
pub(super) struct TtlFilter(NonNull<RawFilter>);

// SAFETY: the shim guards its configuration with a mutex.
unsafe impl Send for TtlFilter {}
// SAFETY: as above.
unsafe impl Sync for TtlFilter {}

impl TtlFilter {
    /// Filters nothing until it is configured.
    pub(super) fn new(clock: &TtlClock) -> Result<Arc<Self>> {
        let mut error = ptr::null_mut();
        // SAFETY: `clock` lives through the call, the shim takes a reference of its own.
        let raw = unsafe { ferrostate_ttl_filter_create(clock.0.as_ptr(), &raw mut error) };
        made(raw, error).map(|raw| Arc::new(Self(raw)))
    }

    /// Makes it the filter of every column family that is opened with these options.
    pub(super) fn install(&self, options: &mut Options) {
        // SAFETY: both live through the call; the options take a reference of their own.
        unsafe { ferrostate_ttl_filter_install(self.0.as_ptr(), options.as_raw_ptr()) }
    }

    /// Compactions that begin from now on go by this rule.
    pub(super) fn configure(&self, rule: &TtlRule) -> Result<()> {
        let mut error = ptr::null_mut();
        // SAFETY: the slice lives through the call; the shim copies what it needs.
        let done = unsafe {
            ferrostate_ttl_filter_configure(
                self.0.as_ptr(),
                rule.kind as i32,
                rule.ttl_millis,
                rule.query_time_after,
                rule.layout.as_ptr(),
                rule.layout.len(),
                &raw mut error,
            )
        };
        if done {
            return Ok(());
        }
        super::ffi::check(error)?;
        Err(Error::invalid("the compaction filter took no configuration"))
    }
}

impl Drop for TtlFilter {
    fn drop(&mut self) {
        // SAFETY: made by `new`, freed once; column families hold the shim's own reference.
        unsafe { ferrostate_ttl_filter_destroy(self.0.as_ptr()) }
    }
}

fn made<T>(raw: *mut T, error: *mut c_char) -> Result<NonNull<T>> {
    super::ffi::check(error)?;
    NonNull::new(raw).ok_or_else(|| Error::invalid("the C++ shim made no object"))
}

#[cfg(test)]
#[path = "ffi_ttl_pass.rs"]
pub(super) mod pass;

#[cfg(test)]
#[path = "ttl_test.rs"]
mod tests;
