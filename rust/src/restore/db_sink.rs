//! Loads the rows of a copied range into an open database as files: writes would wait where RocksDB slows
//! writers down, and a cancel with them. Knows nothing of where the rows come from.
use super::copy_range::{RangeSink, Row};
use crate::db::{Db, Ingest};
use crate::error::{Error, Result};
use std::sync::Arc;

/// The database restored into; column families are created as their rows arrive.
pub struct DbSink {
    db: Arc<Db>,
    load: Option<Ingest>,
}

impl DbSink {
    #[must_use]
    pub fn new(db: Arc<Db>) -> Self {
        Self { db, load: None }
    }
}

impl RangeSink for DbSink {
    fn begin_column(&mut self, name: &str) -> Result<()> {
        self.load = Some(Arc::new(self.db.column(name)?).load()?);
        Ok(())
    }

    fn put_batch(&mut self, rows: &[Row]) -> Result<()> {
        let load = self
            .load
            .as_mut()
            .ok_or_else(|| Error::invalid("rows arrived before their column family"))?;
        load.put(rows.iter().map(|(key, value)| (&**key, &**value)))
    }

    fn end_column(&mut self) -> Result<()> {
        self.load.take().map_or(Ok(()), |mut load| load.ingest())
    }
}
