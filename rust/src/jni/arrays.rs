//! Strings and arrays across the door, for the cold calls. Knows no domain types.
use super::guard::jni_failure;
use crate::error::{Error, Result};
use jni::objects::{JByteArray, JLongArray, JObjectArray, JString};
use jni::strings::JNIString;
use jni::Env;
use jni_sys::{jbyteArray, jlongArray, jobject, jobjectArray, jstring};
use std::ptr;

/// `what` names the argument in the error.
pub(super) fn string(env: &mut Env<'_>, raw: jstring, what: &str) -> Result<String> {
    if raw.is_null() {
        return Err(Error::invalid(format!("{what} is null")));
    }
    // SAFETY: a live local reference that Java passed as a String (the signature is checked at
    // registration).
    let text = unsafe { JString::from_raw(env, raw) };
    let result = text.try_to_string(env).map_err(|e| jni_failure(&e));
    // The reference stays Java's: it is freed when the native method returns.
    let _ = text.into_raw();
    result
}

pub(super) fn strings(env: &mut Env<'_>, raw: jobjectArray, what: &str) -> Result<Vec<String>> {
    if raw.is_null() {
        return Err(Error::invalid(format!("{what} is null")));
    }
    // SAFETY: a live local reference that Java passed as a String[].
    let array = unsafe { JObjectArray::<JString>::from_raw(env, raw) };
    let length = array.len(env).map_err(|e| jni_failure(&e))?;
    let mut texts = Vec::with_capacity(length);
    for index in 0..length {
        let element = array.get_element(env, index).map_err(|e| jni_failure(&e))?;
        if element.is_null() {
            return Err(Error::invalid(format!("{what}[{index}] is null")));
        }
        texts.push(element.try_to_string(env).map_err(|e| jni_failure(&e))?);
        env.delete_local_ref(element);
    }
    let _ = array.into_raw();
    Ok(texts)
}

pub(super) fn longs(env: &mut Env<'_>, raw: jlongArray, what: &str) -> Result<Vec<i64>> {
    if raw.is_null() {
        return Err(Error::invalid(format!("{what} is null")));
    }
    // SAFETY: a live local reference that Java passed as a long[].
    let array = unsafe { JLongArray::from_raw(env, raw) };
    let mut values = vec![0; array.len(env).map_err(|e| jni_failure(&e))?];
    array.get_region(env, 0, &mut values).map_err(|e| jni_failure(&e))?;
    let _ = array.into_raw();
    Ok(values)
}

/// None for null.
pub(super) fn bytes(env: &mut Env<'_>, raw: jbyteArray) -> Result<Option<Vec<u8>>> {
    if raw.is_null() {
        return Ok(None);
    }
    // SAFETY: a live local reference that Java passed as a byte[].
    let array = unsafe { JByteArray::from_raw(env, raw) };
    let bytes = env.convert_byte_array(&array).map_err(|e| jni_failure(&e))?;
    let _ = array.into_raw();
    Ok(Some(bytes))
}

pub(super) fn new_string(env: &mut Env<'_>, text: &str) -> Result<jstring> {
    Ok(env.new_string(text).map_err(|e| jni_failure(&e))?.into_raw())
}

pub(super) fn new_string_or_null(env: &mut Env<'_>, text: Option<&str>) -> Result<jstring> {
    text.map_or(Ok(ptr::null_mut()), |text| new_string(env, text))
}

pub(super) fn new_strings<S: AsRef<str>>(env: &mut Env<'_>, texts: &[S]) -> Result<jobjectArray> {
    let length = i32::try_from(texts.len()).map_err(|_| Error::invalid("too many strings"))?;
    let class = env.find_class(JNIString::new("java/lang/String")).map_err(|e| jni_failure(&e))?;
    let array = env
        .new_object_array(length, class, jni::objects::JObject::null())
        .map_err(|e| jni_failure(&e))?;
    for (index, text) in texts.iter().enumerate() {
        let element = env.new_string(text.as_ref()).map_err(|e| jni_failure(&e))?;
        array.set_element(env, index, &element).map_err(|e| jni_failure(&e))?;
        env.delete_local_ref(element);
    }
    Ok(array.into_raw())
}

pub(super) fn new_longs(env: &mut Env<'_>, values: &[i64]) -> Result<jlongArray> {
    let array = env.new_long_array(values.len()).map_err(|e| jni_failure(&e))?;
    array.set_region(env, 0, values).map_err(|e| jni_failure(&e))?;
    Ok(array.into_raw())
}

pub(super) fn new_bytes(env: &mut Env<'_>, bytes: &[u8]) -> Result<jbyteArray> {
    Ok(env.byte_array_from_slice(bytes).map_err(|e| jni_failure(&e))?.into_raw())
}

/// A direct ByteBuffer over `length` bytes at `address`.
///
/// # Safety
/// The memory outlives every use that Java makes of the buffer.
pub(super) unsafe fn new_buffer(
    env: &mut Env<'_>,
    address: *mut u8,
    length: usize,
) -> Result<jobject> {
    // SAFETY: as the caller says.
    let buffer = unsafe { env.new_direct_byte_buffer(address, length) };
    Ok(buffer.map_err(|e| jni_failure(&e))?.into_raw())
}
