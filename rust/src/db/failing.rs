//! For tests: a database that takes no writes, as seen by one thread.
use crate::error::{Error, Kind, Result};
use std::cell::Cell;

thread_local!(static LEFT: Cell<u32> = const { Cell::new(u32::MAX) });

pub(crate) fn fail_writes(fail: bool) {
    fail_writes_after(if fail { 0 } else { u32::MAX });
}

/// So many are taken before.
pub(crate) fn fail_writes_after(writes: u32) {
    LEFT.set(writes);
}

pub(super) fn check() -> Result<()> {
    match LEFT.get() {
        u32::MAX => Ok(()),
        0 => Err(Error::new(Kind::Full, "a test wants writes to fail")),
        left => {
            LEFT.set(left - 1);
            Ok(())
        }
    }
}
