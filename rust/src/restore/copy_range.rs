//! Copies the rows of a key range out of the database files in a directory. Changes nothing there, and
//! leaves the writing to a [`RangeSink`].
use std::path::Path;

use rocksdb::{
    BlockBasedOptions, ColumnFamilyDescriptor, DBRawIterator, Options, ReadOptions, DB,
    DEFAULT_COLUMN_FAMILY_NAME,
};

use crate::cancel::Cancel;
use crate::db::{check_manifest, read_only_options};
use crate::error::{Error, Result};
use crate::restore::complete;

/// A batch ends at so many bytes of keys and values, or so many rows.
const BATCH_BYTES: usize = 1 << 20;
const BATCH_ROWS: usize = 4096;
/// The source is read once from front to end: a cache only serves its indexes.
const CACHE_BYTES: usize = 8 << 20;
const READAHEAD_BYTES: usize = 2 << 20;
const OPEN_FILES: i32 = 64;

pub type Row = (Box<[u8]>, Box<[u8]>);

/// Where the rows go: one column family after the other, rows in byte order.
pub trait RangeSink {
    fn begin_column(&mut self, name: &str) -> Result<()>;
    fn put_batch(&mut self, rows: &[Row]) -> Result<()>;
    /// All rows of the column family were there. Not called after a failure or a cancel.
    fn end_column(&mut self) -> Result<()>;
}

/// Copies the rows with `from <= key < to` (no end if None) of every column family but "default".
/// Merge operands arrive merged.
pub fn copy_range(
    source: &Path,
    from: &[u8],
    to: Option<&[u8]>,
    sink: &mut dyn RangeSink,
    cancel: &Cancel,
) -> Result<()> {
    let step = || format!("open {} to copy a key range", source.display());
    cancel.check(&step())?;
    check_manifest(source).map_err(|error| error.context(step()))?;
    let options = source_options()?;
    let columns = DB::list_cf(&options, source).map_err(|cause| Error::rocksdb(&step(), &cause))?;
    let descriptors = columns.iter().map(|name| ColumnFamilyDescriptor::new(name, options.clone()));
    // Read only: nothing is compacted or deleted behind our back.
    let db = DB::open_cf_descriptors_read_only(&options, source, descriptors, false)
        .map_err(|cause| Error::rocksdb(&step(), &cause))?;
    for name in columns.iter().filter(|name| *name != DEFAULT_COLUMN_FAMILY_NAME) {
        let about = || format!("copy column family {name} of {}", source.display());
        sink.begin_column(name).map_err(|error| error.context(about()))?;
        copy_column(&db, name, from, to, sink, cancel)
            .and_then(|()| sink.end_column())
            .map_err(|error| error.context(about()))?;
    }
    Ok(())
}

/// Fails unless the source has the column families of these states and no others.
pub fn check_states(source: &Path, states: &[String]) -> Result<()> {
    let step = || format!("see which column families {} has", source.display());
    check_manifest(source).map_err(|error| error.context(step()))?;
    let columns =
        DB::list_cf(&source_options()?, source).map_err(|cause| Error::rocksdb(&step(), &cause))?;
    complete::check(columns.iter().map(String::as_str), states)
}

fn source_options() -> Result<Options> {
    let mut options = read_only_options()?;
    let mut table = BlockBasedOptions::default();
    table.set_block_cache(&crate::memory::block_cache(CACHE_BYTES));
    table.set_cache_index_and_filter_blocks(true);
    options.set_block_based_table_factory(&table);
    options.set_max_open_files(OPEN_FILES);
    Ok(options)
}

fn copy_column(
    db: &DB,
    name: &str,
    from: &[u8],
    to: Option<&[u8]>,
    sink: &mut dyn RangeSink,
    cancel: &Cancel,
) -> Result<()> {
    let column = db
        .cf_handle(name)
        .ok_or_else(|| Error::closed("the column family was not opened".to_string()))?;
    let mut reading = ReadOptions::default();
    reading.fill_cache(false);
    reading.set_readahead_size(READAHEAD_BYTES);
    reading.set_total_order_seek(true);
    if let Some(to) = to {
        reading.set_iterate_upper_bound(to);
    }
    let mut rows = db.raw_iterator_cf_opt(&column, reading);
    rows.seek(from);
    loop {
        cancel.check("the copy")?;
        let batch = next_batch(&mut rows)?;
        if batch.is_empty() {
            return Ok(());
        }
        sink.put_batch(&batch)?;
    }
}

/// Empty at the end of the range.
fn next_batch(rows: &mut DBRawIterator<'_>) -> Result<Vec<Row>> {
    let mut batch = Vec::new();
    let mut bytes = 0;
    while batch.len() < BATCH_ROWS && bytes < BATCH_BYTES {
        let Some((key, value)) = rows.item() else {
            rows.status().map_err(|cause| Error::rocksdb("read the next row", &cause))?;
            break;
        };
        bytes += key.len() + value.len();
        batch.push((key.into(), value.into()));
        rows.next();
    }
    Ok(batch)
}

#[cfg(test)]
#[path = "copy_range_test.rs"]
mod tests;
