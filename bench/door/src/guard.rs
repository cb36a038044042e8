//! The guards of rust/src/jni/guard.rs, without its table of exceptions: the same `catch_unwind`, the
//! same `with_env`. (That file knows the database; the path without an error is what counts here.)
use crate::error::{Error, Kind, Result};
use jni::strings::JNIString;
use jni::{Env, EnvUnowned, Outcome};
use jni_sys::JNIEnv;
use std::panic::{catch_unwind, AssertUnwindSafe};

#[inline(always)]
pub(crate) fn hot<R>(env: *mut JNIEnv, failed: R, call: impl FnOnce() -> Result<R>) -> R {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(result)) => result,
        Ok(Err(error)) => {
            throw(env, &error);
            failed
        }
        Err(_) => {
            throw(env, &Error::new(Kind::Panic, "a panic"));
            failed
        }
    }
}

pub(crate) fn cold<R>(
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
        Outcome::Panic(_) => {
            throw(env, &Error::new(Kind::Panic, "a panic"));
            failed
        }
    }
}

struct Failure(Error);

impl From<jni::errors::Error> for Failure {
    fn from(error: jni::errors::Error) -> Self {
        Self(jni_failure(&error))
    }
}

pub(crate) fn jni_failure(error: &jni::errors::Error) -> Error {
    Error::invalid(error.to_string())
}

#[cold]
fn throw(env: *mut JNIEnv, error: &Error) {
    let text = format!("{:?}: {}", error.kind, error.text);
    // SAFETY: `env` is what the JVM passed to the native method that is running.
    let mut unowned = unsafe { EnvUnowned::from_raw(env) };
    // The crate reports a pending exception, also the one thrown here, as an error: nothing to add.
    let _ = unowned
        .with_env(|env| {
            let class = env.find_class(JNIString::new("java/lang/IllegalStateException"))?;
            env.throw_new(class, JNIString::new(text))
        })
        .into_outcome();
}
