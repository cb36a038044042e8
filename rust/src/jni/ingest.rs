//! Natives of bulk loads. No logic: arguments in, results out.
use super::guard::{guarded, hot};
use super::handle::{self, Kind};
use super::state::slice;
use super::{native, Native};
use crate::db::Ingest;
use crate::error::Result;
use crate::state::State;
use jni_sys::{jclass, jint, jlong, JNIEnv};
use std::sync::{Arc, Mutex, PoisonError};

/// A load that one thread at a time advances, and whose rows it brings.
struct IngestHandle {
    load: Mutex<Ingest>,
    state: Arc<State>,
}

impl Kind for IngestHandle {
    const TAG: u32 = 6;
    const NAME: &'static str = "bulk load";
}

/// Runs `call` on the load; a panic inside poisons its database.
fn on_load<R>(load: jlong, call: impl FnOnce(&State, &mut Ingest) -> Result<R>) -> Result<R> {
    let handle = handle::get::<IngestHandle>(load)?;
    let mut load = handle.load.lock().unwrap_or_else(PoisonError::into_inner);
    guarded(handle.state.db(), || call(&handle.state, &mut load))
}

extern "system" fn sst_open(env: *mut JNIEnv, _: jclass, state: jlong) -> jlong {
    hot(env, 0, || {
        let state = handle::get::<State>(state)?.share();
        let load = Mutex::new(state.load()?);
        handle::open(Arc::new(IngestHandle { load, state }))
    })
}

extern "system" fn sst_add(env: *mut JNIEnv, _: jclass, load: jlong, page: jlong, used: jint) {
    hot(env, (), || {
        // SAFETY: see `slice`.
        on_load(load, |_, load| load.add(unsafe { slice(page, used)? }))
    });
}

extern "system" fn sst_ingest(env: *mut JNIEnv, _: jclass, load: jlong) {
    hot(env, (), || on_load(load, State::ingest));
}

extern "system" fn sst_close(env: *mut JNIEnv, _: jclass, load: jlong) {
    hot(env, (), || handle::close::<IngestHandle>(load));
}

pub(super) fn natives() -> Vec<Native> {
    vec![
        native!(c"sstOpen", c"(J)J", sst_open),
        native!(c"sstAdd", c"(JJI)V", sst_add),
        native!(c"sstIngest", c"(J)V", sst_ingest),
        native!(c"sstClose", c"(J)V", sst_close),
    ]
}
