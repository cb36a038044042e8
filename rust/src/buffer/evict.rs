//! Which records stay. Two queues of segments, after S3-FIFO (Yang et al., SOSP 2023): new records go
//! into one of them and move on to the other if they were used twice by the time their segment is
//! emptied; in the other they stay as long as they are used. What passes through once, as in a scan of
//! a large state, so takes no room from what is hot. A segment is emptied as a whole.
use super::record::{Head, Kind};
use super::table::Table;
use crate::error::Result;
use std::collections::VecDeque;

/// The part of all segments that is for new records, once all are in use.
const NEW_PART: usize = 10;
/// Uses after which a new record moves on.
const MOVES_ON: u8 = 2;
/// From this round on nothing stays, so that making room ends.
const LAST_ROUND: u8 = 3;
/// Hashes of records that went; each is four bytes.
const LEAST_GONE: usize = 1 << 10;
const MOST_GONE: usize = 1 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Queue {
    New,
    Kept,
}

#[derive(Default)]
pub(super) struct Queues {
    /// The last segment of each is being filled.
    new: VecDeque<usize>,
    kept: VecDeque<usize>,
    /// Segments with memory and no records.
    spare: Vec<usize>,
    /// By segment.
    is_kept: Vec<bool>,
    /// Hashes of records that left the queue of new ones: what comes back belongs to the kept ones.
    gone: Vec<u32>,
    /// Segments emptied.
    pub(super) evictions: u64,
}

/// How a segment is emptied.
#[derive(Clone, Copy)]
struct Victim {
    segment: usize,
    queue: Queue,
    /// Only dead records go.
    compact: bool,
    round: u8,
}

impl Victim {
    fn keeps(self, head: Head) -> bool {
        self.compact
            || match self.queue {
                Queue::New => self.round < LAST_ROUND && head.uses() >= MOVES_ON,
                Queue::Kept => head.uses() > self.round,
            }
    }
}

impl Queues {
    pub(super) fn last(&self, queue: Queue) -> usize {
        let queue = match queue {
            Queue::New => &self.new,
            Queue::Kept => &self.kept,
        };
        *queue.back().expect("room was made before")
    }

    pub(super) fn queue_of(&self, segment: usize) -> Queue {
        if self.is_kept[segment] {
            Queue::Kept
        } else {
            Queue::New
        }
    }

    pub(super) fn all(&self) -> Vec<usize> {
        self.new.iter().chain(&self.kept).copied().collect()
    }

    pub(super) fn held(&self) -> usize {
        self.new.len() + self.kept.len() + self.spare.len()
    }

    fn of(&mut self, queue: Queue) -> &mut VecDeque<usize> {
        match queue {
            Queue::New => &mut self.new,
            Queue::Kept => &mut self.kept,
        }
    }

    pub(super) fn gone_bytes(&self) -> usize {
        self.gone.len() * size_of::<u32>()
    }

    fn remember_gone(&mut self, hash: u32, capacity: impl FnOnce() -> usize) {
        if self.gone.is_empty() {
            self.gone = vec![0; capacity().clamp(LEAST_GONE, MOST_GONE).next_power_of_two()];
        }
        let at = hash as usize & (self.gone.len() - 1);
        self.gone[at] = hash;
    }

    fn is_gone(&self, hash: u32) -> bool {
        !self.gone.is_empty() && self.gone[hash as usize & (self.gone.len() - 1)] == hash
    }
}

impl Table {
    /// Where a record that is not there yet belongs.
    #[inline]
    pub(super) fn queue_of_new(&self, hash: u32) -> Queue {
        if self.queues.is_gone(hash) {
            Queue::Kept
        } else {
            Queue::New
        }
    }

    #[inline]
    pub(super) fn has_room(&mut self, queue: Queue, bytes: usize) -> bool {
        let last = self.queues.of(queue).back().copied();
        last.is_some_and(|segment| self.arena.fits(segment, bytes))
    }

    /// Makes the last segment of a queue one with room for a record. Flushes when what has to go is dirty:
    /// whoever looked up a record before has to do so again.
    #[cold]
    pub(super) fn make_room(&mut self, queue: Queue) -> Result<()> {
        let segment = self.free_segment()?;
        if self.has_room(queue, self.largest()) {
            // What stays of another segment has begun one.
            self.queues.spare.push(segment);
        } else {
            self.begin(queue, segment);
        }
        self.most_dirty = self.limit.most_dirty();
        Ok(())
    }

    fn begin(&mut self, queue: Queue, segment: usize) {
        let is_kept = &mut self.queues.is_kept;
        if is_kept.len() <= segment {
            is_kept.resize(segment + 1, false);
        }
        is_kept[segment] = queue == Queue::Kept;
        self.queues.of(queue).push_back(segment);
    }

    /// Segments that there may be.
    fn most_segments(&self) -> usize {
        let other = self.index.bytes() + self.queues.gone_bytes();
        self.limit.segments(self.arena.segment_bytes(), other)
    }

    fn free_segment(&mut self) -> Result<usize> {
        let mut round = 0;
        loop {
            if let Some(spare) = self.queues.spare.pop() {
                return Ok(spare);
            }
            if self.queues.held() < self.most_segments() {
                return Ok(self.another());
            }
            self.adapt();
            let (mut victim, held) = (self.victim(), self.queues.held());
            victim.round = round;
            self.evict(victim)?;
            let in_vain = self.queues.held() >= held && self.queues.spare.is_empty();
            round += u8::from(in_vain && !victim.compact && round < LAST_ROUND);
        }
    }

    /// Looks from time to time whether the memory is of use: whenever something is not in it.
    #[inline]
    pub(super) fn adapt(&mut self) {
        let uses = self.found + self.inserted;
        if uses >= self.limit.window() {
            self.limit.adapt(uses, self.found + self.returned);
            self.index.shrink();
            (self.found, self.inserted, self.returned) = (0, 0, 0);
        }
    }

    fn another(&mut self) -> usize {
        let segment = self.arena.add();
        self.charge();
        segment
    }

    /// Tells the memory what is taken.
    fn charge(&mut self) {
        let segments = self.arena.bytes_held();
        self.limit.take(segments + self.index.bytes() + self.queues.gone_bytes());
    }

    /// The segment to be emptied next: one that is mostly dead, or the oldest one of a queue.
    fn victim(&self) -> Victim {
        for (queue, segments) in [(Queue::New, &self.queues.new), (Queue::Kept, &self.queues.kept)]
        {
            for segment in segments.iter().take(segments.len().saturating_sub(1)) {
                let filled = self.arena.segment(*segment);
                if filled.live * 2 < filled.end {
                    return Victim { segment: *segment, queue, compact: true, round: 0 };
                }
            }
        }
        let new_is_large = self.queues.new.len() * NEW_PART > self.queues.held();
        let queue =
            if new_is_large || self.queues.kept.is_empty() { Queue::New } else { Queue::Kept };
        let segments = if queue == Queue::New { &self.queues.new } else { &self.queues.kept };
        let segment = *segments.front().expect("one of the queues has segments");
        Victim { segment, queue, compact: false, round: 0 }
    }

    /// Empties a segment; what stays of it moves.
    fn evict(&mut self, victim: Victim) -> Result<()> {
        self.write_what_goes(victim)?;
        self.queues.evictions += 1;
        let segments = self.queues.of(victim.queue);
        segments.retain(|segment| *segment != victim.segment);
        let mut next = self.arena.first(victim.segment);
        while let Some(place) = next {
            let head = self.arena.head(place);
            if head.kind() != Kind::Dead {
                if victim.keeps(head) {
                    self.keep(victim, place, head);
                } else {
                    self.drop_clean(victim, place, head);
                }
            }
            next = self.arena.next(place, head);
        }
        self.release(victim.segment);
        Ok(())
    }

    /// Brings into the database what would go: what stays may stay dirty.
    fn write_what_goes(&mut self, victim: Victim) -> Result<()> {
        let mut going = Vec::new();
        let mut next = self.arena.first(victim.segment);
        while let Some(place) = next {
            let head = self.arena.head(place);
            if head.kind() != Kind::Dead && !victim.keeps(head) {
                // The rows of a large map are found through it only.
                if head.kind() == Kind::Large && !self.buffered(head.column + 1).dirty.is_empty() {
                    return self.flush_all();
                }
                if head.is_dirty() {
                    going.push(place);
                }
            }
            next = self.arena.next(place, head);
        }
        self.write_places(going)
    }

    fn keep(&mut self, victim: Victim, place: u32, mut head: Head) {
        let queue = if victim.compact { victim.queue } else { Queue::Kept };
        head.trim();
        if !self.has_room(queue, head.bytes()) {
            // One above the limit for as long as the victim is there.
            let segment = self.queues.spare.pop().unwrap_or_else(|| self.arena.add());
            self.begin(queue, segment);
        }
        match (victim.compact, victim.queue) {
            (true, _) => {}
            (false, Queue::New) => head.set_uses(0),
            (false, Queue::Kept) => head.set_uses(head.uses() - 1),
        }
        let segment = self.queues.last(queue);
        let moved = self.arena.copy(place, head, segment);
        self.index.moved(head.hash, place, moved);
        if head.is_dirty() {
            self.buffered_mut(head.column).dirty.push(moved);
        }
    }

    fn drop_clean(&mut self, victim: Victim, place: u32, head: Head) {
        self.index.remove(head.hash, place);
        self.buffered_mut(head.column).records -= 1;
        if victim.queue == Queue::New {
            self.queues.remember_gone(head.hash, || self.limit.most_bytes() / 256);
        }
        debug_assert!(!head.is_dirty(), "{:?} at {place} was not flushed", head.kind());
    }

    /// Nothing of a segment is needed any more.
    fn release(&mut self, segment: usize) {
        let arena = &self.arena;
        for column in self.columns.iter_mut().flatten() {
            column.dirty.retain(|place| arena.segment_of(*place) != segment);
        }
        if self.queues.held() < self.most_segments() {
            self.arena.clear(segment);
            self.queues.spare.push(segment);
        } else {
            self.arena.free(segment);
        }
        self.charge();
    }
}
