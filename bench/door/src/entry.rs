//! The trivial value behind the door: one key, one value, room for what is put. A get compares the
//! key, a put compares the key and copies the value, as any store must at least.
use crate::arrays::whole;
use crate::error::{Error, Kind as ErrorKind, Result};
use crate::guard::hot;
use crate::handle::{self, Guard, Kind};
use crate::{native, Native};
use jni_sys::{jbyteArray, jclass, jint, jlong, JNIEnv};
use std::cell::UnsafeCell;
use std::sync::Arc;

pub(crate) struct Entry {
    key: Vec<u8>,
    value: Vec<u8>,
    cells: UnsafeCell<Cells>,
}

/// What changes: the value put last, and buffers for variants that need the bytes in one piece.
pub(crate) struct Cells {
    put: Vec<u8>,
    pub(crate) key: Vec<u8>,
    pub(crate) value: Vec<u8>,
}

// SAFETY: the benchmarks use an entry from one thread.
unsafe impl Sync for Entry {}

impl Kind for Entry {
    const TAG: u32 = 77;
    const NAME: &'static str = "entry";
}

impl Entry {
    pub(crate) fn new(key: Vec<u8>, value: Vec<u8>) -> Self {
        let cells = Cells {
            put: vec![0; value.len()],
            key: vec![0; key.len()],
            value: vec![0; value.len()],
        };
        Self { key, value, cells: UnsafeCell::new(cells) }
    }

    #[inline]
    pub(crate) fn get(&self, key: &[u8]) -> Option<&[u8]> {
        (key == self.key.as_slice()).then_some(self.value.as_slice())
    }

    #[inline]
    pub(crate) fn put(&self, key: &[u8], value: &[u8]) -> Result<()> {
        // SAFETY: one thread, and nobody else looks at `put`.
        let put = unsafe { &mut (*self.cells.get()).put };
        if key != self.key.as_slice() {
            return Err(Error::invalid("another key"));
        }
        room(put, value.len())?.copy_from_slice(value);
        Ok(())
    }

    /// The buffers; used by one thread, and not across `put`'s own.
    #[inline]
    #[allow(clippy::mut_from_ref)]
    pub(crate) fn buffers(&self) -> (&mut [u8], &mut [u8]) {
        // SAFETY: one thread; each native takes them once.
        let cells = unsafe { &mut *self.cells.get() };
        (&mut cells.key, &mut cells.value)
    }
}

/// The first `length` bytes of a buffer.
#[inline]
pub(crate) fn room(buffer: &mut [u8], length: usize) -> Result<&mut [u8]> {
    buffer
        .get_mut(..length)
        .ok_or_else(|| Error::new(ErrorKind::TooLarge, format!("no room for {length} bytes")))
}

#[inline]
pub(crate) fn size(length: jint) -> Result<usize> {
    usize::try_from(length).map_err(|_| Error::invalid(format!("length {length}")))
}

/// As the door finds its states.
#[inline]
pub(crate) fn behind(handle: jlong) -> Result<Guard<Entry>> {
    handle::get(handle)
}

/// As a door would that trusts its caller: the address itself.
///
/// # Safety
/// `address` came from `entryAddress` of an open entry.
#[inline]
pub(crate) unsafe fn trusted<'a>(address: jlong) -> &'a Entry {
    // SAFETY: as the caller says.
    unsafe { &*std::ptr::with_exposed_provenance::<Entry>(address as usize) }
}

extern "system" fn open(env: *mut JNIEnv, _: jclass, key: jbyteArray, value: jbyteArray) -> jlong {
    hot(env, 0, || {
        // SAFETY: the JVM passes live arrays.
        let (key, value) = unsafe { (whole(env, key)?, whole(env, value)?) };
        handle::open(Arc::new(Entry::new(key, value)))
    })
}

extern "system" fn address(env: *mut JNIEnv, _: jclass, entry: jlong) -> jlong {
    hot(env, 0, || Ok(std::ptr::from_ref::<Entry>(&*behind(entry)?).expose_provenance() as jlong))
}

extern "system" fn close(env: *mut JNIEnv, _: jclass, entry: jlong) {
    hot(env, (), || handle::close::<Entry>(entry));
}

pub(crate) fn natives() -> Vec<Native> {
    vec![
        native!(c"entryOpen", c"([B[B)J", open),
        native!(c"entryAddress", c"(J)J", address),
        native!(c"entryClose", c"(J)V", close),
    ]
}
