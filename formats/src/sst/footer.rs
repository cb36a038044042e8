//! The end of a table file: which format it has and where its metaindex (and, before version 6, its index)
//! lies.
use super::block::Handle;
use super::checksum::{context, Kind};
use crate::rocksdb::Numbers;
use crate::{Malformed, Result};

/// Type of checksum 1, handles or extension 40, version 4, magic 8.
pub const LONGEST: usize = 53;

const MAGIC: u64 = 0x88e2_41b7_85f4_cff7;
const PLAIN: u64 = 0x8242_2296_63bf_9564;
const EXTENDED: [u8; 4] = [0x3e, 0x00, 0x7a, 0x00];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Footer {
    pub version: u32,
    pub(super) checksum: Kind,
    pub(super) base: u32,
    pub(super) metaindex: Handle,
    pub(super) index: Option<Handle>,
    pub(super) length: usize,
    /// Where it begins, which is where blocks end.
    pub(super) at: u64,
}

impl Footer {
    /// `tail` is the end of a file of `size` bytes.
    pub fn read(tail: &[u8], size: u64) -> Result<Self> {
        let begin = usize::try_from(size.saturating_sub(tail.len() as u64)).unwrap_or(usize::MAX);
        let wrong = |at: usize, field: &str, what: String| {
            Malformed::new(begin.saturating_add(at), field, what)
        };
        let too_short = || wrong(0, "footer", format!("{size} bytes are none of a table file"));
        let start = tail.len().checked_sub(LONGEST).ok_or_else(too_short)?;
        let footer = &tail[start..];
        let mut magic = [0; 8];
        magic.copy_from_slice(&footer[45..]);
        match u64::from_le_bytes(magic) {
            MAGIC => {}
            PLAIN => {
                return Err(wrong(
                    start + 45,
                    "magic",
                    "a plain table, which this reads not".into(),
                ))
            }
            other => {
                return Err(wrong(start + 45, "magic", format!("{other:016x}, so no table file")))
            }
        }
        let version = u32_at(footer, 41);
        if !(2..=7).contains(&version) {
            let text = format!("{version}, but this reads 2 to 7");
            return Err(wrong(start + 41, "format version", text));
        }
        let checksum = Kind::of(footer[0])
            .ok_or_else(|| wrong(start, "checksum type", footer[0].to_string()))?;
        let at = size - LONGEST as u64;
        let mut read = Self {
            version,
            checksum,
            base: 0,
            metaindex: Handle { offset: 0, size: 0 },
            index: None,
            length: LONGEST,
            at,
        };
        if version < 6 {
            let mut numbers = Numbers::new(&footer[1..41], begin.saturating_add(start + 1));
            read.metaindex = Handle::next(&mut numbers, "metaindex handle")?;
            read.index = Some(Handle::next(&mut numbers, "index handle")?);
            // No checksum covers it; RocksDB fills the rest with zeros.
            while !numbers.is_empty() {
                if numbers.byte("footer")? != 0 {
                    return Err(numbers.wrong("footer", "a byte after the handles is not zero"));
                }
            }
            return Ok(read);
        }
        if footer[1..5] != EXTENDED {
            return Err(wrong(start + 1, "extended magic", format!("{:02x?}", &footer[1..5])));
        }
        read.base = u32_at(footer, 9);
        let mut covered = footer.to_vec();
        covered[5..9].fill(0);
        let computed = checksum.of_bytes(&covered);
        let expected = computed.map(|sum| sum.wrapping_add(context(read.base, at)));
        if expected.is_some_and(|expected| expected != u32_at(footer, 5)) {
            return Err(wrong(start + 5, "footer checksum", "it does not match".into()));
        }
        let metaindex = u64::from(u32_at(footer, 13));
        let offset = at.checked_sub(metaindex + super::block::TRAILER);
        let text = || wrong(start + 13, "metaindex size", format!("{metaindex} bytes"));
        read.metaindex = Handle { offset: offset.ok_or_else(text)?, size: metaindex };
        Ok(read)
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut four = [0; 4];
    four.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(four)
}
