//! Writes the rows of a copied range into an open database. Knows nothing of where they come from.
use super::copy_range::{RangeSink, Row};
use crate::db::{Column, Db};
use crate::error::{Error, Result};
use std::sync::Arc;

/// The database restored into; column families are created as their rows arrive.
pub struct DbSink {
    db: Arc<Db>,
    column: Option<Column>,
}

impl DbSink {
    #[must_use]
    pub fn new(db: Arc<Db>) -> Self {
        Self { db, column: None }
    }
}

impl RangeSink for DbSink {
    fn begin_column(&mut self, name: &str) -> Result<()> {
        self.column = Some(self.db.column(name)?);
        Ok(())
    }

    fn put_batch(&mut self, rows: &[Row]) -> Result<()> {
        let column = self
            .column
            .as_ref()
            .ok_or_else(|| Error::invalid("rows arrived before their column family"))?;
        column.put_batch(rows.iter().map(|(key, value)| (&**key, &**value)))
    }
}
