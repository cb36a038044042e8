//! Brings changes into the database: sorted by key, in batches of bounded size. What a batch that failed
//! would have written stays dirty, and is written the next time.
use super::group::Spot;
use super::key::Key;
use super::leaf::Mark;
use super::queue::{cost, Queue};
use crate::db::WriteBatch;
use crate::error::Result;
use std::cmp::Ordering;
use std::sync::Arc;

/// A batch is written when it has so many bytes.
const BATCH_BYTES: usize = 1 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    All,
    /// Half of what is dirty at least, first that which comes late in its key group.
    Later,
}

/// Where a change stands: key group and spot.
type Place = (u32, u32, u32);

/// How far a flush is.
#[derive(Default)]
struct Progress {
    /// The log, in the order of its keys, and how much of it is in the database.
    log: Vec<u32>,
    logged: usize,
    /// Changes, and how many of them are in the database.
    places: Vec<Place>,
    placed: usize,
}

impl Queue {
    /// Afterwards the database has all timers and no others.
    pub fn flush_all(&mut self) -> Result<()> {
        self.flush(Extent::All)
    }

    pub(super) fn flush(&mut self, extent: Extent) -> Result<()> {
        if self.dirty == 0 {
            return Ok(());
        }
        if extent == Extent::Later {
            self.flush_from(|nodes| nodes / 2)?;
            if self.dirty <= self.limit.most_dirty() / 2 {
                return Ok(());
            }
        }
        self.flush_from(|_| 0)
    }

    /// Writes the whole log, and of each key group what stands from a leaf on.
    fn flush_from(&mut self, first: impl Fn(usize) -> usize) -> Result<()> {
        let places = self.changes(first);
        let mut progress = Progress { log: self.log.sorted(), places, ..Progress::default() };
        let result = self.write(&mut progress);
        let left = &progress.log[progress.logged..];
        self.log.keep(left);
        self.sweep(&progress.places);
        result
    }

    /// In the order of their keys.
    fn changes(&self, first: impl Fn(usize) -> usize) -> Vec<Place> {
        let mut places = Vec::new();
        for (group, of) in self.groups.iter().enumerate() {
            for node in first(of.nodes())..of.nodes() {
                let leaf = of.leaf(node);
                for slot in (0..leaf.len()).filter(|slot| leaf.mark(*slot) != Mark::Stored) {
                    places.push((group as u32, node as u32, slot as u32));
                }
            }
        }
        places
    }

    fn write(&mut self, progress: &mut Progress) -> Result<()> {
        let mut batch = WriteBatch::new(Arc::clone(&self.column));
        let (mut log, mut place) = (0, 0);
        let mut timer = Vec::new();
        while log < progress.log.len() || place < progress.places.len() {
            let (from_log, from_place) = self.next(progress, log, place, &mut timer);
            if !(from_log && from_place) {
                let put = from_place && self.mark(progress.places[place]) != Mark::Delete;
                match put {
                    true => batch.put(&timer, &[]),
                    false => batch.delete(&timer),
                }
            }
            log += usize::from(from_log);
            place += usize::from(from_place);
            if batch.bytes() >= BATCH_BYTES {
                self.commit(&mut batch, progress, log, place)?;
            }
        }
        self.commit(&mut batch, progress, log, place)
    }

    /// The next timer, and whether it stands in the log and in memory. In both of them: the database has it
    /// and is to have it.
    fn next(
        &self,
        progress: &Progress,
        log: usize,
        place: usize,
        timer: &mut Vec<u8>,
    ) -> (bool, bool) {
        timer.clear();
        let logged = progress.log.get(log).map(|number| self.log.key(*number));
        let order = match progress.places.get(place) {
            Some(place) => {
                timer.extend_from_slice(self.layout.prefix(place.0 as usize).bytes());
                self.key(*place).write_to(timer);
                logged.map_or(Ordering::Greater, |logged| logged.cmp(timer))
            }
            None => Ordering::Less,
        };
        if order == Ordering::Less {
            timer.clear();
            timer.extend_from_slice(logged.unwrap_or_default());
        }
        (order != Ordering::Greater, order != Ordering::Less)
    }

    fn key(&self, (group, node, slot): Place) -> Key<'_> {
        self.groups[group as usize].key(Spot { node: node as usize, slot: slot as usize })
    }

    fn mark(&self, (group, node, slot): Place) -> Mark {
        self.groups[group as usize].mark(Spot { node: node as usize, slot: slot as usize })
    }

    fn commit(
        &mut self,
        batch: &mut WriteBatch,
        progress: &mut Progress,
        log: usize,
        place: usize,
    ) -> Result<()> {
        batch.write()?;
        for number in &progress.log[progress.logged..log] {
            let bytes = self.log.key(*number).get(self.layout.bytes..).unwrap_or_default();
            self.dirty -= cost(&Key::new(bytes));
        }
        for change in progress.placed..place {
            let (group, node, slot) = progress.places[change];
            let spot = Spot { node: node as usize, slot: slot as usize };
            self.dirty -= cost(&self.groups[group as usize].key(spot));
            let of = &mut self.groups[group as usize];
            let above = of.mark(spot) != Mark::New;
            of.set_mark(spot, if above { Mark::Gone } else { Mark::Stored });
        }
        (progress.logged, progress.placed) = (log, place);
        Ok(())
    }

    /// What is above a bound is not kept once it is written.
    fn sweep(&mut self, places: &[Place]) {
        let mut groups: Vec<u32> = places.iter().map(|place| place.0).collect();
        groups.dedup();
        for group in groups {
            let of = &mut self.groups[group as usize];
            let before = of.size();
            of.sweep();
            self.size = self.size + of.size() - before;
        }
    }

    /// After the column family was written to by others. What was changed meanwhile is kept.
    pub fn forget(&mut self) -> Result<()> {
        self.flush_all()?;
        self.unknown.clear();
        for group in 0..self.groups.len() {
            self.groups[group] = super::group::Group::new(false);
            self.first_changed(group);
        }
        self.size = 0;
        Ok(())
    }

    /// How many timers there are.
    pub fn count(&mut self) -> Result<u64> {
        self.flush_all()?;
        let mut count = 0;
        for group in 0..self.groups.len() {
            let start = self.start_of(self.layout.first + group)?;
            let Some(start) = start else { continue };
            let mut rows = self.column.iterate(self.layout.prefix(group).bytes())?;
            rows.seek(start);
            while rows.valid() {
                count += 1;
                rows.next();
            }
            rows.status().map_err(|e| self.column.failure("count timers", &e))?;
        }
        Ok(count)
    }
}
