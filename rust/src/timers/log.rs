//! Timers that are gone from memory and that the database still has. All of them lie below the bound of
//! their key group, and none is in it twice: to be removed again it would have to be stored again.

use super::key::Key;

#[derive(Default)]
pub(super) struct Log {
    /// Keys one after the other.
    bytes: Vec<u8>,
    /// Where each of them ends.
    ends: Vec<usize>,
}

/// Memory that is kept when it is empty.
const KEEP: usize = 1 << 16;

impl Log {
    pub(super) fn push(&mut self, prefix: &[u8], key: &Key<'_>) {
        self.bytes.extend_from_slice(prefix);
        key.write_to(&mut self.bytes);
        self.ends.push(self.bytes.len());
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn key(&self, number: u32) -> &[u8] {
        let number = number as usize;
        let begin = if number == 0 { 0 } else { self.ends[number - 1] };
        &self.bytes[begin..self.ends[number]]
    }

    /// The numbers of all keys in the order of the keys.
    pub(super) fn sorted(&self) -> Vec<u32> {
        let mut numbers: Vec<u32> = (0..self.len() as u32).collect();
        numbers.sort_unstable_by_key(|number| self.key(*number));
        numbers
    }

    /// Keeps these keys alone.
    pub(super) fn keep(&mut self, numbers: &[u32]) {
        let mut kept = Self::default();
        for number in numbers {
            kept.bytes.extend_from_slice(self.key(*number));
            kept.ends.push(kept.bytes.len());
        }
        if numbers.is_empty() && self.bytes.capacity() <= KEEP {
            self.bytes.clear();
            self.ends.clear();
        } else {
            *self = kept;
        }
    }
}
