//! An index block of a table file: where the blocks below it lie. Its keys are not looked at.
use super::block::{body, Handle, TRAILER};
use crate::rocksdb::Numbers;
use crate::Result;

/// Kinds of index, `rocksdb.block.based.table.index.type`.
pub const PARTITIONED: u32 = 2;
pub const WITH_FIRST_KEYS: u32 = 3;

/// With `delta_encoded`, a handle after one whose key it shares a begin with is only told by its size.
pub fn handles(
    block: &[u8],
    at: usize,
    delta_encoded: bool,
    first_keys: bool,
    field: &str,
) -> Result<Vec<Handle>> {
    let mut numbers = Numbers::new(body(block, at, field)?, at);
    let mut handles: Vec<Handle> = Vec::new();
    while !numbers.is_empty() {
        let shared = numbers.number32(field)?;
        let own = numbers.number32(field)? as usize;
        if !delta_encoded {
            numbers.number32(field)?;
        }
        numbers.take(own, field)?;
        let handle = match handles.last() {
            Some(before) if delta_encoded && shared != 0 => {
                let size = before.size.checked_add_signed(numbers.signed(field)?);
                let offset = before.offset.checked_add(before.size + TRAILER);
                match (offset, size) {
                    (Some(offset), Some(size)) => Handle { offset, size },
                    _ => return Err(numbers.wrong(field, "a block beyond all files")),
                }
            }
            _ => Handle::next(&mut numbers, field)?,
        };
        if handle.size > u64::MAX / 4 || handle.offset > u64::MAX / 4 {
            return Err(numbers.wrong(field, "a block beyond all files"));
        }
        handles.push(handle);
        if first_keys {
            numbers.slice(field)?;
        }
    }
    Ok(handles)
}
