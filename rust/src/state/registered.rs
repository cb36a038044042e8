//! One registered state: its column family, behind the buffer where there is one. Adds what a user can
//! act on: the name of the state in errors, and the limits of the JVM.
//!
//! Of a row that belongs to a map, callers say how many bytes of its key all rows of the map share
//! (`map`, 0: none): the buffer keeps those together.
use super::timers::Timers;
use super::Database;
use crate::buffer::{map_rows, Rows};
use crate::db::{Column, Cursor, Db, Fill, Ingest};
use crate::error::{Error, Result};
use crate::limits;
use std::sync::Arc;

/// A column family behind a state object, or behind several views of it.
pub struct State {
    buffered: Option<Rows>,
    /// Once it is one of timers.
    pub(super) timers: Timers,
    column: Arc<Column>,
}

impl State {
    /// The state `name` of a database; its column family is created when absent.
    pub fn open(database: &Database, name: &str) -> Result<Self> {
        let timers = Timers::new(&database.queues);
        match &database.buffer {
            Some(buffer) => {
                let rows = buffer.rows(database.db(), name)?;
                let column = Arc::clone(rows.column());
                Ok(Self { buffered: Some(rows), timers, column })
            }
            None => {
                let column = Arc::new(database.db().column(name)?);
                Ok(Self { buffered: None, timers, column })
            }
        }
    }

    /// Past the buffer: for what reads and writes no rows of it.
    #[must_use]
    pub fn column(&self) -> &Arc<Column> {
        &self.column
    }

    #[must_use]
    pub fn db(&self) -> &Arc<Db> {
        self.column.db()
    }

    /// Length of the value, which stands in `page` if it fits; None when absent.
    #[inline]
    pub fn read(&self, key: &[u8], map: usize, page: &mut [u8]) -> Result<Option<usize>> {
        let found = match &self.buffered {
            Some(rows) => rows.get(key, map, page),
            None => self.column.read(key, page),
        };
        match found.and_then(|length| {
            limits::check(length.unwrap_or(0), key)?;
            Ok(length)
        }) {
            Ok(length) => Ok(length),
            Err(e) => Err(self.failed("read", e)),
        }
    }

    /// True if the key exists.
    pub fn contains(&self, key: &[u8], map: usize) -> Result<bool> {
        let found = match &self.buffered {
            Some(rows) => rows.contains(key, map),
            None => self.column.read(key, &mut []).map(|length| length.is_some()),
        };
        found.map_err(|e| self.failed("look into", e))
    }

    /// The value of a row that belongs to no map, in memory of its own; None when absent.
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let mut value = Vec::new();
        loop {
            match self.read(key, 0, &mut value)? {
                None => return Ok(None),
                Some(length) if length <= value.len() => {
                    value.truncate(length);
                    return Ok(Some(value));
                }
                Some(length) => value.resize(length, 0),
            }
        }
    }

    #[inline]
    pub fn put(&self, key: &[u8], map: usize, value: &[u8]) -> Result<()> {
        let done = match &self.buffered {
            Some(rows) => rows.put(key, map, value),
            None => self.column.put(key, value),
        };
        done.map_err(|e| self.failed("write", e))
    }

    /// Puts rows of a map, see `map_rows`, in their order. What stands before one that fails is put.
    pub fn put_all(&self, prefix: &[u8], rows: &[u8]) -> Result<()> {
        let done = match &self.buffered {
            Some(buffered) => buffered.put_all(prefix, rows),
            None => map_rows(rows).try_for_each(|row| {
                let (user, value) = row?;
                self.column.put(&[prefix, user].concat(), value)
            }),
        };
        done.map_err(|e| self.failed("write", e))
    }

    #[inline]
    pub fn merge(&self, key: &[u8], operand: &[u8]) -> Result<()> {
        let done = match &self.buffered {
            Some(rows) => rows.merge(key, operand),
            None => self.column.merge(key, operand),
        };
        done.map_err(|e| self.failed("append", e))
    }

    #[inline]
    pub fn delete(&self, key: &[u8], map: usize) -> Result<()> {
        let done = match &self.buffered {
            Some(rows) => rows.delete(key, map),
            None => self.column.delete(key),
        };
        done.map_err(|e| self.failed("delete", e))
    }

    /// True if a map has rows: those whose keys begin with `prefix`.
    pub fn map_has_rows(&self, prefix: &[u8]) -> Result<bool> {
        match &self.buffered {
            Some(rows) => rows.map_has_rows(prefix),
            None => self.column.contains_prefix(prefix),
        }
    }

    /// All maps' rows share at least so many bytes with the others of their map, see `Column::filter_prefix`.
    pub fn filter_maps(&self, prefix: usize) -> Result<()> {
        self.column.filter_prefix(prefix)
    }

    /// Deletes the rows of a map.
    pub fn clear_map(&self, prefix: &[u8]) -> Result<()> {
        match &self.buffered {
            Some(rows) => rows.clear_map(prefix),
            None => self.column.delete_prefix(prefix),
        }
    }

    /// As `scan`, of the rows of a map.
    pub fn scan_map(
        &self,
        from: &[u8],
        prefix: usize,
        after: bool,
        max: usize,
        page: &mut [u8],
    ) -> Result<Fill> {
        let fill = match &self.buffered {
            Some(rows) => rows.scan_map(from, prefix, after, max, page),
            None => self.column.scan(from, prefix, after, max, page),
        };
        fill.map_err(|e| self.failed("scan", e))
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
        self.flush_buffer()
            .and_then(|()| self.column.scan(from, prefix, after, max, page))
            .map_err(|e| self.failed("scan", e))
    }

    pub fn cursor(&self, keys_only: bool) -> Result<Cursor> {
        self.flush_buffer()?;
        self.column.cursor(keys_only)
    }

    /// Begins a bulk load, of which the state knows once it is ingested.
    pub fn load(&self) -> Result<Ingest> {
        self.column.load()
    }

    /// Makes the rows of a bulk load part of the state.
    pub fn ingest(&self, load: &mut Ingest) -> Result<()> {
        self.past_buffer(|| load.ingest())
    }

    /// Writes to the column family itself.
    pub(super) fn past_buffer<R>(&self, write: impl FnOnce() -> Result<R>) -> Result<R> {
        self.timers.flush()?;
        let result = match &self.buffered {
            Some(rows) => rows.past(write),
            None => write(),
        };
        let forgotten = self.timers.forget();
        let result = result?;
        forgotten.map(|()| result)
    }

    /// Drops the column family with its data.
    pub fn drop_column(&self) -> Result<()> {
        match &self.buffered {
            Some(rows) => rows.drop_column(),
            None => self.column.drop_column(),
        }
    }

    /// For those who look at the column family itself.
    pub fn flush_buffer(&self) -> Result<()> {
        self.timers.flush()?;
        match &self.buffered {
            Some(rows) => rows.flush(),
            None => Ok(()),
        }
    }

    #[cold]
    pub(super) fn failed(&self, step: &str, cause: Error) -> Error {
        cause.context(format!("cannot {step} state '{}'", self.column.name()))
    }
}
