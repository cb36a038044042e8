//! The buffer as others use it: a lock around the table, numbers for column families, and what has to be
//! flushed or forgotten when somebody goes to the database itself. The task's thread uses it alone but
//! for queries and snapshots, so the lock is free.
use super::limit::Limit;
use super::map_rows::map_rows;
use super::maps::MapKey;
use super::rows::Key;
use super::table::{Buffered, Counters, Shape, Table};
use crate::config::Config;
use crate::db::{Column, Db, Fill};
use crate::error::{Error, Result};
use crate::memory::Memory;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Most keys of maps' rows are not longer.
const LIKELY_KEY: usize = 128;

pub struct Buffer {
    table: Mutex<Table>,
}

/// A column family in front of which the buffer stands.
pub struct Rows {
    buffer: Arc<Buffer>,
    number: u16,
    column: Arc<Column>,
}

impl Buffer {
    /// None when it is turned off.
    #[must_use]
    pub fn new(config: &Config, memory: Option<Arc<Memory>>) -> Option<Arc<Self>> {
        if !config.buffer {
            return None;
        }
        let limit = Limit::new(memory, config.buffer_ratio, config.buffer_size);
        Some(Arc::new(Self { table: Mutex::new(Table::new(limit)) }))
    }

    /// A panic inside poisons the database, which then refuses all that the table might do to it.
    #[inline]
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The rows of a column family; of the same one when asked again.
    pub fn rows(self: &Arc<Self>, db: &Arc<Db>, name: &str) -> Result<Rows> {
        let mut table = self.table();
        let known = table.columns.iter().position(|buffered| {
            buffered.as_ref().is_some_and(|buffered| buffered.column.name() == name)
        });
        let number = match known {
            Some(number) => number,
            None => table.add_column(Arc::new(db.column(name)?))?,
        };
        let column = Arc::clone(table.column(number as u16));
        Ok(Rows { buffer: Arc::clone(self), number: number as u16, column })
    }

    /// Brings everything into the database, for those who look at it as a whole.
    pub fn flush(&self) -> Result<()> {
        self.table().flush_all()
    }

    /// After the database was written to past the buffer: nothing is known any more. What somebody wrote
    /// through it meanwhile is brought into the database.
    pub fn forget(&self) -> Result<()> {
        let mut table = self.table();
        table.flush_all()?;
        for number in 0..table.columns.len() {
            if table.columns[number].is_some() {
                table.forget(number as u16);
            }
        }
        Ok(())
    }

    #[must_use]
    pub fn counters(&self) -> Counters {
        self.table().counters
    }

    /// What `usage` says first, counted anew.
    #[cfg(test)]
    pub(super) fn count_dirty(&self) -> usize {
        let table = self.table();
        table.records().map(|(_, head)| head.dirty_bytes()).sum()
    }

    /// Bytes of records that live, and of the segments that hold them.
    #[cfg(test)]
    pub(super) fn filled(&self) -> (usize, usize) {
        let table = self.table();
        let live = |segment: &usize| table.arena.segment(*segment).live;
        let held = table.queues.held() * table.arena.segment_bytes();
        (table.queues.all().iter().map(live).sum(), held)
    }

    /// Bytes that are not in the database yet, and bytes that the buffer takes.
    #[must_use]
    pub fn usage(&self) -> (usize, usize) {
        let table = self.table();
        (table.dirty_bytes, table.limit.taken())
    }
}

impl Table {
    fn add_column(&mut self, column: Arc<Column>) -> Result<usize> {
        let number = match self.columns.iter().position(Option::is_none) {
            Some(free) => free,
            None => {
                self.columns.extend([None, None]);
                self.columns.len() - 2
            }
        };
        if number + 1 > usize::from(u16::MAX) {
            return Err(Error::invalid(format!("more than {} states", u16::MAX / 2)));
        }
        self.columns[number] = Some(Buffered::new(Arc::clone(&column), Shape::Rows));
        self.columns[number + 1] = Some(Buffered::new(column, Shape::RowsOfMaps));
        Ok(number)
    }

    /// Before records of this shape are used: records of the other one could say something else.
    #[inline]
    fn shape(&mut self, column: u16, shape: Shape) -> Result<()> {
        if self.buffered(column).shape != shape {
            self.reshape(column, shape)?;
        }
        Ok(())
    }

    #[cold]
    fn reshape(&mut self, column: u16, shape: Shape) -> Result<()> {
        self.flush_column(column)?;
        self.forget_column(column);
        self.buffered_mut(column).shape = shape;
        Ok(())
    }

    fn forget_column(&mut self, column: u16) {
        self.forget(column);
        self.forget(column + 1);
    }
}

impl Rows {
    #[must_use]
    pub fn column(&self) -> &Arc<Column> {
        &self.column
    }

    #[inline]
    fn table(&self, shape: Shape) -> Result<MutexGuard<'_, Table>> {
        let mut table = self.open()?;
        table.shape(self.number, shape)?;
        Ok(table)
    }

    #[inline]
    fn open(&self) -> Result<MutexGuard<'_, Table>> {
        self.column.db().check()?;
        let table = self.buffer.table();
        match &table.columns[usize::from(self.number)] {
            Some(buffered) if Arc::ptr_eq(&buffered.column, &self.column) => Ok(table),
            _ => Err(self.dropped()),
        }
    }

    #[cold]
    fn dropped(&self) -> Error {
        Error::closed(format!("state '{}' was dropped", self.column.name()))
    }

    #[inline]
    fn key<'a>(&self, key: &'a [u8]) -> Key<'a> {
        Key { column: self.number, bytes: key, own: 0 }
    }

    fn map_key<'a>(&self, key: &'a [u8], prefix: usize) -> Result<MapKey<'a>> {
        if prefix > key.len() {
            return Err(Error::invalid(format!(
                "prefix of {prefix} bytes of a key of {}",
                key.len()
            )));
        }
        Ok(MapKey { column: self.number, bytes: key, prefix })
    }

    /// Length of the value, which stands in `page` if it fits; None when absent. `map`: bytes of the key
    /// that all rows of its map share, 0 if it is none of a map. Likewise below.
    #[inline]
    pub fn get(&self, key: &[u8], map: usize, page: &mut [u8]) -> Result<Option<usize>> {
        if map == 0 {
            return self.table(Shape::Rows)?.get_row(self.key(key), page);
        }
        self.table(Shape::Maps)?.get_in_map(self.map_key(key, map)?, page)
    }

    pub fn contains(&self, key: &[u8], map: usize) -> Result<bool> {
        if map == 0 {
            return self.table(Shape::Rows)?.contains_row(self.key(key));
        }
        self.table(Shape::Maps)?.contains_in_map(self.map_key(key, map)?)
    }

    #[inline]
    pub fn put(&self, key: &[u8], map: usize, value: &[u8]) -> Result<()> {
        if map == 0 {
            return self.table(Shape::Rows)?.put_row(self.key(key), value);
        }
        self.table(Shape::Maps)?.put_in_map(self.map_key(key, map)?, value)
    }

    /// Puts rows of a map, see `map_rows`.
    pub fn put_all(&self, prefix: &[u8], rows: &[u8]) -> Result<()> {
        let mut table = self.table(Shape::Maps)?;
        let mut key = Vec::with_capacity(LIKELY_KEY);
        key.extend_from_slice(prefix);
        for row in map_rows(rows) {
            let (user, value) = row?;
            key.truncate(prefix.len());
            key.extend_from_slice(user);
            table.put_in_map(self.map_key(&key, prefix.len())?, value)?;
        }
        Ok(())
    }

    pub fn merge(&self, key: &[u8], operand: &[u8]) -> Result<()> {
        self.table(Shape::Rows)?.merge_row(self.key(key), operand)
    }

    pub fn delete(&self, key: &[u8], map: usize) -> Result<()> {
        if map == 0 {
            return self.table(Shape::Rows)?.delete_row(self.key(key));
        }
        self.table(Shape::Maps)?.delete_in_map(self.map_key(key, map)?)
    }

    pub fn map_has_rows(&self, prefix: &[u8]) -> Result<bool> {
        self.table(Shape::Maps)?.has_rows(self.map_key(prefix, prefix.len())?)
    }

    pub fn clear_map(&self, prefix: &[u8]) -> Result<()> {
        self.table(Shape::Maps)?.clear_map(self.map_key(prefix, prefix.len())?)
    }

    /// As `Column::scan`, of the rows of a map.
    pub fn scan_map(
        &self,
        from: &[u8],
        prefix: usize,
        after: bool,
        max: usize,
        page: &mut [u8],
    ) -> Result<Fill> {
        self.table(Shape::Maps)?.scan_map(self.map_key(from, prefix)?, after, max, page)
    }

    /// Brings the rows into the database, for those who go there themselves.
    pub fn flush(&self) -> Result<()> {
        self.open()?.flush_column(self.number)
    }

    /// Writes to the database past the buffer, which then knows nothing of the rows.
    pub fn past<R>(&self, write: impl FnOnce() -> Result<R>) -> Result<R> {
        let mut table = self.open()?;
        table.flush_column(self.number)?;
        let result = write();
        table.forget_column(self.number);
        result
    }

    /// Drops the column family; what is dirty of it with it.
    pub fn drop_column(&self) -> Result<()> {
        let mut table = self.open()?;
        self.column.drop_column()?;
        table.forget_column(self.number);
        let number = usize::from(self.number);
        table.columns[number] = None;
        table.columns[number + 1] = None;
        Ok(())
    }
}
