//! Memory for records: segments of one size that are filled from front to end, some of them together in a
//! region, which is taken and given back as a whole. A record's place is where it lies, in words, in all
//! regions one behind the other. Which segments are filled and emptied when is `evict.rs`'s business.
use super::memory::{Memory, HUGE};
use super::record::{Head, HEADER};

/// What is at the beginning of a segment, so that no place is 0.
pub(super) const START: usize = 8;
/// Segments of this size on are put together until they fill a huge page: so small a part of one is
/// unused at most.
const LEAST_TOGETHER: usize = 1 << 17;

pub(super) struct Segment {
    /// Where the next record begins.
    pub(super) end: usize,
    /// Bytes of records that are not dead.
    pub(super) live: usize,
    in_use: bool,
}

const EMPTY: Segment = Segment { end: START, live: 0, in_use: false };

pub(super) struct Arena {
    regions: Vec<Memory>,
    segments: Vec<Segment>,
    /// Bits of a place within a segment and within a region, in words of eight bytes.
    shift: u32,
    region_shift: u32,
}

impl Arena {
    /// `segment`: bytes, a power of two.
    pub(super) fn new(segment: usize) -> Self {
        let region = if segment < LEAST_TOGETHER { segment } else { segment.max(HUGE) };
        Self {
            regions: Vec::new(),
            segments: Vec::new(),
            shift: segment.trailing_zeros() - 3,
            region_shift: region.trailing_zeros() - 3,
        }
    }

    #[inline]
    pub(super) fn segment_bytes(&self) -> usize {
        8 << self.shift
    }

    #[inline]
    pub(super) fn segment_of(&self, place: u32) -> usize {
        (place >> self.shift) as usize
    }

    /// Bytes of the memory that is held.
    pub(super) fn bytes_held(&self) -> usize {
        let held = self.regions.iter().filter(|region| !region.is_none()).count();
        held << (self.region_shift + 3)
    }

    /// The region of a place, and where it lies there.
    #[inline(always)]
    fn find(&self, place: u32) -> (usize, usize) {
        let offset = (place as usize & ((1 << self.region_shift) - 1)) * 8;
        ((place >> self.region_shift) as usize, offset)
    }

    #[inline]
    fn offset(&self, place: u32) -> usize {
        (place as usize & ((1 << self.shift) - 1)) * 8
    }

    fn segments_of(&self, region: usize) -> std::ops::Range<usize> {
        let together = self.region_shift - self.shift;
        region << together..(region + 1) << together
    }

    fn used_of(&self, region: usize) -> usize {
        self.segments[self.segments_of(region)].iter().filter(|segment| segment.in_use).count()
    }

    /// Memory for a segment more; its number.
    pub(super) fn add(&mut self) -> usize {
        let region = self.fullest().unwrap_or_else(|| self.add_region());
        let mut segments = self.segments_of(region);
        let free = segments.find(|segment| !self.segments[*segment].in_use);
        let free = free.expect("the region has a segment that is free");
        self.segments[free] = Segment { in_use: true, ..EMPTY };
        free
    }

    /// Of the regions that have free segments the one with the fewest: so others become empty.
    fn fullest(&self) -> Option<usize> {
        let together = 1 << (self.region_shift - self.shift);
        (0..self.regions.len())
            .filter(|region| !self.regions[*region].is_none())
            .map(|region| (self.used_of(region), region))
            .filter(|(used, _)| *used < together)
            .max()
            .map(|(_, region)| region)
    }

    fn add_region(&mut self) -> usize {
        let memory = Memory::zeroed(8 << self.region_shift);
        if let Some(free) = self.regions.iter().position(Memory::is_none) {
            self.regions[free] = memory;
            return free;
        }
        self.regions.push(memory);
        let region = self.regions.len() - 1;
        self.segments.resize_with(self.segments_of(region).end, || EMPTY);
        region
    }

    pub(super) fn free(&mut self, segment: usize) {
        self.segments[segment] = EMPTY;
        let region = segment >> (self.region_shift - self.shift);
        if self.used_of(region) == 0 {
            self.regions[region] = Memory::none();
        }
    }

    pub(super) fn clear(&mut self, segment: usize) {
        let segment = &mut self.segments[segment];
        segment.end = START;
        segment.live = 0;
    }

    #[inline]
    pub(super) fn segment(&self, segment: usize) -> &Segment {
        &self.segments[segment]
    }

    /// True if a record of so many bytes fits into the rest of a segment.
    #[inline]
    pub(super) fn fits(&self, segment: usize, bytes: usize) -> bool {
        self.segments[segment].end + bytes <= self.segment_bytes()
    }

    /// A record at the end of a segment, in which it fits.
    pub(super) fn append(&mut self, segment: usize, head: Head) -> u32 {
        let bytes = head.bytes();
        let at = &mut self.segments[segment];
        let place = (segment as u32) << self.shift | (at.end / 8) as u32;
        at.end += bytes;
        at.live += bytes;
        self.set_head(place, head);
        place
    }

    /// The first record of a segment.
    pub(super) fn first(&self, segment: usize) -> Option<u32> {
        self.at(segment, START)
    }

    /// The record behind another one, None at the end of its segment.
    pub(super) fn next(&self, place: u32, head: Head) -> Option<u32> {
        self.at(self.segment_of(place), self.offset(place) + head.bytes())
    }

    fn at(&self, segment: usize, offset: usize) -> Option<u32> {
        let there = offset < self.segments[segment].end;
        there.then_some((segment as u32) << self.shift | (offset / 8) as u32)
    }

    #[inline(always)]
    fn bytes(&self, place: u32) -> &[u8] {
        let (region, offset) = self.find(place);
        self.regions[region].behind(offset)
    }

    #[inline(always)]
    fn bytes_mut(&mut self, place: u32) -> &mut [u8] {
        let (region, offset) = self.find(place);
        self.regions[region].behind_mut(offset)
    }

    #[inline(always)]
    pub(super) fn head(&self, place: u32) -> Head {
        let bytes: &[u8; HEADER] = self.bytes(place).first_chunk().expect("records have headers");
        Head::unpack([
            u64::from_ne_bytes(*bytes.first_chunk().expect("16 bytes")),
            u64::from_ne_bytes(*bytes.last_chunk().expect("16 bytes")),
        ])
    }

    #[inline(always)]
    pub(super) fn set_head(&mut self, place: u32, head: Head) {
        let [first, second] = head.pack();
        let bytes: &mut [u8; HEADER] =
            self.bytes_mut(place).first_chunk_mut().expect("records have headers");
        bytes[..8].copy_from_slice(&first.to_ne_bytes());
        bytes[8..].copy_from_slice(&second.to_ne_bytes());
    }

    #[inline(always)]
    pub(super) fn key(&self, place: u32, head: Head) -> &[u8] {
        &self.bytes(place)[HEADER..HEADER + usize::from(head.key_length)]
    }

    /// All the bytes behind the key that are in use.
    #[inline(always)]
    pub(super) fn value(&self, place: u32, head: Head) -> &[u8] {
        let start = HEADER + usize::from(head.key_length);
        &self.bytes(place)[start..start + head.value_length as usize]
    }

    /// All the room behind the key.
    #[inline(always)]
    pub(super) fn room(&mut self, place: u32, head: Head) -> &mut [u8] {
        let start = HEADER + usize::from(head.key_length);
        &mut self.bytes_mut(place)[start..head.bytes()]
    }

    pub(super) fn set_key(&mut self, place: u32, key: &[u8]) {
        self.bytes_mut(place)[HEADER..HEADER + key.len()].copy_from_slice(key);
    }

    /// Copies what a record says into another segment, in which `to` (of the same key) fits.
    pub(super) fn copy(&mut self, place: u32, to: Head, segment: usize) -> u32 {
        let copy = self.append(segment, to);
        let used = usize::from(to.key_length) + to.value_length as usize;
        let (source_region, from) = self.find(place);
        let (target_region, start) = self.find(copy);
        let (from, start) = (from + HEADER, start + HEADER);
        if let Ok([source, target]) = self.regions.get_disjoint_mut([source_region, target_region])
        {
            target[start..start + used].copy_from_slice(&source[from..from + used]);
        } else {
            self.regions[target_region].copy_within(from..from + used, start);
        }
        copy
    }

    /// A record's bytes are given up.
    pub(super) fn bury(&mut self, place: u32, mut head: Head) {
        head.set_kind(super::record::Kind::Dead);
        head.set_dirty(false);
        self.set_head(place, head);
        let segment = self.segment_of(place);
        self.segments[segment].live -= head.bytes();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::record::Kind;

    fn record(arena: &mut Arena, segment: usize, value: &[u8]) -> (u32, Head) {
        let mut head = Head {
            words: ((HEADER + 8 + value.len()) / 8) as u32,
            flags: 0,
            hash: 7,
            value_length: value.len() as u32,
            key_length: 8,
            column: 0,
        };
        head.set_kind(Kind::Value);
        let place = arena.append(segment, head);
        arena.set_key(place, b"the key!");
        arena.room(place, head).copy_from_slice(value);
        (place, head)
    }

    /// Segments of a region are neighbours, others are not.
    #[test]
    fn records_stay_what_they_are_within_a_region_and_beyond() {
        for segment in [1 << 10, LEAST_TOGETHER, HUGE / 4, HUGE, HUGE * 2] {
            let mut arena = Arena::new(segment);
            let value = |n: usize| [n as u8; 256];
            let mut places = Vec::new();
            for n in 0..9 {
                let at = arena.add();
                assert_eq!(at, n, "segments of {segment} bytes");
                while arena.fits(at, HEADER + 8 + 256) {
                    places.push((n, record(&mut arena, at, &value(n))));
                }
            }
            let last = arena.add();
            for (n, (place, head)) in [places[0], places[places.len() - 1]] {
                let copy = arena.copy(place, head, last);
                assert_eq!(arena.segment_of(copy), last);
                places.push((n, (copy, head)));
            }
            for (n, (place, head)) in places {
                assert_eq!(arena.key(place, head), b"the key!");
                assert_eq!(arena.value(place, head), value(n));
            }
        }
    }

    #[test]
    fn what_moves_leaves_room_behind_that_is_mostly_unused() {
        let mut arena = Arena::new(1 << 12);
        let (from, to) = (arena.add(), arena.add());
        let (place, mut head) = record(&mut arena, from, &[7; 256]);
        for (length, capacity) in [(256, 256), (200, 256), (100, 104), (0, 0)] {
            head.value_length = length;
            head.trim();
            let copy = arena.copy(place, head, to);
            assert_eq!(head.capacity(), capacity, "for {length} bytes");
            assert_eq!(arena.value(copy, head), &[7; 256][..length as usize]);
        }
    }

    #[test]
    fn memory_of_a_region_goes_with_its_last_segment_and_is_found_again() {
        let mut arena = Arena::new(HUGE / 4);
        let held = |arena: &Arena| arena.bytes_held() / HUGE;
        (0..8).for_each(|segment| assert_eq!(arena.add(), segment));
        assert_eq!(held(&arena), 2);
        for segment in [1, 2, 3, 4] {
            arena.free(segment);
        }
        assert_eq!(held(&arena), 2);
        assert_eq!(arena.add(), 4, "the region with more records is filled first");
        arena.free(0);
        assert_eq!(held(&arena), 1);
        assert_eq!(arena.add(), 0);
        assert_eq!(held(&arena), 2);
    }
}
