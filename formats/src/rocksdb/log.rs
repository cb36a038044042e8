//! The records of one of RocksDB's log files (a MANIFEST is one): blocks, fragments, checksums. What a
//! record says is `edit.rs`'s business. Pure.
use crate::{Malformed, Result};

pub const BLOCK: usize = 32 << 10;
/// Checksum 4, length 2, type 1.
pub const HEADER: usize = 7;

pub const FULL: u8 = 1;
pub const FIRST: u8 = 2;
pub const MIDDLE: u8 = 3;
pub const LAST: u8 = 4;

/// A piece of a record that lies in one block.
pub struct Fragment<'a> {
    pub at: usize,
    pub kind: u8,
    payload: &'a [u8],
    /// The bytes that the checksum is of: kind and payload.
    covered: &'a [u8],
    stored: u32,
}

impl Fragment<'_> {
    fn record(&self) -> Record {
        Record { at: self.at, bytes: self.payload.to_vec() }
    }

    /// Where the next one begins, or padding before it.
    pub fn end(&self) -> usize {
        self.at + HEADER + self.payload.len()
    }
}

/// The fragment that begins at `at`, or behind the padding there; None at the end of the log. Err: the
/// byte at which it stops making sense. Checksums are not looked at.
pub fn fragment(log: &[u8], mut at: usize) -> std::result::Result<Option<Fragment<'_>>, usize> {
    // What is shorter than a header pads a block, but ends no file.
    let left = BLOCK - at % BLOCK;
    if left < HEADER && at < log.len() {
        log.get(at..at + left).ok_or(at)?;
        at += left;
    }
    if at == log.len() {
        return Ok(None);
    }
    let block = &log[at..log.len().min(at + BLOCK - at % BLOCK)];
    let (header, body) = block.split_at_checked(HEADER).ok_or(at)?;
    let length = usize::from(u16::from_le_bytes([header[4], header[5]]));
    Ok(Some(Fragment {
        at,
        kind: header[6],
        payload: body.get(..length).ok_or(at)?,
        covered: &block[HEADER - 1..HEADER + length],
        stored: u32::from_le_bytes([header[0], header[1], header[2], header[3]]),
    }))
}

/// A record and where its first fragment begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    pub at: usize,
    pub bytes: Vec<u8>,
}

/// All records of a log file. One that ends in the middle of a record is not a checkpoint's.
pub fn records(log: &[u8]) -> Result<Vec<Record>> {
    let mut records = Vec::new();
    let mut open: Option<Record> = None;
    let mut at = 0;
    while let Some(next) =
        fragment(log, at).map_err(|at| Malformed::new(at, "record", "it is damaged or cut off"))?
    {
        if unmask(next.stored) != crc32c(next.covered) {
            return Err(Malformed::new(next.at, "record", "a checksum does not match"));
        }
        match (next.kind, &mut open) {
            (FULL, None) => records.push(next.record()),
            (FIRST, None) => open = Some(next.record()),
            (MIDDLE, Some(begun)) => begun.bytes.extend_from_slice(next.payload),
            (LAST, Some(begun)) => {
                begun.bytes.extend_from_slice(next.payload);
                records.extend(open.take());
            }
            (kind, _) => {
                let text = format!("a fragment of type {kind} in a wrong place");
                return Err(Malformed::new(next.at, "record", text));
            }
        }
        at = next.end();
    }
    match open {
        None => Ok(records),
        Some(open) => Err(Malformed::new(open.at, "record", "the last record is cut off")),
    }
}

/// A log file of these records, for tests.
#[must_use]
pub fn write<'a>(records: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut log = Vec::new();
    for record in records {
        let mut rest = record;
        let mut first = true;
        while first || !rest.is_empty() {
            let mut left = BLOCK - log.len() % BLOCK;
            if left < HEADER {
                log.resize(log.len() + left, 0);
                left = BLOCK;
            }
            let (now, later) = rest.split_at(rest.len().min(left - HEADER));
            let kind = match (first, later.is_empty()) {
                (true, true) => FULL,
                (true, false) => FIRST,
                (false, false) => MIDDLE,
                (false, true) => LAST,
            };
            let covered = [&[kind], now].concat();
            let masked = crc32c(&covered).rotate_right(15).wrapping_add(0xa282_ead8);
            log.extend_from_slice(&masked.to_le_bytes());
            log.extend_from_slice(&(now.len() as u16).to_le_bytes());
            log.extend_from_slice(&covered);
            (first, rest) = (false, later);
        }
    }
    log
}

/// RocksDB stores checksums rotated and shifted, so that a checksum of checksums still says something.
fn unmask(stored: u32) -> u32 {
    stored.wrapping_sub(0xa282_ead8).rotate_left(15)
}

/// CRC-32C (Castagnoli). Manifests have some kilobytes: a table is fast enough.
fn crc32c(bytes: &[u8]) -> u32 {
    let table = &TABLE;
    !bytes
        .iter()
        .fold(!0_u32, |crc, byte| (crc >> 8) ^ table[usize::from(crc.to_le_bytes()[0] ^ byte)])
}

static TABLE: [u32; 256] = table();

const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ 0x82f6_3b78 } else { crc >> 1 };
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
}

#[cfg(test)]
#[path = "log_test.rs"]
mod tests;
