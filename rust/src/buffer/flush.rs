//! Brings dirty records into the database: sorted by key, in batches of bounded size. What a batch that
//! failed would have written stays dirty, and every write fails until a flush has succeeded.
use super::packed::{self, ABSENT, DIRTY, STORED};
use super::record::{Head, Kind};
use super::table::{Shape, Table};
use crate::db::WriteBatch;
use crate::error::Result;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A batch is written when it has so many bytes.
const BATCH_BYTES: usize = 1 << 20;
/// When there is too much, the oldest part of it is written.
const OLDEST_PART: usize = 4;
/// Uses after which a record is likely to be written again soon.
const HOT: u8 = 2;

/// Bytes that the key of a row of a large map has in front (its map's number).
pub(super) const MAP_NUMBER: usize = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extent {
    All,
    Oldest,
}

/// The first bytes of a key, for sorting, and where it lies.
type Sorted = (u128, u32);

impl Table {
    /// After a failure: fails as long as the database takes nothing.
    #[inline]
    pub(super) fn check_writable(&mut self) -> Result<()> {
        if !self.failed {
            return Ok(());
        }
        self.try_again()
    }

    #[cold]
    fn try_again(&mut self) -> Result<()> {
        if let Some(buffered) = self.columns.iter().flatten().next() {
            buffered.column.check_writable()?;
        }
        self.flush_all()
    }

    /// Notes that a write failed.
    pub(super) fn noted<R>(&mut self, result: Result<R>) -> Result<R> {
        self.failed |= result.is_err();
        result
    }

    /// After a write: flushes a part when too much is dirty.
    #[inline]
    pub(super) fn settle(&mut self) -> Result<()> {
        if self.dirty_bytes <= self.most_dirty {
            return Ok(());
        }
        self.flush_oldest()
    }

    #[cold]
    fn flush_oldest(&mut self) -> Result<()> {
        self.most_dirty = self.limit.most_dirty();
        self.flush_columns(Extent::Oldest)
    }

    pub(super) fn flush_all(&mut self) -> Result<()> {
        self.flush_columns(Extent::All)
    }

    fn flush_columns(&mut self, extent: Extent) -> Result<()> {
        for number in 0..self.columns.len() {
            if self.columns[number].is_some() {
                self.flush(number as u16, extent)?;
            }
        }
        self.failed = false;
        Ok(())
    }

    /// Everything of one column family.
    pub(super) fn flush_column(&mut self, column: u16) -> Result<()> {
        self.flush(column, Extent::All)?;
        self.flush(column + 1, Extent::All)
    }

    fn flush(&mut self, column: u16, extent: Extent) -> Result<()> {
        let count = match extent {
            Extent::All => self.buffered(column).dirty.len(),
            Extent::Oldest => self.oldest_first(column),
        };
        let places = &self.buffered(column).dirty[..count];
        let sorted = self.sorted(column, places);
        self.write_sorted(column, &sorted)?;
        let buffered = self.buffered_mut(column);
        buffered.dirty.drain(..count);
        if buffered.dirty.is_empty() {
            buffered.flushes = buffered.flushes.wrapping_add(1);
        }
        Ok(())
    }

    /// Puts the oldest part of the dirty records at the front of their list, but for those that are written
    /// all the time: they get another chance. How many that are.
    fn oldest_first(&mut self, column: u16) -> usize {
        let mut dirty = std::mem::take(&mut self.buffered_mut(column).dirty);
        let wanted = dirty.len().div_ceil(OLDEST_PART);
        let (mut oldest, mut hot, mut seen) = (Vec::with_capacity(wanted), Vec::new(), 0);
        while oldest.len() < wanted && hot.len() < wanted && seen < dirty.len() {
            let place = dirty[seen];
            seen += 1;
            let mut head = self.arena.head(place);
            if !head.is_dirty() {
                continue;
            }
            if head.uses() < HOT {
                oldest.push(place);
            } else {
                head.set_uses(head.uses() - 1);
                self.arena.set_head(place, head);
                hot.push(place);
            }
        }
        dirty.drain(..seen);
        let too_hot = hot.split_off(wanted.saturating_sub(oldest.len()).min(hot.len()));
        oldest.append(&mut hot);
        let count = oldest.len();
        oldest.append(&mut dirty);
        oldest.extend(too_hot);
        self.buffered_mut(column).dirty = oldest;
        count
    }

    /// Writes records that are dirty, in whatever order they come.
    pub(super) fn write_places(&mut self, places: Vec<u32>) -> Result<()> {
        let mut of_columns = BTreeMap::<u16, Vec<u32>>::new();
        for place in places {
            of_columns.entry(self.arena.head(place).column).or_default().push(place);
        }
        for (column, places) in of_columns {
            let sorted = self.sorted(column, &places);
            self.write_sorted(column, &sorted)?;
        }
        Ok(())
    }

    fn write_sorted(&mut self, column: u16, sorted: &[Sorted]) -> Result<()> {
        let result = self.write(column, sorted);
        self.noted(result)
    }

    /// Writes one record.
    pub(super) fn write_one(&mut self, place: u32) -> Result<()> {
        let column = self.arena.head(place).column;
        self.write_sorted(column, &[(0, place)])?;
        let dirty = &mut self.buffered_mut(column).dirty;
        if dirty.last() == Some(&place) {
            dirty.pop();
        }
        Ok(())
    }

    /// Those of the places that are dirty, in the order of their keys.
    fn sorted(&self, column: u16, places: &[u32]) -> Vec<Sorted> {
        let own = self.own_bytes(column);
        let key = |place: u32| self.arena.key(place, self.arena.head(place));
        let mut sorted: Vec<Sorted> = places
            .iter()
            .filter(|place| self.arena.head(**place).is_dirty())
            .map(|place| (front(stored(key(*place), own)), *place))
            .collect();
        sorted.sort_unstable_by(|a, b| {
            a.0.cmp(&b.0).then_with(|| stored(key(a.1), own).cmp(stored(key(b.1), own)))
        });
        sorted.dedup_by_key(|(_, place)| *place);
        sorted
    }

    /// Bytes in front of a row's key that the database does not know.
    fn own_bytes(&self, column: u16) -> usize {
        match self.buffered(column).shape {
            Shape::Rows | Shape::Maps => 0,
            Shape::RowsOfMaps => MAP_NUMBER,
        }
    }

    fn write(&mut self, column: u16, sorted: &[Sorted]) -> Result<()> {
        if sorted.is_empty() {
            return Ok(());
        }
        let mut batch = WriteBatch::new(Arc::clone(self.column(column)));
        let mut written = 0;
        for (i, (_, place)) in sorted.iter().enumerate() {
            self.add_to(&mut batch, column, *place);
            if batch.bytes() >= BATCH_BYTES || i + 1 == sorted.len() {
                batch.write()?;
                self.counters.flushes += 1;
                for (_, place) in &sorted[written..=i] {
                    self.is_written(*place);
                }
                written = i + 1;
            }
        }
        Ok(())
    }

    fn add_to(&self, batch: &mut WriteBatch, column: u16, place: u32) {
        let head = self.arena.head(place);
        let (key, value) = (self.arena.key(place, head), self.arena.value(place, head));
        match head.kind() {
            Kind::Absent => batch.delete(stored(key, self.own_bytes(column))),
            Kind::Value => batch.put(stored(key, self.own_bytes(column)), value),
            Kind::Operands => batch.merge(stored(key, self.own_bytes(column)), value),
            Kind::Appended => {
                let key = stored(key, self.own_bytes(column));
                let (front, value) = value.split_at(4);
                let behind = length(front) + 1;
                // The operand alone, unless it is most of it: then the database need not join them.
                match value.get(behind..) {
                    Some(operand) if operand.len() * 2 < value.len() => batch.merge(key, operand),
                    _ => batch.put(key, value),
                }
            }
            Kind::Part | Kind::Whole => {
                for row in packed::rows(value).filter(|row| row.has(DIRTY)) {
                    if row.has(ABSENT) {
                        batch.delete_joined(key, row.key);
                    } else {
                        batch.put_joined(key, row.key, row.value);
                    }
                }
            }
            Kind::Large | Kind::Dead => {}
        }
    }

    /// The database has it now.
    fn is_written(&mut self, place: u32) {
        self.counters.written += 1;
        let mut head = self.arena.head(place);
        match head.kind() {
            // What it is appended to is not known.
            Kind::Operands => return self.discard(place, head),
            Kind::Value => head.set_stored(true),
            Kind::Absent => head.set_stored(false),
            Kind::Appended => {
                let length = head.value_length - 4;
                self.arena.room(place, head)[..4].copy_from_slice(&length.to_ne_bytes());
                head.set_stored(true);
            }
            Kind::Part | Kind::Whole => self.rows_are_written(place, &mut head),
            Kind::Large | Kind::Dead => {}
        }
        self.set_clean(place, head);
    }

    fn rows_are_written(&mut self, place: u32, head: &mut Head) {
        let whole = head.kind() == Kind::Whole;
        let used = head.value_length as usize;
        let room = self.arena.room(place, *head);
        let left = packed::retain(room, used, |flags| match flags & ABSENT {
            0 => Some(flags & !DIRTY | if flags & DIRTY != 0 { STORED } else { 0 }),
            _ if whole => None,
            _ if flags & DIRTY != 0 => Some(ABSENT),
            _ => Some(flags),
        });
        head.value_length = left as u32;
    }
}

fn length(bytes: &[u8]) -> usize {
    bytes.first_chunk().map_or(0, |length| u32::from_ne_bytes(*length) as usize)
}

/// A key without what the database does not know of it; that of a map is the prefix of its rows.
fn stored(key: &[u8], own: usize) -> &[u8] {
    key.get(own..).unwrap_or_default()
}

#[inline]
fn front(key: &[u8]) -> u128 {
    if let Some(front) = key.first_chunk() {
        return u128::from_be_bytes(*front);
    }
    let mut front = [0; 16];
    front[..key.len()].copy_from_slice(key);
    u128::from_be_bytes(front)
}
