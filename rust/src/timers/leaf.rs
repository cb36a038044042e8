//! Some neighbouring timers of a key group, sorted: numbers to search in one array, the rest of the bytes in
//! another one. It is emptied at the front without moving anything.
use super::key::{Key, FRONT};
use std::mem::size_of;

/// So many timers at most.
const CAPACITY: usize = 64;
/// More than one timer has so many bytes at most.
const FULL_BYTES: usize = 4 << 10;
const MARK_BITS: u32 = 3;
pub(super) const LONGEST_KEY: usize = (1 << (32 - MARK_BITS)) - 1;

/// What the database has to do with a timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    /// It has it.
    Stored,
    /// It does not have it, but for a deletion in the log.
    New,
    /// At or above the bound: it is to get it, if it does not have it.
    Put,
    /// At or above the bound: it is to lose it, if it has it.
    Delete,
    /// The timer is not here any more, and swept up soon.
    Gone,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    front: u64,
    /// Where the rest of the key begins.
    at: u32,
    length_and_mark: u32,
}

impl Entry {
    #[inline]
    fn length(self) -> usize {
        (self.length_and_mark >> MARK_BITS) as usize
    }

    #[inline]
    fn mark(self) -> Mark {
        match self.length_and_mark & ((1 << MARK_BITS) - 1) {
            0 => Mark::Stored,
            1 => Mark::New,
            2 => Mark::Put,
            3 => Mark::Delete,
            _ => Mark::Gone,
        }
    }

    #[inline]
    fn rest(self) -> usize {
        self.length().saturating_sub(FRONT)
    }
}

/// Where so many bytes begin that come next. No bytes are nowhere: what is before them may go.
#[inline]
fn place(bytes: &[u8], more: usize) -> u32 {
    if more > 0 {
        bytes.len() as u32
    } else {
        0
    }
}

#[derive(Default)]
pub(super) struct Leaf {
    entries: Vec<Entry>,
    /// Entries before it are gone.
    start: usize,
    bytes: Vec<u8>,
    /// Bytes of entries that are gone.
    dead: usize,
}

impl Leaf {
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.entries.len() - self.start
    }

    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.len() >= CAPACITY || self.len() > 1 && self.bytes.len() - self.dead > FULL_BYTES
    }

    /// Memory that it takes.
    #[inline]
    pub(super) fn size(&self) -> usize {
        size_of::<Self>() + self.entries.capacity() * size_of::<Entry>() + self.bytes.capacity()
    }

    #[inline]
    fn live(&self) -> &[Entry] {
        &self.entries[self.start..]
    }

    #[inline]
    fn key_of(&self, entry: Entry) -> Key<'_> {
        let at = entry.at as usize;
        let rest = &self.bytes[at..at + entry.rest()];
        Key { front: entry.front, rest, length: entry.length() }
    }

    #[inline]
    pub(super) fn key(&self, slot: usize) -> Key<'_> {
        self.key_of(self.live()[slot])
    }

    #[inline]
    pub(super) fn mark(&self, slot: usize) -> Mark {
        self.live()[slot].mark()
    }

    #[inline]
    pub(super) fn set_mark(&mut self, slot: usize, mark: Mark) {
        let entry = &mut self.entries[self.start + slot];
        entry.length_and_mark = (entry.length() as u32) << MARK_BITS | mark as u32;
    }

    /// Where the key is, or else where it belongs.
    #[inline]
    pub(super) fn find(&self, key: &Key<'_>) -> Result<usize, usize> {
        self.live().binary_search_by(|entry| match entry.front.cmp(&key.front) {
            std::cmp::Ordering::Equal => self.key_of(*entry).order(key),
            order => order,
        })
    }

    /// The key is no longer than `LONGEST_KEY`, and the leaf is not full.
    pub(super) fn insert(&mut self, slot: usize, key: &Key<'_>, mark: Mark) {
        self.make_room(key.rest.len());
        let entry = Entry {
            front: key.front,
            at: place(&self.bytes, key.rest.len()),
            length_and_mark: (key.length as u32) << MARK_BITS | mark as u32,
        };
        self.bytes.extend_from_slice(key.rest);
        let full = self.entries.len() == self.entries.capacity();
        if self.start > 0 && (full || slot * 2 < self.len()) {
            self.entries.copy_within(self.start..self.start + slot, self.start - 1);
            self.start -= 1;
            self.entries[self.start + slot] = entry;
        } else {
            self.entries.insert(self.start + slot, entry);
        }
    }

    /// Collects the bytes of what is gone rather than let them grow.
    #[inline]
    fn make_room(&mut self, bytes: usize) {
        let grows = self.bytes.len() + bytes > self.bytes.capacity();
        if grows && self.dead * 2 >= self.bytes.len() && self.dead > 0 {
            self.compact(bytes);
        }
    }

    #[cold]
    fn compact(&mut self, more: usize) {
        let mut bytes = Vec::with_capacity(self.bytes.len() - self.dead + more);
        self.entries.drain(..self.start);
        self.start = 0;
        for entry in &mut self.entries {
            let at = entry.at as usize;
            entry.at = place(&bytes, entry.rest());
            bytes.extend_from_slice(&self.bytes[at..at + entry.rest()]);
        }
        self.bytes = bytes;
        self.dead = 0;
    }

    #[inline]
    pub(super) fn remove(&mut self, slot: usize) {
        let at = self.start + slot;
        let entry = self.entries[at];
        if slot == 0 {
            self.start += 1;
        } else {
            self.entries.remove(at);
        }
        self.bury(entry);
    }

    #[inline]
    fn bury(&mut self, entry: Entry) {
        if entry.at as usize + entry.rest() == self.bytes.len() {
            self.bytes.truncate(entry.at as usize);
        } else {
            self.dead += entry.rest();
        }
    }

    /// Takes the timers from a slot on out of it.
    pub(super) fn split_off(&mut self, slot: usize) -> Self {
        let mut behind = Self::default();
        for entry in self.entries.split_off(self.start + slot) {
            let key = self.key_of(entry);
            behind.insert(behind.len(), &key, entry.mark());
        }
        self.dead += behind.bytes.len();
        self.compact(0);
        behind
    }

    /// Without what is gone.
    pub(super) fn sweep(&mut self) {
        if !self.live().iter().any(|entry| entry.mark() == Mark::Gone) {
            return;
        }
        self.entries.drain(..self.start);
        self.start = 0;
        self.entries.retain(|entry| entry.mark() != Mark::Gone);
        self.dead = self.bytes.len() - self.entries.iter().map(|e| e.rest()).sum::<usize>();
        self.compact(0);
    }
}
