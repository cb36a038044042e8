//! Natives of timers. No logic: arguments in, results out.
use super::guard::hot;
use super::state::{count, on_state, open_cursor, slice, slice_mut};
use super::{native, Native};
use crate::error::{Error, Result};
use crate::state::State;
use crate::timers::Layout;
use jni_sys::{jboolean, jclass, jint, jlong, JNIEnv};

const NONE: jint = -1;
/// A timer was removed; which is the first one now has to be asked.
const UNKNOWN: jint = -2;

extern "system" fn timers_open(
    env: *mut JNIEnv,
    _: jclass,
    state: jlong,
    first_key_group: jint,
    key_groups: jint,
    key_group_bytes: jint,
    empty: jboolean,
    ahead: jint,
) {
    hot(env, (), || {
        let layout = Layout {
            first: count(first_key_group)?,
            groups: count(key_groups)?,
            bytes: count(key_group_bytes)?,
        };
        let ahead = count(ahead)?;
        on_state(state, |state| state.open_timers(layout, empty, ahead))
    });
}

extern "system" fn timers_add(
    env: *mut JNIEnv,
    _: jclass,
    state: jlong,
    timer: jlong,
    length: jint,
) -> jboolean {
    hot(env, false, || {
        // SAFETY: see `slice`.
        on_state(state, |state| state.add_timer(unsafe { slice(timer, length)? }))
    })
}

extern "system" fn timers_remove(
    env: *mut JNIEnv,
    _: jclass,
    state: jlong,
    timer: jlong,
    length: jint,
) -> jboolean {
    hot(env, false, || {
        // SAFETY: see `slice`.
        on_state(state, |state| state.remove_timer(unsafe { slice(timer, length)? }))
    })
}

fn first(state: &State, page: jlong, capacity: jint) -> Result<jint> {
    // SAFETY: see `slice_mut`.
    let page = unsafe { slice_mut(page, capacity)? };
    let Some(length) = state.first_timer(page)? else { return Ok(NONE) };
    jint::try_from(length).map_err(|_| Error::invalid(format!("a timer of {length} bytes")))
}

extern "system" fn timers_first(
    env: *mut JNIEnv,
    _: jclass,
    state: jlong,
    page: jlong,
    capacity: jint,
) -> jint {
    hot(env, NONE, || on_state(state, |state| first(state, page, capacity)))
}

extern "system" fn timers_poll(
    env: *mut JNIEnv,
    _: jclass,
    state: jlong,
    page: jlong,
    capacity: jint,
) -> jint {
    hot(env, NONE, || {
        on_state(state, |state| {
            state.poll_timer()?;
            // Whoever asks is told what failed.
            Ok(first(state, page, capacity).unwrap_or(UNKNOWN))
        })
    })
}

extern "system" fn timers_count(env: *mut JNIEnv, _: jclass, state: jlong) -> jlong {
    hot(env, 0, || on_state(state, |state| state.count_timers().map(|count| count as jlong)))
}

extern "system" fn timers_cursor(
    env: *mut JNIEnv,
    _: jclass,
    state: jlong,
    key_group: jint,
) -> jlong {
    hot(env, 0, || {
        let key_group = count(key_group)?;
        match on_state(state, |state| state.timers_of(key_group))? {
            Some(cursor) => open_cursor(cursor),
            None => Ok(0),
        }
    })
}

pub(super) fn natives() -> Vec<Native> {
    vec![
        native!(c"timersOpen", c"(JIIIZI)V", timers_open),
        native!(c"timersAdd", c"(JJI)Z", timers_add),
        native!(c"timersRemove", c"(JJI)Z", timers_remove),
        native!(c"timersFirst", c"(JJI)I", timers_first),
        native!(c"timersPoll", c"(JJI)I", timers_poll),
        native!(c"timersCount", c"(J)J", timers_count),
        native!(c"timersCursor", c"(JI)J", timers_cursor),
    ]
}
