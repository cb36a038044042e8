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

/// A load that one thread at a time advances.
struct IngestHandle(Mutex<Ingest>);

impl Kind for IngestHandle {
    const TAG: u32 = 6;
    const NAME: &'static str = "bulk load";
}

/// Runs `call` on the load; a panic inside poisons its database.
fn on_load<R>(load: jlong, call: impl FnOnce(&mut Ingest) -> Result<R>) -> Result<R> {
    let load = handle::get::<IngestHandle>(load)?;
    let mut load = load.0.lock().unwrap_or_else(PoisonError::into_inner);
    let db = Arc::clone(load.column().db());
    guarded(&db, || call(&mut load))
}

extern "system" fn sst_open(env: *mut JNIEnv, _: jclass, state: jlong) -> jlong {
    hot(env, 0, || {
        let load = handle::get::<State>(state)?.column().load()?;
        handle::open(Arc::new(IngestHandle(Mutex::new(load))))
    })
}

extern "system" fn sst_add(env: *mut JNIEnv, _: jclass, load: jlong, page: jlong, used: jint) {
    hot(env, (), || {
        // SAFETY: see `slice`.
        on_load(load, |load| load.add(unsafe { slice(page, used)? }))
    });
}

extern "system" fn sst_ingest(env: *mut JNIEnv, _: jclass, load: jlong) {
    hot(env, (), || on_load(load, Ingest::ingest));
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
