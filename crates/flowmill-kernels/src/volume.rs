//! Windows that slide over NDHWC volumes, for convolutions and pools.

use crate::window::extent;
pub use flowmill_numeric::window::{Axis, Volume};
use flowmill_runtime::KernelInit;
use flowmill_tensor::{Result, Shape, Tensor, bail};

/// Strides, dilations and padding, which are read from attributes once.
#[derive(Clone, Copy, Debug)]
pub struct Steps {
    strides: [usize; 3],
    dilations: [usize; 3],
    same: bool,
}

impl Steps {
    /// Reads `strides`, `dilations` and `padding` of a node with channels last.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for lists that are not five positive numbers, or that stride over the batch or the channels.
    pub fn new(init: &KernelInit<'_>) -> Result<Steps> {
        let op = &init.op_def.name;
        let dilations = if init.attrs.contains("dilations") { sizes(op, "dilations", &init.attrs.list("dilations")?)? } else { [1; 3] };
        let same = match init.attrs.get("padding")? {
            "SAME" => true,
            "VALID" => false,
            other => bail!(InvalidArgument, "Unknown padding type {other}"),
        };
        Ok(Steps { strides: sizes(op, "strides", &init.attrs.list("strides")?)?, dilations, same })
    }

    /// Returns steps with these strides and dilations, with the padding `SAME` or `VALID`.
    pub fn of(strides: [usize; 3], dilations: [usize; 3], same: bool) -> Steps {
        Steps { strides, dilations, same }
    }

    /// Returns the window of sizes `window` that slides over `input`, `[batch, planes, rows, columns, channels]`.
    ///
    /// # Errors
    /// Returns `InvalidArgument` if the window is larger than the padded input.
    pub fn volume(&self, input: &Shape, window: [usize; 3]) -> Result<Volume> {
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
///
/// # Errors
/// Returns `InvalidArgument` for other lists.
pub fn sizes(op: &str, name: &str, values: &[i64]) -> Result<[usize; 3]> {
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

/// Returns the window of a convolution of `input` with `filter`, and the number of output channels.
///
/// # Errors
/// Returns `InvalidArgument` for shapes that do not fit each other, or a window that is larger than the padded input.
pub fn convolution(steps: Steps, input: &Shape, filter: &Shape) -> Result<(Volume, usize)> {
    if input.rank() != 5 {
        bail!(InvalidArgument, "input must be 5-dimensional");
    }
    let &[planes, rows, columns, depth, channels] = filter.dims() else { bail!(InvalidArgument, "filter must be 5-dimensional") };
    if depth != input[4] {
        bail!(InvalidArgument, "input depth must be evenly divisible by filter depth: {} vs {depth}", input[4]);
    }
    Ok((steps.volume(input, [planes, rows, columns])?, channels))
}

/// Checks that the gradient of a convolution has the shape of its output.
///
/// # Errors
/// Returns `InvalidArgument` if it does not.
pub fn check_gradient(volume: &Volume, channels: usize, gradient: &Shape) -> Result<()> {
    let expected = output_shape(volume, channels);
    if *gradient != expected {
        bail!(InvalidArgument, "Dimension mismatch: expected out_backprop of shape {expected}, got {gradient}");
    }
    Ok(())
}

/// The window of a pool, from the attribute `ksize`.
#[derive(Clone, Copy, Debug)]
pub struct Pool {
    steps: Steps,
    window: [usize; 3],
}

impl Pool {
    /// Reads the attributes of a pool with channels last.
    ///
    /// # Errors
    /// Returns the errors of [`Steps::new`] and [`sizes`].
    pub fn new(init: &KernelInit<'_>) -> Result<Pool> {
        Ok(Pool { steps: Steps::new(init)?, window: sizes(&init.op_def.name, "ksize", &init.attrs.list("ksize")?)? })
    }

    /// Returns the window that slides over `input`.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for an input of another rank, or one that is smaller than the window.
    pub fn volume(&self, input: &Shape) -> Result<Volume> {
        if input.rank() != 5 {
            bail!(InvalidArgument, "tensor_in must be 5-dimensional");
        }
        self.steps.volume(input, self.window)
    }
}

/// Checks that tensors, which are named in the error, have the shape of a pool's output.
///
/// # Errors
/// Returns `InvalidArgument` for one that has another shape.
pub fn check_outputs(volume: &Volume, shapes: &[(&str, &Shape)]) -> Result<()> {
    let expected = output_shape(volume, volume.channels);
    match shapes.iter().find(|(_, shape)| **shape != expected) {
        Some((name, shape)) => bail!(InvalidArgument, "Expected {name} shape to be {expected}, but got {shape}"),
        None => Ok(()),
    }
}

/// Reads the shape of a pool's input from the sizes that its gradient is given.
///
/// # Errors
/// Returns `InvalidArgument` if there are not five sizes.
pub fn input_shape(sizes: &Tensor) -> Result<Shape> {
    if sizes.rank() != 1 || sizes.num_elements() != 5 {
        bail!(InvalidArgument, "orig_input_shape must be 1-dimensional and 5 elements");
    }
    sizes.to_shape()
}

/// Returns the output's shape, with this many channels.
pub fn output_shape(volume: &Volume, channels: usize) -> Shape {
    let [a, b, c] = volume.axes;
    Shape::from([volume.batch, a.output, b.output, c.output, channels])
}
