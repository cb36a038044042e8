//! Java's `DataInput` over bytes: big-endian numbers, `readUTF`. Knows where it is; allocates no more than
//! it has read.
use std::ops::Range;

use crate::{Malformed, Result};

pub struct Input<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Input<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub fn at(&self) -> usize {
        self.at
    }

    pub fn rest(&self) -> Range<usize> {
        self.at..self.bytes.len()
    }

    pub fn wrong(&self, at: usize, field: &str, what: impl Into<String>) -> Malformed {
        Malformed::new(at, field, what)
    }

    /// Bytes of a length that was read from the input.
    pub fn take(&mut self, length: usize, field: &str) -> Result<Range<usize>> {
        let left = self.bytes.len() - self.at;
        if length > left {
            return Err(self.wrong(self.at, field, format!("{length} bytes, but {left} are left")));
        }
        let range = self.at..self.at + length;
        self.at += length;
        Ok(range)
    }

    fn array<const N: usize>(&mut self, field: &str) -> Result<[u8; N]> {
        let range = self.take(N, field)?;
        let mut array = [0; N];
        array.copy_from_slice(&self.bytes[range]);
        Ok(array)
    }

    pub fn u8(&mut self, field: &str) -> Result<u8> {
        Ok(self.array::<1>(field)?[0])
    }

    pub fn u16(&mut self, field: &str) -> Result<u16> {
        Ok(u16::from_be_bytes(self.array(field)?))
    }

    pub fn i32(&mut self, field: &str) -> Result<i32> {
        Ok(i32::from_be_bytes(self.array(field)?))
    }

    pub fn i64(&mut self, field: &str) -> Result<i64> {
        Ok(i64::from_be_bytes(self.array(field)?))
    }

    /// A number of elements of which each takes at least `least` bytes: more than there is room for is an
    /// error at once.
    pub fn count(&mut self, least: usize, field: &str) -> Result<usize> {
        let at = self.at;
        let count = self.i32(field)?;
        let left = self.bytes.len() - self.at;
        match usize::try_from(count) {
            Ok(count) if count <= left / least => Ok(count),
            _ => Err(self.wrong(at, field, format!("{count}, but {left} bytes are left"))),
        }
    }

    /// A length and that many bytes.
    pub fn sized(&mut self, field: &str) -> Result<Range<usize>> {
        let length = self.count(1, field)?;
        self.take(length, field)
    }

    /// A size of a file or state.
    pub fn size(&mut self, field: &str) -> Result<i64> {
        let at = self.at;
        match self.i64(field)? {
            size if size >= 0 => Ok(size),
            size => Err(self.wrong(at, field, format!("a size of {size}"))),
        }
    }

    /// `DataInput.readUTF`: two bytes of length, modified UTF-8.
    pub fn utf(&mut self, field: &str) -> Result<String> {
        let at = self.at;
        let length = usize::from(self.u16(field)?);
        let range = self.take(length, field)?;
        modified_utf8(&self.bytes[range])
            .ok_or_else(|| self.wrong(at, field, "not Java's modified UTF-8"))
    }
}

/// Zero is two bytes, what is beyond 16 bits is two surrogates of three bytes; lone ones are replaced.
fn modified_utf8(bytes: &[u8]) -> Option<String> {
    if bytes.iter().all(|byte| (1..0x80).contains(byte)) {
        return String::from_utf8(bytes.to_vec()).ok();
    }
    let mut units = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let [first, tail @ ..] = rest {
        let first = u16::from(*first);
        let follow = |at: usize| tail.get(at).filter(|byte| **byte & 0xc0 == 0x80);
        let (unit, used) = match first {
            0..=0x7f => (first, 0), // readUTF takes a plain zero too
            0xc0..=0xdf => ((first & 0x1f) << 6 | low(follow(0)?), 1),
            0xe0..=0xef => ((first & 0x0f) << 12 | low(follow(0)?) << 6 | low(follow(1)?), 2),
            _ => return None,
        };
        units.push(unit);
        rest = &tail[used..];
    }
    Some(String::from_utf16_lossy(&units))
}

fn low(byte: &u8) -> u16 {
    u16::from(byte & 0x3f)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modified_utf8_as_java_writes_it() {
        assert_eq!(modified_utf8(b"plain").as_deref(), Some("plain"));
        assert_eq!(modified_utf8(&[0xc0, 0x80, b'a']).as_deref(), Some("\0a"));
        assert_eq!(modified_utf8("äß€".as_bytes()).as_deref(), Some("äß€"));
        let surrogates = [0xed, 0xa0, 0xbd, 0xed, 0xb8, 0x80];
        assert_eq!(modified_utf8(&surrogates).as_deref(), Some("😀"));
        assert_eq!(modified_utf8(&surrogates[..3]).as_deref(), Some("\u{fffd}"));
        for wrong in [&[0xe2, 0x82][..], &[0xc3], &[0xff], &[0xc3, 0x41], "😀".as_bytes()] {
            assert_eq!(modified_utf8(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn a_count_without_room_is_an_error_at_once() {
        let bytes = [0x7f, 0xff, 0xff, 0xff, 0, 0];
        let error = Input::new(&bytes).count(1, "n").expect_err("no room");
        assert_eq!(error.to_string(), "byte 0: n: 2147483647, but 2 bytes are left");
        assert!(Input::new(&(-1_i32).to_be_bytes()).count(1, "n").is_err());
        assert_eq!(Input::new(&bytes[4..]).i32("n").expect_err("short").offset, 0);
    }
}
