//! RocksDB's numbers and byte strings: base 128, the low bits first; lengths before strings.
use crate::{Malformed, Result};

/// What is not yet read of some bytes that lie at `base` of a file.
pub struct Numbers<'a> {
    bytes: &'a [u8],
    at: usize,
    base: usize,
}

impl<'a> Numbers<'a> {
    pub fn new(bytes: &'a [u8], base: usize) -> Self {
        Self { bytes, at: 0, base }
    }

    pub fn is_empty(&self) -> bool {
        self.at == self.bytes.len()
    }

    pub fn wrong(&self, field: &str, what: impl Into<String>) -> Malformed {
        Malformed::new(self.base + self.at, field, what)
    }

    fn ends(&self, field: &str) -> Malformed {
        self.wrong(field, "it ends too early")
    }

    pub fn byte(&mut self, field: &str) -> Result<u8> {
        let byte = *self.bytes.get(self.at).ok_or_else(|| self.ends(field))?;
        self.at += 1;
        Ok(byte)
    }

    pub fn number(&mut self, field: &str) -> Result<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte(field)?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(self.wrong(field, "a number has too many bytes"))
    }

    pub fn number32(&mut self, field: &str) -> Result<u32> {
        let number = self.number(field)?;
        u32::try_from(number).map_err(|_| self.wrong(field, "a number has too many bits"))
    }

    /// The sign is the lowest bit.
    #[cfg(feature = "sst")]
    pub fn signed(&mut self, field: &str) -> Result<i64> {
        let number = self.number(field)?;
        Ok((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    pub fn slice(&mut self, field: &str) -> Result<&'a [u8]> {
        let length = usize::try_from(self.number(field)?).map_err(|_| self.ends(field))?;
        self.take(length, field)
    }

    pub fn take(&mut self, length: usize, field: &str) -> Result<&'a [u8]> {
        let rest = &self.bytes[self.at..];
        let slice = rest.get(..length).ok_or_else(|| self.ends(field))?;
        self.at += length;
        Ok(slice)
    }

    pub fn text(&mut self, field: &str) -> Result<String> {
        let text = String::from_utf8(self.slice(field)?.to_vec());
        text.map_err(|_| self.wrong(field, "a name is not UTF-8"))
    }
}
