//! A queue over all key groups of one database: adding, removing, the first timer. What is read and written
//! when is `refill.rs`'s and `flush.rs`'s business.
//!
//! Below a key group's bound memory has every timer there is: what is not there does not exist, and reading
//! never looks at what was polled or removed. A timer that comes and goes between two flushes leaves no trace.
use super::flush::Extent;
use super::group::{Group, Spot};
use super::key::Key;
use super::leaf::{Mark, LONGEST_KEY};
use super::limit::{Limit, Share};
use super::log::Log;
use super::winners::Winners;
use crate::db::Column;
use crate::error::{Error, Kind, Result};
use std::sync::Arc;

/// What a change takes besides its bytes.
const CHANGE: usize = 16;

/// The key groups of a queue, and how many bytes each key begins with to say which of them it belongs to.
#[derive(Debug, Clone, Copy)]
pub struct Layout {
    pub first: usize,
    pub groups: usize,
    pub bytes: usize,
}

impl Layout {
    /// The number of the key group, from 0 on, and what stands behind it.
    #[inline]
    fn split<'a>(&self, timer: &'a [u8]) -> Result<(usize, &'a [u8])> {
        if let Some((front, body)) = timer.split_at_checked(self.bytes) {
            let group = front.iter().fold(0, |number, byte| number << 8 | usize::from(*byte));
            let group = group.wrapping_sub(self.first);
            if group < self.groups && body.len() <= LONGEST_KEY {
                return Ok((group, body));
            }
        }
        Err(self.refused(timer))
    }

    #[cold]
    fn refused(&self, timer: &[u8]) -> Error {
        let text = format!(
            "a timer of {} bytes that begins with {:?} belongs to none of the {} key groups from {} on, \
             or is too large",
            timer.len(),
            &timer[..timer.len().min(self.bytes)],
            self.groups,
            self.first
        );
        let kind = if timer.len() > LONGEST_KEY { Kind::TooLarge } else { Kind::Invalid };
        Error::new(kind, text)
    }

    /// What the keys of a key group begin with.
    pub(super) fn prefix(&self, group: usize) -> Prefix {
        Prefix { number: ((self.first + group) as u64).to_be_bytes(), bytes: self.bytes }
    }
}

#[derive(Clone, Copy)]
pub(super) struct Prefix {
    number: [u8; 8],
    bytes: usize,
}

impl Prefix {
    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        &self.number[self.number.len() - self.bytes..]
    }
}

pub struct Queue {
    pub(super) column: Arc<Column>,
    pub(super) layout: Layout,
    pub(super) groups: Vec<Group>,
    winners: Winners,
    /// Key groups whose first timer has to be read, all of them.
    pub(super) unknown: Vec<u32>,
    pub(super) log: Log,
    /// Bytes of what the database does not know.
    pub(super) dirty: usize,
    /// Memory of all key groups.
    pub(super) size: usize,
    /// Twice of what it cannot let go of, where that is more than the limit.
    pub(super) floor: usize,
    pub(super) limit: Limit,
}

impl Queue {
    /// `empty`: the column family has no timer. `ahead`: see `Limit`.
    pub fn new(
        column: Arc<Column>,
        layout: Layout,
        empty: bool,
        share: Share,
        ahead: usize,
    ) -> Result<Self> {
        if layout.bytes > 2 || layout.groups == 0 || layout.first + layout.groups > 1 << 16 {
            return Err(Error::invalid(format!("key groups of timers: {layout:?}")));
        }
        let limit = Limit::new(share, layout.groups, ahead);
        let groups = (0..layout.groups).map(|_| Group::new(empty)).collect();
        let unknown = if empty { Vec::new() } else { (0..layout.groups as u32).rev().collect() };
        Ok(Self {
            column,
            layout,
            groups,
            winners: Winners::new(layout.groups),
            unknown,
            log: Log::default(),
            dirty: 0,
            size: 0,
            floor: 0,
            limit,
        })
    }

    /// Before each use: knows the first timer of all key groups and has room for a change.
    #[inline]
    fn prepare(&mut self) -> Result<()> {
        self.column.db().check()?;
        let calm = self.unknown.is_empty()
            && self.dirty <= self.limit.most_dirty()
            && self.size <= self.most()
            && !self.limit.is_news(self.size);
        if calm {
            Ok(())
        } else {
            self.settle()
        }
    }

    /// Beyond so many bytes it lets go of some timers.
    #[inline]
    fn most(&self) -> usize {
        self.limit.most().max(self.floor)
    }

    #[cold]
    fn settle(&mut self) -> Result<()> {
        while let Some(group) = self.unknown.last() {
            self.refill(*group as usize)?;
            self.unknown.pop();
        }
        self.limit.take(self.size);
        if self.size > self.most() {
            self.evict()?;
        } else if self.dirty > self.limit.most_dirty() {
            self.flush(Extent::Later)?;
        }
        Ok(())
    }

    /// True if the timer is the first one now.
    pub fn add(&mut self, timer: &[u8]) -> Result<bool> {
        self.prepare()?;
        let (group, body) = self.layout.split(timer)?;
        let key = Key::new(body);
        let of = &self.groups[group];
        let above = of.is_above(&key);
        match of.find(&key) {
            Ok(spot) => {
                if of.mark(spot) == Mark::Delete {
                    self.groups[group].set_mark(spot, Mark::Put);
                }
                Ok(false)
            }
            Err(spot) => {
                self.insert(group, spot, &key, if above { Mark::Put } else { Mark::New });
                if above || !spot.is_first() {
                    return Ok(false);
                }
                self.winners.set(group, Some(key.front));
                Ok(self.winners.first() == Some(group))
            }
        }
    }

    /// True if the timer was the first one.
    pub fn remove(&mut self, timer: &[u8]) -> Result<bool> {
        self.prepare()?;
        let (group, body) = self.layout.split(timer)?;
        let key = Key::new(body);
        let of = &mut self.groups[group];
        match (of.find(&key), of.is_above(&key)) {
            (Ok(spot), true) => of.set_mark(spot, Mark::Delete),
            (Err(spot), true) => self.insert(group, spot, &key, Mark::Delete),
            (Err(_), false) => {}
            (Ok(spot), false) => {
                let was_first = spot.is_first() && self.winners.first() == Some(group);
                self.take_out(group, spot);
                return Ok(was_first);
            }
        }
        Ok(false)
    }

    /// The first timer, which is written to `page` if it fits; its length.
    pub fn first(&mut self, page: &mut [u8]) -> Result<Option<usize>> {
        self.prepare()?;
        let Some(group) = self.winners.first() else { return Ok(None) };
        let key = self.groups[group].first().expect("a winner has a timer");
        let prefix = self.layout.prefix(group);
        let length = prefix.bytes().len() + key.length;
        if let Some(page) = page.get_mut(..length) {
            let (front, body) = page.split_at_mut(prefix.bytes().len());
            front.copy_from_slice(prefix.bytes());
            key.copy_to(body);
        }
        Ok(Some(length))
    }

    /// Removes the first timer; false if there is none.
    pub fn poll(&mut self) -> Result<bool> {
        self.prepare()?;
        let Some(group) = self.winners.first() else { return Ok(false) };
        self.take_out(group, Spot { node: 0, slot: 0 });
        Ok(true)
    }

    #[inline]
    pub(super) fn insert(&mut self, group: usize, spot: Spot, key: &Key<'_>, mark: Mark) {
        let of = &mut self.groups[group];
        let before = of.size();
        of.insert(spot, key, mark);
        self.size = self.size + of.size() - before;
        if mark != Mark::Stored {
            self.dirty += cost(key);
        }
    }

    /// A timer below the bound.
    #[inline]
    fn take_out(&mut self, group: usize, spot: Spot) {
        let of = &mut self.groups[group];
        let before = of.size();
        let key = of.key(spot);
        if of.mark(spot) == Mark::New {
            self.dirty -= cost(&key);
        } else {
            self.dirty += cost(&key);
            self.log.push(self.layout.prefix(group).bytes(), &key);
        }
        of.remove(spot);
        self.size = self.size + of.size() - before;
        if spot.is_first() {
            self.first_changed(group);
        }
    }

    pub(super) fn first_changed(&mut self, group: usize) {
        let of = &self.groups[group];
        let first = of.first().map(|key| key.front);
        self.winners.set(group, first);
        if first.is_none() && of.is_unknown() {
            self.unknown.push(group as u32);
        }
    }

    /// Where reading the timers of a key group begins, once they are flushed; None: it has none.
    pub fn start_of(&mut self, key_group: usize) -> Result<Option<Vec<u8>>> {
        self.prepare()?;
        let group = key_group.wrapping_sub(self.layout.first);
        let Some(of) = self.groups.get(group) else {
            return Err(Error::invalid(format!(
                "key group {key_group} is not one of {:?}",
                self.layout
            )));
        };
        Ok(of.first().map(|key| {
            let mut start = self.layout.prefix(group).bytes().to_vec();
            key.write_to(&mut start);
            start
        }))
    }

    #[must_use]
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Bytes that are not in the database yet, and bytes that the queue takes.
    #[must_use]
    pub fn usage(&self) -> (usize, usize) {
        (self.dirty, self.size)
    }
}

#[inline]
pub(super) fn cost(key: &Key<'_>) -> usize {
    CHANGE + key.length
}
