//! Natives of memory and database. No logic: arguments in, results out.
use super::guard::{cold, guarded, hot};
use super::handle::{self, Kind};
use super::{arrays, native, Native};
use crate::config::Config;
use crate::db::Db;
use crate::error::{Error, Result};
use crate::memory::Memory;
use crate::state::{Database, State};
use jni_sys::{jclass, jdouble, jlong, jlongArray, jobjectArray, jstring, JNIEnv};
use std::path::Path;
use std::ptr;
use std::sync::Arc;

impl Kind for Memory {
    const TAG: u32 = 2;
    const NAME: &'static str = "memory";
}

impl Kind for Database {
    const TAG: u32 = 3;
    const NAME: &'static str = "database";
}

extern "system" fn memory_open(env: *mut JNIEnv, _: jclass, bytes: jlong, ratio: jdouble) -> jlong {
    hot(env, 0, || handle::open(Arc::new(Memory::new(bytes, ratio)?)))
}

extern "system" fn memory_usage(env: *mut JNIEnv, _: jclass, memory: jlong) -> jlongArray {
    cold(env, ptr::null_mut(), |env| {
        let usage = handle::get::<Memory>(memory)?.usage();
        let values =
            [usage.capacity, usage.cache, usage.pinned, usage.write_buffers, usage.buffers];
        arrays::new_longs(env, &values.map(|value| value as i64))
    })
}

extern "system" fn memory_close(env: *mut JNIEnv, _: jclass, memory: jlong) {
    hot(env, (), || handle::close::<Memory>(memory));
}

extern "system" fn db_open(
    env: *mut JNIEnv,
    _: jclass,
    directory: jstring,
    options: jobjectArray,
    memory: jlong,
) -> jlong {
    cold(env, 0, |env| {
        let directory = arrays::string(env, directory, "directory")?;
        let options = arrays::strings(env, options, "options")?;
        let config = Config::parse(pairs(&options)?)?;
        let memory = match memory {
            0 => None,
            memory => Some(handle::get::<Memory>(memory)?.share()),
        };
        handle::open(Arc::new(Database::open(Path::new(&directory), &config, memory)?))
    })
}

/// Options as Java hands them over: alternating names and values.
pub(super) fn pairs(flat: &[String]) -> Result<impl Iterator<Item = (&str, &str)>> {
    if !flat.len().is_multiple_of(2) {
        return Err(Error::invalid("options: a name without a value"));
    }
    Ok(flat.chunks_exact(2).map(|pair| (pair[0].as_str(), pair[1].as_str())))
}

/// Runs `call` on the database; a panic inside poisons it.
pub(super) fn on_db<R>(db: jlong, call: impl FnOnce(&Arc<Db>) -> Result<R>) -> Result<R> {
    on_database(db, |database| call(database.db()))
}

/// As `on_db`, with the buffer in front of it.
pub(super) fn on_database<R>(db: jlong, call: impl FnOnce(&Database) -> Result<R>) -> Result<R> {
    let database = handle::get::<Database>(db)?;
    guarded(database.db(), || call(&database))
}

extern "system" fn db_columns(env: *mut JNIEnv, _: jclass, db: jlong) -> jobjectArray {
    cold(env, ptr::null_mut(), |env| {
        let names = handle::get::<Database>(db)?.db().column_names()?;
        arrays::new_strings(env, &names)
    })
}

extern "system" fn db_property(
    env: *mut JNIEnv,
    _: jclass,
    db: jlong,
    state: jlong,
    name: jstring,
) -> jstring {
    cold(env, ptr::null_mut(), |env| {
        let name = arrays::string(env, name, "name")?;
        let value = match state {
            0 => handle::get::<Database>(db)?.property(&name)?,
            state => handle::get::<State>(state)?.column().property(&name)?,
        };
        arrays::new_string_or_null(env, value.as_deref())
    })
}

extern "system" fn db_flush(env: *mut JNIEnv, _: jclass, db: jlong) {
    hot(env, (), || on_database(db, Database::flush));
}

extern "system" fn db_compact(env: *mut JNIEnv, _: jclass, db: jlong) {
    hot(env, (), || on_database(db, Database::compact));
}

extern "system" fn db_checkpoint(env: *mut JNIEnv, _: jclass, db: jlong, directory: jstring) {
    cold(env, (), |env| {
        let directory = arrays::string(env, directory, "directory")?;
        on_database(db, |database| database.checkpoint(Path::new(&directory)))
    });
}

extern "system" fn db_close(env: *mut JNIEnv, _: jclass, db: jlong) {
    hot(env, (), || {
        handle::get::<Database>(db)?.db().close();
        handle::close::<Database>(db)
    });
}

extern "system" fn db_panic(env: *mut JNIEnv, _: jclass, db: jlong) {
    hot(env, (), || on_db(db, |_| panic!("asked for by a test")));
}

pub(super) fn natives() -> Vec<Native> {
    vec![
        native!(c"memoryOpen", c"(JD)J", memory_open),
        native!(c"memoryUsage", c"(J)[J", memory_usage),
        native!(c"memoryClose", c"(J)V", memory_close),
        native!(c"dbOpen", c"(Ljava/lang/String;[Ljava/lang/String;J)J", db_open),
        native!(c"dbColumns", c"(J)[Ljava/lang/String;", db_columns),
        native!(c"dbProperty", c"(JJLjava/lang/String;)Ljava/lang/String;", db_property),
        native!(c"dbFlush", c"(J)V", db_flush),
        native!(c"dbCompact", c"(J)V", db_compact),
        native!(c"dbCheckpoint", c"(JLjava/lang/String;)V", db_checkpoint),
        native!(c"dbPanic", c"(J)V", db_panic),
        native!(c"dbClose", c"(J)V", db_close),
    ]
}
