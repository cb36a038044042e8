//! Undoes RocksDB's compression of a block, up to a limit: a few bytes may stand for gigabytes.
use std::io::Read;

use crate::rocksdb::Numbers;

/// The error is what to say of the block.
pub fn decompress(kind: u8, bytes: &[u8], limit: usize) -> Result<Vec<u8>, String> {
    let broken = |how: &dyn std::fmt::Display| format!("it cannot be decompressed: {how}");
    match kind {
        0 => Ok(bytes.to_vec()),
        1 => {
            let size = snap::raw::decompress_len(bytes).map_err(|cause| broken(&cause))?;
            within(size as u64, limit)?;
            // No element of Snappy's grows by more than this.
            within(size as u64, bytes.len().saturating_mul(32))?;
            snap::raw::Decoder::new().decompress_vec(bytes).map_err(|cause| broken(&cause))
        }
        2 => {
            let (size, packed) = sized(bytes, limit)?;
            // Deflate without a header.
            let unpacked = miniz_oxide::inflate::decompress_to_vec_with_limit(packed, size);
            exactly(unpacked.map_err(|cause| broken(&cause))?, size)
        }
        4 | 5 => {
            let (size, packed) = sized(bytes, limit)?;
            // No LZ4 block grows by more than this.
            within(size as u64, packed.len().saturating_mul(256))?;
            let unpacked = lz4_flex::block::decompress(packed, size);
            exactly(unpacked.map_err(|cause| broken(&cause))?, size)
        }
        7 => {
            let (size, packed) = sized(bytes, limit)?;
            let mut unpacked = Vec::new();
            let decoder = ruzstd::decoding::StreamingDecoder::new(packed);
            let decoder = decoder.map_err(|cause| broken(&cause))?;
            let read = decoder.take(size as u64 + 1).read_to_end(&mut unpacked);
            read.map_err(|cause| broken(&cause))?;
            exactly(unpacked, size)
        }
        other => Err(format!("compression {other}, which this reads not")),
    }
}

/// The size that stands before all but Snappy's bytes.
fn sized(bytes: &[u8], limit: usize) -> Result<(usize, &[u8]), String> {
    let mut numbers = Numbers::new(bytes, 0);
    let size = numbers.number32("size").map_err(|error| error.what)?;
    within(u64::from(size), limit)?;
    let read = bytes.iter().position(|byte| byte & 0x80 == 0).unwrap_or_default() + 1;
    Ok((size as usize, &bytes[read..]))
}

fn within(size: u64, limit: usize) -> Result<(), String> {
    match size <= limit as u64 {
        true => Ok(()),
        false => Err(format!("decompressed it would have {size} bytes")),
    }
}

fn exactly(bytes: Vec<u8>, size: usize) -> Result<Vec<u8>, String> {
    match bytes.len() == size {
        true => Ok(bytes),
        false => Err(format!("decompressed it has {} bytes instead of {size}", bytes.len())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_be_too_large_is_refused() {
        let bomb = [0xff, 0xff, 0xff, 0xff, 0x0f, 0, 0];
        for kind in [1, 2, 4, 5, 7] {
            let error = decompress(kind, &bomb, 1 << 20).expect_err("too large");
            assert!(error.contains("4294967295 bytes"), "{kind}: {error}");
        }
        assert!(decompress(3, &bomb, 9).is_err() && decompress(0x80, &bomb, 9).is_err());
        // Within the limit, but more than LZ4 can make of two bytes.
        assert!(decompress(4, &[0x80, 0x80, 0x40, 0, 0], 1 << 30).is_err());
    }

    #[test]
    fn what_was_compressed_comes_back() {
        let text = b"abcabcabcabcabcabcabcabc".repeat(9);
        let sized = |packed: Vec<u8>| [vec![0xd8, 0x01], packed].concat();
        let snappy = snap::raw::Encoder::new().compress_vec(&text).expect("packed");
        assert_eq!(decompress(1, &snappy, 999).expect("snappy"), text);
        let zlib = sized(miniz_oxide::deflate::compress_to_vec(&text, 6));
        assert_eq!(decompress(2, &zlib, 999).expect("zlib"), text);
        let lz4 = sized(lz4_flex::block::compress(&text));
        assert_eq!(decompress(4, &lz4, 999).expect("lz4"), text);
        let level = ruzstd::encoding::CompressionLevel::Fastest;
        let zstd = sized(ruzstd::encoding::compress_to_vec(&text[..], level));
        assert_eq!(decompress(7, &zstd, 999).expect("zstd"), text);
        assert!(decompress(1, &snappy, 100).is_err());
    }
}
