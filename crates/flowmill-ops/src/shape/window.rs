//! Convolutions and pooling: windows that move over the spatial dimensions.

use super::{common, dims};
use flowmill_graph::InferenceContext as Context;
use flowmill_tensor::{PartialShape, Result, bail};

/// The movement of a window over one spatial dimension.
struct Window<'a> {
    size: i64,
    stride: i64,
    dilation: i64,
    padding: &'a str,
    /// Elements added before and after, for padding `EXPLICIT`.
    explicit: (i64, i64),
}

impl Window<'_> {
    /// The number of places the window takes in `input` elements.
    fn output_size(&self, c: &Context<'_>, input: i64) -> Result<i64> {
        if self.stride <= 0 {
            bail!(InvalidArgument, "Stride must be > 0, but got {}", self.stride);
        }
        if self.dilation < 1 {
            bail!(InvalidArgument, "Dilation rate must be >= 1, but got {}", self.dilation);
        }
        if input < 0 {
            return self.symbolic_size(c, input);
        }
        let round_up = |n: i64| Ok(n / self.stride + i64::from(n % self.stride != 0));
        if self.padding == "SAME" {
            return round_up(input);
        }
        if self.size < 0 {
            return Ok(dims::UNKNOWN);
        }
        let padded = if self.padding == "EXPLICIT" { dims::add(dims::add(input, self.explicit.0)?, self.explicit.1)? } else { input };
        let effective = dims::add(dims::multiply((self.size - 1).max(0), self.dilation)?, self.size.min(1))?;
        round_up(dims::add(dims::subtract(padded, effective)?, 1)?)
    }

    /// Like [`Window::output_size`], in an unknown number of elements.
    fn symbolic_size(&self, c: &Context<'_>, input: i64) -> Result<i64> {
        if self.padding == "SAME" {
            return Ok(c.symbolic_quotient(input, self.stride));
        }
        if self.size < 0 {
            return Ok(dims::UNKNOWN);
        }
        let padding = if self.padding == "EXPLICIT" { dims::add(self.explicit.0, self.explicit.1)? } else { 0 };
        // An empty window and one of a single element take as many places as there are elements, but for one more.
        let padded = c.symbolic_sum(input, dims::add(padding, i64::from(self.size == 0))?);
        let places = c.symbolic_difference(padded, dims::multiply((self.size - 1).max(0), self.dilation)?);
        Ok(c.symbolic_quotient(places, self.stride))
    }
}

/// The axes of batch, channels and spatial dimensions.
struct Layout {
    rank: usize,
    channels: usize,
    first_spatial: usize,
}

impl Layout {
    fn of(c: &Context<'_>, rank: usize) -> Result<Layout> {
        let format: &str = c.attrs().get_or("data_format", "NHWC")?;
        let channels_first = format.starts_with("NC") || format == "CHANNELS_FIRST";
        Ok(if channels_first {
            Layout { rank, channels: 1, first_spatial: 2 }
        } else {
            Layout { rank, channels: rank - 1, first_spatial: 1 }
        })
    }

    fn spatial(&self) -> std::ops::Range<usize> {
        self.first_spatial..self.first_spatial + self.rank - 2
    }

    fn assemble(&self, batch: i64, channels: i64, spatial: &[i64]) -> PartialShape {
        let mut sizes = vec![batch; self.rank];
        sizes[self.channels] = channels;
        for (axis, &size) in self.spatial().zip(spatial) {
            sizes[axis] = size;
        }
        PartialShape::new(&sizes)
    }
}

/// A list attribute with one entry for each dimension.
fn per_dimension(c: &Context<'_>, name: &str, rank: usize) -> Result<Vec<i64>> {
    let values: Vec<i64> = c.attrs().list(name)?;
    if values.len() != rank {
        let format: &str = c.attrs().get_or("data_format", "NHWC")?;
        let (op, name) = (&c.op_def().name, name.trim_end_matches('s'));
        bail!(
            InvalidArgument,
            "{op} on data format {format} requires the {name} attribute to contain {rank} values, but got: {}",
            values.len()
        );
    }
    Ok(values)
}

/// The dilation of each dimension, all ones if the node has none.
fn dilations(c: &Context<'_>, rank: usize) -> Result<Vec<i64>> {
    if !c.attrs().contains("dilations") || c.attrs().list::<i64>("dilations")?.is_empty() {
        return Ok(vec![1; rank]);
    }
    per_dimension(c, "dilations", rank)
}

/// Before and after for each dimension, from `explicit_paddings`; zeros unless the padding is explicit.
fn explicit_paddings(c: &Context<'_>, padding: &str, layout: &Layout) -> Result<Vec<(i64, i64)>> {
    let listed: Vec<i64> = if c.attrs().contains("explicit_paddings") { c.attrs().list("explicit_paddings")? } else { Vec::new() };
    if padding != "EXPLICIT" {
        if !listed.is_empty() {
            bail!(InvalidArgument, "explicit_paddings attribute must be empty if the padding attribute is not EXPLICIT");
        }
        return Ok(vec![(0, 0); layout.rank]);
    }
    if listed.len() != 2 * layout.rank {
        bail!(InvalidArgument, "explicit_paddings attribute must contain {} values, but got: {}", 2 * layout.rank, listed.len());
    }
    if listed.iter().any(|&p| p < 0) {
        bail!(InvalidArgument, "All elements of explicit_paddings must be nonnegative");
    }
    let pairs: Vec<(i64, i64)> = listed.chunks_exact(2).map(|p| (p[0], p[1])).collect();
    if pairs[0] != (0, 0) || pairs[layout.channels] != (0, 0) {
        bail!(InvalidArgument, "Nonzero explicit padding in the batch or depth dimensions is not supported");
    }
    Ok(pairs)
}

/// A convolution whose filter has `RANK` − 2 spatial dimensions, then input and output channels. Channels may come in groups.
pub(crate) fn conv<const RANK: usize>(c: &mut Context<'_>) -> Result<()> {
    let (input, filter) = (dims::with_rank(&c.input(0), RANK)?, dims::with_rank(&c.input(1), RANK)?);
    let layout = Layout::of(c, RANK)?;
    let (depth, filter_depth) = (dims::size(&input, layout.channels), dims::size(&filter, RANK - 2));
    if filter_depth == 0 {
        bail!(InvalidArgument, "Depth of filter must not be 0");
    }
    if depth >= 0 && filter_depth > 0 {
        if depth % filter_depth != 0 {
            bail!(InvalidArgument, "Depth of input ({depth}) is not a multiple of input depth of filter ({filter_depth})");
        }
        let (groups, out) = (depth / filter_depth, dims::size(&filter, RANK - 1));
        if groups > 0 && out >= 0 && out % groups != 0 {
            bail!(InvalidArgument, "Depth of output ({out}) is not a multiple of the number of groups ({groups})");
        }
    }
    let spatial = window_sizes(c, &layout, &input, |i| dims::size(&filter, i))?;
    c.set_output(0, layout.assemble(dims::size(&input, 0), dims::size(&filter, RANK - 1), &spatial));
    Ok(())
}

/// A convolution of each channel by itself: channel and multiplier are the filter's last dimensions.
pub(crate) fn depthwise_conv(c: &mut Context<'_>) -> Result<()> {
    let (input, filter) = (dims::with_rank(&c.input(0), 4)?, dims::with_rank(&c.input(1), 4)?);
    let layout = Layout::of(c, 4)?;
    let depth = dims::merge(dims::size(&input, layout.channels), dims::size(&filter, 2))?;
    let out = dims::multiply(depth, dims::size(&filter, 3))?;
    let spatial = window_sizes(c, &layout, &input, |i| dims::size(&filter, i))?;
    c.set_output(0, layout.assemble(dims::size(&input, 0), out, &spatial));
    Ok(())
}

/// A depthwise convolution between convolutions of one position: the output's channels are those of the last one.
pub(crate) fn separable_conv(c: &mut Context<'_>) -> Result<()> {
    let (input, filter) = (dims::with_rank(&c.input(0), 4)?, dims::with_rank(&c.input(1), 4)?);
    let layout = Layout::of(c, 4)?;
    let number = |name: &str| -> Result<usize> { Ok(usize::try_from(c.attrs().get::<i64>(name)?).unwrap_or(0)) };
    let (expansion, projection) = (number("num_expansion")?, number("num_projection")?);
    let mut channels = dims::size(&input, 3);
    if expansion > 0 {
        let pointwise = dims::with_rank(&c.input(2), 4)?;
        dims::merge(channels, dims::size(&pointwise, 2))?;
        channels = dims::size(&pointwise, 3);
    }
    let mut channels = dims::multiply(dims::merge(channels, dims::size(&filter, 2))?, dims::size(&filter, 3))?;
    if projection > 0 {
        let pointwise = dims::with_rank(&c.input(2 + expansion + number("num_args")?), 4)?;
        dims::merge(channels, dims::size(&pointwise, 2))?;
        channels = dims::size(&pointwise, 3);
    }
    let spatial = window_sizes(c, &layout, &input, |i| dims::size(&filter, i))?;
    c.set_output(0, layout.assemble(dims::size(&input, 0), channels, &spatial));
    Ok(())
}

/// The kind of padding, and how much of it each dimension has if it is explicit.
fn paddings<'a>(c: &Context<'a>, layout: &Layout) -> Result<(&'a str, Vec<(i64, i64)>)> {
    let padding: &str = c.attrs().get("padding")?;
    // TensorFlow declares no explicit paddings for this op, so that the optimizer keeps them in an attribute of its own.
    if c.op_def().name == "_FusedDepthwiseConv2dNative" && c.attrs().contains("_explicit_paddings") {
        let own: Vec<i64> = c.attrs().list("_explicit_paddings")?;
        let pairs: Vec<(i64, i64)> = own.chunks_exact(2).map(|p| (p[0], p[1])).collect();
        if pairs.len() != layout.rank {
            bail!(InvalidArgument, "_explicit_paddings must contain {} values, but got: {}", 2 * layout.rank, own.len());
        }
        return Ok(("EXPLICIT", pairs));
    }
    Ok((padding, explicit_paddings(c, padding, layout)?))
}

/// The output sizes of the spatial dimensions, given the window's.
fn window_sizes(c: &Context<'_>, layout: &Layout, input: &PartialShape, window: impl Fn(usize) -> i64) -> Result<Vec<i64>> {
    let (strides, dilations) = (per_dimension(c, "strides", layout.rank)?, dilations(c, layout.rank)?);
    let (padding, explicit) = paddings(c, layout)?;
    layout
        .spatial()
        .enumerate()
        .map(|(i, axis)| {
            let window = Window { size: window(i), stride: strides[axis], dilation: dilations[axis], padding, explicit: explicit[axis] };
            window.output_size(c, dims::size(input, axis))
        })
        .collect()
}

/// Pooling: the window is attribute `ksize`, which may also pool channels if the op allows it.
pub(crate) fn pool<const RANK: usize>(c: &mut Context<'_>) -> Result<()> {
    let input = dims::with_rank(&c.input(0), RANK)?;
    let ksize = per_dimension(c, "ksize", RANK)?;
    let layout = Layout::of(c, RANK)?;
    if let Some(size) = ksize.iter().find(|&&k| k <= 0) {
        bail!(InvalidArgument, "Sliding window ksize must be a positive int32 value, got: {size}");
    }
    let spatial = window_sizes(c, &layout, &input, |i| ksize[layout.first_spatial + i])?;
    let strides = per_dimension(c, "strides", RANK)?;
    let depth = Window {
        size: ksize[layout.channels],
        stride: strides[layout.channels],
        dilation: 1,
        padding: c.attrs().get("padding")?,
        explicit: (0, 0),
    };
    let channels = dims::size(&input, layout.channels);
    // A window of one channel leaves channels as they are, also if there are none.
    let channels = if (depth.size, depth.stride) == (1, 1) { channels } else { depth.output_size(c, channels)? };
    let shape = layout.assemble(dims::size(&input, 0), channels, &spatial);
    common::set_all(c, &shape)
}

/// Pooling with window and strides as last inputs; nothing is known if they are not constant.
pub(crate) fn pool_v2(c: &mut Context<'_>) -> Result<()> {
    let input = dims::with_rank(&c.input(0), 4)?;
    let at = c.num_inputs().saturating_sub(2);
    let (Some(ksize), Some(strides)) = (common::ints(c, at)?, common::ints(c, at + 1)?) else {
        return Ok(());
    };
    if ksize.len() != 4 || strides.len() != 4 {
        bail!(InvalidArgument, "Sliding window ksize and stride must specify 4 dimensions");
    }
    let padding: &str = c.attrs().get("padding")?;
    let sizes = (0..4)
        .map(|axis| match axis {
            0 => Ok(dims::size(&input, 0)),
            _ => Window { size: ksize[axis], stride: strides[axis], dilation: 1, padding, explicit: (0, 0) }
                .output_size(c, dims::size(&input, axis)),
        })
        .collect::<Result<Vec<_>>>()?;
    c.set_output(0, PartialShape::new(&sizes));
    Ok(())
}

/// The gradient with respect to a convolution's input: the shape in input 0, or its spatial part alone.
pub(crate) fn conv_backprop_input<const RANK: usize>(c: &mut Context<'_>) -> Result<()> {
    let shape = c.input_as_shape(0)?;
    let batch = dims::size(&c.input(2), 0);
    let shape = match shape.rank() {
        Some(2) if RANK == 4 => {
            let filter = dims::with_rank(&c.input(1), 4)?;
            let spatial = [dims::size(&shape, 0), dims::size(&shape, 1)];
            Layout::of(c, 4)?.assemble(batch, dims::size(&filter, 2), &spatial)
        }
        Some(n) if RANK == 4 && n != 4 => {
            bail!(InvalidArgument, "{} requires input_sizes to contain 4 values or 2 values, but got: {n}", c.op_def().name)
        }
        _ => {
            let shape = dims::with_rank(&shape, RANK)?;
            if dims::size(&shape, 0) < 0 && RANK == 4 { dims::replaced(&shape, 0, batch) } else { shape }
        }
    };
    c.set_output(0, shape);
    Ok(())
}

/// The shape in input `I`, which has rank `RANK`: gradients of filters and of pooled inputs.
pub(crate) fn shape_input_of_rank<const I: usize, const RANK: usize>(c: &mut Context<'_>) -> Result<()> {
    let shape = dims::with_rank(&c.input_as_shape(I)?, RANK)?;
    c.set_output(0, shape);
    Ok(())
}

/// A morphological dilation: the filter spans rows, columns and channels.
pub(crate) fn dilation_2d(c: &mut Context<'_>) -> Result<()> {
    let (input, filter) = (dims::with_rank(&c.input(0), 4)?, dims::with_rank(&c.input(1), 3)?);
    let (strides, rates) = (per_dimension(c, "strides", 4)?, per_dimension(c, "rates", 4)?);
    let padding: &str = c.attrs().get("padding")?;
    let depth = dims::merge(dims::size(&input, 3), dims::size(&filter, 2))?;
    let spatial = (0..2)
        .map(|i| {
            Window { size: dims::size(&filter, i), stride: strides[i + 1], dilation: rates[i + 1], padding, explicit: (0, 0) }
                .output_size(c, dims::size(&input, i + 1))
        })
        .collect::<Result<Vec<_>>>()?;
    c.set_output(0, PartialShape::new(&[dims::size(&input, 0), spatial[0], spatial[1], depth]));
    Ok(())
}

/// Patches of an image, side by side in the channels.
pub(crate) fn extract_image_patches(c: &mut Context<'_>) -> Result<()> {
    let input = dims::with_rank(&c.input(0), 4)?;
    let (ksizes, strides, rates) = (per_dimension(c, "ksizes", 4)?, per_dimension(c, "strides", 4)?, per_dimension(c, "rates", 4)?);
    let padding: &str = c.attrs().get("padding")?;
    let spatial = (1..3)
        .map(|i| {
            Window { size: ksizes[i], stride: strides[i], dilation: rates[i], padding, explicit: (0, 0) }
                .output_size(c, dims::size(&input, i))
        })
        .collect::<Result<Vec<_>>>()?;
    let depth = dims::multiply(dims::size(&input, 3), dims::multiply(ksizes[1].max(0), ksizes[2].max(0))?)?;
    c.set_output(0, PartialShape::new(&[dims::size(&input, 0), spatial[0], spatial[1], depth]));
    Ok(())
}

/// The windows of volumes.
pub(crate) fn extract_volume_patches(c: &mut Context<'_>) -> Result<()> {
    let input = dims::with_rank(&c.input(0), 5)?;
    let (ksizes, strides) = (per_dimension(c, "ksizes", 5)?, per_dimension(c, "strides", 5)?);
    let padding: &str = c.attrs().get("padding")?;
    let mut sizes = vec![dims::size(&input, 0)];
    let mut depth = dims::size(&input, 4);
    for i in 1..4 {
        let window = Window { size: ksizes[i], stride: strides[i], dilation: 1, padding, explicit: (0, 0) };
        let size = dims::size(&input, i);
        // A window that is too large by less than its stride has no place, which is no error.
        let has_no_place = padding == "VALID" && size >= 0 && size < ksizes[i] && ksizes[i].saturating_sub(size) <= strides[i];
        sizes.push(if has_no_place { 0 } else { window.output_size(c, size)? });
        depth = dims::multiply(depth, ksizes[i].max(0))?;
    }
    sizes.push(depth);
    c.set_output(0, PartialShape::new(&sizes));
    Ok(())
}

/// A convolution over any number of spatial dimensions; attribute `groups` says which channels meet.
pub(crate) fn conv_any_rank(c: &mut Context<'_>) -> Result<()> {
    let batch_dims: i64 = c.attrs().get("batch_dims")?;
    match (c.input(0).rank(), batch_dims) {
        (Some(4), 1) => conv::<4>(c),
        (Some(5), 1) => conv::<5>(c),
        // Several batch dimensions, or a rank that is not known.
        _ => Ok(()),
    }
}

/// The second gradient of pooling: all inputs have the shape of the pooled one, the output that of the result.
pub(crate) fn max_pool_grad_grad<const RANK: usize>(c: &mut Context<'_>) -> Result<()> {
    pool::<RANK>(c)?;
    let merged = c.output_mut(0).map(|o| o.shape.clone()).unwrap_or_default().merge(&c.input(1))?;
    c.input(0).merge(&c.input(2))?;
    c.set_output(0, merged);
    Ok(())
}

/// Like [`max_pool_grad_grad`], with window and strides as inputs.
pub(crate) fn max_pool_grad_grad_v2(c: &mut Context<'_>) -> Result<()> {
    pool_v2(c)?;
    let pooled = c.output_mut(0).map(|o| o.shape.clone()).unwrap_or_default();
    c.input(1).merge(&pooled)?;
    c.input(0).merge(&c.input(2)).map(drop)
}

/// Each dimension divided by its ratio and rounded down; then where windows begin along two of them, vectors that have one element more
/// than TensorFlow's static shapes say.
pub(crate) fn fractional_pool(c: &mut Context<'_>) -> Result<()> {
    let input = dims::with_rank(&c.input(0), 4)?;
    let ratios: Vec<f32> = c.attrs().list("pooling_ratio")?;
    if ratios.len() != 4 {
        bail!(InvalidArgument, "pooling_ratio field must specify 4 dimensions");
    }
    let mut sizes = Vec::with_capacity(4);
    for (i, ratio) in ratios.iter().enumerate() {
        let size = dims::size(&input, i);
        let pooled = (size as f32 / ratio).floor();
        // What is not a number, or too large for one of 64 bits, counts as the least one.
        let pooled = if (i64::MIN as f32..i64::MAX as f32).contains(&pooled) { pooled as i64 } else { i64::MIN };
        if size >= 0 && pooled < 0 {
            bail!(InvalidArgument, "Size computed for dim {i} is negative: {pooled}");
        }
        sizes.push(if size >= 0 { pooled } else { dims::UNKNOWN });
    }
    if let Some(ratio) = ratios.iter().find(|&&ratio| ratio < 1.0) {
        bail!(InvalidArgument, "pooling_ratio cannot be smaller than 1, got: {ratio}");
    }
    c.set_output(1, PartialShape::new(&sizes[1..2]));
    c.set_output(2, PartialShape::new(&sizes[2..3]));
    c.set_output(0, PartialShape::new(&sizes));
    Ok(())
}

/// The shape in input 0, of rank 4 if it is not known.
pub(crate) fn fractional_avg_pool_grad(c: &mut Context<'_>) -> Result<()> {
    let shape = c.input_as_shape(0)?;
    c.set_output(0, if shape.rank().is_none() { PartialShape::unknown_of_rank(4) } else { shape });
    Ok(())
}

/// A convolution of an image with mirrored borders: inputs image, paddings and filter, with the size that the image is resized to before the paddings
/// if `RESIZES`.
pub(crate) fn fused_pad_conv<const RESIZES: bool>(c: &mut Context<'_>) -> Result<()> {
    let mut image = dims::with_rank(&c.input(0), 4)?;
    let paddings = 1 + usize::from(RESIZES);
    if RESIZES {
        c.input(1).merge(&PartialShape::new(&[2]))?;
        let size = c.input_as_shape(1)?;
        image = dims::replaced(&dims::replaced(&image, 1, dims::size(&size, 0)), 2, dims::size(&size, 1));
    }
    let pairs = dims::with_rank(&c.input(paddings), 2)?;
    if let Some(rank) = dims::as_rank(dims::size(&pairs, 0)) {
        dims::with_rank(&image, rank)?;
    }
    pairs.merge(&PartialShape::new(&[4, 2]))?;
    let padded = match common::ints(c, paddings)?.as_deref() {
        Some(pairs) if pairs.iter().any(|&p| p < 0) => bail!(InvalidArgument, "Paddings must be non-negative"),
        Some(pairs) => (0..4)
            .map(|i| pairs.get(2 * i..2 * i + 2).map_or(Ok(dims::UNKNOWN), |p| dims::add(dims::size(&image, i), dims::add(p[0], p[1])?)))
            .collect::<Result<Vec<_>>>()?,
        None => vec![dims::UNKNOWN; 4],
    };
    let filter = dims::with_rank(&c.input(paddings + 1), 4)?;
    let strides: Vec<i64> = c.attrs().list("strides")?;
    if strides.len() != 4 {
        bail!(InvalidArgument, "Operation requires the stride attribute to contain 4 values, but got: {}", strides.len());
    }
    dims::merge(padded[3], dims::size(&filter, 2))?;
    let padding: &str = c.attrs().get("padding")?;
    let spatial = |i: usize| {
        let window = Window { size: dims::size(&filter, i), stride: strides[i + 1], dilation: 1, padding, explicit: (0, 0) };
        window.output_size(c, padded[i + 1])
    };
    let shape = PartialShape::new(&[padded[0], spatial(0)?, spatial(1)?, dims::size(&filter, 3)]);
    c.set_output(0, shape);
    Ok(())
}

/// The second gradient of pooling at the places in input 2, which has the shape of the result.
pub(crate) fn max_pool_grad_grad_with_argmax(c: &mut Context<'_>) -> Result<()> {
    pool::<4>(c)?;
    let pooled = c.output_mut(0).map(|o| o.shape.clone()).unwrap_or_default();
    c.input(0).merge(&c.input(1))?;
    c.input(2).merge(&pooled).map(drop)
}
