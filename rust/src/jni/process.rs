//! Natives about the process as a whole: what the library is, handles, log.
use super::guard::{cold, hot};
use super::{arrays, handle, log, native, Native};
use crate::limits;
use jni_sys::{jclass, jint, jlong, jobjectArray, JNIEnv};
use std::ptr;

/// What the library is, for the log of the TaskManager.
pub(super) fn description(natives: usize) -> String {
    format!(
        "Ferrostate {} (RocksDB 11.8.1, link={}, natives={natives})",
        env!("CARGO_PKG_VERSION"),
        env!("FERROSTATE_LINK"),
    )
}

extern "system" fn live_handles(env: *mut JNIEnv, _: jclass) -> jlong {
    hot(env, 0, || Ok(handle::live()))
}

extern "system" fn drain_log(env: *mut JNIEnv, _: jclass, max: jint) -> jobjectArray {
    cold(env, ptr::null_mut(), |env| {
        let records = log::drain(usize::try_from(max).unwrap_or(0));
        arrays::new_strings(env, &records)
    })
}

extern "system" fn limit_values(env: *mut JNIEnv, _: jclass, bytes: jint) {
    hot(env, (), || {
        limits::set_largest(usize::try_from(bytes).ok());
        Ok(())
    });
}

pub(super) fn natives() -> Vec<Native> {
    vec![
        native!(c"liveHandles", c"()J", live_handles),
        native!(c"limitValues", c"(I)V", limit_values),
        native!(c"drainLog", c"(I)[Ljava/lang/String;", drain_log),
    ]
}
