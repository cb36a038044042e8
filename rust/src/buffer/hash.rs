//! The hash of a key: a folded multiplication over eight bytes at a time, seeded once a process so that
//! nobody can choose keys that collide.
use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;

const ODD: u64 = 0x9E37_79B9_7F4A_7C15;

fn seed() -> u64 {
    static SEED: OnceLock<u64> = OnceLock::new();
    *SEED.get_or_init(|| RandomState::new().hash_one(0u8) | 1)
}

/// Hashes keys of one database.
#[derive(Clone, Copy)]
pub(super) struct Hasher(u64);

#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

#[inline]
fn word(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |word| u64::from_le_bytes(*word))
}

impl Hasher {
    pub(super) fn new() -> Self {
        Self(seed())
    }

    /// `id` tells apart the spaces of keys.
    #[inline(always)]
    pub(super) fn hash(self, id: u32, key: &[u8]) -> u32 {
        let mut state = self.0 ^ (u64::from(id) << 32) ^ key.len() as u64;
        let mut rest = key;
        while rest.len() > 8 {
            state = fold(state ^ word(rest), ODD);
            rest = &rest[8..];
        }
        let last = match (key.len(), rest.len()) {
            // The last eight bytes, some of them for the second time.
            (8.., _) => word(&key[key.len() - 8..]),
            (_, 0) => 0,
            (_, length) => {
                let mut word = [0; 8];
                word[..length].copy_from_slice(rest);
                u64::from_le_bytes(word)
            }
        };
        (fold(fold(state ^ last, ODD), self.0) >> 32) as u32
    }
}
