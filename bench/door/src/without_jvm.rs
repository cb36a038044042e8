//! The door's handles and guard as criterion can call them.
use crate::entry::Entry;
use crate::handle;
use jni_sys::jlong;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::Arc;

/// A handle of the real slab.
#[derive(Clone, Copy)]
pub struct Handle(jlong);

impl Handle {
    pub fn open() -> Option<Self> {
        handle::open(Arc::new(Entry::new(vec![42; 20], vec![42; 50]))).ok().map(Self)
    }

    /// Looks the entry up and leaves it again: what each native does.
    #[inline]
    pub fn use_once(self) -> bool {
        handle::get::<Entry>(self.0).is_ok_and(|entry| entry.get(&[]).is_none())
    }

    pub fn close(self) -> bool {
        handle::close::<Entry>(self.0).is_ok()
    }
}

/// The same entry without a slab.
pub struct Plain(Arc<Entry>);

impl Plain {
    #[must_use]
    pub fn open() -> Self {
        Self(Arc::new(Entry::new(vec![42; 20], vec![42; 50])))
    }

    #[inline]
    #[must_use]
    pub fn use_once(&self) -> bool {
        self.0.get(&[]).is_none()
    }
}

/// `call` as the guard runs it.
#[inline]
pub fn caught<R>(call: impl FnOnce() -> R) -> Option<R> {
    catch_unwind(AssertUnwindSafe(call)).ok()
}
