//! The caller's arrays in place: Get/ReleasePrimitiveArrayCritical. While an array is held the JVM
//! may not collect (G1 of JDK 17), and the holder must neither block nor call back: a real store could
//! not hold it across a read of the disk.
use crate::entry::{behind, room, size, Entry};
use crate::error::{Error, Result};
use crate::guard::hot;
use crate::{native, Native, ABSENT};
use jni_sys::{jbyteArray, jclass, jint, jlong, JNIEnv, JNI_ABORT};
use std::slice::{from_raw_parts, from_raw_parts_mut};

/// An array held in place; given back when dropped.
struct Held {
    env: *mut JNIEnv,
    array: jbyteArray,
    start: *mut u8,
    length: usize,
    /// What giving it back does with the bytes: `JNI_ABORT` where they were only read.
    mode: jint,
}

impl Held {
    /// # Safety
    /// `array` is a live byte[] of at least `length` bytes.
    #[inline]
    unsafe fn new(env: *mut JNIEnv, array: jbyteArray, length: jint, mode: jint) -> Result<Self> {
        let length = size(length)?;
        if array.is_null() {
            return Err(Error::invalid("null array"));
        }
        // SAFETY: as the caller says.
        let start =
            unsafe { ((**env).v1_2.GetPrimitiveArrayCritical)(env, array, std::ptr::null_mut()) };
        if start.is_null() {
            return Err(Error::invalid("the JVM gives no array"));
        }
        Ok(Self { env, array, start: start.cast(), length, mode })
    }

    #[inline]
    fn bytes(&self) -> &[u8] {
        // SAFETY: held until dropped.
        unsafe { from_raw_parts(self.start, self.length) }
    }

    #[inline]
    fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: held until dropped, and by nobody else.
        unsafe { from_raw_parts_mut(self.start, self.length) }
    }
}

impl Drop for Held {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: what `new` got.
        unsafe {
            ((**self.env).v1_2.ReleasePrimitiveArrayCritical)(
                self.env,
                self.array,
                self.start.cast(),
                self.mode,
            );
        }
    }
}

/// # Safety
/// Live arrays of at least the lengths said.
#[inline]
unsafe fn read(
    env: *mut JNIEnv,
    entry: &Entry,
    key: jbyteArray,
    key_length: jint,
    value: jbyteArray,
    capacity: jint,
) -> Result<jint> {
    // SAFETY: as the caller says.
    let key = unsafe { Held::new(env, key, key_length, JNI_ABORT)? };
    // SAFETY: as the caller says.
    let mut target = unsafe { Held::new(env, value, capacity, 0)? };
    let Some(value) = entry.get(key.bytes()) else { return Ok(ABSENT) };
    room(target.bytes_mut(), value.len())?.copy_from_slice(value);
    Ok(value.len() as jint)
}

extern "system" fn get(
    env: *mut JNIEnv,
    _: jclass,
    entry: jlong,
    key: jbyteArray,
    key_length: jint,
    value: jbyteArray,
    capacity: jint,
) -> jint {
    hot(env, ABSENT, || {
        let entry = behind(entry)?;
        // SAFETY: the JVM passes live arrays, the benchmark their lengths.
        unsafe { read(env, &entry, key, key_length, value, capacity) }
    })
}

extern "system" fn put(
    env: *mut JNIEnv,
    _: jclass,
    entry: jlong,
    key: jbyteArray,
    key_length: jint,
    value: jbyteArray,
    value_length: jint,
) {
    hot(env, (), || {
        let entry = behind(entry)?;
        // SAFETY: the JVM passes live arrays, the benchmark their lengths.
        let (key, value) = unsafe {
            let key = Held::new(env, key, key_length, JNI_ABORT)?;
            (key, Held::new(env, value, value_length, JNI_ABORT)?)
        };
        entry.put(key.bytes(), value.bytes())
    });
}

pub(crate) fn natives() -> Vec<Native> {
    vec![native!(c"criticalGet", c"(J[BI[BI)I", get), native!(c"criticalPut", c"(J[BI[BI)V", put)]
}
