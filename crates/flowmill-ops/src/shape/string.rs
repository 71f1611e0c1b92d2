//! Strings, tables and files.

use super::{common, dims};
use flowmill_graph::InferenceContext as Context;
use flowmill_tensor::{PartialShape, Result, bail};

/// Strings joined element by element; scalars go with all.
pub(crate) fn string_join(c: &mut Context<'_>) -> Result<()> {
    let mut shape: Option<PartialShape> = None;
    for i in 0..c.num_inputs() {
        let input = c.input(i);
        if input.rank() != Some(0) {
            shape = Some(shape.unwrap_or_default().merge(&input)?);
        }
    }
    c.set_output(0, shape.unwrap_or_else(PartialShape::scalar));
    Ok(())
}

/// One string: the template has a placeholder for each input.
pub(crate) fn string_format(c: &mut Context<'_>) -> Result<()> {
    let (template, placeholder): (&str, &str) = (c.attrs().get("template")?, c.attrs().get("placeholder")?);
    let places = if placeholder.is_empty() { 0 } else { template.matches(placeholder).count() };
    if places != c.num_inputs() {
        bail!(InvalidArgument, "num placeholders in template and num inputs must match: {places} vs. {}", c.num_inputs());
    }
    common::scalars(c)
}

/// A sparse matrix of parts: indices, values, shape.
pub(crate) fn string_split(c: &mut Context<'_>) -> Result<()> {
    common::expect_vector(c, 0)?;
    common::expect_scalar(c, 1)?;
    set_sparse(c, 2);
    Ok(())
}

/// Outputs 0 to 2 are a sparse tensor of rank `rank` with unknown elements.
fn set_sparse(c: &mut Context<'_>, rank: i64) {
    c.set_output(0, PartialShape::new(&[dims::UNKNOWN, rank]));
    c.set_output(1, PartialShape::new(&[dims::UNKNOWN]));
    c.set_output(2, PartialShape::new(&[rank]));
}

/// Parts of strings at positions that broadcast with them.
pub(crate) fn substr(c: &mut Context<'_>) -> Result<()> {
    let at = match c.input(1).merge(&c.input(2)) {
        Ok(at) => at,
        Err(_) => bail!(InvalidArgument, "pos and len shapes must match: {} vs. {}", c.input(1), c.input(2)),
    };
    let shape = PartialShape::broadcast(&c.input(0), &at)?;
    c.set_output(0, shape);
    Ok(())
}

/// Code points of strings as a ragged tensor: row starts, then values.
pub(crate) fn unicode_decode(c: &mut Context<'_>) -> Result<()> {
    let count = dims::add(c.input(0).num_elements().map_or(dims::UNKNOWN, |n| n as i64), 1)?;
    c.set_output(0, PartialShape::new(&[count]));
    for i in 1..c.num_outputs() {
        c.set_output(i, PartialShape::new(&[dims::UNKNOWN]));
    }
    Ok(())
}

/// A string for each row of a ragged tensor of code points.
pub(crate) fn unicode_encode(c: &mut Context<'_>) -> Result<()> {
    common::expect_vector(c, 0)?;
    let splits = common::expect_vector(c, 1)?;
    let rows = if splits < 0 { dims::UNKNOWN } else { splits - 1 };
    c.set_output(0, PartialShape::new(&[rows]));
    Ok(())
}

/// The numbers in each string: one dimension more.
pub(crate) fn decode_raw(c: &mut Context<'_>) -> Result<()> {
    let shape = c.input(0).concat(&PartialShape::new(&[dims::UNKNOWN]));
    c.set_output(0, shape);
    Ok(())
}

/// Like [`decode_raw`], with the length in bytes to which all strings are padded.
pub(crate) fn decode_padded_raw(c: &mut Context<'_>) -> Result<()> {
    let dtype: flowmill_tensor::DType = c.attrs().get("out_type")?;
    let width = dtype.size().map_or(1, |n| n as i64);
    let bytes = common::size_input(c, 1)?;
    let count = if bytes < 0 { dims::UNKNOWN } else { bytes / width };
    let shape = c.input(0).concat(&PartialShape::new(&[count]));
    c.set_output(0, shape);
    Ok(())
}

/// A field of each record.
pub(crate) fn decode_csv(c: &mut Context<'_>) -> Result<()> {
    for i in 1..c.num_inputs() {
        let default = dims::with_rank_at_most(&c.input(i), 1)?;
        if default.rank() == Some(1) && dims::size(&default, 0) > 1 {
            bail!(InvalidArgument, "Shape of a default must be a length-0 or length-1 vector, or a scalar.");
        }
    }
    let records = c.input(0);
    common::set_all(c, &records)
}

/// N-grams of ragged rows: values, then row splits.
pub(crate) fn string_n_grams(c: &mut Context<'_>) -> Result<()> {
    common::expect_vector(c, 0)?;
    dims::with_rank(&c.input(1), 1)?;
    c.set_output(0, PartialShape::new(&[dims::UNKNOWN]));
    c.set_output(1, c.input(1));
    Ok(())
}

/// A tensor for each name; slices tell its shape, whole tensors do not.
pub(crate) fn restore_v2(c: &mut Context<'_>) -> Result<()> {
    common::expect_scalar(c, 0)?;
    let (names, slices) = (dims::with_rank(&c.input(1), 1)?, dims::with_rank(&c.input(2), 1)?);
    names.merge(&slices)?;
    let Some(specs) = c.constant(2).map(|t| t.as_strings().map(<[_]>::to_vec)).transpose()? else { return Ok(()) };
    for (i, spec) in specs.iter().enumerate() {
        if let Some(shape) = slice_shape(std::str::from_utf8(spec).unwrap_or("")) {
            c.set_output(i, shape);
        }
    }
    Ok(())
}

/// The slice that input 2 describes, for one tensor.
pub(crate) fn restore_slice(c: &mut Context<'_>) -> Result<()> {
    (0..3).try_for_each(|i| common::expect_scalar(c, i))?;
    let spec = c.constant(2).and_then(|t| t.as_strings().ok()?.first());
    if let Some(shape) = spec.and_then(|spec| slice_shape(std::str::from_utf8(spec).ok()?)) {
        c.set_output(0, shape);
    }
    Ok(())
}

/// The shape of the slice that a text such as `10 20 0,5:-` describes: the whole shape, then for each dimension start and length, or all.
fn slice_shape(spec: &str) -> Option<PartialShape> {
    let (sizes, slices) = spec.trim().rsplit_once(' ')?;
    let sizes: Vec<i64> = sizes.split(' ').map(|s| s.parse().ok()).collect::<Option<_>>()?;
    let slices: Vec<&str> = slices.split(':').collect();
    if sizes.len() != slices.len() {
        return None;
    }
    sizes
        .iter()
        .zip(slices)
        .map(|(&size, slice)| match slice {
            "-" => Some(size),
            _ => slice.split_once(',')?.1.parse().ok(),
        })
        .collect()
}

/// A row of bytes for each row of the data.
pub(crate) fn fingerprint(c: &mut Context<'_>) -> Result<()> {
    let data = dims::with_rank_at_least(&c.input(0), 1)?;
    common::expect_scalar(c, 1)?;
    let size = match c.constant(1).and_then(|t| t.as_strings().ok()?.first()) {
        Some(method) if method.as_ref() == b"farmhash64" => 8,
        Some(method) => bail!(InvalidArgument, "unsupported method: {}", String::from_utf8_lossy(method)),
        None => dims::UNKNOWN,
    };
    c.set_output(0, PartialShape::new(&[dims::size(&data, 0), size]));
    Ok(())
}

/// Keys, which are a vector, and values.
pub(crate) fn exported_table(c: &mut Context<'_>) -> Result<()> {
    c.set_output(0, PartialShape::new(&[dims::UNKNOWN]));
    Ok(())
}

/// Sound as `[times, channels]`, of which attributes may say how many there are, and its rate.
pub(crate) fn decode_wav(c: &mut Context<'_>) -> Result<()> {
    common::expect_scalar(c, 0)?;
    let mut sizes = Vec::with_capacity(2);
    for name in ["samples", "channels"] {
        let size: i64 = c.attrs().get(&format!("desired_{name}"))?;
        if size < -1 {
            bail!(InvalidArgument, "{name} must be non-negative, got {size}");
        }
        sizes.push(size);
    }
    c.set_output(0, PartialShape::new(&sizes));
    c.set_output(1, PartialShape::scalar());
    Ok(())
}

/// A file, of sound `[times, channels]` and its rate.
pub(crate) fn encode_wav(c: &mut Context<'_>) -> Result<()> {
    dims::with_rank(&c.input(0), 2)?;
    common::expect_scalar(c, 1)?;
    common::scalars(c)
}
