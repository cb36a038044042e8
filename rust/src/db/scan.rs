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
    if page.len() < HEADER {
        return Ok(Fill::Needs(HEADER));
    }
    let mut used = HEADER;
    let mut count = 0usize;
    while count < max {
        let Some((key, value)) = rows.item() else { break };
        let value = if keys_only { &[] } else { value };
        let size = ENTRY_HEADER + key.len() + value.len();
        if used + size > page.len() {
            if count == 0 {
                limits::check(used + size, key)?;
                return Ok(Fill::Needs(used + size));
            }
            break;
        }
        write_entry(&mut page[used..used + size], key, value);
        used += size;
        count += 1;
        rows.next();
    }
    page[..4].copy_from_slice(&(count as u32).to_ne_bytes());
    page[4..8].copy_from_slice(&u32::from(rows.valid()).to_ne_bytes());
    Ok(Fill::Used(used))
}

fn write_entry(out: &mut [u8], key: &[u8], value: &[u8]) {
    let value_at = ENTRY_HEADER + key.len();
    out[..4].copy_from_slice(&(key.len() as u32).to_ne_bytes());
    out[4..8].copy_from_slice(&(value.len() as u32).to_ne_bytes());
    out[ENTRY_HEADER..value_at].copy_from_slice(key);
    out[value_at..].copy_from_slice(value);
}
