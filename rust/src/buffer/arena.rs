//! Memory for records: segments of one size that are filled from front to end. A record's place is the
//! number of its segment and where it begins there. Which segments are filled and emptied when is
//! `evict.rs`'s business.
use super::record::{Head, HEADER};

/// What is at the beginning of a segment, so that no place is 0.
pub(super) const START: usize = 8;

pub(super) struct Segment {
    /// Empty when it has no memory.
    bytes: Box<[u8]>,
    /// Where the next record begins.
    pub(super) end: usize,
    /// Bytes of records that are not dead.
    pub(super) live: usize,
}

pub(super) struct Arena {
    segments: Vec<Segment>,
    /// Bits of a place within a segment, in words of eight bytes.
    shift: u32,
}

impl Arena {
    /// `segment`: bytes, a power of two.
    pub(super) fn new(segment: usize) -> Self {
        Self { segments: Vec::new(), shift: segment.trailing_zeros() - 3 }
    }

    #[inline]
    pub(super) fn segment_bytes(&self) -> usize {
        8 << self.shift
    }

    #[inline]
    pub(super) fn segment_of(&self, place: u32) -> usize {
        (place >> self.shift) as usize
    }

    #[inline]
    fn offset(&self, place: u32) -> usize {
        (place as usize & ((1 << self.shift) - 1)) * 8
    }

    /// Memory for a segment more; its number.
    pub(super) fn add(&mut self) -> usize {
        let segment = Segment { bytes: vec![0; self.segment_bytes()].into(), end: START, live: 0 };
        match self.segments.iter().position(|s| s.bytes.is_empty()) {
            Some(free) => {
                self.segments[free] = segment;
                free
            }
            None => {
                self.segments.push(segment);
                self.segments.len() - 1
            }
        }
    }

    pub(super) fn free(&mut self, segment: usize) {
        self.segments[segment] = Segment { bytes: Box::default(), end: START, live: 0 };
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

    #[inline]
    fn bytes(&self, place: u32) -> &[u8] {
        &self.segments[self.segment_of(place)].bytes[self.offset(place)..]
    }

    #[inline]
    fn bytes_mut(&mut self, place: u32) -> &mut [u8] {
        let (segment, offset) = (self.segment_of(place), self.offset(place));
        &mut self.segments[segment].bytes[offset..]
    }

    #[inline]
    pub(super) fn head(&self, place: u32) -> Head {
        let bytes: &[u8; HEADER] = self.bytes(place).first_chunk().expect("records have headers");
        Head::unpack([
            u64::from_ne_bytes(*bytes.first_chunk().expect("16 bytes")),
            u64::from_ne_bytes(*bytes.last_chunk().expect("16 bytes")),
        ])
    }

    #[inline]
    pub(super) fn set_head(&mut self, place: u32, head: Head) {
        let [first, second] = head.pack();
        let bytes: &mut [u8; HEADER] =
            self.bytes_mut(place).first_chunk_mut().expect("records have headers");
        bytes[..8].copy_from_slice(&first.to_ne_bytes());
        bytes[8..].copy_from_slice(&second.to_ne_bytes());
    }

    #[inline]
    pub(super) fn key(&self, place: u32, head: Head) -> &[u8] {
        &self.bytes(place)[HEADER..HEADER + usize::from(head.key_length)]
    }

    /// All the bytes behind the key that are in use.
    #[inline]
    pub(super) fn value(&self, place: u32, head: Head) -> &[u8] {
        let start = HEADER + usize::from(head.key_length);
        &self.bytes(place)[start..start + head.value_length as usize]
    }

    /// All the room behind the key.
    #[inline]
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
        let (source_segment, from) = (self.segment_of(place), self.offset(place) + HEADER);
        let (target_segment, start) = (self.segment_of(copy), self.offset(copy) + HEADER);
        if let Ok([source, target]) =
            self.segments.get_disjoint_mut([source_segment, target_segment])
        {
            target.bytes[start..start + used].copy_from_slice(&source.bytes[from..from + used]);
        } else {
            self.segments[target_segment].bytes.copy_within(from..from + used, start);
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
