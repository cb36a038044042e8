//! For tests: a database that takes no writes, as seen by one thread.
use crate::error::{Error, Kind, Result};
use std::cell::Cell;

thread_local!(static FAILING: Cell<bool> = const { Cell::new(false) });

pub(crate) fn fail_writes(fail: bool) {
    FAILING.set(fail);
}

pub(super) fn check() -> Result<()> {
    if FAILING.get() {
        return Err(Error::new(Kind::Full, "a test wants writes to fail"));
    }
    Ok(())
}
