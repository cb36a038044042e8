//! Operations on single rows: values, accumulators, lists, and the entries of maps that are too large for
//! one record. Whoever needs room looks the record up again after it was made.
use super::evict::Queue;
use super::record::{size, Head, Kind};
use super::table::{deliver, Table};
use crate::error::Result;

const DELIMITER: u8 = b',';
/// Values up to so many bytes are read to answer whether there is one.
const PROBE: usize = 1 << 12;

/// A key as records have it, and how many bytes of it the database does not know.
#[derive(Clone, Copy)]
pub(super) struct Key<'a> {
    pub(super) column: u16,
    pub(super) bytes: &'a [u8],
    pub(super) own: usize,
}

impl<'a> Key<'a> {
    pub(super) fn stored(self) -> &'a [u8] {
        &self.bytes[self.own..]
    }
}

impl Table {
    #[inline(always)]
    fn find_row(&self, key: Key<'_>) -> (u32, Option<(u32, Head)>) {
        let hash = self.hash(key.column, key.bytes);
        (hash, self.find(key.column, hash, key.bytes))
    }

    /// Length of the value, which stands in `page` if it fits; None when absent.
    #[inline]
    pub(super) fn get_row(&mut self, key: Key<'_>, page: &mut [u8]) -> Result<Option<usize>> {
        loop {
            let (hash, Some((place, mut head))) = self.find_row(key) else {
                return self.read_row(key, page);
            };
            debug_assert_eq!(hash, head.hash);
            self.touch(place, &mut head);
            match head.kind() {
                Kind::Absent => {
                    self.counters.hits += 1;
                    return Ok(None);
                }
                Kind::Operands => self.complete(key)?,
                _ => {
                    self.counters.hits += 1;
                    return Ok(Some(deliver(self.value(place, head), page)));
                }
            }
        }
    }

    #[cold]
    fn read_row(&mut self, key: Key<'_>, page: &mut [u8]) -> Result<Option<usize>> {
        self.counters.misses += 1;
        self.adapt();
        let length = self.column(key.column).read(key.stored(), page)?;
        match length {
            None => self.remember(key, None),
            Some(length) if length <= page.len() => self.remember(key, Some(&page[..length])),
            Some(_) => {}
        }
        Ok(length)
    }

    /// Keeps what the database has, if there is room to be had.
    fn remember(&mut self, key: Key<'_>, value: Option<&[u8]>) {
        let room = value.map_or(0, <[u8]>::len);
        let hash = self.hash(key.column, key.bytes);
        if !self.limit.admits(hash) || !self.takes(key.bytes.len(), room) {
            return;
        }
        let bytes = size(key.bytes.len(), room);
        // A failure is noted, and is the next writer's; until it is gone no room can be made.
        loop {
            if self.failed {
                return;
            }
            match self.lacks_room(self.queue_of_new(hash), bytes) {
                Ok(false) => break,
                Ok(true) => {}
                Err(_) => return,
            }
        }
        let kind = if value.is_some() { Kind::Value } else { Kind::Absent };
        let value = value.unwrap_or_default();
        let (place, mut head) = self.insert(key.column, hash, key.bytes, kind, value, room);
        head.set_stored(kind == Kind::Value);
        self.set_clean(place, head);
    }

    pub(super) fn contains_row(&mut self, key: Key<'_>) -> Result<bool> {
        if let (_, Some((place, mut head))) = self.find_row(key) {
            self.counters.hits += 1;
            self.touch(place, &mut head);
            return Ok(head.kind() != Kind::Absent);
        }
        let mut page = [0; PROBE];
        Ok(self.read_row(key, &mut page)?.is_some())
    }

    #[inline]
    pub(super) fn put_row(&mut self, key: Key<'_>, value: &[u8]) -> Result<()> {
        self.check_writable()?;
        if !self.takes(key.bytes.len(), value.len()) {
            return self.put_through(key, value);
        }
        loop {
            let (hash, found) = self.find_row(key);
            let Some((place, mut head)) = found else {
                let bytes = size(key.bytes.len(), value.len());
                if self.lacks_room(self.queue_of_new(hash), bytes)? {
                    continue;
                }
                let (place, mut head) =
                    self.insert(key.column, hash, key.bytes, Kind::Value, value, value.len());
                head.set_stored(true);
                self.set_dirty(place, head);
                break;
            };
            if value.len() > head.capacity() {
                self.more_room(place, head, value.len())?;
                continue;
            }
            self.touch(place, &mut head);
            if head.kind() == Kind::Operands {
                head.set_stored(true);
            }
            head.set_kind(Kind::Value);
            head.value_length = value.len() as u32;
            self.arena.room(place, head)[..value.len()].copy_from_slice(value);
            self.set_dirty(place, head);
            break;
        }
        self.settle()
    }

    /// What is too large for a record goes into the database at once.
    #[cold]
    fn put_through(&mut self, key: Key<'_>, value: &[u8]) -> Result<()> {
        let result = self.column(key.column).put(key.stored(), value);
        self.noted(result)?;
        if let (_, Some((place, head))) = self.find_row(key) {
            self.discard(place, head);
        }
        Ok(())
    }

    pub(super) fn delete_row(&mut self, key: Key<'_>) -> Result<()> {
        self.check_writable()?;
        if !self.takes(key.bytes.len(), 0) {
            let result = self.column(key.column).delete(key.stored());
            return self.noted(result);
        }
        loop {
            let (hash, found) = self.find_row(key);
            let Some((place, mut head)) = found else {
                let bytes = size(key.bytes.len(), 0);
                if self.lacks_room(self.queue_of_new(hash), bytes)? {
                    continue;
                }
                let (place, mut head) =
                    self.insert(key.column, hash, key.bytes, Kind::Absent, &[], 0);
                head.set_stored(true);
                self.set_dirty(place, head);
                break;
            };
            self.touch(place, &mut head);
            if head.kind() == Kind::Operands {
                head.set_stored(true);
            }
            head.set_kind(Kind::Absent);
            head.value_length = 0;
            if head.is_stored() {
                self.set_dirty(place, head);
            } else {
                // The database never saw it.
                self.set_clean(place, head);
            }
            break;
        }
        self.settle()
    }

    /// Appends an operand as the merge operator does: a comma between.
    pub(super) fn merge_row(&mut self, key: Key<'_>, operand: &[u8]) -> Result<()> {
        self.check_writable()?;
        loop {
            let (hash, found) = self.find_row(key);
            let Some((place, mut head)) = found else {
                if !self.takes(key.bytes.len(), operand.len()) {
                    let result = self.column(key.column).merge(key.stored(), operand);
                    return self.noted(result);
                }
                let room = self.room_to_append(key.bytes.len(), operand.len());
                if self.lacks_room(self.queue_of_new(hash), size(key.bytes.len(), room))? {
                    continue;
                }
                let (place, mut head) =
                    self.insert(key.column, hash, key.bytes, Kind::Operands, operand, room);
                head.set_stored(true);
                self.set_dirty(place, head);
                break;
            };
            if head.kind() == Kind::Absent {
                return self.put_row(key, operand);
            }
            let clean_value = head.kind() == Kind::Value && !head.is_dirty();
            let former = head.value_length as usize;
            let length = former + usize::from(clean_value) * 4 + 1 + operand.len();
            if !self.takes(key.bytes.len(), length) {
                if head.is_dirty() {
                    self.write_one(place)?;
                }
                let result = self.column(key.column).merge(key.stored(), operand);
                self.noted(result)?;
                if let (_, Some((place, head))) = self.find_row(key) {
                    self.discard(place, head);
                }
                return Ok(());
            }
            if length > head.capacity() {
                let room = self.room_to_append(key.bytes.len(), length);
                self.more_room(place, head, room)?;
                continue;
            }
            self.touch(place, &mut head);
            let room = self.arena.room(place, head);
            if clean_value {
                room.copy_within(..former, 4);
                room[..4].copy_from_slice(&(former as u32).to_ne_bytes());
                head.set_kind(Kind::Appended);
            }
            let at = length - operand.len();
            room[at - 1] = DELIMITER;
            room[at..length].copy_from_slice(operand);
            head.value_length = length as u32;
            self.set_dirty(place, head);
            break;
        }
        self.settle()
    }

    /// Room for what grows by appending.
    fn room_to_append(&self, key: usize, length: usize) -> usize {
        let generous = length + length / 2;
        if self.takes(key, generous) {
            generous
        } else {
            length
        }
    }

    /// Makes what is appended to an unknown value a value. Too large for a record it is written.
    #[cold]
    fn complete(&mut self, key: Key<'_>) -> Result<()> {
        self.counters.misses += 1;
        let base = self.column(key.column).get(key.stored())?;
        let in_front = base.as_ref().map_or(0, |base| base.len() + 1);
        loop {
            let (_, Some((place, head))) = self.find_row(key) else { return Ok(()) };
            if head.kind() != Kind::Operands {
                return Ok(());
            }
            let former = head.value_length as usize;
            let length = former + in_front + 4;
            if !self.takes(key.bytes.len(), length) {
                return self.write_one(place);
            }
            if length > head.capacity() {
                self.more_room(place, head, length)?;
                continue;
            }
            self.put_in_front(place, head, base.as_deref());
            return Ok(());
        }
    }

    fn put_in_front(&mut self, place: u32, mut head: Head, base: Option<&[u8]>) {
        let former = head.value_length as usize;
        if let Some(base) = base {
            let room = self.arena.room(place, head);
            room.copy_within(..former, 4 + base.len() + 1);
            room[..4].copy_from_slice(&(base.len() as u32).to_ne_bytes());
            room[4..4 + base.len()].copy_from_slice(base);
            room[4 + base.len()] = DELIMITER;
            head.value_length = (4 + base.len() + 1 + former) as u32;
            head.set_kind(Kind::Appended);
        } else {
            head.set_kind(Kind::Value);
            head.set_stored(false);
        }
        self.set_dirty(place, head);
    }

    /// Makes room if there is none; true if so, which may have changed every record.
    #[inline]
    pub(super) fn lacks_room(&mut self, queue: Queue, bytes: usize) -> Result<bool> {
        if self.has_room(queue, bytes) {
            return Ok(false);
        }
        self.make_room(queue)?;
        Ok(true)
    }

    /// Gives a record more room, or makes room for that. In any case it has to be looked up again.
    pub(super) fn more_room(&mut self, place: u32, head: Head, room: usize) -> Result<()> {
        let queue = self.queues.queue_of(self.arena.segment_of(place));
        if !self.lacks_room(queue, Self::grown(head, room))? {
            self.grow(place, head, room);
        }
        Ok(())
    }
}
