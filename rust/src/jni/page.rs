//! Pages: memory that both sides see. Java writes keys and values into them and reads results out;
//! the natives get addresses and lengths.
use super::arrays;
use super::guard::{cold, hot};
use super::handle::{self, Kind};
use super::{native, Native};
use crate::error::{Error, Kind as ErrorKind, Result};
use jni_sys::{jclass, jint, jlong, jobject, JNIEnv};
use std::alloc::{alloc, dealloc, realloc, Layout};
use std::ptr::{self, NonNull};
use std::sync::{Arc, Mutex, PoisonError};

const ALIGN: usize = 64;

/// Allocated memory that moves when resized.
struct Page(Mutex<Block>);

struct Block {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: the block is plain memory; its one owner frees it.
unsafe impl Send for Block {}

impl Kind for Page {
    const TAG: u32 = 1;
    const NAME: &'static str = "page";
}

impl Block {
    fn new(capacity: jint) -> Result<Self> {
        let layout = layout(capacity)?;
        // SAFETY: the layout has a positive size.
        let start = NonNull::new(unsafe { alloc(layout) }).ok_or_else(|| no_memory(capacity))?;
        // SAFETY: just allocated. Java may read before it writes: no leftovers of others.
        unsafe { ptr::write_bytes(start.as_ptr(), 0, layout.size()) };
        Ok(Self { start, layout })
    }

    fn resize(&mut self, capacity: jint) -> Result<()> {
        let layout = layout(capacity)?;
        // SAFETY: `start` was allocated with `self.layout`; the new size is positive.
        let moved = unsafe { realloc(self.start.as_ptr(), self.layout, layout.size()) };
        self.start = NonNull::new(moved).ok_or_else(|| no_memory(capacity))?;
        self.layout = layout;
        Ok(())
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout, freed once.
        unsafe { dealloc(self.start.as_ptr(), self.layout) }
    }
}

fn layout(capacity: jint) -> Result<Layout> {
    let size = usize::try_from(capacity).ok().filter(|size| *size > 0);
    size.and_then(|size| Layout::from_size_align(size, ALIGN).ok())
        .ok_or_else(|| Error::invalid(format!("page of {capacity} bytes")))
}

fn no_memory(capacity: jint) -> Error {
    Error::new(ErrorKind::TooLarge, format!("no memory for a page of {capacity} bytes"))
}

extern "system" fn page_open(env: *mut JNIEnv, _: jclass, capacity: jint) -> jlong {
    hot(env, 0, || handle::open(Arc::new(Page(Mutex::new(Block::new(capacity)?)))))
}

extern "system" fn page_buffer(env: *mut JNIEnv, _: jclass, page: jlong) -> jobject {
    cold(env, ptr::null_mut(), |env| {
        let page = handle::get::<Page>(page)?;
        let block = page.0.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: Java drops its view before it resizes or closes the page (class Page).
        unsafe { arrays::new_buffer(env, block.start.as_ptr(), block.layout.size()) }
    })
}

extern "system" fn page_resize(env: *mut JNIEnv, _: jclass, page: jlong, capacity: jint) {
    hot(env, (), || {
        let page = handle::get::<Page>(page)?;
        let mut block = page.0.lock().unwrap_or_else(PoisonError::into_inner);
        block.resize(capacity)
    });
}

extern "system" fn page_close(env: *mut JNIEnv, _: jclass, page: jlong) {
    hot(env, (), || handle::close::<Page>(page));
}

pub(super) fn natives() -> Vec<Native> {
    vec![
        native!(c"pageOpen", c"(I)J", page_open),
        native!(c"pageBuffer", c"(J)Ljava/nio/ByteBuffer;", page_buffer),
        native!(c"pageResize", c"(JI)V", page_resize),
        native!(c"pageClose", c"(J)V", page_close),
    ]
}
