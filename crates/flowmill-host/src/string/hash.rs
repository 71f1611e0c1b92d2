//! Hashing of strings to buckets. Saved models rely on the hash functions, so they never change.

use super::fingerprint64;
use super::map_to_numbers;
use flowmill_runtime::{Kernel, KernelInit, KernelRegistry};
use flowmill_tensor::{Result, bail};
use siphasher::sip::SipHasher24;
use std::hash::Hasher;
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("StringToHashBucket", |init| make_buckets(init, murmur));
    registry.add("StringToHashBucketFast", |init| make_buckets(init, fingerprint64));
    registry.add("StringToHashBucketStrong", make_strong_buckets);
}

fn num_buckets(init: &KernelInit<'_>) -> Result<u64> {
    match init.attrs.get::<i64>("num_buckets")? {
        n if n >= 1 => Ok(n as u64),
        n => bail!(InvalidArgument, "num_buckets must be at least 1, got {n}"),
    }
}

fn make_buckets(init: &KernelInit<'_>, hash: fn(&[u8]) -> u64) -> Result<Arc<dyn Kernel>> {
    let buckets = num_buckets(init)?;
    map_to_numbers(move |s| Ok((hash(s) % buckets) as i64))
}

/// Makes the kernel of `StringToHashBucketStrong`, which uses SipHash-2-4 with the key of two words in the attribute `key`.
fn make_strong_buckets(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let buckets = num_buckets(init)?;
    let [first, second] = init.attrs.list::<i64>("key")?[..] else { bail!(InvalidArgument, "Key must have 2 elements") };
    map_to_numbers(move |s| {
        let mut hasher = SipHasher24::new_with_keys(first as u64, second as u64);
        hasher.write(s);
        Ok((hasher.finish() % buckets) as i64)
    })
}

/// Returns the hash of MurmurHash64A by Austin Appleby, with the seed of TensorFlow's `Hash64`.
pub(crate) fn murmur(s: &[u8]) -> u64 {
    const SEED: u64 = 0x00DE_CAFC_AFFE;
    const MULTIPLIER: u64 = 0xc6a4_a793_5bd1_e995;
    const SHIFT: u32 = 47;
    let mut hash = SEED ^ (s.len() as u64).wrapping_mul(MULTIPLIER);
    let (words, rest) = s.as_chunks::<8>();
    for word in words {
        let mut k = u64::from_le_bytes(*word).wrapping_mul(MULTIPLIER);
        k = (k ^ k >> SHIFT).wrapping_mul(MULTIPLIER);
        hash = (hash ^ k).wrapping_mul(MULTIPLIER);
    }
    if !rest.is_empty() {
        let tail = rest.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
        hash = (hash ^ tail).wrapping_mul(MULTIPLIER);
    }
    hash = (hash ^ hash >> SHIFT).wrapping_mul(MULTIPLIER);
    hash ^ hash >> SHIFT
}
