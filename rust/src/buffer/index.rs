//! Where the record of a key lies: an open-addressing table of hashes and places, eight bytes each. It
//! knows nothing of records: whether a place has the key that is looked for, the caller says.
use super::memory::Memory;

/// A slot is a hash above a place; places are not 0.
const EMPTY: u64 = 0;
const LEAST: usize = 64;

pub(super) struct Index {
    memory: Memory,
    /// A power of two.
    slots: usize,
    used: usize,
}

const SLOT: usize = size_of::<u64>();

#[inline]
fn slot(hash: u32, place: u32) -> u64 {
    u64::from(hash) << 32 | u64::from(place)
}

impl Index {
    pub(super) fn new() -> Self {
        Self { memory: Memory::zeroed(LEAST * SLOT), slots: LEAST, used: 0 }
    }

    pub(super) fn bytes(&self) -> usize {
        self.slots * SLOT
    }

    #[inline(always)]
    fn at(&self, slot: usize) -> u64 {
        let bytes = self.memory.behind(slot * SLOT).first_chunk().expect("slots are whole");
        u64::from_ne_bytes(*bytes)
    }

    #[inline]
    fn set(&mut self, slot: usize, content: u64) {
        self.memory.behind_mut(slot * SLOT)[..SLOT].copy_from_slice(&content.to_ne_bytes());
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.used
    }

    #[inline]
    fn mask(&self) -> usize {
        self.slots - 1
    }

    /// The first place under this hash that `is_it`.
    #[inline(always)]
    pub(super) fn find(&self, hash: u32, mut is_it: impl FnMut(u32) -> bool) -> Option<u32> {
        let mask = self.mask();
        let mut at = hash as usize & mask;
        loop {
            let slot = self.at(at);
            if slot == EMPTY {
                return None;
            }
            if (slot >> 32) as u32 == hash && is_it(slot as u32) {
                return Some(slot as u32);
            }
            at = (at + 1) & mask;
        }
    }

    /// Adds a place that is not there.
    pub(super) fn insert(&mut self, hash: u32, place: u32) {
        if (self.used + 1) * 4 > self.slots * 3 {
            self.grow();
        }
        self.used += 1;
        self.put(slot(hash, place));
    }

    fn put(&mut self, slot: u64) {
        let mask = self.mask();
        let mut at = (slot >> 32) as usize & mask;
        while self.at(at) != EMPTY {
            at = (at + 1) & mask;
        }
        self.set(at, slot);
    }

    #[cold]
    fn grow(&mut self) {
        self.resize(self.slots * 2);
    }

    /// Gives memory back after much has been taken out: a small table is in the processor's caches.
    pub(super) fn shrink(&mut self) {
        let enough = (self.used * 2).next_power_of_two().max(LEAST);
        if enough * 2 < self.slots {
            self.resize(enough);
        }
    }

    fn resize(&mut self, slots: usize) {
        let former = std::mem::replace(&mut self.memory, Memory::zeroed(slots * SLOT));
        self.slots = slots;
        for slot in former.chunks_exact(SLOT) {
            let slot = u64::from_ne_bytes(*slot.first_chunk().expect("eight bytes"));
            if slot != EMPTY {
                self.put(slot);
            }
        }
    }

    fn position(&self, hash: u32, place: u32) -> Option<usize> {
        let (mask, wanted) = (self.mask(), slot(hash, place));
        let mut at = hash as usize & mask;
        while self.at(at) != EMPTY {
            if self.at(at) == wanted {
                return Some(at);
            }
            at = (at + 1) & mask;
        }
        None
    }

    /// A record has moved.
    pub(super) fn moved(&mut self, hash: u32, from: u32, to: u32) {
        if let Some(at) = self.position(hash, from) {
            self.set(at, slot(hash, to));
        }
    }

    /// Takes a place out and closes the gap.
    pub(super) fn remove(&mut self, hash: u32, place: u32) {
        let Some(mut gap) = self.position(hash, place) else { return };
        self.used -= 1;
        let mask = self.mask();
        let mut at = gap;
        loop {
            at = (at + 1) & mask;
            let slot = self.at(at);
            if slot == EMPTY {
                break;
            }
            // It may move to the gap if its own place is not behind it.
            let home = (slot >> 32) as usize & mask;
            if (at.wrapping_sub(home) & mask) >= (at.wrapping_sub(gap) & mask) {
                self.set(gap, slot);
                gap = at;
            }
        }
        self.set(gap, EMPTY);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn finds_what_is_in_it_and_nothing_else(
            ops in prop::collection::vec((any::<bool>(), 0u32..9, 0u32..60), 1..600),
        ) {
            let (mut index, mut model) = (Index::new(), BTreeSet::new());
            for (add, hash, place) in ops {
                // Hashes that collide, and some whose home is at the end.
                let hash = if hash < 6 { hash * 3 } else { u32::MAX - hash };
                if place == 0 {
                    index.shrink();
                } else if add && model.insert((hash, place)) {
                    index.insert(hash, place);
                } else if !add {
                    index.remove(hash, place);
                    model.remove(&(hash, place));
                }
                for (hash, place) in &model {
                    prop_assert_eq!(index.find(*hash, |p| p == *place), Some(*place));
                }
                prop_assert_eq!(index.len(), model.len());
            }
        }
    }
}
