//! Hashes of names.

use hashbrown::DefaultHashBuilder;
use std::hash::BuildHasher;

/// Hashes names with a key of its own, so that names from outside cannot be chosen to collide.
#[derive(Clone, Default)]
pub(crate) struct NameHasher(DefaultHashBuilder);

/// Half of a hash: what tables keep beside each entry.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct NameHash(u32);

impl NameHasher {
    pub(crate) fn hash(&self, name: &str) -> NameHash {
        NameHash(self.0.hash_one(name) as u32)
    }
}

impl NameHash {
    /// Extends the hash for a hash table, which takes the bucket from the low bits and a tag from the high bits.
    pub(crate) fn spread(self) -> u64 {
        u64::from(self.0) << 32 | u64::from(self.0)
    }
}
