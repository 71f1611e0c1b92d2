//! Strides, dilations and padding of convolutions and pools, which are read from attributes once and applied to an input's shape.

pub use flowmill_numeric::window::Window;
use flowmill_runtime::KernelInit;
use flowmill_tensor::{Result, Shape, bail};

/// The geometry of a window that slides over NHWC images.
#[derive(Clone, Debug)]
pub struct Geometry {
    strides: [usize; 2],
    dilations: [usize; 2],
    padding: Padding,
}

#[derive(Clone, Debug, PartialEq)]
enum Padding {
    Same,
    Valid,
    /// The padding at top, bottom, left and right.
    Explicit([usize; 4]),
}

impl Geometry {
    /// Reads `strides`, `dilations`, `padding` and `explicit_paddings` of a node with channels last.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for lists that are not four positive numbers, and `Unimplemented` for strides over the batch or over depth.
    pub fn new(init: &KernelInit<'_>) -> Result<Geometry> {
        // Some pools have their strides as an input.
        let strides = if init.attrs.contains("strides") { init.attrs.list("strides")? } else { vec![1; 4] };
        Geometry::new_with_strides(init, &strides)
    }

    /// Like [`Geometry::new`], with the given strides instead of the attribute's.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for lists that are not four positive numbers, and `Unimplemented` for strides over the batch or over depth.
    pub fn new_with_strides(init: &KernelInit<'_>, strides: &[i64]) -> Result<Geometry> {
        let op = init.op_def.name.as_str();
        let dilations = if init.attrs.contains("dilations") { positive(op, "dilations", &init.attrs.list("dilations")?)? } else { [1, 1] };
        let padding = match init.attrs.get("padding")? {
            "SAME" => Padding::Same,
            // Ops for which TensorFlow declares no explicit paddings get them from the pass `fuse_epilogues` in an attribute of the project.
            "VALID" if init.attrs.contains("_explicit_paddings") => Padding::Explicit(explicit(&init.attrs.list("_explicit_paddings")?)?),
            "VALID" => Padding::Valid,
            "EXPLICIT" => Padding::Explicit(explicit(&init.attrs.list("explicit_paddings")?)?),
            other => bail!(InvalidArgument, "Unknown padding type {other}"),
        };
        Ok(Geometry { strides: positive(op, "strides", strides)?, dilations, padding })
    }

    /// Returns a geometry with these strides and dilations, with the padding `SAME` or `VALID`.
    pub fn of(strides: [usize; 2], dilations: [usize; 2], same: bool) -> Geometry {
        Geometry { strides, dilations, padding: if same { Padding::Same } else { Padding::Valid } }
    }

    /// Returns the geometry with the strides of one call.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for strides that are not four positive numbers, and `Unimplemented` for strides over the batch or over depth.
    pub fn with_strides(&self, op: &str, strides: &[i64]) -> Result<Geometry> {
        Ok(Geometry { strides: positive(op, "strides", strides)?, ..self.clone() })
    }

    /// Checks that a window of `height` × `width` contains an element of the image wherever it is placed.
    ///
    /// # Errors
    /// Returns `InvalidArgument` if an explicit padding is not smaller than the window.
    pub fn check_padding(&self, height: usize, width: usize) -> Result<()> {
        let Padding::Explicit([top, bottom, left, right]) = self.padding else { return Ok(()) };
        for (name, padding, size) in [("Top", top, height), ("Bottom", bottom, height), ("Left", left, width), ("Right", right, width)] {
            if padding >= size {
                bail!(InvalidArgument, "{name} padding {padding} needs to be smaller than the window size {size}");
            }
        }
        Ok(())
    }

    /// Returns the window of `height` × `width` that slides over `input`, `[batch, height, width, channels]`.
    ///
    /// # Errors
    /// Returns `InvalidArgument` if the window is larger than the padded input.
    pub fn window(&self, input: &Shape, height: usize, width: usize) -> Result<Window> {
        let &[batch, in_height, in_width, channels] = input.dims() else {
            bail!(InvalidArgument, "input must be 4-dimensional: {input}");
        };
        let (top, bottom, left, right) = match self.padding {
            Padding::Explicit([t, b, l, r]) => (t, b, l, r),
            _ => (0, 0, 0, 0),
        };
        let same = self.padding == Padding::Same;
        let (out_height, pad_top) = extent(in_height, height, self.strides[0], self.dilations[0], same, (top, bottom))?;
        let (out_width, pad_left) = extent(in_width, width, self.strides[1], self.dilations[1], same, (left, right))?;
        Ok(Window {
            batch,
            in_height,
            in_width,
            channels,
            height,
            width,
            stride_height: self.strides[0],
            stride_width: self.strides[1],
            dilation_height: self.dilations[0],
            dilation_width: self.dilations[1],
            pad_top,
            pad_left,
            out_height,
            out_width,
        })
    }
}

/// Returns the number of output positions along one dimension, and the padding before the input.
///
/// # Errors
/// Returns `InvalidArgument` for a window without elements, or larger than the padded input.
pub fn extent(input: usize, window: usize, stride: usize, dilation: usize, same: bool, pads: (usize, usize)) -> Result<(usize, usize)> {
    if window == 0 {
        bail!(InvalidArgument, "filter must not have zero elements");
    }
    let reach = (window - 1).checked_mul(dilation).and_then(|r| r.checked_add(1));
    let Some(reach) = reach.filter(|&r| r < 1 << 40) else {
        bail!(InvalidArgument, "a window of {window} with dilation {dilation} is too large")
    };
    if same {
        let output = input.div_ceil(stride);
        let padding = (output.saturating_sub(1) * stride + reach).saturating_sub(input);
        return Ok((output, padding / 2));
    }
    let padded = input.saturating_add(pads.0).saturating_add(pads.1);
    if padded < reach {
        // If the window is slightly too large, the output is empty, as in TensorFlow; if it is larger than that, it is an error.
        if padded + stride < reach {
            bail!(
                InvalidArgument,
                "Computed output size would be negative: -1 [input_size: {input}, effective_filter_size: {reach}, stride: {stride}]"
            );
        }
        return Ok((0, pads.0));
    }
    Ok(((padded - reach) / stride + 1, pads.0))
}

fn positive(op: &str, name: &str, values: &[i64]) -> Result<[usize; 2]> {
    let &[batch, height, width, depth] = values else {
        bail!(InvalidArgument, "Sliding window {name} field must specify 4 dimensions");
    };
    if batch != 1 || depth != 1 {
        bail!(Unimplemented, "Current implementation of {op} does not yet support {name} in the batch and depth dimensions.");
    }
    match (usize::try_from(height), usize::try_from(width)) {
        (Ok(h), Ok(w)) if h > 0 && w > 0 && h < 1 << 31 && w < 1 << 31 => Ok([h, w]),
        _ => bail!(InvalidArgument, "{op}: {name} must be positive, got {values:?}"),
    }
}

fn explicit(values: &[i64]) -> Result<[usize; 4]> {
    let Ok(values) = values.iter().map(|&v| usize::try_from(v)).collect::<Result<Vec<_>, _>>() else {
        bail!(InvalidArgument, "All elements of explicit_paddings must be nonnegative for spatial dimensions: {values:?}");
    };
    match values[..] {
        [0, 0, t, b, l, r, 0, 0] if [t, b, l, r].iter().all(|&p| p < 1 << 31) => Ok([t, b, l, r]),
        [_, _, _, _, _, _, _, _] => bail!(InvalidArgument, "Nonzero explicit padding in the batch or depth dimensions is not supported"),
        _ => bail!(InvalidArgument, "explicit_paddings attribute must contain 8 values, but got: {}", values.len()),
    }
}
