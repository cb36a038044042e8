//! Which reads of single rows bring what they load into the block cache: all as long as it has room, some
//! when each block pushes another one out. What is read often gets in all the same, index and filter at once;
//! what is read once in a large state costs neither the memory nor the work.
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// Of so many reads one, when the cache is full.
const ONE_OF: u32 = 8;
/// After so many reads it is looked whether the cache is full.
const LOOKS_AFTER: u32 = 1 << 10;
/// Steps of 2^32 divided by the golden ratio: whatever pattern reads have, all of its parts get in.
const STEP: u32 = 0x9E37_79B9;

/// Threads that read at once may lose counts, which changes nothing.
#[derive(Default)]
pub(super) struct Admission {
    reads: AtomicU32,
    full: AtomicBool,
}

impl Admission {
    /// True if the next read fills the cache.
    #[inline]
    pub(super) fn next(&self, is_full: impl FnOnce() -> bool) -> bool {
        let reads = self.reads.load(Ordering::Relaxed).wrapping_add(1);
        self.reads.store(reads, Ordering::Relaxed);
        if reads.is_multiple_of(LOOKS_AFTER) {
            self.full.store(is_full(), Ordering::Relaxed);
        }
        !self.full.load(Ordering::Relaxed) || reads.wrapping_mul(STEP) < u32::MAX / ONE_OF
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admitted(admission: &Admission, reads: u32, every: u32, full: bool) -> usize {
        (0..reads).filter(|n| admission.next(|| full) && n.is_multiple_of(every)).count()
    }

    #[test]
    fn all_get_in_while_there_is_room() {
        let admission = Admission::default();
        assert_eq!(admitted(&admission, 10_000, 1, false), 10_000);
    }

    #[test]
    fn some_get_in_when_it_is_full_in_whatever_order_they_come() {
        for every in [1, 2, 3, 7, 8, 16, 64] {
            let admission = Admission::default();
            admitted(&admission, LOOKS_AFTER, 1, true);
            let share = admitted(&admission, 100_000, every, true) * (ONE_OF * every) as usize;
            assert!((90_000..110_000).contains(&share), "every {every}: {share}");
        }
    }

    #[test]
    fn it_notices_that_there_is_room_again() {
        let admission = Admission::default();
        admitted(&admission, LOOKS_AFTER, 1, true);
        admitted(&admission, LOOKS_AFTER, 1, false);
        assert_eq!(admitted(&admission, 1000, 1, false), 1000);
    }
}
