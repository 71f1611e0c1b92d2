//! Features of sound.

use super::{common, dims};
use flowmill_graph::InferenceContext as Context;
use flowmill_tensor::{PartialShape, Result, bail};

/// `[samples, channels]` to `[channels, windows, frequencies]`.
pub(crate) fn audio_spectrogram(c: &mut Context<'_>) -> Result<()> {
    let input = dims::with_rank(&c.input(0), 2)?;
    let (size, stride): (i64, i64) = (c.attrs().get("window_size")?, c.attrs().get("stride")?);
    if size <= 1 {
        bail!(InvalidArgument, "window size must be > 1, got {size}");
    }
    if stride <= 0 {
        bail!(InvalidArgument, "stride must be strictly positive, got {stride}");
    }
    let length = match dims::size(&input, 0) {
        samples if samples < 0 => dims::UNKNOWN,
        samples if samples < size => 0,
        samples => 1 + (samples - size) / stride,
    };
    let Some(transform) = (size as u64).checked_next_power_of_two() else { bail!(InvalidArgument, "window size {size} is too large") };
    c.set_output(0, PartialShape::new(&[dims::size(&input, 1), length, 1 + (transform / 2) as i64]));
    Ok(())
}

/// `[channels, windows, frequencies]` to `[channels, windows, coefficients]`.
pub(crate) fn mfcc(c: &mut Context<'_>) -> Result<()> {
    let spectrogram = dims::with_rank(&c.input(0), 3)?;
    common::expect_scalar(c, 1)?;
    let coefficients: i64 = c.attrs().get("dct_coefficient_count")?;
    if coefficients < -1 {
        bail!(InvalidArgument, "dct_coefficient_count must be positive, got {coefficients}");
    }
    c.set_output(0, PartialShape::new(&[dims::size(&spectrogram, 0), dims::size(&spectrogram, 1), coefficients]));
    Ok(())
}
