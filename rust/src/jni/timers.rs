//! Natives of timers. No logic: arguments in, results out.
use super::guard::{cold, hot};
use super::state::{count, on_state, open_cursor, slice};
use super::{arrays, native, Native};
use crate::error::Error;
use jni_sys::{jbyteArray, jclass, jint, jlong, JNIEnv};

extern "system" fn timers_write(
    env: *mut JNIEnv,
    _: jclass,
    state: jlong,
    page: jlong,
    length: jint,
) {
    hot(env, (), || {
        on_state(state, |state| {
            // SAFETY: see `slice`.
            state.write_timers(unsafe { slice(page, length)? })
        })
    });
}

extern "system" fn timers_cursor(
    env: *mut JNIEnv,
    _: jclass,
    state: jlong,
    from: jbyteArray,
    prefix_length: jint,
) -> jlong {
    cold(env, 0, |env| {
        let from = arrays::bytes(env, from)?.ok_or_else(|| Error::invalid("from is null"))?;
        let prefix = count(prefix_length)?;
        open_cursor(on_state(state, |state| state.timers_at(&from, prefix))?)
    })
}

pub(super) fn natives() -> Vec<Native> {
    vec![
        native!(c"timersWrite", c"(JJI)V", timers_write),
        native!(c"timersCursor", c"(J[BI)J", timers_cursor),
    ]
}
