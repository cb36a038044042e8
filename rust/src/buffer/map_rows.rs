//! Rows of one map as they come through the door, one behind the other: length of the user key and of the
//! value (u32 each, the highest byte first), user key, value.
use crate::error::{Error, Result};

/// Goes over rows; the last item is an error if the bytes end within a row.
pub fn map_rows(bytes: &[u8]) -> impl Iterator<Item = Result<(&[u8], &[u8])>> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let row = split(rest);
        rest = row.map_or(&[], |(_, _, rest)| rest);
        Some(match row {
            Some((key, value, _)) => Ok((key, value)),
            None => Err(Error::invalid("rows of a map that end within a row")),
        })
    })
}

fn split(bytes: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let (key_length, rest) = bytes.split_first_chunk()?;
    let (value_length, rest) = rest.split_first_chunk()?;
    let (key, rest) = rest.split_at_checked(u32::from_be_bytes(*key_length) as usize)?;
    let (value, rest) = rest.split_at_checked(u32::from_be_bytes(*value_length) as usize)?;
    Some((key, value, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_whole_or_an_error() {
        let bytes = [0, 0, 0, 2, 0, 0, 0, 1, 7, 8, 9, 0, 0, 0, 0, 0, 0, 0, 0];
        let rows: Vec<_> = map_rows(&bytes).map(Result::unwrap).collect();
        assert_eq!(rows, [(&[7, 8][..], &[9][..]), (&[], &[])]);
        for end in (1..bytes.len()).filter(|end| *end != 11) {
            assert!(map_rows(&bytes[..end]).last().is_some_and(|row| row.is_err()), "{end}");
        }
    }
}
