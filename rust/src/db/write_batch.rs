//! Changes of one column family that happen together or not at all, written as often as one likes.
use super::columns::Column;
use super::ffi_batch::Batch;
use crate::error::Result;
use std::sync::Arc;

pub struct WriteBatch {
    batch: Batch,
    /// A key that comes in two parts.
    joined: Vec<u8>,
    column: Arc<Column>,
}

impl WriteBatch {
    #[must_use]
    pub fn new(column: Arc<Column>) -> Self {
        Self { batch: Batch::new(), joined: Vec::new(), column }
    }

    /// About; 0 when it is empty.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.batch.bytes()
    }

    pub fn put(&mut self, key: &[u8], value: &[u8]) {
        // SAFETY: the column keeps its database open.
        unsafe { self.batch.put(self.column.raw(), key, value) };
    }

    pub fn merge(&mut self, key: &[u8], operand: &[u8]) {
        // SAFETY: the column keeps its database open.
        unsafe { self.batch.merge(self.column.raw(), key, operand) };
    }

    pub fn delete(&mut self, key: &[u8]) {
        // SAFETY: the column keeps its database open.
        unsafe { self.batch.delete(self.column.raw(), key) };
    }

    pub fn put_joined(&mut self, front: &[u8], back: &[u8], value: &[u8]) {
        self.with_joined(front, back, |batch, key| batch.put(key, value));
    }

    pub fn delete_joined(&mut self, front: &[u8], back: &[u8]) {
        self.with_joined(front, back, WriteBatch::delete);
    }

    fn with_joined(&mut self, front: &[u8], back: &[u8], call: impl FnOnce(&mut Self, &[u8])) {
        let mut joined = std::mem::take(&mut self.joined);
        joined.clear();
        joined.extend_from_slice(front);
        joined.extend_from_slice(back);
        call(self, &joined);
        self.joined = joined;
    }

    /// Writes the changes, and begins again without any.
    pub fn write(&mut self) -> Result<()> {
        self.column.write(&mut self.batch)
    }
}
