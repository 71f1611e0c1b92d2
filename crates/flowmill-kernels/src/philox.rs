//! The Philox 4×32 generator with ten rounds, by Salmon, Moraes, Dror and Shaw: "Parallel random numbers: as easy as 1, 2, 3" (SC 2011).

use std::hash::{BuildHasher, Hasher, RandomState};

const MULTIPLIERS: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];
const WEYL: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];
const ROUNDS: usize = 10;

/// The key with which TensorFlow mixes a stateless op's two seeds into a key and a counter.
const SCRAMBLE_KEY: [u32; 2] = [0x3ec8_f720, 0x0246_1e29];

/// A position in one of 2^64 streams of 2^128 blocks of four 32-bit numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Philox {
    key: u64,
    counter: u128,
}

impl Philox {
    /// Returns the generator at block `counter` of the stream `key`.
    pub fn new(key: u64, counter: u128) -> Philox {
        Philox { key, counter }
    }

    /// Returns the generator for a stateful op's seeds.
    pub fn from_seeds(seed: u64, seed2: u64) -> Philox {
        Philox { key: seed, counter: u128::from(seed2) << 64 }
    }

    /// Returns the generator for a stateless op's seeds.
    pub fn from_stateless_seed([seed, seed2]: [u64; 2]) -> Philox {
        let key = u64::from(SCRAMBLE_KEY[1]) << 32 | u64::from(SCRAMBLE_KEY[0]);
        let [a, b, c, d] = Philox { key, counter: u128::from(seed2) << 64 | u128::from(seed) }.block();
        Philox { key: u64::from(b) << 32 | u64::from(a), counter: (u128::from(d) << 32 | u128::from(c)) << 64 }
    }

    /// Returns the number of the stream.
    pub fn key(&self) -> u64 {
        self.key
    }

    /// Returns the counter's low and high word.
    pub fn counter(&self) -> [u64; 2] {
        [self.counter as u64, (self.counter >> 64) as u64]
    }

    /// Advances the counter by `blocks`. If the upper 32 bits of `blocks` are all ones, the carry from the lower 32 bits is lost, so that the
    /// counter moves back in most cases: TensorFlow adds 32 bits at a time and has this bug.
    pub fn skip(&mut self, blocks: u64) {
        let (low, carry) = (self.counter as u64).overflowing_add(blocks);
        let lost = blocks >> 32 == u64::from(u32::MAX) && (self.counter as u32).overflowing_add(blocks as u32).1;
        let high = ((self.counter >> 64) as u64).wrapping_add(u64::from(carry && !lost));
        self.counter = u128::from(high) << 64 | u128::from(low);
    }

    /// Returns a copy of the generator at its current position, and advances this one by the `blocks` that the copy may use.
    pub fn reserve(&mut self, blocks: u64) -> Philox {
        let reserved = *self;
        self.skip(blocks);
        reserved
    }

    /// Returns the block at the current position.
    fn block(&self) -> [u32; 4] {
        let mut x = words_of(self.counter);
        let mut key = words_of(self.key.into());
        for _ in 0..ROUNDS {
            x = round(x, key);
            key = next_key(key);
        }
        x
    }

    /// Stores the block at the current position and those after it in `blocks`, and advances past them. It takes a fraction of the time of single blocks,
    /// each of whose rounds has to wait for the one before.
    pub fn fill(&mut self, blocks: &mut [[u32; 4]]) {
        if blocks.len() < MIN_BLOCKS {
            return blocks.iter_mut().for_each(|block| *block = self.next());
        }
        fill_blocks(self.key, self.counter, blocks);
        self.counter = self.counter.wrapping_add(blocks.len() as u128);
    }

    /// Returns the block at the current position and advances by one.
    #[inline]
    #[allow(clippy::should_implement_trait, reason = "the blocks never end, so there is no option")]
    pub fn next(&mut self) -> [u32; 4] {
        let block = self.block();
        self.counter = self.counter.wrapping_add(1);
        block
    }
}

/// Returns the 32-bit words of a number, the lowest first.
#[inline(always)]
fn words_of(x: u128) -> [u32; 4] {
    [x as u32, (x >> 32) as u32, (x >> 64) as u32, (x >> 96) as u32]
}

/// Returns a block after one more round, whose key is in the first words of `key`.
#[inline(always)]
fn round(x: [u32; 4], key: [u32; 4]) -> [u32; 4] {
    let (p, q) = (u64::from(MULTIPLIERS[0]) * u64::from(x[0]), u64::from(MULTIPLIERS[1]) * u64::from(x[2]));
    [(q >> 32) as u32 ^ x[1] ^ key[0], q as u32, (p >> 32) as u32 ^ x[3] ^ key[1], p as u32]
}

/// Returns the key of the round after the one with `key`.
#[inline(always)]
fn next_key(key: [u32; 4]) -> [u32; 4] {
    [key[0].wrapping_add(WEYL[0]), key[1].wrapping_add(WEYL[1]), 0, 0]
}

/// The number of blocks whose rounds are computed side by side.
const LANES: usize = 32;
/// The number of blocks from which on they are computed side by side; fewer would fill a small part of the lanes.
const MIN_BLOCKS: usize = 8;

flowmill_numeric::dispatch! {
    #[allow(clippy::needless_range_loop)]
    /// Stores the blocks from `counter` on.
    fn fill_blocks(key: u64, counter: u128, blocks: &mut [[u32; 4]]) {
        for (i, blocks) in blocks.chunks_mut(LANES).enumerate() {
            // An array for each word of a block, which is a vector in the loop over the lanes.
            let (mut a, mut b, mut c, mut d) = ([0; LANES], [0; LANES], [0; LANES], [0; LANES]);
            for lane in 0..blocks.len() {
                [a[lane], b[lane], c[lane], d[lane]] = words_of(counter.wrapping_add((i * LANES + lane) as u128));
            }
            let mut key = words_of(key.into());
            // Without a known number of rounds, compilers write the code of one round and not that of all.
            for _ in 0..std::hint::black_box(ROUNDS) {
                for lane in 0..LANES {
                    [a[lane], b[lane], c[lane], d[lane]] = round([a[lane], b[lane], c[lane], d[lane]], key);
                }
                key = next_key(key);
            }
            for (lane, block) in blocks.iter_mut().enumerate() {
                *block = [a[lane], b[lane], c[lane], d[lane]];
            }
        }
    }
}

/// An iterator over the single numbers of a generator.
pub struct Numbers {
    generator: Philox,
    block: [u32; 4],
    used: usize,
}

impl Numbers {
    /// Returns the numbers of `generator`, beginning with its next block.
    pub fn new(generator: Philox) -> Numbers {
        Numbers { generator, block: [0; 4], used: 4 }
    }

    /// Returns the next number.
    #[inline]
    #[allow(clippy::should_implement_trait, reason = "the numbers never end, so there is no option")]
    pub fn next(&mut self) -> u32 {
        if self.used == self.block.len() {
            self.block = self.generator.next();
            self.used = 0;
        }
        self.used += 1;
        self.block[self.used - 1]
    }

    /// Returns a uniform number in [0, 1) with 23 random bits.
    #[inline]
    pub fn uniform(&mut self) -> f32 {
        uniform_f32(self.next())
    }

    /// Returns a uniform number in [0, 1) with 52 random bits.
    #[inline]
    pub fn uniform_double(&mut self) -> f64 {
        uniform_f64(self.next(), self.next())
    }

    /// Returns a uniform number in `0..n`, or 0 if `n` is 0.
    #[inline]
    pub fn below(&mut self, n: u32) -> u32 {
        below(u64::from(n), u64::from(u32::MAX), || u64::from(self.next())) as u32
    }

    /// Like [`Numbers::below`], with 64 random bits per attempt.
    pub fn below_long(&mut self, n: u64) -> u64 {
        below(n, u64::MAX, || u64::from(self.next()) | u64::from(self.next()) << 32)
    }
}

/// Returns a uniform number below `n`. `draw` returns random numbers up to `most`, whose bits are all ones.
fn below(n: u64, most: u64, mut draw: impl FnMut() -> u64) -> u64 {
    if n == 0 || n.is_power_of_two() {
        return draw() & n.saturating_sub(1);
    }
    // With the least numbers, small remainders would be more likely than others, so these numbers are rejected.
    let surplus = most % n + 1;
    loop {
        let number = draw();
        if number >= surplus {
            return number % n;
        }
    }
}

/// Returns the uniform number in [0, 1) that has 23 bits of `x`.
#[inline]
pub fn uniform_f32(x: u32) -> f32 {
    f32::from_bits(0x7f << 23 | x & 0x7f_ffff) - 1.0
}

/// Returns the uniform number in [0, 1) that has 52 bits of `low` and `high`.
#[inline]
pub fn uniform_f64(low: u32, high: u32) -> f64 {
    f64::from_bits(0x3ff << 52 | u64::from(low & 0xf_ffff) << 32 | u64::from(high)) - 1.0
}

/// Returns bits of the operating system's entropy.
pub fn entropy() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// Returns the generator for a stateful op's seeds, seeded from the operating system's entropy if both are zero.
pub fn of_seeds(seed: i64, seed2: i64) -> Philox {
    match (seed, seed2) {
        (0, 0) => Philox::from_seeds(entropy(), entropy()),
        _ => Philox::from_seeds(seed as u64, seed2 as u64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_made_together_are_those_made_one_by_one() {
        for counter in [0, u128::from(u64::MAX) - 20, u128::MAX - 5] {
            for count in [0, 1, 7, 8, 32, 90] {
                let (mut together, mut single) = (Philox::new(0x1234_5678_9abc_def0, counter), Philox::new(0x1234_5678_9abc_def0, counter));
                let mut blocks = vec![[0; 4]; count];
                together.fill(&mut blocks);
                let expected: Vec<[u32; 4]> = (0..count).map(|_| single.next()).collect();
                assert_eq!(blocks, expected, "{count} blocks from {counter}");
                assert_eq!(together, single);
            }
        }
    }
}
