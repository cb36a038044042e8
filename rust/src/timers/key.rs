//! A timer's bytes behind its key group, in a form that compares fast: the first eight, which are its
//! time, as a number.
use std::cmp::Ordering;

pub(super) const FRONT: usize = 8;

#[derive(Debug, Clone, Copy)]
pub(super) struct Key<'a> {
    /// The first bytes, followed by zeros where there are fewer.
    pub(super) front: u64,
    /// What is behind them.
    pub(super) rest: &'a [u8],
    /// Of the whole.
    pub(super) length: usize,
}

/// The first sixteen bytes: different ones order keys, the same ones do not.
pub(super) type Prefix = (u64, u64);

/// A big-endian number of the first eight bytes, and what is behind them.
#[inline]
fn number(bytes: &[u8]) -> (u64, &[u8]) {
    if let Some((front, rest)) = bytes.split_first_chunk() {
        return (u64::from_be_bytes(*front), rest);
    }
    let mut front = [0; FRONT];
    front[..bytes.len()].copy_from_slice(bytes);
    (u64::from_be_bytes(front), &[])
}

impl<'a> Key<'a> {
    #[inline]
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        let (front, rest) = number(bytes);
        Self { front, rest, length: bytes.len() }
    }

    #[inline]
    pub(super) fn prefix(&self) -> Prefix {
        (self.front, number(self.rest).0)
    }

    /// As RocksDB orders the bytes. Zeros at the end of a short one are told apart by the length.
    #[inline]
    pub(super) fn order(&self, other: &Self) -> Ordering {
        match self.front.cmp(&other.front) {
            Ordering::Equal => {
                self.rest.cmp(other.rest).then_with(|| self.length.cmp(&other.length))
            }
            order => order,
        }
    }

    /// `out` has its length.
    #[inline]
    pub(super) fn copy_to(&self, out: &mut [u8]) {
        let (front, rest) = out.split_at_mut(self.length.min(FRONT));
        front.copy_from_slice(&self.front.to_be_bytes()[..front.len()]);
        rest.copy_from_slice(self.rest);
    }

    pub(super) fn write_to(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.front.to_be_bytes()[..self.length.min(FRONT)]);
        out.extend_from_slice(self.rest);
    }
}

/// A key with bytes of its own.
#[derive(Debug)]
pub(super) struct OwnKey {
    front: u64,
    length: usize,
    rest: Box<[u8]>,
}

impl OwnKey {
    pub(super) fn of(key: &Key<'_>) -> Self {
        Self { front: key.front, length: key.length, rest: key.rest.into() }
    }

    #[inline]
    pub(super) fn key(&self) -> Key<'_> {
        Key { front: self.front, rest: &self.rest, length: self.length }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn keys_order_like_their_bytes(
            a in proptest::collection::vec(0u8..3, 0..20),
            b in proptest::collection::vec(0u8..3, 0..20),
        ) {
            let (left, right) = (Key::new(&a), Key::new(&b));
            prop_assert_eq!(left.order(&right), a.cmp(&b));
            if left.prefix() != right.prefix() {
                prop_assert_eq!(left.prefix().cmp(&right.prefix()), a.cmp(&b));
            }
            let mut bytes = Vec::new();
            OwnKey::of(&left).key().write_to(&mut bytes);
            prop_assert_eq!(bytes, a);
        }
    }
}
