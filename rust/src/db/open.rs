//! Opening: which column families there are, and errors that say what to do. Options come ready.
use super::owner::RocksDb;
use crate::error::{Error, Result};
use rocksdb::{ColumnFamilyDescriptor, Options};
use std::path::Path;

/// The database and the names of its column families.
pub(super) fn open(
    path: &Path,
    database: &Options,
    column: &Options,
) -> Result<(RocksDb, Vec<String>)> {
    let step = || format!("open the database in {}", path.display());
    std::fs::create_dir_all(path).map_err(|e| Error::io("create the directory", path, &e))?;
    let names = if path.join("CURRENT").exists() {
        RocksDb::list_cf(database, path).map_err(|e| Error::rocksdb(&step(), &e))?
    } else {
        vec!["default".to_owned()]
    };
    let columns = names.iter().map(|name| ColumnFamilyDescriptor::new(name, column.clone()));
    let rocks = RocksDb::open_cf_descriptors(database, path, columns)
        .map_err(|e| Error::rocksdb(&step(), &e))?;
    Ok((rocks, names))
}
