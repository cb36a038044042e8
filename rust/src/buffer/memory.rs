//! Zeroed memory for a buffer, on huge pages where the system has them: nearly all of a hit's time is
//! waiting for memory, and with small pages half of that is for the tables that say where it lies.
use memmap2::MmapMut;
use std::ops::{Deref, DerefMut};

/// Bytes of a huge page. Less than one gains nothing by it.
pub(super) const HUGE: usize = 2 << 20;

pub(super) struct Memory {
    map: Option<MmapMut>,
    start: usize,
    end: usize,
}

impl Memory {
    pub(super) const fn none() -> Self {
        Self { map: None, start: 0, end: 0 }
    }

    /// A panic when there is no memory: it closes the database, where an allocation would end the process.
    pub(super) fn zeroed(length: usize) -> Self {
        // What lies around the whole huge pages is never touched, so nothing stands behind it.
        let room = if length < HUGE { length } else { length + HUGE };
        let mut map = MmapMut::map_anon(room)
            .unwrap_or_else(|e| panic!("no memory for {length} bytes of the write buffer: {e}"));
        let mut start = 0;
        if length >= HUGE {
            start = map.as_mut_ptr().align_offset(HUGE).min(HUGE);
            // Advice: small pages do as well. For all of it, so that neighbours are one mapping to the system.
            let _ = map.advise(memmap2::Advice::HugePage);
        }
        Self { map: Some(map), start, end: start + length }
    }

    pub(super) fn is_none(&self) -> bool {
        self.map.is_none()
    }

    /// What lies behind an offset.
    #[inline(always)]
    pub(super) fn behind(&self, offset: usize) -> &[u8] {
        self.map.as_ref().map_or(&[], |map| &map[self.start + offset..self.end])
    }

    #[inline(always)]
    pub(super) fn behind_mut(&mut self, offset: usize) -> &mut [u8] {
        let (start, end) = (self.start + offset, self.end);
        self.map.as_mut().map_or(&mut [], |map| &mut map[start..end])
    }
}

impl Deref for Memory {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        self.behind(0)
    }
}

impl DerefMut for Memory {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        self.behind_mut(0)
    }
}
