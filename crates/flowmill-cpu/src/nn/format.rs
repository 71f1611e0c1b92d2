//! `DataFormatDimMap` and `DataFormatVecPermute`, which convert indices of dimensions, and sizes, from one data format to another.

use crate::from_fn::from_fn;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Result, bail};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("DataFormatDimMap", make_dim_map);
    registry.add("DataFormatVecPermute", make_vec_permute);
}

/// Returns the two formats, each a permutation of the other.
fn formats<'a>(init: &KernelInit<'a>, sizes: &[usize]) -> Result<(&'a str, &'a str)> {
    let (from, to) = (init.attrs.get_or("src_format", "NHWC")?, init.attrs.get_or("dst_format", "NCHW")?);
    for (name, format) in [("Source", from), ("Destination", to)] {
        if !sizes.contains(&format.len()) {
            let sizes: Vec<String> = sizes.iter().map(usize::to_string).collect();
            bail!(InvalidArgument, "{name} format must be of length {}, received {name} format = {format}", sizes.join(" or "));
        }
    }
    let sorted = |format: &str| {
        let mut bytes = format.as_bytes().to_vec();
        bytes.sort_unstable();
        bytes
    };
    let letters = sorted(from);
    if letters != sorted(to) || letters.windows(2).any(|w| w[0] == w[1]) {
        bail!(InvalidArgument, "Destination and source format must determine a permutation, got {from} and {to}");
    }
    Ok((from, to))
}

fn make_dim_map(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let (from, to) = formats(init, &[4, 5])?;
    let places: Vec<i64> = from.bytes().map(|letter| to.bytes().position(|other| other == letter).unwrap_or(0) as i64).collect();
    from_fn(move |ctx| {
        let input = ctx.input(0)?;
        let rank = places.len() as i64;
        let mut out = input.to_i64_vec()?;
        for dim in &mut out {
            let at = if *dim < 0 { *dim + rank } else { *dim };
            match usize::try_from(at).ok().and_then(|at| places.get(at)) {
                Some(&place) => *dim = place,
                None => bail!(InvalidArgument, "dimension {dim} is not in [{}, {rank})", -rank),
            }
        }
        let out = ctx.allocator().index_vector(input.dtype(), &out)?.reshaped(input.shape().clone())?;
        ctx.set_output(0, out);
        Ok(())
    })
}

fn make_vec_permute(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let (from, to) = formats(init, &[4, 5])?;
    let (from, to) = (from.to_owned(), to.to_owned());
    from_fn(move |ctx| vec_permute(ctx, &from, &to))
}

/// Permutes rows, which are numbers or pairs. There may be one row for each dimension, or one for each spatial dimension.
fn vec_permute(ctx: &mut KernelContext<'_>, from: &str, to: &str) -> Result<()> {
    let input = ctx.input(0)?;
    if !matches!(input.rank(), 1 | 2) {
        bail!(InvalidArgument, "input must be a vector or 2D tensor, but got shape {}", input.shape());
    }
    let (rows, full) = (input.shape()[0], from.len());
    if rows != full && rows != full - 2 {
        bail!(InvalidArgument, "1D input must be of size {} or {full}, but got shape {}", full - 2, input.shape());
    }
    let width = if input.rank() == 2 { input.shape()[1] } else { 1 };
    if width != 2 && input.rank() == 2 {
        bail!(InvalidArgument, "Second dimension of 2D input must be of size 2, but got shape {}", input.shape());
    }
    let letters = |format: &str| -> Vec<u8> { format.bytes().filter(|letter| rows == full || !b"NC".contains(letter)).collect() };
    let (from, to) = (letters(from), letters(to));
    let values = input.to_i64_vec()?;
    let mut out = Vec::with_capacity(values.len());
    for letter in &to {
        let Some(row) = from.iter().position(|other| other == letter).and_then(|at| values.get(at * width..(at + 1) * width)) else {
            let named = if rows == 2 { "H and W for 2D" } else { "D, H and W for 3D" };
            bail!(InvalidArgument, "Format specifier must contain {named} case");
        };
        out.extend_from_slice(row);
    }
    let out = ctx.allocator().index_vector(input.dtype(), &out)?.reshaped(input.shape().clone())?;
    ctx.set_output(0, out);
    Ok(())
}
