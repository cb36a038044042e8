//! Typed handles: an `Arc` behind a jlong. Handles are ids in a slab with a generation, so that use
//! after close, a second close, a wrong type or a made-up number is an error and never a crash, from
//! any thread. Which objects there are is the natives' business.
use crate::error::{Error, Result};
use jni_sys::jlong;
use std::marker::PhantomData;
use std::ops::Deref;
use std::ptr;
use std::sync::atomic::{AtomicI64, AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

const CHUNK: usize = 1024;
const CHUNKS: usize = 1024;
const GENERATION_BITS: u32 = 30;
const GENERATION_MASK: u64 = (1 << GENERATION_BITS) - 1;

/// Slot state: generation (30 bits) | CLOSED | FREE | users (32 bits).
const FREE: u64 = 1 << 32;
const CLOSED: u64 = 1 << 33;
const USERS: u64 = FREE - 1;
const GENERATION_SHIFT: u32 = 34;

/// A type that can stand behind a handle.
pub(super) trait Kind: Send + Sync + 'static {
    /// Tells the types apart; unique.
    const TAG: u32;
    /// For messages.
    const NAME: &'static str;
}

struct Slot {
    state: AtomicU64,
    tag: AtomicU32,
    value: AtomicPtr<()>,
    drop: AtomicPtr<()>,
}

static SLAB: [OnceLock<Box<[Slot]>>; CHUNKS] = [const { OnceLock::new() }; CHUNKS];
static FREE_SLOTS: Mutex<FreeSlots> = Mutex::new(FreeSlots { free: Vec::new(), next: 0 });
static LIVE: AtomicI64 = AtomicI64::new(0);

struct FreeSlots {
    free: Vec<u32>,
    next: u32,
}

impl Slot {
    fn vacant() -> Self {
        Self {
            state: AtomicU64::new((1 << GENERATION_SHIFT) | CLOSED | FREE),
            tag: AtomicU32::new(0),
            value: AtomicPtr::new(ptr::null_mut()),
            drop: AtomicPtr::new(ptr::null_mut()),
        }
    }
}

/// Number of open handles of all types.
pub(super) fn live() -> i64 {
    LIVE.load(Ordering::Relaxed)
}

/// Puts `value` behind a new handle.
pub(super) fn open<T: Kind>(value: Arc<T>) -> Result<jlong> {
    let index = take_slot()?;
    let slot = slot(index).ok_or_else(|| Error::invalid("no slot for a handle"))?;
    let generation = slot.state.load(Ordering::Relaxed) >> GENERATION_SHIFT;
    slot.value.store(Arc::into_raw(value).cast_mut().cast(), Ordering::Relaxed);
    slot.drop.store(drop_value::<T> as *mut (), Ordering::Relaxed);
    slot.tag.store(T::TAG, Ordering::Relaxed);
    LIVE.fetch_add(1, Ordering::Relaxed);
    slot.state.fetch_and(!(CLOSED | FREE), Ordering::Release);
    Ok((u64::from(index) << GENERATION_BITS | generation) as jlong)
}

/// The value behind `handle`, kept from being freed while the guard lives.
#[inline]
pub(super) fn get<T: Kind>(handle: jlong) -> Result<Guard<T>> {
    let (index, generation) = parts(handle);
    let Some(slot) = slot(index) else { return Err(refused::<T>(handle)) };
    let state = slot.state.fetch_add(1, Ordering::Acquire);
    let guard = Guard { slot, index, kind: PhantomData };
    let fits = state >> GENERATION_SHIFT == generation
        && state & (CLOSED | FREE) == 0
        && slot.tag.load(Ordering::Relaxed) == T::TAG;
    if fits {
        Ok(guard)
    } else {
        Err(refused::<T>(handle))
    }
}

/// Closes the handle; the value goes when its last user has left. A second close is an error.
pub(super) fn close<T: Kind>(handle: jlong) -> Result<()> {
    let (index, generation) = parts(handle);
    let guard = get::<T>(handle)?;
    let mut state = guard.slot.state.load(Ordering::Relaxed);
    loop {
        if state >> GENERATION_SHIFT != generation || state & CLOSED != 0 {
            return Err(refused::<T>(handle));
        }
        match guard.slot.state.compare_exchange_weak(
            state,
            state | CLOSED,
            Ordering::AcqRel,
            Ordering::Relaxed,
        ) {
            Ok(_) => break,
            Err(now) => state = now,
        }
    }
    debug_assert_eq!(guard.index, index);
    LIVE.fetch_sub(1, Ordering::Relaxed);
    Ok(())
}

/// A use of a handle. Dropping the last one of a closed handle frees the value.
pub(super) struct Guard<T> {
    slot: &'static Slot,
    index: u32,
    kind: PhantomData<T>,
}

impl<T> Guard<T> {
    /// A reference of its own, for a child that must keep its parent.
    pub(super) fn share(&self) -> Arc<T> {
        let value = self.slot.value.load(Ordering::Relaxed).cast_const().cast::<T>();
        // SAFETY: `value` came from `Arc::into_raw` of an Arc<T> (the tag was checked) and is not
        // freed while this guard counts as a user.
        unsafe {
            Arc::increment_strong_count(value);
            Arc::from_raw(value)
        }
    }
}

impl<T> Deref for Guard<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: as in `share`.
        unsafe { &*self.slot.value.load(Ordering::Relaxed).cast_const().cast::<T>() }
    }
}

impl<T> Drop for Guard<T> {
    #[inline]
    fn drop(&mut self) {
        let before = self.slot.state.fetch_sub(1, Ordering::AcqRel);
        if before & (CLOSED | FREE) == CLOSED && before & USERS == 1 {
            free(self.slot, self.index);
        }
    }
}

/// Whoever turns the slot from closed and unused to free, frees; others come too late or too early.
#[cold]
fn free(slot: &'static Slot, index: u32) {
    let state = slot.state.load(Ordering::Acquire);
    if state & (CLOSED | FREE | USERS) != CLOSED {
        return;
    }
    let generation = ((state >> GENERATION_SHIFT) + 1) & GENERATION_MASK;
    let vacant = generation.max(1) << GENERATION_SHIFT | CLOSED | FREE;
    if slot.state.compare_exchange(state, vacant, Ordering::AcqRel, Ordering::Relaxed).is_err() {
        return;
    }
    let value = slot.value.swap(ptr::null_mut(), Ordering::Acquire);
    let drop = slot.drop.load(Ordering::Relaxed);
    // SAFETY: `drop` was stored from a `drop_value::<T>` together with this `value`.
    unsafe {
        let drop = std::mem::transmute::<*mut (), unsafe fn(*mut ())>(drop);
        drop(value);
    }
    let mut slots = FREE_SLOTS.lock().unwrap_or_else(PoisonError::into_inner);
    slots.free.push(index);
}

/// # Safety
/// `value` came from `Arc::into_raw` of an `Arc<T>` and is given up here.
unsafe fn drop_value<T>(value: *mut ()) {
    // SAFETY: as the caller says.
    drop(unsafe { Arc::from_raw(value.cast_const().cast::<T>()) });
}

fn take_slot() -> Result<u32> {
    let mut slots = FREE_SLOTS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(index) = slots.free.pop() {
        return Ok(index);
    }
    let index = slots.next;
    let chunk = SLAB.get(index as usize / CHUNK).ok_or_else(|| {
        Error::invalid(format!("more than {} native handles are open: a leak", CHUNK * CHUNKS))
    })?;
    chunk.get_or_init(|| (0..CHUNK).map(|_| Slot::vacant()).collect());
    slots.next += 1;
    Ok(index)
}

#[inline]
fn slot(index: u32) -> Option<&'static Slot> {
    SLAB.get(index as usize / CHUNK)?.get()?.get(index as usize % CHUNK)
}

#[inline]
fn parts(handle: jlong) -> (u32, u64) {
    let handle = handle as u64;
    ((handle >> GENERATION_BITS) as u32, handle & GENERATION_MASK)
}

#[cold]
fn refused<T: Kind>(handle: jlong) -> Error {
    Error::closed(format!("{} {handle:#x} is closed, or never was one", T::NAME))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    static DROPPED: AtomicUsize = AtomicUsize::new(0);

    struct Thing(u64);
    struct Other;

    impl Kind for Thing {
        const TAG: u32 = 9001;
        const NAME: &'static str = "thing";
    }
    impl Kind for Other {
        const TAG: u32 = 9002;
        const NAME: &'static str = "other";
    }
    impl Drop for Thing {
        fn drop(&mut self) {
            DROPPED.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn misuse_is_an_error() {
        let handle = open(Arc::new(Thing(7))).expect("room");
        assert_eq!(get::<Thing>(handle).expect("open").0, 7);
        assert!(get::<Other>(handle).is_err());
        assert!(close::<Other>(handle).is_err());
        for made_up in [0, -1, 1, handle + 1, handle ^ (1 << 40), jlong::MAX, jlong::MIN] {
            assert!(get::<Thing>(made_up).is_err(), "{made_up:#x}");
            assert!(close::<Thing>(made_up).is_err(), "{made_up:#x}");
        }
        close::<Thing>(handle).expect("first close");
        assert!(close::<Thing>(handle).is_err());
        assert!(get::<Thing>(handle).is_err());
    }

    #[test]
    fn a_user_keeps_the_value_through_close() {
        let handle = open(Arc::new(Thing(8))).expect("room");
        let user = get::<Thing>(handle).expect("open");
        close::<Thing>(handle).expect("close");
        assert_eq!(user.0, 8);
        assert!(get::<Thing>(handle).is_err());
        drop(user);
    }

    #[test]
    fn threads_that_use_and_close_free_each_value_once() {
        const ROUNDS: usize = 2000;
        let before = DROPPED.load(Ordering::Relaxed);
        for round in 0..ROUNDS {
            let handle = open(Arc::new(Thing(round as u64))).expect("room");
            std::thread::scope(|scope| {
                for _ in 0..2 {
                    scope.spawn(move || {
                        while let Ok(thing) = get::<Thing>(handle) {
                            assert_eq!(thing.0, round as u64);
                        }
                    });
                }
                scope.spawn(move || close::<Thing>(handle).expect("only close"));
            });
        }
        assert!(DROPPED.load(Ordering::Relaxed) - before >= ROUNDS);
    }
}
