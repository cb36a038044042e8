//! The JNI door. Exports one symbol, `init`, which checks that jar and library belong together and
//! registers all natives of io.ferrostate.jni.Native: a signature that drifted fails here, at load,
//! with its name. Everything behind the door knows nothing of Java.
mod arrays;
mod checkpoint;
mod db;
mod guard;
mod handle;
mod ingest;
mod log;
mod page;
mod process;
mod rescale;
mod state;
mod timers;
mod ttl;

use crate::error::{Error, Result};
use guard::cold;
use jni_sys::{jclass, jstring, JNIEnv, JNINativeMethod, JNI_OK};
use std::ffi::{c_void, CStr};
use std::ptr;

/// One entry of the registration table.
pub(crate) struct Native {
    name: &'static CStr,
    signature: &'static CStr,
    function: *mut c_void,
}

/// `native!(c"name", c"(J)V", function)`.
macro_rules! native {
    ($name:literal, $signature:literal, $function:path) => {
        Native { name: $name, signature: $signature, function: $function as *mut std::ffi::c_void }
    };
}
pub(crate) use native;

fn table() -> Vec<Native> {
    [
        process::natives(),
        page::natives(),
        db::natives(),
        state::natives(),
        ttl::natives(),
        ingest::natives(),
        timers::natives(),
        checkpoint::natives(),
        rescale::natives(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Native.init: see there. The only exported symbol.
///
/// # Safety
/// Called by the JVM.
#[no_mangle]
pub unsafe extern "system" fn Java_io_ferrostate_jni_Native_init(
    env: *mut JNIEnv,
    class: jclass,
    jar_version: jstring,
) -> jstring {
    cold(env, ptr::null_mut(), |safe| {
        let jar = arrays::string(safe, jar_version, "jar version")?;
        let library = env!("CARGO_PKG_VERSION");
        if jar != library {
            return Err(Error::invalid(format!(
                "the jar is Ferrostate {jar}, the native library {library}: use one version of both"
            )));
        }
        log::install();
        let natives = table();
        // SAFETY: `env` and `class` are the JVM's, valid during this call.
        unsafe { register(env, class, &natives)? };
        arrays::new_string(safe, &process::description(natives.len()))
    })
}

/// # Safety
/// `env` and `class` are valid.
unsafe fn register(env: *mut JNIEnv, class: jclass, natives: &[Native]) -> Result<()> {
    let methods: Vec<_> = natives
        .iter()
        .map(|native| JNINativeMethod {
            name: native.name.as_ptr().cast_mut(),
            signature: native.signature.as_ptr().cast_mut(),
            fnPtr: native.function,
        })
        .collect();
    // SAFETY: the JVM copies what it needs; names and signatures are static.
    let result = unsafe {
        ((**env).v1_2.RegisterNatives)(env, class, methods.as_ptr(), methods.len() as i32)
    };
    if result == JNI_OK {
        Ok(())
    } else {
        // The JVM left a NoSuchMethodError with the method's name pending, which stays.
        Err(Error::invalid("a native method of the jar does not match the library"))
    }
}
