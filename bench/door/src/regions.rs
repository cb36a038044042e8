//! The caller's arrays: Get/SetByteArrayRegion between them and a buffer of the library.
use crate::entry::{behind, room, size, trusted, Entry};
use crate::error::{Error, Kind, Result};
use crate::guard::hot;
use crate::{native, Native, ABSENT};
use jni_sys::{jbyteArray, jclass, jint, jlong, JNIEnv};

/// # Safety
/// `array` is a live byte[] of at least `target.len()` bytes.
#[inline]
pub(crate) unsafe fn copy_in(env: *mut JNIEnv, array: jbyteArray, target: &mut [u8]) -> Result<()> {
    if array.is_null() {
        return Err(Error::invalid("null array"));
    }
    // SAFETY: as the caller says; the JVM throws where the array is shorter.
    unsafe {
        ((**env).v1_1.GetByteArrayRegion)(
            env,
            array,
            0,
            target.len() as jint,
            target.as_mut_ptr().cast(),
        );
    }
    Ok(())
}

/// # Safety
/// `array` is a live byte[] of at least `capacity` bytes.
#[inline]
unsafe fn copy_out(
    env: *mut JNIEnv,
    value: &[u8],
    array: jbyteArray,
    capacity: jint,
) -> Result<()> {
    if array.is_null() {
        return Err(Error::invalid("null array"));
    }
    if value.len() > size(capacity)? {
        return Err(Error::new(Kind::TooLarge, "no room for the value"));
    }
    // SAFETY: as the caller says.
    unsafe {
        ((**env).v1_1.SetByteArrayRegion)(
            env,
            array,
            0,
            value.len() as jint,
            value.as_ptr().cast(),
        );
    }
    Ok(())
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
    let key_bytes = room(entry.buffers().0, size(key_length)?)?;
    // SAFETY: as the caller says.
    unsafe { copy_in(env, key, key_bytes)? };
    let Some(found) = entry.get(key_bytes) else { return Ok(ABSENT) };
    // SAFETY: as the caller says.
    unsafe { copy_out(env, found, value, capacity)? };
    Ok(found.len() as jint)
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

extern "system" fn get_trusted(
    env: *mut JNIEnv,
    _: jclass,
    entry: jlong,
    key: jbyteArray,
    key_length: jint,
    value: jbyteArray,
    capacity: jint,
) -> jint {
    // SAFETY: as in `get`; the benchmark passes the address of an open entry.
    unsafe { read(env, trusted(entry), key, key_length, value, capacity) }.unwrap_or(ABSENT)
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
        let (key_bytes, value_bytes) = entry.buffers();
        let key_bytes = room(key_bytes, size(key_length)?)?;
        let value_bytes = room(value_bytes, size(value_length)?)?;
        // SAFETY: the JVM passes live arrays, the benchmark their lengths.
        unsafe {
            copy_in(env, key, key_bytes)?;
            copy_in(env, value, value_bytes)?;
        }
        entry.put(key_bytes, value_bytes)
    });
}

pub(crate) fn natives() -> Vec<Native> {
    vec![
        native!(c"regionGet", c"(J[BI[BI)I", get),
        native!(c"regionGetTrusted", c"(J[BI[BI)I", get_trusted),
        native!(c"regionPut", c"(J[BI[BI)V", put),
    ]
}
