//! One column family: reads, writes and scans of bytes. What the bytes mean is `state`'s business.
use super::ffi::{self, RawColumn};
use super::ffi_batch::Batch;
use super::ffi_ttl::{TtlFilter, TtlRule};
use super::ingest::Ingest;
use super::open::with_filter;
use super::owner::Db;
use super::scan::{successor, Cursor};
use crate::error::{Error, Result};
use rocksdb::{
    AsColumnFamilyRef, BoundColumnFamily, DBRawIteratorWithThreadMode, IngestExternalFileOptions,
};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

/// A batch of deletes is written when it reaches this many bytes.
const BATCH_BYTES: usize = 1 << 20;

/// An open column family. Holds its database open.
pub struct Column {
    raw: RawColumn,
    // Before `db`: a column family handle must go before its database. The lifetime is really that
    // of `db`.
    handle: Arc<BoundColumnFamily<'static>>,
    name: String,
    filter: Arc<TtlFilter>,
    /// Bytes of a key that files' filters know by themselves (`filter_prefix`).
    prefix: OnceLock<usize>,
    db: Arc<Db>,
}

/// A column family's handle whose lifetime its holder sees to.
pub(super) struct BoundColumn {
    pub(super) raw: RawColumn,
    handle: Arc<BoundColumnFamily<'static>>,
}

impl BoundColumn {
    /// # Safety
    /// It goes before the database is closed.
    pub(super) unsafe fn of(db: &Db, name: &str) -> Result<Self> {
        let bound = db
            .rocks
            .cf_handle(name)
            .ok_or_else(|| Error::invalid(format!("column family '{name}' was dropped")))?;
        // SAFETY: the lifetime is that of `db`, which the caller vouches for.
        let handle = unsafe {
            std::mem::transmute::<Arc<BoundColumnFamily<'_>>, Arc<BoundColumnFamily<'static>>>(
                bound,
            )
        };
        let raw = RawColumn { db: ffi::raw_db(&db.rocks), column: handle.inner() };
        Ok(Self { raw, handle })
    }
}

impl Column {
    pub(super) fn open(db: &Arc<Db>, name: &str) -> Result<Self> {
        if name == "default" {
            return Err(Error::invalid(
                "a state cannot be named 'default': RocksDB keeps a column family of that name",
            ));
        }
        if name.contains('\0') {
            return Err(Error::invalid(format!(
                "a state cannot be named {name:?}: RocksDB's column families have no NUL in their names"
            )));
        }
        let filter = Self::find_or_create(db, name)?;
        // SAFETY: `db` is kept by the same struct and dropped after the handle.
        let BoundColumn { raw, handle } = unsafe { BoundColumn::of(db, name) }?;
        let prefix = OnceLock::new();
        Ok(Self { raw, handle, name: name.to_owned(), filter, prefix, db: Arc::clone(db) })
    }

    fn find_or_create(db: &Db, name: &str) -> Result<Arc<TtlFilter>> {
        let mut columns = db.columns();
        if let Some(filter) = columns.get(name) {
            return Ok(Arc::clone(filter));
        }
        let filter = TtlFilter::new(&db.ttl_clock)?;
        db.rocks
            .create_cf(name, &with_filter(&db.column_options, &filter))
            .map_err(|e| db.failure(&format!("create column family '{name}'"), &e))?;
        columns.insert(name.to_owned(), Arc::clone(&filter));
        Ok(filter)
    }

    /// Compactions that begin from now on drop what has expired by this rule.
    pub fn expire_by(&self, rule: &TtlRule) -> Result<()> {
        self.db.check()?;
        self.filter.configure(rule)
    }

    /// Files older than this many seconds are compacted, and so filtered; 0: only when need be.
    pub fn compact_every(&self, seconds: u64) -> Result<()> {
        self.db.check()?;
        self.db
            .rocks
            .set_options_cf(&self.handle, &[("periodic_compaction_seconds", &seconds.to_string())])
            .map_err(|e| self.failure("set how often to compact", &e))
    }

    /// From now on the filters of memtables and files know the first `length` bytes of each key too, so
    /// that `iterate` passes over what has none with its prefix. The first length stays: memtables keep a
    /// pointer to RocksDB's object for it. Files that were written before are read as ever.
    pub fn filter_prefix(&self, length: usize) -> Result<()> {
        self.db.check()?;
        if length == 0 || self.prefix.get().is_some() || !self.db.has_filters {
            return Ok(());
        }
        let extractor = format!("rocksdb.FixedPrefix.{length}");
        self.db
            .rocks
            .set_options_cf(&self.handle, &[("prefix_extractor", &extractor)])
            .map_err(|e| self.failure("set the prefix of its filters", &e))?;
        let _ = self.prefix.set(length);
        Ok(())
    }

    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn raw(&self) -> RawColumn {
        self.raw
    }

    #[must_use]
    pub fn db(&self) -> &Arc<Db> {
        &self.db
    }

    /// Length of the value, written to `value` if it fits into `capacity`; None when absent.
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
        self.db.check()?;
        // SAFETY: `self` keeps the database open; the caller vouches for `value`.
        unsafe {
            ffi::get(self.raw, (&self.db.options, self.db.fills_cache()), key, value, capacity)
        }
    }

    /// Length of the value, which stands in `page` if it fits; None when absent.
    pub fn read(&self, key: &[u8], page: &mut [u8]) -> Result<Option<usize>> {
        // SAFETY: `page` is writable for its length.
        unsafe { self.get_into(key, page.as_mut_ptr(), page.len()) }
    }

    /// The value, allocated; None when absent.
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.db.check()?;
        self.db.rocks.get_cf(&self.handle, key).map_err(|e| self.failure("read", &e))
    }

    #[inline]
    pub fn put(&self, key: &[u8], value: &[u8]) -> Result<()> {
        self.db.check()?;
        #[cfg(test)]
        super::failing::check()?;
        // SAFETY: `self` keeps the database open.
        unsafe { ffi::put(self.raw, &self.db.options, key, value) }?;
        self.db.give_way_to_flushes();
        Ok(())
    }

    #[inline]
    pub fn merge(&self, key: &[u8], operand: &[u8]) -> Result<()> {
        self.db.check()?;
        #[cfg(test)]
        super::failing::check()?;
        // SAFETY: `self` keeps the database open.
        unsafe { ffi::merge(self.raw, &self.db.options, key, operand) }?;
        self.db.give_way_to_flushes();
        Ok(())
    }

    #[inline]
    pub fn delete(&self, key: &[u8]) -> Result<()> {
        self.db.check()?;
        #[cfg(test)]
        super::failing::check()?;
        // SAFETY: `self` keeps the database open.
        unsafe { ffi::delete(self.raw, &self.db.options, key) }?;
        self.db.give_way_to_flushes();
        Ok(())
    }

    /// Writes all rows or none.
    pub fn put_batch<'a>(
        &self,
        rows: impl IntoIterator<Item = (&'a [u8], &'a [u8])>,
    ) -> Result<()> {
        let mut batch = Batch::new();
        for (key, value) in rows {
            // SAFETY: `self` keeps the database open.
            unsafe { batch.put(self.raw, key, value) };
        }
        self.write(&mut batch)
    }

    /// An iterator over the keys that begin with `prefix` (all keys when empty), not yet positioned.
    pub fn iterate(
        &self,
        prefix: &[u8],
    ) -> Result<DBRawIteratorWithThreadMode<'_, super::owner::RocksDb>> {
        self.db.check()?;
        let upper = if prefix.is_empty() { None } else { successor(prefix) };
        let filtered = self.prefix.get().is_some_and(|length| prefix.len() >= *length);
        Ok(self.db.rocks.raw_iterator_cf_opt(&self.handle, ffi::scan_options(upper, filtered)))
    }

    /// A scan of the whole column family as it is now, which outlives the borrow of `self`.
    pub fn cursor(self: &Arc<Self>, keys_only: bool) -> Result<Cursor> {
        Cursor::open(self, &[], 0, keys_only)
    }

    /// As `cursor`, of the keys that share the first `prefix` bytes of `from`, from there on.
    pub fn cursor_at(
        self: &Arc<Self>,
        from: &[u8],
        prefix: usize,
        keys_only: bool,
    ) -> Result<Cursor> {
        Cursor::open(self, from, prefix, keys_only)
    }

    /// Begins a bulk load of sorted rows.
    pub fn load(self: &Arc<Self>) -> Result<Ingest> {
        Ingest::begin(self)
    }

    /// Takes files over, all or none.
    pub(super) fn ingest(
        &self,
        files: &[PathBuf],
        options: &IngestExternalFileOptions,
    ) -> Result<()> {
        self.db
            .rocks
            .ingest_external_file_cf_opts(&self.handle, options, files.to_vec())
            .map_err(|e| self.failure("take files over", &e))
    }

    pub fn contains_prefix(&self, prefix: &[u8]) -> Result<bool> {
        let mut rows = self.iterate(prefix)?;
        rows.seek(prefix);
        rows.status().map_err(|e| self.failure("look for a prefix", &e))?;
        Ok(rows.valid())
    }

    /// Deletes every key that begins with `prefix`.
    pub fn delete_prefix(&self, prefix: &[u8]) -> Result<()> {
        let mut rows = self.iterate(prefix)?;
        rows.seek(prefix);
        let mut batch = Batch::new();
        while let Some(key) = rows.key() {
            // SAFETY: `self` keeps the database open.
            unsafe { batch.delete(self.raw, key) };
            if batch.bytes() >= BATCH_BYTES {
                self.write(&mut batch)?;
            }
            rows.next();
        }
        rows.status().map_err(|e| self.failure("find what to delete", &e))?;
        self.write(&mut batch)
    }

    /// Leaves the batch empty.
    pub(super) fn write(&self, batch: &mut Batch) -> Result<()> {
        if batch.bytes() > 0 {
            self.write_even_if_empty(batch)?;
            self.db.give_way_to_flushes();
        }
        batch.clear();
        self.db.check()
    }

    /// Fails as writes fail.
    pub fn check_writable(&self) -> Result<()> {
        self.write_even_if_empty(&Batch::new())
    }

    fn write_even_if_empty(&self, batch: &Batch) -> Result<()> {
        self.db.check()?;
        #[cfg(test)]
        super::failing::check()?;
        // SAFETY: `self` keeps the database open.
        unsafe { batch.write(self.raw, &self.db.options) }
            .map_err(|error| error.context(self.about("write a batch")))
    }

    pub fn property(&self, name: &str) -> Result<Option<String>> {
        self.db.check()?;
        self.db
            .rocks
            .property_value_cf(&self.handle, name)
            .map_err(|e| self.failure("read property", &e))
    }

    pub(super) fn int_property(&self, name: &str) -> Result<Option<u64>> {
        self.db.check()?;
        self.db
            .rocks
            .property_int_value_cf(&self.handle, name)
            .map_err(|e| self.failure("read property", &e))
    }

    pub fn flush(&self) -> Result<()> {
        self.db.check()?;
        self.db.rocks.flush_cf(&self.handle).map_err(|e| self.failure("flush", &e))
    }

    pub fn compact(&self) -> Result<()> {
        self.db.check()?;
        self.db.rocks.compact_range_cf(&self.handle, None::<&[u8]>, None::<&[u8]>);
        Ok(())
    }

    /// Drops the column family and its data. This handle then reads what was there until it goes.
    pub fn drop_column(&self) -> Result<()> {
        self.db.check()?;
        let mut columns = self.db.columns();
        self.db.rocks.drop_cf(&self.name).map_err(|e| self.failure("drop", &e))?;
        columns.remove(&self.name);
        Ok(())
    }

    pub(crate) fn failure(&self, step: &str, cause: &rocksdb::Error) -> Error {
        self.db.failure(&format!("{step} in state '{}'", self.name), cause)
    }

    #[cold]
    fn about(&self, step: &str) -> String {
        format!("{step} in state '{}' (database {})", self.name, self.db.path().display())
    }
}
