//! Direct ByteBuffers: GetDirectBufferAddress for key and value in each call.
use crate::entry::{behind, room, size};
use crate::error::{Error, Result};
use crate::guard::hot;
use crate::{native, Native, ABSENT};
use jni_sys::{jclass, jint, jlong, jobject, JNIEnv};
use std::slice::{from_raw_parts, from_raw_parts_mut};

/// # Safety
/// `buffer` is a live ByteBuffer.
#[inline]
unsafe fn start(env: *mut JNIEnv, buffer: jobject) -> Result<*mut u8> {
    if buffer.is_null() {
        return Err(Error::invalid("null buffer"));
    }
    // SAFETY: as the caller says.
    let start = unsafe { ((**env).v1_4.GetDirectBufferAddress)(env, buffer) };
    if start.is_null() {
        return Err(Error::invalid("the buffer is not direct"));
    }
    Ok(start.cast())
}

extern "system" fn get(
    env: *mut JNIEnv,
    _: jclass,
    entry: jlong,
    key: jobject,
    key_length: jint,
    value: jobject,
    capacity: jint,
) -> jint {
    hot(env, ABSENT, || {
        let entry = behind(entry)?;
        // SAFETY: the JVM passes live buffers, the benchmark their lengths.
        let (key, target) = unsafe {
            let key = from_raw_parts(start(env, key)?, size(key_length)?);
            (key, from_raw_parts_mut(start(env, value)?, size(capacity)?))
        };
        let Some(value) = entry.get(key) else { return Ok(ABSENT) };
        room(target, value.len())?.copy_from_slice(value);
        Ok(value.len() as jint)
    })
}

extern "system" fn put(
    env: *mut JNIEnv,
    _: jclass,
    entry: jlong,
    key: jobject,
    key_length: jint,
    value: jobject,
    value_length: jint,
) {
    hot(env, (), || {
        let entry = behind(entry)?;
        // SAFETY: the JVM passes live buffers, the benchmark their lengths.
        let (key, value) = unsafe {
            let key = from_raw_parts(start(env, key)?, size(key_length)?);
            (key, from_raw_parts(start(env, value)?, size(value_length)?))
        };
        entry.put(key, value)
    });
}

pub(crate) fn natives() -> Vec<Native> {
    vec![
        native!(c"directGet", c"(JLjava/nio/ByteBuffer;ILjava/nio/ByteBuffer;I)I", get),
        native!(c"directPut", c"(JLjava/nio/ByteBuffer;ILjava/nio/ByteBuffer;I)V", put),
    ]
}
