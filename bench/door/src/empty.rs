//! Calls that do nothing: what the crossing itself costs, with each guard.
use crate::error::{Error, Result};
use crate::guard::{cold, hot};
use crate::{native, Native};
use jni_sys::{jclass, jint, JNIEnv};

extern "system" fn raw(_: *mut JNIEnv, _: jclass, value: jint) -> jint {
    value
}

extern "system" fn guarded(env: *mut JNIEnv, _: jclass, value: jint) -> jint {
    hot(env, 0, || nothing(value))
}

extern "system" fn with_env(env: *mut JNIEnv, _: jclass, value: jint) -> jint {
    cold(env, 0, |_| nothing(value))
}

/// Fails for one value, so that the guard has something to guard.
fn nothing(value: jint) -> Result<jint> {
    if value == jint::MIN {
        return Err(Error::invalid("the benchmark's wrong value"));
    }
    Ok(value)
}

pub(crate) fn natives() -> Vec<Native> {
    vec![
        native!(c"emptyRaw", c"(I)I", raw),
        native!(c"emptyGuarded", c"(I)I", guarded),
        native!(c"emptyWithEnv", c"(I)I", with_env),
    ]
}
