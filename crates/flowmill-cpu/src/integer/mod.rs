//! Layers over integers, which the optimiser makes of layers between fake quantisations. TensorFlow's own quantised ops are the family `quantized`.

mod bytes;
mod layers;

use flowmill_runtime::{KernelInit, KernelRegistry};
use flowmill_tensor::{Result, bail};

/// Registers the kernels of this family.
pub(crate) fn register(registry: &mut KernelRegistry) {
    bytes::register(registry);
    layers::register(registry);
}

/// Returns an integer as the byte that means zero.
fn zero_byte(zero: i64) -> Result<u8> {
    match u8::try_from(zero) {
        Ok(zero) => Ok(zero),
        Err(_) => bail!(InvalidArgument, "the zero point must be a byte, not {zero}"),
    }
}

/// Reads the limits `low` and `high` of results, which for bytes lie within a byte.
fn limits(init: &KernelInit<'_>, are_bytes: bool) -> Result<(f32, f32)> {
    let (low, high): (f32, f32) = (init.attrs.get("low")?, init.attrs.get("high")?);
    let fits = |limit: f32| !are_bytes || (0.0..=255.0).contains(&limit);
    if !(low <= high) || !fits(low) || !fits(high) {
        bail!(InvalidArgument, "invalid limits of results: {low} to {high}");
    }
    Ok((low, high))
}
