//! The jni crate's own calls behind `with_env`: what a door costs that is written the usual way.
use crate::entry::{behind, room, size};
use crate::error::{Error, Result};
use crate::guard::{cold, jni_failure};
use crate::{native, Native, ABSENT};
use jni::objects::{JByteArray, JByteBuffer};
use jni::Env;
use jni_sys::{jbyteArray, jclass, jint, jlong, jobject, JNIEnv};
use std::ptr;
use std::slice::{from_raw_parts, from_raw_parts_mut};

/// Java's bytes as the crate wants its targets.
fn signed(bytes: &mut [u8]) -> &mut [i8] {
    // SAFETY: the same bytes, of the same size and alignment.
    unsafe { from_raw_parts_mut(bytes.as_mut_ptr().cast(), bytes.len()) }
}

fn signed_ref(bytes: &[u8]) -> &[i8] {
    // SAFETY: as `signed`.
    unsafe { from_raw_parts(bytes.as_ptr().cast(), bytes.len()) }
}

extern "system" fn region_get(
    env: *mut JNIEnv,
    _: jclass,
    entry: jlong,
    key: jbyteArray,
    key_length: jint,
    value: jbyteArray,
    _capacity: jint,
) -> jint {
    cold(env, ABSENT, |env| {
        let entry = behind(entry)?;
        let key_bytes = room(entry.buffers().0, size(key_length)?)?;
        // SAFETY: the JVM passes live arrays.
        let (key, value) =
            unsafe { (JByteArray::from_raw(env, key), JByteArray::from_raw(env, value)) };
        key.get_region(env, 0, signed(key_bytes)).map_err(|e| jni_failure(&e))?;
        let length = match entry.get(key_bytes) {
            Some(found) => {
                value.set_region(env, 0, signed_ref(found)).map_err(|e| jni_failure(&e))?;
                found.len() as jint
            }
            None => ABSENT,
        };
        let _ = (key.into_raw(), value.into_raw()); // the references stay Java's
        Ok(length)
    })
}

extern "system" fn region_put(
    env: *mut JNIEnv,
    _: jclass,
    entry: jlong,
    key: jbyteArray,
    key_length: jint,
    value: jbyteArray,
    value_length: jint,
) {
    cold(env, (), |env| {
        let entry = behind(entry)?;
        let (key_bytes, value_bytes) = entry.buffers();
        let key_bytes = room(key_bytes, size(key_length)?)?;
        let value_bytes = room(value_bytes, size(value_length)?)?;
        // SAFETY: the JVM passes live arrays.
        let (key, value) =
            unsafe { (JByteArray::from_raw(env, key), JByteArray::from_raw(env, value)) };
        key.get_region(env, 0, signed(key_bytes)).map_err(|e| jni_failure(&e))?;
        value.get_region(env, 0, signed(value_bytes)).map_err(|e| jni_failure(&e))?;
        let _ = (key.into_raw(), value.into_raw());
        entry.put(key_bytes, value_bytes)
    });
}

extern "system" fn array_get(
    env: *mut JNIEnv,
    _: jclass,
    entry: jlong,
    key: jbyteArray,
) -> jbyteArray {
    cold(env, ptr::null_mut(), |env| {
        let entry = behind(entry)?;
        // SAFETY: the JVM passes a live array.
        let key = unsafe { JByteArray::from_raw(env, key) };
        let key_bytes = env.convert_byte_array(&key).map_err(|e| jni_failure(&e))?;
        let _ = key.into_raw();
        match entry.get(&key_bytes) {
            Some(value) => {
                Ok(env.byte_array_from_slice(value).map_err(|e| jni_failure(&e))?.into_raw())
            }
            None => Ok(ptr::null_mut()),
        }
    })
}

extern "system" fn direct_get(
    env: *mut JNIEnv,
    _: jclass,
    entry: jlong,
    key: jobject,
    key_length: jint,
    value: jobject,
    capacity: jint,
) -> jint {
    cold(env, ABSENT, |env| {
        let entry = behind(entry)?;
        let (key, target) = (start(env, key)?, start(env, value)?);
        // SAFETY: direct buffers of the lengths that the benchmark says.
        let (key, target) = unsafe {
            let key = from_raw_parts(key, size(key_length)?);
            (key, from_raw_parts_mut(target, size(capacity)?))
        };
        let Some(value) = entry.get(key) else { return Ok(ABSENT) };
        room(target, value.len())?.copy_from_slice(value);
        Ok(value.len() as jint)
    })
}

fn start(env: &mut Env<'_>, raw: jobject) -> Result<*mut u8> {
    if raw.is_null() {
        return Err(Error::invalid("null buffer"));
    }
    // SAFETY: the JVM passes a live ByteBuffer.
    let buffer = unsafe { JByteBuffer::from_raw(env, raw) };
    let address = env.get_direct_buffer_address(&buffer).map_err(|e| jni_failure(&e));
    let _ = buffer.into_raw();
    address
}

pub(crate) fn natives() -> Vec<Native> {
    vec![
        native!(c"crateRegionGet", c"(J[BI[BI)I", region_get),
        native!(c"crateRegionPut", c"(J[BI[BI)V", region_put),
        native!(c"crateArrayGet", c"(J[B)[B", array_get),
        native!(c"crateDirectGet", c"(JLjava/nio/ByteBuffer;ILjava/nio/ByteBuffer;I)I", direct_get),
    ]
}
