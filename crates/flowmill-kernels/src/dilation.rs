//! Windows of `Dilation2D` and its gradients.

use crate::window::{Geometry, Window};
use flowmill_runtime::KernelInit;
use flowmill_tensor::{Result, Shape, bail};

/// Reads `strides`, `rates` and `padding`.
///
/// # Errors
/// Returns `Unimplemented` for steps over the batch or the channels, and `InvalidArgument` for steps that are not positive.
pub fn geometry(init: &KernelInit<'_>) -> Result<Geometry> {
    let pair = |name: &str| -> Result<[usize; 2]> {
        let values: Vec<i64> = init.attrs.list(name)?;
        let &[1, height, width, 1] = &values[..] else {
            bail!(Unimplemented, "Stride and rates are only supported across spatial dimensions: {name} is {values:?}");
        };
        match (usize::try_from(height), usize::try_from(width)) {
            (Ok(h), Ok(w)) if h > 0 && w > 0 && h < 1 << 31 && w < 1 << 31 => Ok([h, w]),
            _ => bail!(InvalidArgument, "{name} should be positive: {values:?}"),
        }
    };
    let same = match init.attrs.get("padding")? {
        "SAME" => true,
        "VALID" => false,
        other => bail!(InvalidArgument, "Unknown padding type {other}"),
    };
    Ok(Geometry::of(pair("strides")?, pair("rates")?, same))
}

/// Returns the window of a filter `[height, width, channels]` over an image.
///
/// # Errors
/// Returns `InvalidArgument` for a filter of another rank or of other channels than the image's, and for one that is larger than the padded image.
pub fn window(geometry: &Geometry, input: &Shape, filter: &Shape) -> Result<Window> {
    let &[height, width, depth] = filter.dims() else { bail!(InvalidArgument, "filter must be 3-dimensional: {filter}") };
    let w = geometry.window(input, height, width)?;
    if depth != w.channels {
        bail!(InvalidArgument, "input and filter must have the same depth: {} vs {depth}", w.channels);
    }
    Ok(w)
}
