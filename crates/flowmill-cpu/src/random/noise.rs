//! Random numbers that no seed repeats.

use super::philox::Philox;
use super::stateful::{draw_normal, draw_uniform};
use flowmill_tensor::{Result, Shape, Tensor};
use std::hash::{BuildHasher, Hasher, RandomState};

/// Bits of the system's entropy.
pub(crate) fn entropy() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// The generator of a stateful op's seeds; where both are zero, of the system's entropy.
pub(crate) fn of_seeds(seed: i64, seed2: i64) -> Philox {
    match (seed, seed2) {
        (0, 0) => Philox::from_seeds(entropy(), entropy()),
        _ => Philox::from_seeds(seed as u64, seed2 as u64),
    }
}

/// A tensor of `float32`, uniform in [0, 1).
///
/// # Errors
/// `ResourceExhausted` past the memory limit.
pub(crate) fn uniform_noise(shape: Shape) -> Result<Tensor> {
    draw_uniform::<f32>(of_seeds(0, 0), shape)
}

/// A tensor of normal `float32`.
///
/// # Errors
/// `ResourceExhausted` past the memory limit.
pub(crate) fn normal_noise(shape: Shape) -> Result<Tensor> {
    draw_normal::<f32>(of_seeds(0, 0), shape)
}
