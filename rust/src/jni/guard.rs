//! What stands between Java and every native: panics caught, errors turned into Java exceptions.
//! The one table from `Kind` to exception class is here.
use crate::db::Db;
use crate::error::{Error, Kind, Result};
use crate::runtime::panic_text;
use jni::strings::JNIString;
use jni::{Env, EnvUnowned, Outcome};
use jni_sys::{jclass, jvalue, JNIEnv};
use std::any::Any;
use std::ffi::CStr;
use std::panic::{catch_unwind, AssertUnwindSafe};

const FERROSTATE_EXCEPTION: &CStr = c"io/ferrostate/jni/FerrostateException";

/// For calls that take and give primitives only. Costs nothing but the landing pad; on failure an
/// exception is pending and Java never looks at `failed`.
#[inline(always)]
pub(super) fn hot<R>(env: *mut JNIEnv, failed: R, call: impl FnOnce() -> Result<R>) -> R {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(result)) => result,
        Ok(Err(error)) => {
            throw(env, &error);
            failed
        }
        Err(panic) => {
            throw(env, &panicked(panic.as_ref()));
            failed
        }
    }
}

/// For calls with strings, arrays and objects, which the jni crate handles.
pub(super) fn cold<R>(
    env: *mut JNIEnv,
    failed: R,
    call: impl FnOnce(&mut Env<'_>) -> Result<R>,
) -> R {
    // SAFETY: `env` is what the JVM passed to the native method that is running.
    let mut unowned = unsafe { EnvUnowned::from_raw(env) };
    match unowned.with_env(|env| call(env).map_err(Failure)).into_outcome() {
        Outcome::Ok(result) => result,
        Outcome::Err(Failure(error)) => {
            throw(env, &error);
            failed
        }
        Outcome::Panic(panic) => {
            throw(env, &panicked(panic.as_ref()));
            failed
        }
    }
}

/// Runs what works on a database; a panic inside poisons it.
#[inline(always)]
pub(super) fn guarded<R>(db: &Db, call: impl FnOnce() -> Result<R>) -> Result<R> {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|panic| {
        let error = panicked(panic.as_ref());
        db.poison(&error.text);
        Err(error)
    })
}

/// `with_env` wants an error type that the jni crate's own errors convert into.
struct Failure(Error);

impl From<jni::errors::Error> for Failure {
    fn from(error: jni::errors::Error) -> Self {
        Self(jni_failure(&error))
    }
}

/// A failure of the JVM's side of the door: a null where an object was needed, memory.
pub(super) fn jni_failure(error: &jni::errors::Error) -> Error {
    Error::invalid(format!("argument or result could not cross the JNI door: {error}"))
}

/// The error of a panic, with its text. The place stands in the log (`log::install`).
pub(super) fn panicked(panic: &(dyn Any + Send)) -> Error {
    let text = panic_text(panic);
    let place = super::log::take_panic_place().unwrap_or_else(|| "unknown place".to_owned());
    Error::new(Kind::Panic, format!("internal error (please report): {text} at {place}"))
}

fn class_and_kind(kind: Kind) -> (&'static CStr, Option<&'static CStr>) {
    match kind {
        Kind::Invalid => (c"java/lang/IllegalArgumentException", None),
        Kind::Closed => (c"java/lang/IllegalStateException", None),
        Kind::Cancelled => (c"java/util/concurrent/CancellationException", None),
        Kind::Io => (FERROSTATE_EXCEPTION, Some(c"IO")),
        Kind::Missing => (FERROSTATE_EXCEPTION, Some(c"MISSING")),
        Kind::Corrupted => (FERROSTATE_EXCEPTION, Some(c"CORRUPTED")),
        Kind::Full => (FERROSTATE_EXCEPTION, Some(c"FULL")),
        Kind::TooLarge => (FERROSTATE_EXCEPTION, Some(c"TOO_LARGE")),
        Kind::Panic => (FERROSTATE_EXCEPTION, Some(c"PANIC")),
    }
}

/// Leaves the exception for `error` pending, unless one is already.
#[cold]
fn throw(env: *mut JNIEnv, error: &Error) {
    // SAFETY: `env` is what the JVM passed to the native method that is running.
    if !unsafe { throw_by_the_jvm(env, error) } {
        tracing::error!(
            "Java was not told, for want of memory or of the exception's class: {error}"
        );
    }
}

/// True if an exception is pending afterwards. Not through the jni crate: that looks `Throwable` up
/// through the context class loader of the thread, and if it has been closed, as Flink closes those of
/// cancelled jobs, the crate recurses until the JVM dies. The JVM's own look-up asks the loader of `Native`.
///
/// # Safety
/// `env` is what the JVM passed to the native method that is running.
unsafe fn throw_by_the_jvm(env: *mut JNIEnv, error: &Error) -> bool {
    // SAFETY: as the caller says; the table of functions outlives the call.
    let jvm = unsafe { &**env };
    // SAFETY: allowed at any time.
    let pending = || unsafe { (jvm.v1_2.ExceptionCheck)(env) };
    if pending() {
        return true;
    }
    let (name, kind) = class_and_kind(error.kind);
    let text = JNIString::new(&error.text);
    // SAFETY: no exception is pending; the strings are modified UTF-8 and end with 0.
    unsafe {
        let class = (jvm.v1_2.FindClass)(env, name.as_ptr());
        match kind {
            _ if class.is_null() => {}
            None => {
                (jvm.v1_2.ThrowNew)(env, class, text.as_ptr());
            }
            Some(kind) => throw_ferrostate_exception(env, class, kind, &text),
        }
    }
    pending()
}

/// # Safety
/// As `throw_by_the_jvm`; `class` is that of `FerrostateException`, and no exception is pending.
unsafe fn throw_ferrostate_exception(
    env: *mut JNIEnv,
    class: jclass,
    kind: &CStr,
    text: &JNIString,
) {
    // SAFETY: as the caller says; each result is looked at before the next call, since after a null an
    // exception is pending. Local references end with the native method.
    unsafe {
        let jvm = &**env;
        let signature = c"(Ljava/lang/String;Ljava/lang/String;)V";
        let constructor =
            (jvm.v1_2.GetMethodID)(env, class, c"<init>".as_ptr(), signature.as_ptr());
        if constructor.is_null() {
            return;
        }
        let kind = (jvm.v1_2.NewStringUTF)(env, kind.as_ptr());
        if kind.is_null() {
            return;
        }
        let text = (jvm.v1_2.NewStringUTF)(env, text.as_ptr());
        if text.is_null() {
            return;
        }
        let arguments = [jvalue { l: kind }, jvalue { l: text }];
        let exception = (jvm.v1_2.NewObjectA)(env, class, constructor, arguments.as_ptr());
        if !exception.is_null() {
            (jvm.v1_2.Throw)(env, exception);
        }
    }
}
