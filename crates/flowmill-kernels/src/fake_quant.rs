//! Values of fake quantisation, which rounds floats to those of a quantised type, and checks of its inputs.

use flowmill_numeric::fake_quant::QuantizedValues;
use flowmill_runtime::{KernelContext, KernelInit};
use flowmill_tensor::{Result, Shape, Tensor, bail};
use std::cmp::Ordering;

/// The integers that values are rounded to.
#[derive(Clone, Copy, Debug)]
pub struct Levels {
    /// The least integer.
    pub least: f32,
    /// The greatest integer.
    pub greatest: f32,
}

impl Levels {
    /// Reads `num_bits` and `narrow_range`.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for less than 2 or more than 16 bits.
    pub fn new(init: &KernelInit<'_>) -> Result<Levels> {
        let bits: i64 = init.attrs.get_or("num_bits", 8)?;
        if !(2..=16).contains(&bits) {
            bail!(InvalidArgument, "num_bits must be between 2 and 16, inclusive");
        }
        let least = if init.attrs.get_or("narrow_range", false)? { 1.0 } else { 0.0 };
        Ok(Levels { least, greatest: ((1i64 << bits) - 1) as f32 })
    }

    /// Returns the values between two limits, shifted so that zero is one of them.
    pub fn nudged(self, min: f32, max: f32) -> QuantizedValues {
        let scale = (max - min) / (self.greatest - self.least);
        // Not the reciprocal of `scale`, which is rounded twice.
        let inverse = (self.greatest - self.least) / (max - min);
        let zero_point = match self.least - min / scale {
            z if z < self.least => self.least,
            z if z > self.greatest => self.greatest,
            z => z.round(),
        };
        let least = (self.least - zero_point) * scale;
        QuantizedValues { min: least, max: (self.greatest - zero_point) * scale, scale, inverse, zero: (-least * inverse + 0.5).floor() }
    }
}

/// Reads the limits in the attributes, and returns the values between them.
///
/// # Errors
/// Returns `InvalidArgument` if `min` is not below `max`, and the errors of [`Levels::new`].
pub fn values_of_attributes(init: &KernelInit<'_>) -> Result<QuantizedValues> {
    let (min, max): (f32, f32) = (init.attrs.get_or("min", -6.0)?, init.attrs.get_or("max", 6.0)?);
    if min.partial_cmp(&max) != Some(Ordering::Less) {
        bail!(InvalidArgument, "min has to be smaller than max, was: {min} >= {max}");
    }
    Ok(Levels::new(init)?.nudged(min, max))
}

/// Checks that a gradient has the shape of the input.
///
/// # Errors
/// Returns `InvalidArgument` for another shape.
pub fn check_same_size(gradient: &Tensor, input: &Tensor) -> Result<()> {
    if gradient.shape() != input.shape() {
        bail!(InvalidArgument, "gradient and input must be the same size");
    }
    Ok(())
}

/// Returns the number of limits, which are the inputs from `at` on: one, or one for each index of the input's last dimension.
///
/// # Errors
/// Returns `InvalidArgument` for limits of another rank or number, and for a scalar whose channels have limits of their own.
pub fn num_limits(ctx: &KernelContext<'_>, at: usize, input: &Shape, per_channel: bool) -> Result<usize> {
    let depth = match (per_channel, input.last()) {
        (true, Some(&depth)) => depth,
        (true, None) => bail!(InvalidArgument, "inputs must be at least rank 1"),
        (false, _) => 1,
    };
    for (i, name) in [(at, "min"), (at + 1, "max")] {
        let tensor = ctx.input(i)?;
        if tensor.rank() != usize::from(per_channel) {
            bail!(InvalidArgument, "`{name}` must be rank {} but is rank {}", usize::from(per_channel), tensor.rank());
        }
        if tensor.num_elements() != depth {
            bail!(InvalidArgument, "{name} has incorrect size, expected {depth} was {}", tensor.num_elements());
        }
    }
    Ok(depth)
}
