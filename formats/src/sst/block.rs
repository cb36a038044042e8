//! A block of a table file: where it lies, whether it is as written, its entries.
use super::checksum::context;
use super::footer::Footer;
use crate::rocksdb::Numbers;
use crate::{Malformed, Result};

/// Compression 1, checksum 4.
pub const TRAILER: u64 = 5;

/// Where a block lies; its trailer follows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Handle {
    pub offset: u64,
    pub size: u64,
}

impl Handle {
    pub fn read(bytes: &[u8]) -> Result<Self> {
        Self::next(&mut Numbers::new(bytes, 0), "block handle")
    }

    pub fn next(numbers: &mut Numbers<'_>, field: &str) -> Result<Self> {
        Ok(Self { offset: numbers.number(field)?, size: numbers.number(field)? })
    }

    /// The length with the trailer, if the block lies before the footer.
    pub fn within(self, footer: &Footer, field: &str) -> Result<usize> {
        let end = self.offset.checked_add(self.size).and_then(|end| end.checked_add(TRAILER));
        match end {
            Some(end) if end <= footer.at => Ok((self.size + TRAILER) as usize),
            _ => {
                let text = format!("{} bytes, which end behind the blocks", self.size);
                Err(Malformed::new(self.offset as usize, field, text))
            }
        }
    }
}

/// Compares the checksum of a block and its trailer.
pub fn check(raw: &[u8], handle: Handle, footer: &Footer, field: &str) -> Result<()> {
    let wrong = |what: &str| Malformed::new(handle.offset as usize, field, what);
    let (covered, stored) =
        raw.split_last_chunk::<4>().ok_or_else(|| wrong("it has no checksum"))?;
    let Some(computed) = footer.checksum.of_bytes(covered) else { return Ok(()) };
    let expected = computed.wrapping_add(context(footer.base, handle.offset));
    if expected != u32::from_le_bytes(*stored) {
        return Err(wrong("its checksum does not match"));
    }
    Ok(())
}

/// The part of a block that holds entries: behind them stand where they can be entered, and how often.
pub fn body<'a>(block: &'a [u8], at: usize, field: &str) -> Result<&'a [u8]> {
    let wrong = || Malformed::new(at, field, "its restart points do not fit");
    let (front, last) = block.split_last_chunk::<4>().ok_or_else(wrong)?;
    // The highest bits say what kind of block it is.
    let restarts = (u32::from_le_bytes(*last) & 0x0fff_ffff) as usize;
    let end = restarts.checked_mul(4).and_then(|all| front.len().checked_sub(all));
    Ok(&front[..end.ok_or_else(wrong)?])
}

/// Each key and value of a block whose keys stand in full or share their begin with the one before.
pub fn entries(
    block: &[u8],
    at: usize,
    field: &str,
    mut each: impl FnMut(&[u8], &[u8]) -> Result<()>,
) -> Result<()> {
    let mut numbers = Numbers::new(body(block, at, field)?, at);
    let mut key = Vec::new();
    while !numbers.is_empty() {
        let shared = numbers.number32(field)? as usize;
        let own = numbers.number32(field)? as usize;
        let value = numbers.number32(field)? as usize;
        if shared > key.len() {
            return Err(numbers.wrong(field, "a key shares more than there is"));
        }
        key.truncate(shared);
        key.extend_from_slice(numbers.take(own, field)?);
        each(&key, numbers.take(value, field)?)?;
    }
    Ok(())
}
