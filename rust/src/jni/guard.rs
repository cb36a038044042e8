//! What stands between Java and every native: panics caught, errors turned into Java exceptions.
//! The one table from `Kind` to exception class is here.
use crate::db::Db;
use crate::error::{Error, Kind, Result};
use crate::runtime::panic_text;
use jni::strings::JNIString;
use jni::{Env, EnvUnowned, Outcome};
use jni_sys::JNIEnv;
use std::any::Any;
use std::panic::{catch_unwind, AssertUnwindSafe};

const FERROSTATE_EXCEPTION: &str = "io/ferrostate/jni/FerrostateException";

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

fn class_and_kind(kind: Kind) -> (&'static str, Option<&'static str>) {
    match kind {
        Kind::Invalid => ("java/lang/IllegalArgumentException", None),
        Kind::Closed => ("java/lang/IllegalStateException", None),
        Kind::Cancelled => ("java/util/concurrent/CancellationException", None),
        Kind::Io => (FERROSTATE_EXCEPTION, Some("IO")),
        Kind::Missing => (FERROSTATE_EXCEPTION, Some("MISSING")),
        Kind::Corrupted => (FERROSTATE_EXCEPTION, Some("CORRUPTED")),
        Kind::Full => (FERROSTATE_EXCEPTION, Some("FULL")),
        Kind::TooLarge => (FERROSTATE_EXCEPTION, Some("TOO_LARGE")),
        Kind::Panic => (FERROSTATE_EXCEPTION, Some("PANIC")),
    }
}

/// Leaves the exception for `error` pending, unless one is already.
#[cold]
fn throw(env: *mut JNIEnv, error: &Error) {
    // SAFETY: `env` is what the JVM passed to the native method that is running.
    let mut unowned = unsafe { EnvUnowned::from_raw(env) };
    // The jni crate reports an exception that it has just thrown as an error, too.
    let _ = unowned.with_env(|env| throw_in(env, error)).into_outcome();
    // SAFETY: as above.
    if !unsafe { ((**env).v1_2.ExceptionCheck)(env) } {
        tracing::error!(
            "Java was not told, for want of memory or of the exception's class: {error}"
        );
    }
}

fn throw_in(env: &mut Env<'_>, error: &Error) -> jni::errors::Result<()> {
    if env.exception_check() {
        return Ok(());
    }
    let (class, kind) = class_and_kind(error.kind);
    let class = env.find_class(JNIString::new(class))?;
    let Some(kind) = kind else {
        return env.throw_new(class, JNIString::new(&error.text));
    };
    let kind = env.new_string(kind)?;
    let text = env.new_string(&error.text)?;
    let exception = env.new_object(
        class,
        jni::jni_sig!("(Ljava/lang/String;Ljava/lang/String;)V"),
        &[(&kind).into(), (&text).into()],
    )?;
    let exception = env.cast_local::<jni::objects::JThrowable>(exception)?;
    env.throw(exception)
}
