//! Natives of cancel, ledger, plan, transfer, restore and local directories. No logic: arguments in,
//! results out.
use super::db::on_database;
use super::guard::{cold, hot};
use super::handle::{self, Kind};
use super::{arrays, native, Native};
use crate::cancel::Cancel;
use crate::checkpoint::ledger::{FrozenBase, Origin, SharedFile, SharedLedger};
use crate::checkpoint::plan::{plan, Action, PlannedFile, Role, Sharing};
use crate::checkpoint::{layout, live, upload as transfer};
use crate::error::{Error, Result};
use crate::local::{self, Claim};
use crate::restore::copy_range as range;
use crate::restore::db_sink::DbSink;
use crate::restore::download::{self as restore, Wanted};
use jni_sys::{jboolean, jbyteArray, jclass, jlong, jlongArray, jobjectArray, jstring, JNIEnv};
use std::path::Path;
use std::ptr;
use std::sync::Arc;

/// Columns of a ledger row, see Native.ledgerRecord.
const LEDGER_COLUMNS: usize = 5;

impl Kind for Cancel {
    const TAG: u32 = 20;
    const NAME: &'static str = "cancel flag";
}

impl Kind for SharedLedger {
    const TAG: u32 = 21;
    const NAME: &'static str = "ledger";
}

impl Kind for FrozenBase {
    const TAG: u32 = 22;
    const NAME: &'static str = "base of a snapshot";
}

impl Kind for Claim {
    const TAG: u32 = 23;
    const NAME: &'static str = "claim of a directory";
}

// ---- cancel ----

extern "system" fn cancel_open(env: *mut JNIEnv, _: jclass) -> jlong {
    hot(env, 0, || handle::open(Arc::new(Cancel::new())))
}

extern "system" fn cancel_trigger(env: *mut JNIEnv, _: jclass, cancel: jlong) {
    hot(env, (), || {
        handle::get::<Cancel>(cancel)?.trigger();
        Ok(())
    });
}

extern "system" fn cancel_close(env: *mut JNIEnv, _: jclass, cancel: jlong) {
    hot(env, (), || handle::close::<Cancel>(cancel));
}

// ---- ledger and plan ----

extern "system" fn ledger_open(env: *mut JNIEnv, _: jclass) -> jlong {
    hot(env, 0, || handle::open(Arc::new(SharedLedger::default())))
}

extern "system" fn ledger_close(env: *mut JNIEnv, _: jclass, ledger: jlong) {
    hot(env, (), || handle::close::<SharedLedger>(ledger));
}

extern "system" fn ledger_record(
    env: *mut JNIEnv,
    _: jclass,
    ledger: jlong,
    checkpoint: jlong,
    rows: jobjectArray,
) {
    cold(env, (), |env| {
        let files = shared_files(arrays::strings(env, rows, "rows")?)?;
        handle::get::<SharedLedger>(ledger)?.lock().record(checkpoint, files);
        Ok(())
    });
}

extern "system" fn ledger_restore(
    env: *mut JNIEnv,
    _: jclass,
    ledger: jlong,
    checkpoint: jlong,
    rows: jobjectArray,
) {
    cold(env, (), |env| {
        let files = shared_files(arrays::strings(env, rows, "rows")?)?;
        handle::get::<SharedLedger>(ledger)?.lock().restore(checkpoint, files);
        Ok(())
    });
}

extern "system" fn ledger_lend(env: *mut JNIEnv, _: jclass, ledger: jlong, rows: jobjectArray) {
    cold(env, (), |env| {
        let files = shared_files(arrays::strings(env, rows, "rows")?)?;
        handle::get::<SharedLedger>(ledger)?.lock().lend(files);
        Ok(())
    });
}

extern "system" fn ledger_confirm(env: *mut JNIEnv, _: jclass, ledger: jlong, checkpoint: jlong) {
    hot(env, (), || {
        handle::get::<SharedLedger>(ledger)?.lock().confirm(checkpoint);
        Ok(())
    });
}

extern "system" fn ledger_abort(env: *mut JNIEnv, _: jclass, ledger: jlong, checkpoint: jlong) {
    hot(env, (), || {
        handle::get::<SharedLedger>(ledger)?.lock().abort(checkpoint);
        Ok(())
    });
}

extern "system" fn base_open(env: *mut JNIEnv, _: jclass, ledger: jlong) -> jlong {
    hot(env, 0, || {
        let ledger = handle::get::<SharedLedger>(ledger)?.share();
        handle::open(Arc::new(FrozenBase::freeze(ledger)))
    })
}

extern "system" fn base_reuses_nothing(env: *mut JNIEnv, _: jclass, base: jlong) {
    hot(env, (), || {
        handle::get::<FrozenBase>(base)?.reuses_nothing();
        Ok(())
    });
}

extern "system" fn base_concerns_nobody(env: *mut JNIEnv, _: jclass, base: jlong) {
    hot(env, (), || {
        handle::get::<FrozenBase>(base)?.concerns_nobody();
        Ok(())
    });
}

extern "system" fn base_close(env: *mut JNIEnv, _: jclass, base: jlong) {
    hot(env, (), || handle::close::<FrozenBase>(base));
}

extern "system" fn plan_snapshot(
    env: *mut JNIEnv,
    _: jclass,
    base: jlong,
    own: jboolean,
    directory: jstring,
) -> jobjectArray {
    cold(env, ptr::null_mut(), |env| {
        let directory = arrays::string(env, directory, "local directory")?;
        let live = live::live_files(Path::new(&directory))?;
        let sharing = if own { Sharing::Own } else { Sharing::Refer };
        let planned = plan(live, handle::get::<FrozenBase>(base)?.base(), sharing);
        let rows: Vec<_> = planned.into_iter().flat_map(plan_row).collect();
        arrays::new_strings(env, &rows)
    })
}

fn shared_files(rows: Vec<String>) -> Result<Vec<SharedFile>> {
    if !rows.len().is_multiple_of(LEDGER_COLUMNS) {
        return Err(Error::invalid("ledger: a row without all its columns"));
    }
    rows.chunks_exact(LEDGER_COLUMNS).map(shared_file).collect()
}

fn shared_file(row: &[String]) -> Result<SharedFile> {
    let wrong = || Error::invalid(format!("ledger: {row:?} is not a row"));
    Ok(SharedFile {
        local_name: row[0].clone(),
        size: row[1].parse().map_err(|_| wrong())?,
        physical_id: row[2].clone(),
        origin: match row[3].as_str() {
            "uploaded" => Origin::Uploaded,
            "placeholder" => Origin::Placeholder,
            _ => return Err(wrong()),
        },
        merged: match row[4].as_str() {
            "merged" => true,
            "plain" => false,
            _ => return Err(wrong()),
        },
    })
}

fn plan_row(file: PlannedFile) -> [String; 6] {
    let role = match file.role {
        Role::Sst => "sst",
        Role::Misc => "misc",
    };
    let (action, physical_id, merged) = match file.action {
        Action::Reuse { physical_id, merged } => ("reuse", physical_id, merged),
        Action::Copy { source } => ("copy", source, false),
        Action::Upload => ("upload", String::new(), false),
    };
    let merged = if merged { "merged" } else { "plain" };
    let (size, role, action) = (file.size.to_string(), role.to_owned(), action.to_owned());
    [file.local_name, size, role, action, physical_id, merged.to_owned()]
}

// ---- transfer ----

extern "system" fn store_reaches(env: *mut JNIEnv, _: jclass, uri: jstring) -> jboolean {
    cold(env, false, |env| Ok(layout::is_reached(&arrays::string(env, uri, "URI")?)))
}

extern "system" fn upload(
    env: *mut JNIEnv,
    _: jclass,
    directory: jstring,
    names: jobjectArray,
    sources: jobjectArray,
    target: jstring,
    cancel: jlong,
) -> jobjectArray {
    cold(env, ptr::null_mut(), |env| {
        let directory = arrays::string(env, directory, "local directory")?;
        let names = arrays::strings(env, names, "names")?;
        let sources = arrays::strings(env, sources, "sources")?;
        let target = arrays::string(env, target, "target directory")?;
        let cancel = handle::get::<Cancel>(cancel)?.share();
        let files = to_upload(names, sources)?;
        let uploaded = transfer::upload(Path::new(&directory), &files, &target, &cancel)?;
        // Java must have the names before the objects are its own.
        let rows: Vec<_> = uploaded.objects().iter().flat_map(object_row).collect();
        let rows = arrays::new_strings(env, &rows)?;
        uploaded.keep();
        Ok(rows)
    })
}

fn to_upload(names: Vec<String>, sources: Vec<String>) -> Result<Vec<transfer::Wanted>> {
    if names.len() != sources.len() {
        return Err(Error::invalid("upload: as many sources as names are needed"));
    }
    let files = names.into_iter().zip(sources).map(|(local_name, source)| transfer::Wanted {
        local_name,
        copy_of: Some(source).filter(|source| !source.is_empty()),
    });
    Ok(files.collect())
}

fn object_row(object: &transfer::Stored) -> [&str; 2] {
    [&object.uri, if object.duplicated { "copied" } else { "uploaded" }]
}

extern "system" fn download(
    env: *mut JNIEnv,
    _: jclass,
    uris: jobjectArray,
    sizes: jlongArray,
    directory: jstring,
    names: jobjectArray,
    cancel: jlong,
) {
    cold(env, (), |env| {
        let uris = arrays::strings(env, uris, "URIs")?;
        let sizes = arrays::longs(env, sizes, "sizes")?;
        let names = arrays::strings(env, names, "names")?;
        let directory = arrays::string(env, directory, "local directory")?;
        let cancel = handle::get::<Cancel>(cancel)?.share();
        restore::download(&wanted(uris, &sizes, names)?, Path::new(&directory), &cancel)
    });
}

fn wanted(uris: Vec<String>, sizes: &[i64], names: Vec<String>) -> Result<Vec<Wanted>> {
    if uris.len() != sizes.len() || uris.len() != names.len() {
        return Err(Error::invalid("download: as many sizes and names as URIs are needed"));
    }
    let files = uris.into_iter().zip(sizes).zip(names);
    files
        .map(|((uri, size), local_name)| {
            let size = u64::try_from(*size)
                .map_err(|_| Error::invalid(format!("download: {uri} of {size} bytes")))?;
            Ok(Wanted { uri, size, local_name })
        })
        .collect()
}

// ---- restore ----

extern "system" fn copy_range(
    env: *mut JNIEnv,
    _: jclass,
    source: jstring,
    db: jlong,
    from: jbyteArray,
    to: jbyteArray,
    states: jobjectArray,
    cancel: jlong,
) {
    cold(env, (), |env| {
        let source = arrays::string(env, source, "source directory")?;
        let states = arrays::strings(env, states, "states")?;
        let from = arrays::bytes(env, from)?.unwrap_or_default();
        let to = arrays::bytes(env, to)?;
        let cancel = handle::get::<Cancel>(cancel)?.share();
        on_database(db, |database| {
            database.past_buffer(|db| {
                let mut target = DbSink::new(Arc::clone(db));
                range::check_states(Path::new(&source), &states)?;
                range::copy_range(Path::new(&source), &from, to.as_deref(), &mut target, &cancel)
            })
        })
    });
}

// ---- local directories ----

extern "system" fn directory_claim(env: *mut JNIEnv, _: jclass, directory: jstring) -> jlong {
    cold(env, 0, |env| {
        let directory = arrays::string(env, directory, "directory")?;
        handle::open(Arc::new(local::claim(Path::new(&directory))?))
    })
}

extern "system" fn directory_release(env: *mut JNIEnv, _: jclass, claim: jlong) {
    hot(env, (), || handle::close::<Claim>(claim));
}

extern "system" fn directory_sweep(env: *mut JNIEnv, _: jclass, root: jstring) -> jobjectArray {
    cold(env, ptr::null_mut(), |env| {
        let deleted = local::sweep(Path::new(&arrays::string(env, root, "root")?))?;
        let deleted: Vec<_> = deleted.iter().map(|path| path.to_string_lossy()).collect();
        arrays::new_strings(env, &deleted)
    })
}

pub(super) fn natives() -> Vec<Native> {
    vec![
        native!(c"cancelOpen", c"()J", cancel_open),
        native!(c"cancelTrigger", c"(J)V", cancel_trigger),
        native!(c"cancelClose", c"(J)V", cancel_close),
        native!(c"ledgerOpen", c"()J", ledger_open),
        native!(c"ledgerClose", c"(J)V", ledger_close),
        native!(c"ledgerRecord", c"(JJ[Ljava/lang/String;)V", ledger_record),
        native!(c"ledgerRestore", c"(JJ[Ljava/lang/String;)V", ledger_restore),
        native!(c"ledgerLend", c"(J[Ljava/lang/String;)V", ledger_lend),
        native!(c"ledgerConfirm", c"(JJ)V", ledger_confirm),
        native!(c"ledgerAbort", c"(JJ)V", ledger_abort),
        native!(c"baseOpen", c"(J)J", base_open),
        native!(c"baseReusesNothing", c"(J)V", base_reuses_nothing),
        native!(c"baseConcernsNobody", c"(J)V", base_concerns_nobody),
        native!(c"baseClose", c"(J)V", base_close),
        native!(c"planSnapshot", c"(JZLjava/lang/String;)[Ljava/lang/String;", plan_snapshot),
        native!(c"storeReaches", c"(Ljava/lang/String;)Z", store_reaches),
        native!(
            c"upload",
            c"(Ljava/lang/String;[Ljava/lang/String;[Ljava/lang/String;Ljava/lang/String;J)[Ljava/lang/String;",
            upload
        ),
        native!(
            c"download",
            c"([Ljava/lang/String;[JLjava/lang/String;[Ljava/lang/String;J)V",
            download
        ),
        native!(c"copyRange", c"(Ljava/lang/String;J[B[B[Ljava/lang/String;J)V", copy_range),
        native!(c"directoryClaim", c"(Ljava/lang/String;)J", directory_claim),
        native!(c"directoryRelease", c"(J)V", directory_release),
        native!(c"directorySweep", c"(Ljava/lang/String;)[Ljava/lang/String;", directory_sweep),
    ]
}
