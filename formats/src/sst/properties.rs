//! What a table file says of itself.
use super::block;
use crate::rocksdb::Numbers;
use crate::Result;

/// Zero and empty where the file does not say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Properties {
    pub column_family: String,
    pub entries: u64,
    pub deletions: u64,
    pub merge_operands: u64,
    pub range_deletions: u64,
    pub raw_key_size: u64,
    pub raw_value_size: u64,
    pub data_size: u64,
    pub data_blocks: u64,
    pub compression: String,
    /// Seconds since 1970.
    pub created: u64,
    pub(super) index_kind: u32,
    pub(super) delta_encoded: bool,
}

impl Properties {
    pub(super) fn read(block: &[u8], at: usize) -> Result<Self> {
        let mut read = Self::default();
        block::entries(block, at, "properties", |key, value| {
            let Ok(name) = std::str::from_utf8(key) else { return Ok(()) };
            let number = || Numbers::new(value, at).number(name);
            let text = || String::from_utf8_lossy(value).into_owned();
            match name {
                "rocksdb.column.family.name" => read.column_family = text(),
                "rocksdb.num.entries" => read.entries = number()?,
                "rocksdb.deleted.keys" => read.deletions = number()?,
                "rocksdb.merge.operands" => read.merge_operands = number()?,
                "rocksdb.num.range-deletions" => read.range_deletions = number()?,
                "rocksdb.raw.key.size" => read.raw_key_size = number()?,
                "rocksdb.raw.value.size" => read.raw_value_size = number()?,
                "rocksdb.data.size" => read.data_size = number()?,
                "rocksdb.num.data.blocks" => read.data_blocks = number()?,
                "rocksdb.compression" => read.compression = text(),
                "rocksdb.creation.time" => read.created = number()?,
                "rocksdb.index.value.is.delta.encoded" => read.delta_encoded = number()? != 0,
                "rocksdb.block.based.table.index.type" => {
                    let kind = value.first_chunk::<4>().copied().map(u32::from_le_bytes);
                    read.index_kind = kind.unwrap_or_default();
                }
                _ => {}
            }
            Ok(())
        })?;
        Ok(read)
    }
}
