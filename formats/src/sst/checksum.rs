//! RocksDB's checksums of a block: of its bytes and the byte behind them, which says how it is compressed.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    None,
    Crc32c,
    XxHash,
    XxHash64,
    Xxh3,
}

impl Kind {
    pub fn of(code: u8) -> Option<Self> {
        [Self::None, Self::Crc32c, Self::XxHash, Self::XxHash64, Self::Xxh3]
            .get(usize::from(code))
            .copied()
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Crc32c => "crc32c",
            Self::XxHash => "xxHash",
            Self::XxHash64 => "xxHash64",
            Self::Xxh3 => "XXH3",
        }
    }

    /// Of the bytes of which the last one may be treated apart. None: there is no checksum.
    pub fn of_bytes(self, bytes: &[u8]) -> Option<u32> {
        let (last, front) = bytes.split_last()?;
        Some(match self {
            Self::None => return None,
            Self::Crc32c => crc32c::crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8),
            Self::XxHash => xxhash_rust::xxh32::xxh32(bytes, 0),
            Self::XxHash64 => xxhash_rust::xxh64::xxh64(bytes, 0) as u32,
            Self::Xxh3 => {
                let front = xxhash_rust::xxh3::xxh3_64(front) as u32;
                front ^ u32::from(*last).wrapping_mul(0x6b90_83d9)
            }
        })
    }
}

/// From format version 6 on, what a checksum is raised by depends on the file and the place in it.
pub fn context(base: u32, offset: u64) -> u32 {
    match base {
        0 => 0,
        base => base ^ (offset as u32).wrapping_add((offset >> 32) as u32),
    }
}
