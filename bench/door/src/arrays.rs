//! Arrays that know their own length, a new one for each result: what frocksdbjni does.
use crate::entry::{behind, room, size, trusted, Entry};
use crate::error::{Error, Kind, Result};
use crate::guard::hot;
use crate::regions::copy_in;
use crate::{native, Native};
use jni_sys::{jbyteArray, jclass, jint, jlong, JNIEnv};
use std::ptr;

/// # Safety
/// `array` is a live byte[].
#[inline]
unsafe fn length(env: *mut JNIEnv, array: jbyteArray) -> Result<usize> {
    if array.is_null() {
        return Err(Error::invalid("null array"));
    }
    // SAFETY: as the caller says.
    size(unsafe { ((**env).v1_1.GetArrayLength)(env, array) })
}

/// All of an array.
///
/// # Safety
/// `array` is a live byte[].
pub(crate) unsafe fn whole(env: *mut JNIEnv, array: jbyteArray) -> Result<Vec<u8>> {
    // SAFETY: as the caller says.
    unsafe {
        let mut bytes = vec![0; length(env, array)?];
        copy_in(env, array, &mut bytes)?;
        Ok(bytes)
    }
}

/// # Safety
/// `env` is the JVM's.
#[inline]
unsafe fn new_array(env: *mut JNIEnv, value: &[u8]) -> Result<jbyteArray> {
    let length = value.len() as jint;
    // SAFETY: as the caller says.
    let array = unsafe { ((**env).v1_1.NewByteArray)(env, length) };
    if array.is_null() {
        return Err(Error::new(Kind::TooLarge, "no memory for the value"));
    }
    // SAFETY: the array was made for this length.
    unsafe {
        ((**env).v1_1.SetByteArrayRegion)(env, array, 0, length, value.as_ptr().cast());
    }
    Ok(array)
}

/// # Safety
/// `key` is a live byte[].
#[inline]
unsafe fn read(env: *mut JNIEnv, entry: &Entry, key: jbyteArray) -> Result<jbyteArray> {
    // SAFETY: as the caller says.
    unsafe {
        let key_bytes = room(entry.buffers().0, length(env, key)?)?;
        copy_in(env, key, key_bytes)?;
        entry.get(key_bytes).map_or(Ok(ptr::null_mut()), |value| new_array(env, value))
    }
}

extern "system" fn get(env: *mut JNIEnv, _: jclass, entry: jlong, key: jbyteArray) -> jbyteArray {
    hot(env, ptr::null_mut(), || {
        let entry = behind(entry)?;
        // SAFETY: the JVM passes a live array.
        unsafe { read(env, &entry, key) }
    })
}

extern "system" fn get_trusted(
    env: *mut JNIEnv,
    _: jclass,
    entry: jlong,
    key: jbyteArray,
) -> jbyteArray {
    // SAFETY: the JVM passes a live array, the benchmark the address of an open entry.
    unsafe { read(env, trusted(entry), key) }.unwrap_or(ptr::null_mut())
}

extern "system" fn put(
    env: *mut JNIEnv,
    _: jclass,
    entry: jlong,
    key: jbyteArray,
    value: jbyteArray,
) {
    hot(env, (), || {
        let entry = behind(entry)?;
        let (key_bytes, value_bytes) = entry.buffers();
        // SAFETY: the JVM passes live arrays.
        unsafe {
            let key_bytes = room(key_bytes, length(env, key)?)?;
            let value_bytes = room(value_bytes, length(env, value)?)?;
            copy_in(env, key, key_bytes)?;
            copy_in(env, value, value_bytes)?;
            entry.put(key_bytes, value_bytes)
        }
    });
}

pub(crate) fn natives() -> Vec<Native> {
    vec![
        native!(c"arrayGet", c"(J[B)[B", get),
        native!(c"arrayGetTrusted", c"(J[B)[B", get_trusted),
        native!(c"arrayPut", c"(J[B[B)V", put),
    ]
}
