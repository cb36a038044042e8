//! The rows of one map in one record, in the order of their user keys. Pure: bytes in, bytes out.
//!
//! A row: length of the key and of the value (u16 each), flags, key, value.
use std::cmp::Ordering;

const HEADER: usize = 5;

/// There is no such row.
pub(super) const ABSENT: u8 = 1;
/// The database lacks what the row says.
pub(super) const DIRTY: u8 = 2;
/// The database may have such a row.
pub(super) const STORED: u8 = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Row<'a> {
    pub(super) at: usize,
    pub(super) key: &'a [u8],
    pub(super) value: &'a [u8],
    pub(super) flags: u8,
}

impl Row<'_> {
    #[inline]
    pub(super) fn size(&self) -> usize {
        size(self.key.len(), self.value.len())
    }

    #[inline]
    pub(super) fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// Bytes of a row.
#[inline]
pub(super) fn size(key: usize, value: usize) -> usize {
    HEADER + key + value
}

#[inline]
fn length(bytes: &[u8]) -> usize {
    bytes.first_chunk().map_or(0, |length| usize::from(u16::from_ne_bytes(*length)))
}

#[inline]
fn row(bytes: &[u8], at: usize) -> Row<'_> {
    let rest = &bytes[at..];
    let (key, value) = (length(rest), length(&rest[2..]));
    Row {
        at,
        key: &rest[HEADER..HEADER + key],
        value: &rest[HEADER + key..HEADER + key + value],
        flags: rest[4],
    }
}

pub(super) struct Rows<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Iterator for Rows<'a> {
    type Item = Row<'a>;

    #[inline]
    fn next(&mut self) -> Option<Row<'a>> {
        if self.at >= self.bytes.len() {
            return None;
        }
        let row = row(self.bytes, self.at);
        self.at += row.size();
        Some(row)
    }
}

#[inline]
pub(super) fn rows(bytes: &[u8]) -> Rows<'_> {
    Rows { bytes, at: 0 }
}

/// As slices compare; keys that differ in their first eight bytes, without a call.
#[inline]
fn compare(a: &[u8], b: &[u8]) -> Ordering {
    match (a.first_chunk(), b.first_chunk()) {
        (Some(front), Some(other)) => u64::from_be_bytes(*front)
            .cmp(&u64::from_be_bytes(*other))
            .then_with(|| a[8..].cmp(&b[8..])),
        _ => a.cmp(b),
    }
}

/// The row of a key, or where it would stand.
#[inline]
pub(super) fn search<'a>(bytes: &'a [u8], key: &[u8]) -> Result<Row<'a>, usize> {
    for row in rows(bytes) {
        match compare(row.key, key) {
            Ordering::Less => {}
            Ordering::Equal => return Ok(row),
            Ordering::Greater => return Err(row.at),
        }
    }
    Err(bytes.len())
}

/// Puts a row where `former` bytes stood, in room that suffices. Returns how many bytes are used.
pub(super) fn splice(
    room: &mut [u8],
    used: usize,
    at: usize,
    former: usize,
    (key, value, flags): (&[u8], &[u8], u8),
) -> usize {
    let size = size(key.len(), value.len());
    if size != former {
        room.copy_within(at + former..used, at + size);
    }
    let row = &mut room[at..at + size];
    row[..2].copy_from_slice(&(key.len() as u16).to_ne_bytes());
    row[2..4].copy_from_slice(&(value.len() as u16).to_ne_bytes());
    row[4] = flags;
    row[HEADER..HEADER + key.len()].copy_from_slice(key);
    row[HEADER + key.len()..].copy_from_slice(value);
    used + size - former
}

/// Takes out `former` bytes. Returns how many are used.
pub(super) fn remove(room: &mut [u8], used: usize, at: usize, former: usize) -> usize {
    room.copy_within(at + former..used, at);
    used - former
}

/// Goes over the rows, which get new flags, or go when there are none. Returns how many bytes are used.
pub(super) fn retain(
    room: &mut [u8],
    used: usize,
    mut flags: impl FnMut(u8) -> Option<u8>,
) -> usize {
    let (mut from, mut to) = (0, 0);
    while from < used {
        let (size, former) = {
            let row = row(&room[..used], from);
            (row.size(), row.flags)
        };
        if let Some(flags) = flags(former) {
            room.copy_within(from..from + size, to);
            room[to + 4] = flags;
            to += size;
        }
        from += size;
    }
    to
}

/// All rows of a map, given those that the database has and those that are known in front of it.
pub(super) fn overlay(stored: &[u8], known: &[u8]) -> Vec<u8> {
    let mut all = Vec::with_capacity(stored.len() + known.len());
    let mut stored = rows(stored).peekable();
    for row in rows(known) {
        while let Some(below) = stored.next_if(|below| below.key < row.key) {
            push(&mut all, below, below.flags);
        }
        let is_stored = stored.next_if(|below| below.key == row.key).is_some();
        // What is not stored need not be deleted; what was and is not any more has expired.
        if is_stored || row.has(DIRTY) && !row.has(ABSENT) {
            push(&mut all, row, row.flags & !STORED | if is_stored { STORED } else { 0 });
        }
    }
    for below in stored {
        push(&mut all, below, below.flags);
    }
    all
}

fn push(rows: &mut Vec<u8>, row: Row<'_>, flags: u8) {
    let at = rows.len();
    rows.resize(at + row.size(), 0);
    splice(rows, at, at, 0, (row.key, row.value, flags));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    type Model = BTreeMap<Vec<u8>, (Vec<u8>, u8)>;

    fn content(bytes: &[u8]) -> Model {
        rows(bytes).map(|row| (row.key.to_vec(), (row.value.to_vec(), row.flags))).collect()
    }

    fn packed(rows: &BTreeMap<Vec<u8>, (Vec<u8>, u8)>) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (key, (value, flags)) in rows {
            push(&mut bytes, Row { at: 0, key, value, flags: *flags }, *flags);
        }
        bytes
    }

    proptest! {
        #[test]
        fn what_is_known_lies_over_what_is_stored(
            stored in prop::collection::btree_map(
                prop::collection::vec(0u8..3, 0..3), prop::collection::vec(any::<u8>(), 0..4), 0..9),
            changes in prop::collection::btree_map(
                prop::collection::vec(0u8..3, 0..3),
                prop::option::of(prop::collection::vec(any::<u8>(), 0..4)), 0..9),
            reads in prop::collection::vec(prop::collection::vec(0u8..3, 0..3), 0..9),
        ) {
            let mut wanted: Model =
                stored.iter().map(|(k, v)| (k.clone(), (v.clone(), STORED))).collect();
            let below = packed(&wanted);
            let mut known = Model::new();
            for key in reads {
                let row = match stored.get(&key) {
                    Some(value) => (value.clone(), STORED),
                    None => (Vec::new(), ABSENT),
                };
                known.insert(key, row);
            }
            for (key, value) in changes {
                let is_stored = if stored.contains_key(&key) { STORED } else { 0 };
                let absent = if value.is_none() { ABSENT } else { 0 };
                let row = value.unwrap_or_default();
                known.insert(key.clone(), (row.clone(), DIRTY | STORED | absent));
                if is_stored != 0 || absent == 0 {
                    wanted.insert(key, (row, DIRTY | is_stored | absent));
                }
            }
            prop_assert_eq!(content(&overlay(&below, &packed(&known))), wanted);
        }

        #[test]
        fn is_a_sorted_map(
            ops in prop::collection::vec(
                (
                    prop::collection::vec(0u8..3, 0..3),
                    prop::option::of(prop::collection::vec(any::<u8>(), 0..9)),
                    0u8..8,
                ),
                1..60,
            ),
        ) {
            let (mut room, mut used, mut model) = (vec![0; 4096], 0, Model::new());
            for (key, value, flags) in ops {
                let found = search(&room[..used], &key).map(|row| (row.at, row.size()));
                prop_assert_eq!(found.is_ok(), model.contains_key(&key));
                match (value, found) {
                    (Some(value), found) => {
                        let (at, former) = found.unwrap_or_else(|at| (at, 0));
                        used = splice(&mut room, used, at, former, (&key, &value, flags));
                        model.insert(key, (value, flags));
                    }
                    (None, Ok((at, former))) => {
                        used = remove(&mut room, used, at, former);
                        model.remove(&key);
                    }
                    (None, Err(_)) => {
                        used = retain(&mut room, used, |f| (f != flags).then_some(f ^ 1));
                        model.retain(|_, (_, f)| *f != flags);
                        model.values_mut().for_each(|(_, f)| *f ^= 1);
                    }
                }
                prop_assert_eq!(&content(&room[..used]), &model);
                prop_assert!(rows(&room[..used]).map(|r| r.key.to_vec()).is_sorted());
            }
        }
    }
}
