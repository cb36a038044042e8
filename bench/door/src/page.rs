//! Page: addresses and lengths as primitives, as in rust/src/jni/state.rs. Three guards: that of the
//! door, without `catch_unwind`, and without a checked handle too.
use crate::entry::{behind, room, size, trusted, Entry};
use crate::error::{Error, Result};
use crate::guard::hot;
use crate::{native, Native, ABSENT};
use jni_sys::{jclass, jint, jlong, JNIEnv};
use std::ptr::{with_exposed_provenance, with_exposed_provenance_mut};
use std::slice::{from_raw_parts, from_raw_parts_mut};

/// # Safety
/// `length` bytes at `address` stay Java's during the call.
#[inline]
unsafe fn slice<'a>(address: jlong, length: jint) -> Result<&'a [u8]> {
    let length = size(length)?;
    if address == 0 {
        return Err(Error::invalid("no address"));
    }
    // SAFETY: as the caller says.
    Ok(unsafe { from_raw_parts(with_exposed_provenance(address as usize), length) })
}

/// # Safety
/// As `slice`, and nobody else uses the bytes.
#[inline]
unsafe fn slice_mut<'a>(address: jlong, length: jint) -> Result<&'a mut [u8]> {
    let length = size(length)?;
    if address == 0 {
        return Err(Error::invalid("no address"));
    }
    // SAFETY: as the caller says.
    Ok(unsafe { from_raw_parts_mut(with_exposed_provenance_mut(address as usize), length) })
}

/// # Safety
/// As `slice` and `slice_mut`.
#[inline]
unsafe fn read(
    entry: &Entry,
    key: jlong,
    key_length: jint,
    value: jlong,
    capacity: jint,
) -> Result<jint> {
    // SAFETY: as the caller says.
    let (key, target) = unsafe { (slice(key, key_length)?, slice_mut(value, capacity)?) };
    let Some(value) = entry.get(key) else { return Ok(ABSENT) };
    room(target, value.len())?.copy_from_slice(value);
    Ok(value.len() as jint)
}

/// # Safety
/// As `slice`.
#[inline]
unsafe fn write(
    entry: &Entry,
    key: jlong,
    key_length: jint,
    value: jlong,
    value_length: jint,
) -> Result<()> {
    // SAFETY: as the caller says.
    unsafe { entry.put(slice(key, key_length)?, slice(value, value_length)?) }
}

extern "system" fn get(
    env: *mut JNIEnv,
    _: jclass,
    entry: jlong,
    key: jlong,
    key_length: jint,
    value: jlong,
    capacity: jint,
) -> jint {
    hot(env, ABSENT, || {
        let entry = behind(entry)?;
        // SAFETY: the benchmark holds its pages open.
        unsafe { read(&entry, key, key_length, value, capacity) }
    })
}

extern "system" fn get_uncaught(
    _: *mut JNIEnv,
    _: jclass,
    entry: jlong,
    key: jlong,
    key_length: jint,
    value: jlong,
    capacity: jint,
) -> jint {
    let Ok(entry) = behind(entry) else { return ABSENT };
    // SAFETY: the benchmark holds its pages open.
    unsafe { read(&entry, key, key_length, value, capacity) }.unwrap_or(ABSENT)
}

extern "system" fn get_trusted(
    _: *mut JNIEnv,
    _: jclass,
    entry: jlong,
    key: jlong,
    key_length: jint,
    value: jlong,
    capacity: jint,
) -> jint {
    // SAFETY: the benchmark passes the address of an open entry and holds its pages open.
    unsafe { read(trusted(entry), key, key_length, value, capacity) }.unwrap_or(ABSENT)
}

extern "system" fn put(
    env: *mut JNIEnv,
    _: jclass,
    entry: jlong,
    key: jlong,
    key_length: jint,
    value: jlong,
    value_length: jint,
) {
    hot(env, (), || {
        let entry = behind(entry)?;
        // SAFETY: the benchmark holds its pages open.
        unsafe { write(&entry, key, key_length, value, value_length) }
    });
}

pub(crate) fn natives() -> Vec<Native> {
    vec![
        native!(c"pageGet", c"(JJIJI)I", get),
        native!(c"pageGetUncaught", c"(JJIJI)I", get_uncaught),
        native!(c"pageGetTrusted", c"(JJIJI)I", get_trusted),
        native!(c"pagePut", c"(JJIJI)V", put),
    ]
}
