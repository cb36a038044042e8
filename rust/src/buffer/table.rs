//! The records of one database: found by column family and key, inserted, grown, made dirty and clean.
//! What operations mean is the business of `rows.rs` and `maps.rs`, which records stay of `evict.rs`.
use super::arena::Arena;
use super::evict::{Queue, Queues};
use super::hash::Hasher;
use super::index::Index;
use super::limit::Limit;
use super::record::{self, Head, Kind, HEADER};
use crate::db::Column;
use std::collections::HashSet;
use std::sync::Arc;

/// What the records of a number are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// One a row.
    Rows,
    /// One a map, under the prefix of its rows.
    Maps,
    /// One a row of a map that is too large for one record. Their keys have the map's number in front.
    RowsOfMaps,
}

/// Records of a column family. Each has two numbers, an even one for its rows or maps, and the odd one
/// behind it for the rows of maps that are too large for one record.
pub(super) struct Buffered {
    pub(super) column: Arc<Column>,
    pub(super) shape: Shape,
    /// How many there are.
    pub(super) records: usize,
    /// Records that became dirty, in that order; some of them are clean again, or dead.
    pub(super) dirty: Vec<u32>,
    /// How often none of them was left.
    pub(super) flushes: u32,
    /// The list is tidied when it is longer than this.
    tidy: usize,
}

const LEAST_TIDY: usize = 1 << 16;

impl Buffered {
    pub(super) fn new(column: Arc<Column>, shape: Shape) -> Self {
        Self { column, shape, records: 0, dirty: Vec::new(), flushes: 0, tidy: LEAST_TIDY }
    }
}

/// What happened so far.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Counters {
    pub hits: u64,
    pub misses: u64,
    /// Batches written.
    pub flushes: u64,
    /// Records written.
    pub written: u64,
}

pub(super) struct Table {
    hasher: Hasher,
    pub(super) index: Index,
    pub(super) arena: Arena,
    pub(super) queues: Queues,
    pub(super) limit: Limit,
    /// By the number that records have. None: dropped.
    pub(super) columns: Vec<Option<Buffered>>,
    /// Of all records: `Head::dirty_bytes`.
    pub(super) dirty_bytes: usize,
    /// What the limit allows of them, as of lately.
    pub(super) most_dirty: usize,
    /// The database took no write, and no flush has succeeded since.
    pub(super) failed: bool,
    pub(super) counters: Counters,
    /// For what is put together or read ahead.
    pub(super) scratch: Vec<u8>,
    pub(super) next_map: u32,
    /// Since the limit was adapted: uses of records, new records, those that had been there before.
    pub(super) found: u64,
    pub(super) inserted: u64,
    pub(super) returned: u64,
}

impl Table {
    pub(super) fn new(limit: Limit) -> Self {
        let segment = limit.segment_bytes();
        Self {
            hasher: Hasher::new(),
            index: Index::new(),
            arena: Arena::new(segment),
            queues: Queues::default(),
            columns: Vec::new(),
            dirty_bytes: 0,
            most_dirty: limit.most_dirty(),
            limit,
            failed: false,
            counters: Counters::default(),
            scratch: Vec::new(),
            next_map: 0,
            found: 0,
            inserted: 0,
            returned: 0,
        }
    }

    /// Of a column family that was not dropped.
    #[inline]
    pub(super) fn column(&self, number: u16) -> &Arc<Column> {
        &self.buffered(number).column
    }

    #[inline]
    pub(super) fn buffered(&self, number: u16) -> &Buffered {
        self.columns[usize::from(number)].as_ref().expect("a state that was dropped is not used")
    }

    #[inline]
    pub(super) fn buffered_mut(&mut self, number: u16) -> &mut Buffered {
        self.columns[usize::from(number)].as_mut().expect("a state that was dropped is not used")
    }

    #[inline(always)]
    pub(super) fn hash(&self, column: u16, key: &[u8]) -> u32 {
        self.hasher.hash(u32::from(column), key)
    }

    #[inline(always)]
    pub(super) fn find(&self, column: u16, hash: u32, key: &[u8]) -> Option<(u32, Head)> {
        let mut found = None;
        self.index.find(hash, |place| {
            let head = self.arena.head(place);
            let it = head.column == column && self.arena.key(place, head) == key;
            if it {
                found = Some((place, head));
            }
            it
        });
        found
    }

    /// Notes that a record was used. The first time does not count: values are read and written.
    #[inline(always)]
    pub(super) fn touch(&mut self, place: u32, head: &mut Head) {
        self.found += u64::from(head.uses() > 0);
        if head.uses() < 3 {
            head.set_uses(head.uses() + 1);
            self.arena.set_head(place, *head);
        }
    }

    /// True if a record with so long a key may have so much behind it.
    #[inline]
    pub(super) fn takes(&self, key: usize, value: usize) -> bool {
        key <= record::LONGEST_KEY && HEADER + key + value <= self.largest()
    }

    /// Bytes of the largest record.
    #[inline]
    pub(super) fn largest(&self) -> usize {
        self.arena.segment_bytes() / 8
    }

    /// A record that the queue of new ones has room for. It is neither dirty nor stored.
    pub(super) fn insert(
        &mut self,
        column: u16,
        hash: u32,
        key: &[u8],
        kind: Kind,
        value: &[u8],
        room: usize,
    ) -> (u32, Head) {
        let mut head = Head {
            words: (record::size(key.len(), room.max(value.len())) / 8) as u32,
            flags: 0,
            hash,
            value_length: value.len() as u32,
            key_length: key.len() as u16,
            column,
        };
        head.set_kind(kind);
        let queue = self.queue_of_new(hash);
        self.inserted += 1;
        self.returned += u64::from(queue == Queue::Kept);
        let segment = self.queues.last(queue);
        let place = self.arena.append(segment, head);
        self.arena.set_key(place, key);
        self.arena.room(place, head)[..value.len()].copy_from_slice(value);
        self.index.insert(hash, place);
        self.buffered_mut(column).records += 1;
        (place, head)
    }

    /// Bytes that a record takes with at least so much room.
    pub(super) fn grown(head: Head, room: usize) -> usize {
        record::size(head.key_length.into(), room)
    }

    /// Moves a record to one with more room, which its queue has.
    pub(super) fn grow(&mut self, place: u32, head: Head, room: usize) -> (u32, Head) {
        let mut to = head;
        to.words = (Self::grown(head, room) / 8) as u32;
        let segment = self.queues.last(self.queues.queue_of(self.arena.segment_of(place)));
        let moved = self.arena.copy(place, to, segment);
        self.index.moved(head.hash, place, moved);
        if head.is_dirty() {
            self.buffered_mut(head.column).dirty.push(moved);
        }
        self.arena.bury(place, head);
        (moved, to)
    }

    /// Writes back a header.
    #[inline(always)]
    pub(super) fn set_head(&mut self, place: u32, head: Head) {
        let former = self.arena.head(place).dirty_bytes();
        self.dirty_bytes = self.dirty_bytes + head.dirty_bytes() - former;
        self.arena.set_head(place, head);
    }

    /// Writes back a header whose record says what the database does not.
    #[inline]
    pub(super) fn set_dirty(&mut self, place: u32, mut head: Head) {
        let was_dirty = head.is_dirty();
        head.set_dirty(true);
        self.set_head(place, head);
        if !was_dirty {
            let buffered = self.buffered_mut(head.column);
            buffered.dirty.push(place);
            if buffered.dirty.len() > buffered.tidy {
                self.tidy(head.column);
            }
        }
    }

    /// Takes what is not dirty any more, and what is there twice, out of the list of dirty records.
    #[cold]
    fn tidy(&mut self, column: u16) {
        let mut seen = HashSet::new();
        let mut dirty = std::mem::take(&mut self.buffered_mut(column).dirty);
        dirty.retain(|place| self.arena.head(*place).is_dirty() && seen.insert(*place));
        let buffered = self.buffered_mut(column);
        buffered.tidy = LEAST_TIDY.max(dirty.len() * 2);
        buffered.dirty = dirty;
    }

    /// Writes back a header whose record says what the database says.
    pub(super) fn set_clean(&mut self, place: u32, mut head: Head) {
        head.set_dirty(false);
        self.set_head(place, head);
    }

    /// Forgets a record.
    pub(super) fn discard(&mut self, place: u32, head: Head) {
        self.dirty_bytes -= self.arena.head(place).dirty_bytes();
        self.index.remove(head.hash, place);
        self.arena.bury(place, head);
        self.buffered_mut(head.column).records -= 1;
    }

    /// Every record there is.
    #[cfg(test)]
    pub(super) fn records(&self) -> impl Iterator<Item = (u32, Head)> + '_ {
        let all = |segment| {
            let next = |place: &u32| self.arena.next(*place, self.arena.head(*place));
            std::iter::successors(self.arena.first(segment), next)
        };
        let places = self.queues.all().into_iter().flat_map(all);
        places.map(|place| (place, self.arena.head(place)))
    }

    /// Forgets all records of a column family, dirty ones too.
    pub(super) fn forget(&mut self, column: u16) {
        if self.buffered(column).records == 0 {
            return;
        }
        for segment in self.queues.all() {
            let mut next = self.arena.first(segment);
            while let Some(place) = next {
                let head = self.arena.head(place);
                if head.kind() != Kind::Dead && head.column == column {
                    self.discard(place, head);
                }
                next = self.arena.next(place, head);
            }
        }
        let buffered = self.buffered_mut(column);
        buffered.dirty.clear();
        buffered.flushes = buffered.flushes.wrapping_add(1);
    }

    /// The value that a record has, without what stands before it.
    #[inline(always)]
    pub(super) fn value(&self, place: u32, head: Head) -> &[u8] {
        let value = self.arena.value(place, head);
        if head.kind() == Kind::Appended {
            &value[4..]
        } else {
            value
        }
    }
}

/// Copies a value into a page if it fits; its length.
#[inline]
pub(super) fn deliver(value: &[u8], page: &mut [u8]) -> usize {
    if let Some(page) = page.get_mut(..value.len()) {
        page.copy_from_slice(value);
    }
    value.len()
}
