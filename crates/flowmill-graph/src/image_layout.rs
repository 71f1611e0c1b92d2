//! Layouts of images: the attribute `data_format` of an op, and the inputs and outputs that have the layout it names.
//!
//! `NHWC` and `NDHWC` have their channels last, `NCHW` and `NCDHW` behind the batch. Lists in attributes with one entry per dimension, such as
//! `strides`, and tensors of sizes are in the order of the format. Filters have the same layout in all formats.

use crate::Attrs;
use flowmill_proto::AttrValue;
use flowmill_proto::attr_value::{ListValue, Value};
use flowmill_tensor::{Result, bail};

/// The inputs and outputs of an op that follow its `data_format`.
#[derive(Debug, PartialEq, Eq)]
pub struct ImageLayout {
    /// Inputs that are images.
    pub images: &'static [usize],
    /// Inputs that are vectors with one entry for each dimension of an image.
    pub sizes: &'static [usize],
    /// True if output 0 is an image.
    pub image_output: bool,
}

impl ImageLayout {
    /// Layout of an op whose inputs of these indices are images, `sizes` are vectors with an entry for each dimension of one, and whose output 0
    /// is an image or not.
    pub const fn new(images: &'static [usize], sizes: &'static [usize], image_output: bool) -> ImageLayout {
        ImageLayout { images, sizes, image_output }
    }
}

/// Returns the rank of a format whose channels follow the batch; `None` for one whose channels come last.
///
/// # Errors
/// `Unimplemented` for `NCHW_VECT_C`, which only GPUs have, `InvalidArgument` for another text.
pub fn channels_first_rank(op: &str, attrs: &Attrs) -> Result<Option<usize>> {
    match attrs.get_or("data_format", "NHWC")? {
        "NHWC" | "NDHWC" => Ok(None),
        format @ ("NCHW" | "NCDHW") => Ok(Some(format.len())),
        "NCHW_VECT_C" => bail!(
            Unimplemented,
            "{op} has no CPU kernel for the data format NCHW_VECT_C, which is of quantized images on GPUs; NHWC and NCHW are supported"
        ),
        other => bail!(InvalidArgument, "{op}: invalid data format {other}"),
    }
}

/// Returns the permutation that takes a tensor of this rank from channels first to channels last.
pub fn to_channels_last(rank: usize) -> Vec<usize> {
    let spatial = 2..rank.max(2);
    [0].into_iter().chain(spatial).chain([1]).take(rank).collect()
}

/// Returns the permutation that takes a tensor of this rank from channels last to channels first.
pub fn to_channels_first(rank: usize) -> Vec<usize> {
    let spatial = 1..rank.saturating_sub(1).max(1);
    [0, rank.saturating_sub(1)].into_iter().chain(spatial).take(rank).collect()
}

/// Returns the attributes of the same op on channels-last images: `data_format`, and lists with one or two entries per dimension in its order.
///
/// # Errors
/// `InvalidArgument` for a list that is not of integers.
pub fn channels_last_attrs(attrs: &Attrs, rank: usize) -> Result<Attrs> {
    let mut new = attrs.clone();
    new.set("data_format", if rank == 5 { "NDHWC" } else { "NHWC" });
    let order = to_channels_last(rank);
    for (name, per_dimension) in [("strides", 1), ("dilations", 1), ("ksize", 1), ("explicit_paddings", 2), ("_explicit_paddings", 2)] {
        if !attrs.contains(name) {
            continue;
        }
        let values: Vec<i64> = attrs.list(name)?;
        if values.len() == per_dimension * rank {
            let moved = order.iter().flat_map(|&axis| &values[per_dimension * axis..][..per_dimension]).copied().collect();
            new.set(name, AttrValue::from(Value::List(Box::new(ListValue { i: moved, ..ListValue::default() }))));
        }
    }
    Ok(new)
}
