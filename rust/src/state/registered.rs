//! One registered state. Adds to `db::Column` what a user can act on: the name of the state in errors,
//! and the limits of the JVM.
use crate::db::{Column, Cursor, Db, Fill};
use crate::error::{Error, Result};
use crate::limits;
use std::sync::Arc;

/// A column family behind a state object, or behind several views of it.
pub struct State {
    column: Arc<Column>,
}

impl State {
    /// The state `name` of `db`; its column family is created when absent.
    pub fn open(db: &Arc<Db>, name: &str) -> Result<Self> {
        Ok(Self { column: Arc::new(db.column(name)?) })
    }

    #[must_use]
    pub fn column(&self) -> &Arc<Column> {
        &self.column
    }

    #[must_use]
    pub fn db(&self) -> &Arc<Db> {
        self.column.db()
    }

    /// Length of the value, which stands in `value` if it is at most `capacity`; None when absent.
    ///
    /// # Safety
    /// `value` is writable for `capacity` bytes.
    #[inline]
    pub unsafe fn get_into(
        &self,
        key: &[u8],
        value: *mut u8,
        capacity: usize,
    ) -> Result<Option<usize>> {
        // SAFETY: as the caller says.
        let found = unsafe { self.column.get_into(key, value, capacity) };
        match found.and_then(|length| {
            limits::check(length.unwrap_or(0), key)?;
            Ok(length)
        }) {
            Ok(length) => Ok(length),
            Err(e) => Err(self.failed("read", e)),
        }
    }

    /// True if the key exists.
    pub fn contains(&self, key: &[u8]) -> Result<bool> {
        // SAFETY: nothing is written to an empty buffer.
        let found = unsafe { self.column.get_into(key, std::ptr::null_mut(), 0) };
        Ok(found.map_err(|e| self.failed("look into", e))?.is_some())
    }

    /// The value in memory of its own; None when absent.
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let found = self.column.get(key).and_then(|value| {
            limits::check(value.as_ref().map_or(0, Vec::len), key)?;
            Ok(value)
        });
        found.map_err(|e| self.failed("read", e))
    }

    #[inline]
    pub fn put(&self, key: &[u8], value: &[u8]) -> Result<()> {
        self.column.put(key, value).map_err(|e| self.failed("write", e))
    }

    #[inline]
    pub fn merge(&self, key: &[u8], operand: &[u8]) -> Result<()> {
        self.column.merge(key, operand).map_err(|e| self.failed("append", e))
    }

    #[inline]
    pub fn delete(&self, key: &[u8]) -> Result<()> {
        self.column.delete(key).map_err(|e| self.failed("delete", e))
    }

    pub fn contains_prefix(&self, prefix: &[u8]) -> Result<bool> {
        self.column.contains_prefix(prefix)
    }

    pub fn delete_prefix(&self, prefix: &[u8]) -> Result<()> {
        self.column.delete_prefix(prefix)
    }

    /// See `Column::scan`.
    pub fn scan(
        &self,
        from: &[u8],
        prefix: usize,
        after: bool,
        max: usize,
        page: &mut [u8],
    ) -> Result<Fill> {
        self.column.scan(from, prefix, after, max, page).map_err(|e| self.failed("scan", e))
    }

    pub fn cursor(&self, keys_only: bool) -> Result<Cursor> {
        self.column.cursor(keys_only)
    }

    #[cold]
    pub(super) fn failed(&self, step: &str, cause: Error) -> Error {
        cause.context(format!("cannot {step} state '{}'", self.column.name()))
    }
}
