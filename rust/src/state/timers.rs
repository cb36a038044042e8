//! Timers: rows with an empty value, whose changes Java collects and hands over a page at a time. The
//! order of timers and what is cached of them is Java's business (io.ferrostate.timer).
use super::State;
use crate::db::Cursor;
use crate::error::{Error, Result};

/// Of a change: the length of its key and what to do with it.
const HEADER: usize = 5;

const NOTHING: u8 = 0;
const PUT: u8 = 1;
/// A put of a key that was not there, which Java may take back.
const PUT_NEW: u8 = 2;
const DELETE: u8 = 3;

impl State {
    /// Writes the changes of a page, one a key, all of them or none.
    pub fn write_timers(&self, page: &[u8]) -> Result<()> {
        let mut changes = changes(page)?;
        // Neighbours find their place in the memtable faster one after the other.
        changes.sort_unstable();
        self.past_buffer(|| self.column().write_keys(changes))
            .map_err(|e| self.failed("write timers of", e))
    }

    /// The timers that share the first `prefix` bytes of `from`, as they are now, from there on.
    pub fn timers_at(&self, from: &[u8], prefix: usize) -> Result<Cursor> {
        let keys_only = true;
        self.flush_buffer()?;
        self.column().cursor_at(from, prefix, keys_only)
    }
}

/// The keys of a page and whether they are put or deleted. Layout: Native.timersWrite.
fn changes(page: &[u8]) -> Result<Vec<(&[u8], bool)>> {
    let mut changes = Vec::new();
    let mut rest = page;
    while !rest.is_empty() {
        let (key, change, behind) = first(rest).ok_or_else(|| {
            Error::invalid(format!(
                "a page of timers ends in the middle of one, {} bytes before its end",
                rest.len()
            ))
        })?;
        match change {
            NOTHING => {}
            PUT | PUT_NEW => changes.push((key, true)),
            DELETE => changes.push((key, false)),
            other => return Err(Error::invalid(format!("unknown change {other} of a timer"))),
        }
        rest = behind;
    }
    Ok(changes)
}

/// Key and change that a page begins with, and what comes behind.
fn first(page: &[u8]) -> Option<(&[u8], u8, &[u8])> {
    let (header, rest) = page.split_at_checked(HEADER)?;
    let length = i32::from_ne_bytes(header[..4].try_into().ok()?);
    let (key, behind) = rest.split_at_checked(usize::try_from(length).ok()?)?;
    Some((key, header[4], behind))
}

#[cfg(test)]
#[path = "timers_test.rs"]
mod tests;
