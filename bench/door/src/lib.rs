//! The ways in which a key and a value can cross from Java to Rust, all on the same trivial in-memory
//! entry, so that what differs is the crossing. Handles are the door's own source. Measures nothing
//! itself: JMH (bench/jmh) calls the natives, criterion (benches/) the Rust side.
#![deny(unsafe_op_in_unsafe_fn)]
#![warn(clippy::undocumented_unsafe_blocks)]

mod arrays;
mod critical;
mod direct;
mod empty;
mod entry;
mod error;
mod guard;
#[path = "../../../rust/src/jni/handle.rs"]
#[allow(dead_code)]
mod handle;
mod jni_crate;
mod page;
mod regions;
/// For criterion: the door's parts without a JVM.
pub mod without_jvm;

use error::{Error, Kind};
use guard::hot;
use jni_sys::{jclass, JNIEnv, JNINativeMethod, JNI_OK};
use std::ffi::{c_void, CStr};

/// What absent is to Java.
const ABSENT: i32 = -1;

struct Native {
    name: &'static CStr,
    signature: &'static CStr,
    function: *mut c_void,
}

macro_rules! native {
    ($name:literal, $signature:literal, $function:path) => {
        $crate::Native {
            name: $name,
            signature: $signature,
            function: $function as *mut std::ffi::c_void,
        }
    };
}
pub(crate) use native;

fn table() -> Vec<Native> {
    [
        empty::natives(),
        entry::natives(),
        page::natives(),
        regions::natives(),
        critical::natives(),
        arrays::natives(),
        direct::natives(),
        jni_crate::natives(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Door.init: registers the natives, as the real door does.
///
/// # Safety
/// Called by the JVM.
#[no_mangle]
pub unsafe extern "system" fn Java_io_ferrostate_bench_door_Door_init(
    env: *mut JNIEnv,
    class: jclass,
) {
    hot(env, (), || {
        let methods: Vec<_> = table()
            .iter()
            .map(|native| JNINativeMethod {
                name: native.name.as_ptr().cast_mut(),
                signature: native.signature.as_ptr().cast_mut(),
                fnPtr: native.function,
            })
            .collect();
        // SAFETY: `env` and `class` are the JVM's; names and signatures are static.
        let result = unsafe {
            ((**env).v1_2.RegisterNatives)(env, class, methods.as_ptr(), methods.len() as i32)
        };
        if result == JNI_OK {
            Ok(())
        } else {
            Err(Error::new(Kind::Invalid, "Door.java and bench/door do not match"))
        }
    });
}
