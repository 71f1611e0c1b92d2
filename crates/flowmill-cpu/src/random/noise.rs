//! Random numbers that no seed repeats.

use super::philox::of_seeds;
use super::stateful::{draw_normal, draw_uniform};
use flowmill_tensor::{Result, Shape, Tensor};

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
