//! Random numbers that cannot be reproduced by a seed.

use super::philox::of_seeds;
use super::stateful::{draw_normal, draw_uniform};
use flowmill_tensor::{Allocator, Result, Shape, Tensor};

/// Returns a tensor of `float32` numbers that are uniform in [0, 1).
///
/// # Errors
/// Returns `ResourceExhausted` past the memory limit.
pub(crate) fn uniform_noise(alloc: &Allocator, shape: Shape) -> Result<Tensor> {
    draw_uniform::<f32>(alloc, of_seeds(0, 0), shape)
}

/// Returns a tensor of normal `float32` numbers.
///
/// # Errors
/// Returns `ResourceExhausted` past the memory limit.
pub(crate) fn normal_noise(alloc: &Allocator, shape: Shape) -> Result<Tensor> {
    draw_normal::<f32>(alloc, of_seeds(0, 0), shape)
}
