//! The records of one of RocksDB's log files (a MANIFEST is one): blocks, fragments, checksums. What a
//! record says is `edit.rs`'s business, where a broken one matters `manifest.rs`'s. Pure.
use crate::error::{Error, Kind, Result};

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

/// All records of a log file. One that ends in the middle of a record is not a checkpoint's.
pub fn records(log: &[u8]) -> Result<Vec<Vec<u8>>> {
    let mut records = Vec::new();
    let mut open: Option<Vec<u8>> = None;
    let mut at = 0;
    while let Some(next) = fragment(log, at)
        .map_err(|at| corrupted(&format!("it is damaged or cut off at byte {at}")))?
    {
        if unmask(next.stored) != crc32c(next.covered) {
            return Err(corrupted("a checksum does not match"));
        }
        match (next.kind, &mut open) {
            (FULL, None) => records.push(next.payload.to_vec()),
            (FIRST, None) => open = Some(next.payload.to_vec()),
            (MIDDLE, Some(begun)) => begun.extend_from_slice(next.payload),
            (LAST, Some(begun)) => {
                begun.extend_from_slice(next.payload);
                records.extend(open.take());
            }
            (kind, _) => {
                return Err(corrupted(&format!("a fragment of type {kind} in a wrong place")))
            }
        }
        at = next.end();
    }
    match open {
        None => Ok(records),
        Some(_) => Err(corrupted("the last record is cut off")),
    }
}

fn corrupted(what: &str) -> Error {
    Error::new(Kind::Corrupted, what)
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
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_castagnolis() {
        // The check value of the CRC catalogue.
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
    }

    fn written(fragments: &[(u8, &[u8])]) -> Vec<u8> {
        let mut log = Vec::new();
        for (kind, payload) in fragments {
            let mut covered = vec![*kind];
            covered.extend_from_slice(payload);
            let masked = crc32c(&covered).rotate_right(15).wrapping_add(0xa282_ead8);
            log.extend_from_slice(&masked.to_le_bytes());
            log.extend_from_slice(&(payload.len() as u16).to_le_bytes());
            log.extend_from_slice(&covered);
        }
        log
    }

    #[test]
    fn whole_and_fragmented_records() {
        let log = written(&[(FULL, b"one"), (FIRST, b"t"), (MIDDLE, b"w"), (LAST, b"o")]);
        assert_eq!(records(&log).expect("well formed"), [b"one".to_vec(), b"two".to_vec()]);
        assert!(records(b"").expect("empty").is_empty());
    }

    #[test]
    fn a_record_over_a_block_border() {
        let first = vec![1; BLOCK - HEADER];
        let log = written(&[(FIRST, &first), (LAST, &[2; 9])]);
        assert_eq!(records(&log).expect("well formed"), [[first, vec![2; 9]].concat()]);
        // Fewer bytes than a header at a block's end are padding.
        let mut log = written(&[(FULL, &vec![1; BLOCK - HEADER - 3])]);
        log.extend_from_slice(&[0; 3]);
        log.extend(written(&[(FULL, b"next")]));
        assert_eq!(records(&log).expect("well formed").len(), 2);
    }

    #[test]
    fn what_is_damaged_is_refused() {
        let good = written(&[(FULL, b"one"), (FIRST, b"two"), (LAST, b"three")]);
        for at in 0..good.len() {
            let mut damaged = good.clone();
            damaged[at] ^= 0x10;
            let error = records(&damaged).expect_err("every byte counts");
            assert_eq!(error.kind, Kind::Corrupted);
        }
        for length in 1..good.len() {
            // At the end of the first record it is another whole file.
            assert_eq!(records(&good[..length]).is_ok(), length == HEADER + 3, "{length}");
        }
        let mut zeroed = good.clone();
        zeroed[HEADER + 3..].fill(0);
        assert!(records(&zeroed).is_err());
        let cut = written(&[(FIRST, b"two")]);
        assert!(records(&cut).expect_err("cut off").text.contains("cut off"));
        assert!(records(&written(&[(LAST, b"two")])).is_err());
    }
}
