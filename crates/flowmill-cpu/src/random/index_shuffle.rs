//! `RandomIndexShuffle`: the position of an index in a random permutation, computed without the permutation by a block cipher that has as many bits
//! as the indices (Beaulieu and others: "The Simon and Speck families of lightweight block ciphers", 2013; Black and Rogaway: "Ciphers with
//! arbitrary finite domains").

use crate::from_fn::from_fn;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Shape, Tensor, bail};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("RandomIndexShuffle", make);
}

/// The most rounds of the cipher.
const MAX_ROUNDS: i64 = 1 << 16;
/// The number of bits of the smallest block. Permutations by smaller blocks show patterns.
const MIN_BLOCK: u32 = 16;

fn make(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let rounds: i64 = init.attrs.get_or("rounds", 4)?;
    if rounds < 4 || rounds % 2 != 0 || rounds > MAX_ROUNDS {
        bail!(InvalidArgument, "rounds must be even, at least 4 and at most {MAX_ROUNDS}, got {rounds}");
    }
    let dtype = init.dtype("dtype")?;
    if !matches!(dtype, DType::I32 | DType::U32 | DType::I64 | DType::U64) {
        return init.unsupported();
    }
    from_fn(move |ctx| shuffle(ctx, dtype, rounds as usize))
}

/// Returns integers as 64-bit words; narrower ones are sign-extended.
fn integers(tensor: &Tensor) -> Result<Vec<u64>> {
    Ok(match tensor.dtype() {
        DType::U64 => tensor.as_slice::<u64>()?.to_vec(),
        DType::U32 => tensor.as_slice::<u32>()?.iter().map(|&v| v.into()).collect(),
        _ => tensor.to_i64_vec()?.into_iter().map(|v| v as u64).collect(),
    })
}

/// Computes the op. Inputs: indices, seeds of three numbers, greatest indices. Each is a single one, or a list of as many as the others.
fn shuffle(ctx: &mut KernelContext<'_>, dtype: DType, rounds: usize) -> Result<()> {
    let (index, seed, max) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?);
    let count = index.num_elements().max(max.num_elements()).max(seed.num_elements() / 3);
    let fits = |tensor: &Tensor| tensor.rank() == 0 || tensor.shape().dims() == [count];
    if !fits(index) {
        bail!(InvalidArgument, "Index bust be a scalar or vector.");
    }
    if seed.shape().dims() != [3] && seed.shape().dims() != [count, 3] {
        bail!(InvalidArgument, "Seed must be a vector of size [3] or a matrix of size [{count}, 3] but got {}.", seed.shape());
    }
    if !fits(max) {
        bail!(InvalidArgument, "Maxval must be a scalar or a vector of the same size as index but got {}", max.shape());
    }
    let is_scalar = index.rank() == 0 && seed.rank() == 1 && max.rank() == 0;
    let (indices, seeds, maxima) = (integers(index)?, integers(seed)?, integers(max)?);
    let pick = |values: &[u64], i: usize| if values.len() == 1 { values[0] } else { values[i] };
    let is_signed = matches!(ctx.input(2)?.dtype(), DType::I32 | DType::I64);
    let mut found = Vec::with_capacity(count);
    for i in 0..count {
        let (index, max) = (pick(&indices, i), pick(&maxima, i));
        for (name, value) in [("index", index), ("max_index", max)] {
            if is_signed && (value as i64) < 0 {
                bail!(InvalidArgument, "{name} must be >= 0 but was {}", value as i64);
            }
        }
        if index > max {
            bail!(InvalidArgument, "max_index must be >= index, but {max} < {index}");
        }
        ctx.step().cancel.check()?;
        let seed = &seeds[if seed.rank() == 1 { 0 } else { 3 * i }..][..3];
        found.push(position(index, [seed[0], seed[1], seed[2]], max, rounds));
    }
    let shape = if is_scalar { Shape::scalar() } else { Shape::from([count]) };
    let out = match dtype {
        DType::I32 => ctx.allocator().from_slice(shape, &found.iter().map(|&v| v as i32).collect::<Vec<_>>()),
        DType::U32 => ctx.allocator().from_slice(shape, &found.iter().map(|&v| v as u32).collect::<Vec<_>>()),
        DType::I64 => ctx.allocator().from_slice(shape, &found.iter().map(|&v| v as i64).collect::<Vec<_>>()),
        _ => ctx.allocator().from_slice(shape, &found),
    };
    let out = out?;
    ctx.set_output(0, out);
    Ok(())
}

/// Returns the position of `index` in the permutation of `0..=max`: the index is encrypted until the result is in that range.
fn position(index: u64, seed: [u64; 3], max: u64, rounds: usize) -> u64 {
    if max == 0 {
        return 0;
    }
    let bits = (max as f64).log2().ceil() as u32;
    let word = (bits + bits % 2).clamp(MIN_BLOCK, 64) / 2;
    let keys = keys(seed, rounds, word);
    let mut at = index;
    loop {
        at = encipher(at, &keys, word);
        if at <= max {
            return at;
        }
    }
}

fn mask(word: u32) -> u64 {
    (1 << word) - 1
}

/// Returns the keys of the rounds, which are derived from three words.
fn keys(seed: [u64; 3], rounds: usize, word: u32) -> Vec<u64> {
    let mask = mask(word);
    let right = |x: u64, by: u32| (x >> by | x << (word - by)) & mask;
    let mut keys: Vec<u64> = seed.iter().map(|&key| u64::from(key as u32) & mask).collect();
    // A constant bit sequence, truncated to the word's size.
    let mut bits = 0x7369_f885_192c_0ef5u64 & mask;
    for i in 3..rounds {
        keys.push((0xffff_fffc & mask) ^ (bits & 1) ^ keys[i - 3] ^ right(keys[i - 1], 3) ^ right(keys[i - 1], 4));
        bits >>= 1;
    }
    keys
}

fn encipher(value: u64, keys: &[u64], word: u32) -> u64 {
    let mask = mask(word);
    let left_by = |x: u64, by: u32| (x << by | x >> (word - by)) & mask;
    let f = |x: u64| (left_by(x, 1) & left_by(x, 8)) ^ left_by(x, 2);
    let (mut left, mut right) = (value >> word & mask, value & mask);
    for pair in keys.chunks_exact(2) {
        left ^= f(right) ^ pair[0];
        right ^= f(left) ^ pair[1];
    }
    left << word | right
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_index_has_a_place_of_its_own() {
        for (max, rounds) in [(9, 4), (255, 8), (70_000, 4)] {
            let mut found: Vec<u64> = (0..=max).map(|i| position(i, [1, 2, 3], max, rounds)).collect();
            found.sort_unstable();
            assert!(found.into_iter().eq(0..=max));
        }
        // These are TensorFlow's values.
        let found: Vec<u64> = (0..10).map(|i| position(i, [1, 2, 3], 9, 4)).collect();
        assert_eq!(found, [2, 0, 6, 4, 8, 1, 7, 9, 5, 3]);
    }
}
