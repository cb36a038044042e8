//! For tests: what a compaction does with one value after the other, without a database.
use super::{made, RawFilter, TtlFilter};
use std::ffi::c_char;
use std::ptr::{self, NonNull};

/// Opaque, the shim's.
#[repr(C)]
struct RawPass {
    _opaque: [u8; 0],
}

extern "C" {
    fn ferrostate_ttl_pass_begin(filter: *mut RawFilter, error: *mut *mut c_char) -> *mut RawPass;
    fn ferrostate_ttl_pass_end(pass: *mut RawPass);
    fn ferrostate_ttl_pass_decide(
        pass: *mut RawPass,
        is_operand: bool,
        value: *const u8,
        length: usize,
        kept: *mut usize,
        error: *mut *mut c_char,
    ) -> i32;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decision {
    Keep,
    Remove,
    /// What stays begins there.
    Cut(usize),
}

/// One compaction of one thread.
pub(super) struct Pass(NonNull<RawPass>);

impl Pass {
    pub(super) fn begin(filter: &TtlFilter) -> Self {
        let mut error = ptr::null_mut();
        // SAFETY: `filter` lives through the call, the shim takes references of its own.
        let raw = unsafe { ferrostate_ttl_pass_begin(filter.0.as_ptr(), &raw mut error) };
        Self(made(raw, error).expect("memory for a filter"))
    }

    pub(super) fn decide(&mut self, is_operand: bool, value: &[u8]) -> Decision {
        let (mut kept, mut error) = (0, ptr::null_mut());
        // SAFETY: the slice lives through the call, `kept` and `error` are writable.
        let action = unsafe {
            ferrostate_ttl_pass_decide(
                self.0.as_ptr(),
                is_operand,
                value.as_ptr(),
                value.len(),
                &raw mut kept,
                &raw mut error,
            )
        };
        match action {
            0 => Decision::Keep,
            1 => Decision::Remove,
            2 => Decision::Cut(value.len() - kept),
            other => panic!("the filter decided {other}"),
        }
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        // SAFETY: made by `begin`, ended once.
        unsafe { ferrostate_ttl_pass_end(self.0.as_ptr()) }
    }
}
