//! Scans in pages: entries go into memory that the caller gives, many at a time. The page's layout
//! is the contract of Native.scan.
use super::columns::Column;
use super::owner::{Db, RocksDb};
use crate::error::{Error, Result};
use crate::limits;
use rocksdb::DBRawIteratorWithThreadMode;
use std::sync::Arc;

const HEADER: usize = 8;
const ENTRY_HEADER: usize = 8;

/// What a fill did.
#[derive(Debug, PartialEq, Eq)]
pub enum Fill {
    /// So many bytes of the page are used.
    Used(usize),
    /// Not even the first entry fits: it needs a page of so many bytes.
    Needs(usize),
}

/// The smallest byte string greater than every one that begins with `prefix`; None if there is none.
#[must_use]
pub fn successor(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|byte| *byte != 0xFF)?;
    let mut end = prefix[..=last].to_vec();
    end[last] += 1;
    Some(end)
}

impl Column {
    /// Fills `page` with up to `max` entries that share the first `prefix` bytes of `from`, from
    /// `from` on (`after`: from the next key on).
    pub fn scan(
        &self,
        from: &[u8],
        prefix: usize,
        after: bool,
        max: usize,
        page: &mut [u8],
    ) -> Result<Fill> {
        let mut rows = self.iterate(prefix_of(from, prefix)?)?;
        rows.seek(from);
        if after && rows.key() == Some(from) {
            rows.next();
        }
        let fill = fill(&mut rows, max, false, page)?;
        rows.status().map_err(|e| self.failure("scan", &e))?;
        Ok(fill)
    }
}

fn prefix_of(from: &[u8], length: usize) -> Result<&[u8]> {
    from.get(..length).ok_or_else(|| {
        Error::invalid(format!("prefix of {length} bytes of a key of {}", from.len()))
    })
}

/// A long scan under the view of the moment it was opened.
pub struct Cursor {
    // Before `column`: the iterator must go before its database. The lifetime is really `column`'s.
    rows: DBRawIteratorWithThreadMode<'static, RocksDb>,
    keys_only: bool,
    column: Arc<Column>,
}

impl Cursor {
    /// Of the keys that share the first `prefix` bytes of `from`, from there on.
    pub(super) fn open(
        column: &Arc<Column>,
        from: &[u8],
        prefix: usize,
        keys_only: bool,
    ) -> Result<Self> {
        let mut rows = column.iterate(prefix_of(from, prefix)?)?;
        rows.seek(from);
        // SAFETY: `column`, kept by the same struct and dropped later, keeps the database open.
        let rows = unsafe {
            std::mem::transmute::<
                DBRawIteratorWithThreadMode<'_, RocksDb>,
                DBRawIteratorWithThreadMode<'static, RocksDb>,
            >(rows)
        };
        Ok(Self { rows, keys_only, column: Arc::clone(column) })
    }

    #[must_use]
    pub fn db(&self) -> &Arc<Db> {
        self.column.db()
    }

    /// Fills `page` with the next entries; a count of 0 is the end.
    pub fn next(&mut self, page: &mut [u8]) -> Result<Fill> {
        self.column.db().check()?;
        let fill = fill(&mut self.rows, usize::MAX, self.keys_only, page)
            .map_err(|e| e.context(format!("cannot scan state '{}'", self.column.name())))?;
        self.rows.status().map_err(|e| self.column.failure("scan", &e))?;
        Ok(fill)
    }
}

/// Leaves `rows` at the first entry that is not in the page.
fn fill(
    rows: &mut DBRawIteratorWithThreadMode<'_, RocksDb>,
    max: usize,
    keys_only: bool,
    page: &mut [u8],
) -> Result<Fill> {
    let mut entries = Entries::new(page);
    while entries.count() < max {
        let Some((key, value)) = rows.item() else { break };
        let value = if keys_only { &[] } else { value };
        if !entries.add([&[], key], value) {
            return entries.full(key.len(), value.len(), key);
        }
        rows.next();
    }
    Ok(entries.finish(rows.valid()))
}

/// A page that is filled.
pub struct Entries<'a> {
    page: &'a mut [u8],
    used: usize,
    count: usize,
}

impl<'a> Entries<'a> {
    #[must_use]
    pub fn new(page: &'a mut [u8]) -> Self {
        Self { page, used: HEADER, count: 0 }
    }

    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// Adds an entry, whose key comes in two parts; false if the page has no room for it.
    pub fn add(&mut self, [front, back]: [&[u8]; 2], value: &[u8]) -> bool {
        let key = front.len() + back.len();
        let size = ENTRY_HEADER + key + value.len();
        let Some(out) = self.page.get_mut(self.used..self.used + size) else { return false };
        out[..4].copy_from_slice(&(key as u32).to_ne_bytes());
        out[4..8].copy_from_slice(&(value.len() as u32).to_ne_bytes());
        let (out_key, out_value) = out[ENTRY_HEADER..].split_at_mut(key);
        out_key[..front.len()].copy_from_slice(front);
        out_key[front.len()..].copy_from_slice(back);
        out_value.copy_from_slice(value);
        self.used += size;
        self.count += 1;
        true
    }

    /// The end, when an entry of such lengths was not added.
    pub fn full(self, key: usize, value: usize, name: &[u8]) -> Result<Fill> {
        if self.count > 0 {
            return Ok(self.finish(true));
        }
        let needed = self.used + ENTRY_HEADER + key + value;
        limits::check(needed, name)?;
        Ok(Fill::Needs(needed))
    }

    /// The end; `more` entries follow.
    #[must_use]
    pub fn finish(self, more: bool) -> Fill {
        let Some(header) = self.page.first_chunk_mut::<HEADER>() else {
            return Fill::Needs(HEADER);
        };
        header[..4].copy_from_slice(&(self.count as u32).to_ne_bytes());
        header[4..].copy_from_slice(&u32::from(more).to_ne_bytes());
        Fill::Used(self.used)
    }
}
