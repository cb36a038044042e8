//! Natives of restoring with other key groups. No logic: arguments in, results out.
use super::db::on_db;
use super::guard::{cold, hot};
use super::handle::{self, Kind};
use super::{arrays, native, Native};
use crate::cancel::Cancel;
use crate::config::Config;
use crate::error::Result;
use crate::restore::rescale::{Kept, KeyRange, Rescale};
use jni_sys::{jbyteArray, jclass, jlong, jobjectArray, jstring, JNIEnv};
use std::path::Path;
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A rescale, which only one thread uses at a time.
struct Shared(Mutex<Rescale>);

impl Kind for Shared {
    const TAG: u32 = 24;
    const NAME: &'static str = "rescale";
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Rescale> {
        // A call that failed half-way is followed by nothing but close.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

extern "system" fn rescale_open(env: *mut JNIEnv, _: jclass, options: jobjectArray) -> jlong {
    cold(env, 0, |env| {
        let options = arrays::strings(env, options, "options")?;
        let config = Config::parse(super::db::pairs(&options)?)?;
        handle::open(Arc::new(Shared(Mutex::new(Rescale::new(config)))))
    })
}

extern "system" fn rescale_part(
    env: *mut JNIEnv,
    _: jclass,
    rescale: jlong,
    directory: jstring,
    from: jbyteArray,
    to: jbyteArray,
    states: jobjectArray,
) -> jobjectArray {
    cold(env, ptr::null_mut(), |env| {
        let directory = arrays::string(env, directory, "directory")?;
        let from = arrays::bytes(env, from)?.unwrap_or_default();
        let range = KeyRange { from, to: arrays::bytes(env, to)? };
        let states = arrays::strings(env, states, "states")?;
        let rescale = handle::get::<Shared>(rescale)?;
        let files = rescale.lock().add(Path::new(&directory), range, &states)?;
        files.map_or(Ok(ptr::null_mut()), |files| arrays::new_strings(env, &files))
    })
}

extern "system" fn rescale_run(
    env: *mut JNIEnv,
    _: jclass,
    rescale: jlong,
    database: jstring,
    scratch: jstring,
    cancel: jlong,
) -> jobjectArray {
    cold(env, ptr::null_mut(), |env| {
        let database = arrays::string(env, database, "database directory")?;
        let scratch = arrays::string(env, scratch, "scratch directory")?;
        let cancel = handle::get::<Cancel>(cancel)?.share();
        let rescale = handle::get::<Shared>(rescale)?.share();
        let kept = rescale.lock().run(Path::new(&database), Path::new(&scratch), &cancel)?;
        let Some(kept) = kept else { return Ok(ptr::null_mut()) };
        let rows: Vec<_> = kept.into_iter().flat_map(row).collect();
        arrays::new_strings(env, &rows)
    })
}

fn row(kept: Kept) -> [String; 3] {
    [kept.part.to_string(), kept.name, kept.new_name]
}

extern "system" fn rescale_finish(
    env: *mut JNIEnv,
    _: jclass,
    rescale: jlong,
    db: jlong,
    cancel: jlong,
) {
    hot(env, (), || finish(rescale, db, cancel));
}

fn finish(rescale: jlong, db: jlong, cancel: jlong) -> Result<()> {
    let cancel = handle::get::<Cancel>(cancel)?.share();
    let rescale = handle::get::<Shared>(rescale)?.share();
    on_db(db, |db| rescale.lock().finish(db, &cancel))
}

extern "system" fn rescale_close(env: *mut JNIEnv, _: jclass, rescale: jlong) {
    hot(env, (), || handle::close::<Shared>(rescale));
}

pub(super) fn natives() -> Vec<Native> {
    vec![
        native!(c"rescaleOpen", c"([Ljava/lang/String;)J", rescale_open),
        native!(
            c"rescalePart",
            c"(JLjava/lang/String;[B[B[Ljava/lang/String;)[Ljava/lang/String;",
            rescale_part
        ),
        native!(
            c"rescaleRun",
            c"(JLjava/lang/String;Ljava/lang/String;J)[Ljava/lang/String;",
            rescale_run
        ),
        native!(c"rescaleFinish", c"(JJJ)V", rescale_finish),
        native!(c"rescaleClose", c"(J)V", rescale_close),
    ]
}
