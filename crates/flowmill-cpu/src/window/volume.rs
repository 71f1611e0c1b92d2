//! Windows that slide over NDHWC volumes.

use super::extent;
use flowmill_numeric::window::{Axis, Volume};
use flowmill_runtime::KernelInit;
use flowmill_tensor::{Result, Shape, bail};

/// Strides, dilations and padding, which are read from attributes once.
#[derive(Clone, Copy)]
pub(crate) struct Steps {
    strides: [usize; 3],
    dilations: [usize; 3],
    same: bool,
}

impl Steps {
    /// Reads `strides`, `dilations` and `padding` of a node with channels last.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for lists that are not five positive numbers, or that stride over the batch or the channels.
    pub(crate) fn new(init: &KernelInit<'_>) -> Result<Steps> {
        let op = &init.op_def.name;
        let dilations = if init.attrs.contains("dilations") { sizes(op, "dilations", &init.attrs.list("dilations")?)? } else { [1; 3] };
        let same = match init.attrs.get("padding")? {
            "SAME" => true,
            "VALID" => false,
            other => bail!(InvalidArgument, "Unknown padding type {other}"),
        };
        Ok(Steps { strides: sizes(op, "strides", &init.attrs.list("strides")?)?, dilations, same })
    }

    /// Returns the window of sizes `window` that slides over `input`, `[batch, planes, rows, columns, channels]`.
    ///
    /// # Errors
    /// Returns `InvalidArgument` if the window is larger than the padded input.
    pub(crate) fn volume(&self, input: &Shape, window: [usize; 3]) -> Result<Volume> {
        let &[batch, planes, rows, columns, channels] = input.dims() else {
            bail!(InvalidArgument, "input must be 5-dimensional: {input}");
        };
        let axis = |input: usize, d: usize| -> Result<Axis> {
            let (stride, dilation) = (self.strides[d], self.dilations[d]);
            let (output, pad) = extent(input, window[d], stride, dilation, self.same, (0, 0))?;
            Ok(Axis { input, window: window[d], stride, dilation, pad, output })
        };
        if window.iter().try_fold(1usize, |n, &size| n.checked_mul(size)).is_none() {
            bail!(InvalidArgument, "a window of {window:?} has too many elements");
        }
        Ok(Volume { batch, axes: [axis(planes, 0)?, axis(rows, 1)?, axis(columns, 2)?], channels })
    }
}

/// Returns the inner three of five positive numbers, the first and the last of which must be one.
pub(crate) fn sizes(op: &str, name: &str, values: &[i64]) -> Result<[usize; 3]> {
    let &[batch, a, b, c, channels] = values else {
        bail!(InvalidArgument, "Sliding window {name} field must specify 5 dimensions");
    };
    if batch != 1 || channels != 1 {
        bail!(InvalidArgument, "Current implementation of {op} does not yet support {name} in the batch and depth dimensions.");
    }
    let mut sizes = [0; 3];
    for (size, value) in sizes.iter_mut().zip([a, b, c]) {
        match usize::try_from(value) {
            Ok(n) if n > 0 && n < 1 << 31 => *size = n,
            _ => bail!(InvalidArgument, "{op}: {name} must be positive, got {values:?}"),
        }
    }
    Ok(sizes)
}

/// Returns the output's shape, with this many channels.
pub(crate) fn output_shape(volume: &Volume, channels: usize) -> Shape {
    let [a, b, c] = volume.axes;
    Shape::from([volume.batch, a.output, b.output, c.output, channels])
}
