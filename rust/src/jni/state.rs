//! Natives of state access: the hot path. Addresses point into pages that Java holds open during the
//! call.
use super::guard::{cold, guarded, hot};
use super::handle::{self, Guard, Kind};
use super::{arrays, native, Native};
use crate::db::{Cursor, Fill};
use crate::error::{Error, Result};
use crate::state::{Database, State};
use jni_sys::{jboolean, jbyteArray, jclass, jint, jlong, jstring, JNIEnv};
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

impl Kind for State {
    const TAG: u32 = 4;
    const NAME: &'static str = "state";
}

/// A scan that one thread at a time advances.
struct CursorHandle(Mutex<Cursor>);

// SAFETY: RocksDB's iterators may move between threads; the mutex keeps uses apart.
unsafe impl Send for CursorHandle {}
// SAFETY: as above.
unsafe impl Sync for CursorHandle {}

impl Kind for CursorHandle {
    const TAG: u32 = 5;
    const NAME: &'static str = "cursor";
}

const ABSENT: jint = -1;

/// Bytes of a page.
///
/// # Safety
/// Java's class Page vouches that `length` bytes at `address` are its own during the call.
#[inline]
pub(super) unsafe fn slice<'a>(address: jlong, length: jint) -> Result<&'a [u8]> {
    match usize::try_from(length) {
        Ok(0) => Ok(&[]),
        // SAFETY: as the caller says.
        Ok(length) if address != 0 => Ok(unsafe {
            std::slice::from_raw_parts(ptr::with_exposed_provenance(address as usize), length)
        }),
        _ => Err(Error::invalid(format!("{length} bytes at address {address:#x}"))),
    }
}

/// # Safety
/// As `slice`, and nothing else uses the bytes during the call.
#[inline]
pub(super) unsafe fn slice_mut<'a>(address: jlong, length: jint) -> Result<&'a mut [u8]> {
    match usize::try_from(length) {
        Ok(0) => Ok(&mut []),
        // SAFETY: as the caller says.
        Ok(length) if address != 0 => Ok(unsafe {
            std::slice::from_raw_parts_mut(
                ptr::with_exposed_provenance_mut(address as usize),
                length,
            )
        }),
        _ => Err(Error::invalid(format!("{length} bytes at address {address:#x}"))),
    }
}

/// Runs `call` on the state; a panic inside poisons its database.
#[inline(always)]
pub(super) fn on_state<R>(state: jlong, call: impl FnOnce(&State) -> Result<R>) -> Result<R> {
    let state: Guard<State> = handle::get(state)?;
    guarded(state.db(), || call(&state))
}

extern "system" fn state_open(env: *mut JNIEnv, _: jclass, db: jlong, name: jstring) -> jlong {
    cold(env, 0, |env| {
        let name = arrays::string(env, name, "name")?;
        handle::open(Arc::new(handle::get::<Database>(db)?.state(&name)?))
    })
}

extern "system" fn state_drop(env: *mut JNIEnv, _: jclass, state: jlong) {
    hot(env, (), || {
        on_state(state, State::drop_column)?;
        handle::close::<State>(state)
    });
}

extern "system" fn state_close(env: *mut JNIEnv, _: jclass, state: jlong) {
    hot(env, (), || handle::close::<State>(state));
}

extern "system" fn get(
    env: *mut JNIEnv,
    _: jclass,
    state: jlong,
    key: jlong,
    key_length: jint,
    map_prefix: jint,
    value: jlong,
    capacity: jint,
) -> jint {
    hot(env, ABSENT, || {
        on_state(state, |state| {
            // SAFETY: see `slice`.
            let (key, value) = unsafe { (slice(key, key_length)?, slice_mut(value, capacity)?) };
            let length = state.read(key, count(map_prefix)?, value)?;
            Ok(length.map_or(ABSENT, |length| length as jint))
        })
    })
}

extern "system" fn contains(
    env: *mut JNIEnv,
    _: jclass,
    state: jlong,
    key: jlong,
    key_length: jint,
    map_prefix: jint,
) -> jboolean {
    hot(env, false, || {
        on_state(state, |state| {
            // SAFETY: see `slice`.
            let key = unsafe { slice(key, key_length)? };
            state.contains(key, count(map_prefix)?)
        })
    })
}

extern "system" fn put(
    env: *mut JNIEnv,
    _: jclass,
    state: jlong,
    key: jlong,
    key_length: jint,
    map_prefix: jint,
    value: jlong,
    value_length: jint,
) {
    hot(env, (), || {
        on_state(state, |state| {
            // SAFETY: see `slice`.
            let (key, value) = unsafe { (slice(key, key_length)?, slice(value, value_length)?) };
            state.put(key, count(map_prefix)?, value)
        })
    });
}

extern "system" fn merge(
    env: *mut JNIEnv,
    _: jclass,
    state: jlong,
    key: jlong,
    key_length: jint,
    value: jlong,
    value_length: jint,
) {
    hot(env, (), || {
        on_state(state, |state| {
            // SAFETY: see `slice`.
            unsafe { state.merge(slice(key, key_length)?, slice(value, value_length)?) }
        })
    });
}

extern "system" fn delete(
    env: *mut JNIEnv,
    _: jclass,
    state: jlong,
    key: jlong,
    key_length: jint,
    map_prefix: jint,
) {
    hot(env, (), || {
        on_state(state, |state| {
            // SAFETY: see `slice`.
            state.delete(unsafe { slice(key, key_length)? }, count(map_prefix)?)
        })
    });
}

extern "system" fn map_has_rows(
    env: *mut JNIEnv,
    _: jclass,
    state: jlong,
    prefix: jlong,
    prefix_length: jint,
) -> jboolean {
    hot(env, false, || {
        on_state(state, |state| {
            // SAFETY: see `slice`.
            state.map_has_rows(unsafe { slice(prefix, prefix_length)? })
        })
    })
}

extern "system" fn map_clear(
    env: *mut JNIEnv,
    _: jclass,
    state: jlong,
    prefix: jlong,
    prefix_length: jint,
) {
    hot(env, (), || {
        on_state(state, |state| {
            // SAFETY: see `slice`.
            state.clear_map(unsafe { slice(prefix, prefix_length)? })
        })
    });
}

extern "system" fn map_put_all(
    env: *mut JNIEnv,
    _: jclass,
    state: jlong,
    prefix: jlong,
    prefix_length: jint,
    rows: jlong,
    rows_length: jint,
) {
    hot(env, (), || {
        on_state(state, |state| {
            // SAFETY: see `slice`.
            unsafe { state.put_all(slice(prefix, prefix_length)?, slice(rows, rows_length)?) }
        })
    });
}

extern "system" fn map_filter(env: *mut JNIEnv, _: jclass, state: jlong, prefix_length: jint) {
    hot(env, (), || on_state(state, |state| state.filter_maps(count(prefix_length)?)));
}

#[allow(clippy::too_many_arguments)] // Java's signature
extern "system" fn scan(
    env: *mut JNIEnv,
    _: jclass,
    state: jlong,
    from: jlong,
    from_length: jint,
    prefix_length: jint,
    of_map: jboolean,
    after_from: jboolean,
    max_entries: jint,
    page: jlong,
    capacity: jint,
) -> jint {
    hot(env, 0, || {
        on_state(state, |state| {
            // SAFETY: see `slice`.
            let (from, page) = unsafe { (slice(from, from_length)?, slice_mut(page, capacity)?) };
            let prefix = count(prefix_length)?;
            let max = count(max_entries)?;
            let fill = if of_map {
                state.scan_map(from, prefix, after_from, max, page)?
            } else {
                state.scan(from, prefix, after_from, max, page)?
            };
            fill_result(&fill)
        })
    })
}

pub(super) fn count(value: jint) -> Result<usize> {
    usize::try_from(value).map_err(|_| Error::invalid(format!("a length or count of {value}")))
}

fn fill_result(fill: &Fill) -> Result<jint> {
    let (bytes, sign) = match fill {
        Fill::Used(bytes) => (*bytes, 1),
        Fill::Needs(bytes) => (*bytes, -1),
    };
    let bytes = jint::try_from(bytes)
        .map_err(|_| Error::new(crate::Kind::TooLarge, format!("a page of {bytes} bytes")))?;
    Ok(bytes * sign)
}

extern "system" fn get_array(
    env: *mut JNIEnv,
    _: jclass,
    state: jlong,
    key: jbyteArray,
) -> jbyteArray {
    cold(env, ptr::null_mut(), |env| {
        let key = arrays::bytes(env, key)?.ok_or_else(|| Error::invalid("key is null"))?;
        match on_state(state, |state| state.get(&key))? {
            Some(value) => arrays::new_bytes(env, &value),
            None => Ok(ptr::null_mut()),
        }
    })
}

pub(super) fn open_cursor(cursor: Cursor) -> Result<jlong> {
    handle::open(Arc::new(CursorHandle(Mutex::new(cursor))))
}

extern "system" fn cursor_open(
    env: *mut JNIEnv,
    _: jclass,
    state: jlong,
    keys_only: jboolean,
) -> jlong {
    hot(env, 0, || open_cursor(on_state(state, |state| state.cursor(keys_only))?))
}

extern "system" fn cursor_next(
    env: *mut JNIEnv,
    _: jclass,
    cursor: jlong,
    page: jlong,
    capacity: jint,
) -> jint {
    hot(env, 0, || {
        let cursor = handle::get::<CursorHandle>(cursor)?;
        let mut cursor = cursor.0.lock().unwrap_or_else(PoisonError::into_inner);
        let db = Arc::clone(cursor.db());
        guarded(&db, || {
            // SAFETY: see `slice`.
            let page = unsafe { slice_mut(page, capacity)? };
            fill_result(&cursor.next(page)?)
        })
    })
}

extern "system" fn cursor_close(env: *mut JNIEnv, _: jclass, cursor: jlong) {
    hot(env, (), || handle::close::<CursorHandle>(cursor));
}

pub(super) fn natives() -> Vec<Native> {
    vec![
        native!(c"stateOpen", c"(JLjava/lang/String;)J", state_open),
        native!(c"stateDrop", c"(J)V", state_drop),
        native!(c"stateClose", c"(J)V", state_close),
        native!(c"get", c"(JJIIJI)I", get),
        native!(c"contains", c"(JJII)Z", contains),
        native!(c"put", c"(JJIIJI)V", put),
        native!(c"merge", c"(JJIJI)V", merge),
        native!(c"delete", c"(JJII)V", delete),
        native!(c"mapHasRows", c"(JJI)Z", map_has_rows),
        native!(c"mapClear", c"(JJI)V", map_clear),
        native!(c"mapPutAll", c"(JJIJI)V", map_put_all),
        native!(c"mapFilter", c"(JI)V", map_filter),
        native!(c"scan", c"(JJIIZZIJI)I", scan),
        native!(c"getArray", c"(J[B)[B", get_array),
        native!(c"cursorOpen", c"(JZ)J", cursor_open),
        native!(c"cursorNext", c"(JJI)I", cursor_next),
        native!(c"cursorClose", c"(J)V", cursor_close),
    ]
}
