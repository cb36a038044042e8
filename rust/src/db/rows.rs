//! Reads a page of entries that Java filled: the layout of Native.scan, the other way round. Nothing in
//! it is believed, so that a wrong length is an error and never a read beyond the page.
use crate::error::{Error, Result};

const HEADER: usize = 8;

/// Key and value.
pub type Row<'a> = (&'a [u8], &'a [u8]);

/// The entries of a page, in their order.
pub(super) fn rows(page: &[u8]) -> Result<impl Iterator<Item = Result<Row<'_>>>> {
    let mut rest = page;
    let count = int(&mut rest)?;
    int(&mut rest)?; // "more" has no meaning here
    let mut left = count;
    Ok(std::iter::from_fn(move || {
        left = left.checked_sub(1)?;
        Some(row(&mut rest))
    }))
}

fn row<'a>(rest: &mut &'a [u8]) -> Result<Row<'a>> {
    let (key, value) = (int(rest)?, int(rest)?);
    Ok((take(rest, key)?, take(rest, value)?))
}

fn int(rest: &mut &[u8]) -> Result<usize> {
    let bytes = take(rest, HEADER / 2)?;
    let value = bytes.try_into().map(i32::from_ne_bytes).ok();
    value
        .and_then(|value| usize::try_from(value).ok())
        .ok_or_else(|| Error::invalid(format!("a length of {value:?} in a page of rows")))
}

fn take<'a>(rest: &mut &'a [u8], length: usize) -> Result<&'a [u8]> {
    let (taken, after) = rest.split_at_checked(length).ok_or_else(|| {
        Error::invalid(format!("a page of rows ends {} bytes early", length - rest.len()))
    })?;
    *rest = after;
    Ok(taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(ints: &[i32], bytes: &[u8]) -> Vec<u8> {
        let mut page: Vec<u8> = ints.iter().flat_map(|int| int.to_ne_bytes()).collect();
        page.extend_from_slice(bytes);
        page
    }

    #[test]
    fn reads_entries_with_empty_parts() {
        let mut page = page(&[3, 0, 1, 2], b"kvv");
        page.extend_from_slice(&self::page(&[0, 0], b""));
        page.extend_from_slice(&self::page(&[0, 1], b"w"));
        let rows: Vec<_> = rows(&page).expect("a page").map(|row| row.expect("whole")).collect();
        assert_eq!(rows, [(&b"k"[..], &b"vv"[..]), (b"", b""), (b"", b"w")]);
    }

    #[test]
    fn a_page_that_lies_about_its_lengths_is_an_error() {
        assert!(rows(b"").is_err());
        assert!(rows(&page(&[-1, 0], b"")).is_err());
        for lie in [page(&[1, 0, 1, 2], b"kv"), page(&[1, 0, -1, 2], b"kv"), page(&[1, 0], b"kv")] {
            let mut rows = rows(&lie).expect("a header");
            assert!(rows.next().expect("one entry").is_err());
        }
    }
}
