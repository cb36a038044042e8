//! Opening: which column families there are, and errors that say what to do. Options come ready.
use super::ffi_ttl::{TtlClock, TtlFilter};
use super::manifest::check_manifest;
use super::owner::RocksDb;
use crate::error::{Error, Result};
use rocksdb::{ColumnFamilyDescriptor, Options};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// The column families there are, each with its filter.
pub(super) type Filters = BTreeMap<String, Arc<TtlFilter>>;

/// The database and its column families. Their filters are disabled: what they hold is only known
/// when the states are registered.
pub(super) fn open(
    path: &Path,
    database: &Options,
    column: &Options,
    clock: &TtlClock,
) -> Result<(RocksDb, Filters)> {
    let step = || format!("open the database in {}", path.display());
    std::fs::create_dir_all(path).map_err(|e| Error::io("create the directory", path, &e))?;
    check_manifest(path).map_err(|e| e.context(step()))?;
    let names = if path.join("CURRENT").exists() {
        RocksDb::list_cf(database, path).map_err(|e| Error::rocksdb(&step(), &e))?
    } else {
        vec!["default".to_owned()]
    };
    let filters = names
        .into_iter()
        .map(|name| Ok((name, TtlFilter::new(clock)?)))
        .collect::<Result<Filters>>()?;
    let columns = filters
        .iter()
        .map(|(name, filter)| ColumnFamilyDescriptor::new(name, with_filter(column, filter)));
    let rocks = RocksDb::open_cf_descriptors(database, path, columns)
        .map_err(|e| Error::rocksdb(&step(), &e))?;
    Ok((rocks, filters))
}

/// A column family's own copy of the options.
pub(super) fn with_filter(column: &Options, filter: &TtlFilter) -> Options {
    let mut options = column.clone();
    filter.install(&mut options);
    options
}
