//! Ops that give shapes, or give a tensor another shape.

use super::{common, dims, value};
use flowmill_graph::InferenceContext as Context;
use flowmill_proto::TensorProto;
use flowmill_tensor::{DType, PartialShape, Result, Tensor, bail};

/// The constant in attribute `value`.
pub(crate) fn constant(c: &mut Context<'_>) -> Result<()> {
    let proto: &TensorProto = c.attrs().get("value")?;
    let shape = proto.tensor_shape.as_ref().map_or_else(PartialShape::scalar, PartialShape::from_proto);
    if !shape.is_fully_defined() {
        bail!(InvalidArgument, "Const tensor has an unknown shape {shape}");
    }
    let small = shape.num_elements().is_some_and(|n| n <= value::MAX_ELEMENTS);
    c.set_output(0, shape);
    if small {
        value::set(c, 0, Tensor::from_proto(proto).ok());
    }
    Ok(())
}

/// The last producer whose placeholders say "unknown" by the shape of a scalar.
const LAST_UNKNOWN_SCALAR: i32 = 21;

/// A fed tensor: attribute `shape`.
pub(crate) fn placeholder(c: &mut Context<'_>) -> Result<()> {
    let shape = common::shape_of_attr(c, "shape")?;
    let is_unknown = c.producer() <= LAST_UNKNOWN_SCALAR && shape.rank() == Some(0);
    c.set_output(0, if is_unknown { PartialShape::unknown() } else { shape });
    Ok(())
}

/// A tensor that may be fed: attribute `shape`, which that of the default has to fit.
pub(crate) fn placeholder_with_default(c: &mut Context<'_>) -> Result<()> {
    let shape = common::shape_of_attr(c, "shape")?;
    c.input(0).merge(&shape)?;
    c.set_output(0, shape);
    Ok(())
}

/// The input's shape as a vector, for each input.
pub(crate) fn shape(c: &mut Context<'_>) -> Result<()> {
    let dtype: DType = c.attrs().get("out_type")?;
    for i in 0..c.num_outputs() {
        let input = c.input(i);
        c.set_output(i, PartialShape::new(&[input.rank().map_or(dims::UNKNOWN, |r| r as i64)]));
        value::set_shape(c, i, dtype, input);
    }
    Ok(())
}

/// The input's number of elements.
pub(crate) fn size(c: &mut Context<'_>) -> Result<()> {
    c.set_output(0, PartialShape::scalar());
    if let Some(n) = c.input(0).num_elements() {
        value::set_scalar(c, 0, c.attrs().get("out_type")?, n as i64);
    }
    Ok(())
}

/// The input's rank.
pub(crate) fn rank(c: &mut Context<'_>) -> Result<()> {
    c.set_output(0, PartialShape::scalar());
    if let Some(n) = c.input(0).rank() {
        value::set_scalar(c, 0, DType::I32, n as i64);
    }
    Ok(())
}

/// The shape that input 1 gives; one size of −1 follows from the number of elements.
pub(crate) fn reshape(c: &mut Context<'_>) -> Result<()> {
    let input = c.input(0);
    let mut shape = c.input_as_shape(1)?;
    if let (Some(from), Some(to)) = (input.dims(), shape.dims()) {
        let known = |sizes: &[i64]| -> Result<i64> { dims::product(&sizes.iter().copied().filter(|&d| d >= 0).collect::<Vec<_>>()) };
        let unknown: Vec<usize> = (0..to.len()).filter(|&i| to[i] < 0).collect();
        let (have, want) = (known(from)?, known(to)?);
        let inferred: Vec<usize> = (0..to.len()).filter(|&i| to[i] == dims::UNKNOWN).collect();
        match (from.iter().filter(|&&d| d < 0).count(), unknown.as_slice()) {
            (0, []) if have != want => {
                bail!(InvalidArgument, "Cannot reshape a tensor with {have} elements to shape {shape} ({want} elements)")
            }
            // With no elements the missing size is still zero over something: only a positive product tells.
            (0, &[i]) if want > 0 => {
                if have % want != 0 {
                    bail!(InvalidArgument, "Dimension size must be evenly divisible by {want} but is {have}");
                }
                shape = dims::replaced(&shape, i, have / want);
            }
            _ if inferred.len() == 1 => {
                let others: Vec<i64> = to.iter().copied().filter(|&size| size != dims::UNKNOWN).collect();
                shape = dims::replaced(&shape, inferred[0], c.symbolic_ratio(from, &others));
            }
            _ => {}
        }
    }
    c.set_output(0, shape);
    reshaped_value(c);
    Ok(())
}

/// A known value in another static shape is still known.
fn reshaped_value(c: &mut Context<'_>) {
    let Some(shape) = c.output_mut(0).map(|o| o.shape.clone()) else { return };
    let Some(input) = c.value(0) else { return };
    if let (Some(constant), Some(shape)) = (&input.constant, shape.to_shape()) {
        value::set(c, 0, constant.clone().reshaped(shape).ok());
    } else if let (Some(sizes), Some(output)) = (&input.as_shape, c.output_mut(0))
        && (shape.rank() == Some(1) || shape.rank() == Some(0) && value::is_symbol(sizes))
    {
        output.as_shape = Some(sizes.clone());
    }
}

/// A dimension of one more at the axis that input 1 gives.
pub(crate) fn expand_dims(c: &mut Context<'_>) -> Result<()> {
    let input = c.input(0);
    if c.constant(1).is_some_and(|axis| axis.num_elements() != 1) {
        bail!(InvalidArgument, "'dim' input must be a tensor with a single value");
    }
    let axis = common::int(c, 1)?;
    let (Some(sizes), Some(axis)) = (input.dims(), axis) else {
        c.set_min_rank(0, 1);
        return Ok(());
    };
    let rank = sizes.len() as i64;
    if axis < -1 - rank || axis > rank {
        bail!(InvalidArgument, "dim {axis} not in the interval [{}, {rank}].", -1 - rank);
    }
    let mut sizes = sizes.to_vec();
    sizes.insert(if axis < 0 { axis + rank + 1 } else { axis } as usize, 1);
    c.set_output(0, PartialShape::new(&sizes));
    reshaped_value(c);
    Ok(())
}

/// Without the dimensions of one: those that are listed, or all.
pub(crate) fn squeeze(c: &mut Context<'_>) -> Result<()> {
    let listed: Vec<i64> = c.attrs().list("squeeze_dims")?;
    let input = c.input(0);
    let Some(sizes) = input.dims() else { return Ok(()) };
    if listed.is_empty() && !input.is_fully_defined() {
        return Ok(());
    }
    let rank = sizes.len() as i64;
    let mut squeezed = vec![false; sizes.len()];
    for (i, axis) in listed.iter().enumerate() {
        if *axis < -rank || *axis >= rank {
            bail!(InvalidArgument, "squeeze_dims[{i}] not in [{},{rank}).", -rank);
        }
        squeezed[axis.rem_euclid(rank) as usize] = true;
    }
    let mut kept = Vec::new();
    for (i, &size) in sizes.iter().enumerate() {
        match (listed.is_empty(), squeezed[i]) {
            (true, _) if size == 1 => {}
            (false, true) if size == 1 || size < 0 => {}
            (false, true) => bail!(InvalidArgument, "Can not squeeze dim[{i}], expected a dimension of 1, got {size}"),
            _ => kept.push(size),
        }
    }
    c.set_output(0, PartialShape::new(&kept));
    reshaped_value(c);
    Ok(())
}

/// The dimensions in the order that input 1 gives.
pub(crate) fn transpose(c: &mut Context<'_>) -> Result<()> {
    let (input, perm_shape) = (c.input(0), c.input(1));
    if let Some(n) = perm_shape.rank().filter(|&n| n > 1) {
        bail!(InvalidArgument, "Shape must be rank 1 but is rank {n}");
    }
    let perm = common::ints(c, 1)?;
    let Some(rank) = input.rank().or(perm_shape.num_elements().filter(|&n| n <= dims::MAX_RANK)) else { return Ok(()) };
    // One element permutes a vector or a scalar: both stay as they are.
    if input.rank().is_none() && rank < 2 {
        c.set_output(0, input);
        return Ok(());
    }
    let input = dims::with_rank(&input, rank)?;
    if let Some(n) = perm_shape.num_elements().filter(|&n| n != rank && !(n == 1 && rank == 0)) {
        bail!(InvalidArgument, "Dimension must be {rank} but is {n}");
    }
    let mut sizes = vec![dims::UNKNOWN; rank];
    if let Some(perm) = perm {
        for (size, &p) in sizes.iter_mut().zip(&perm) {
            if p >= rank as i64 || p < -(rank as i64) {
                bail!(InvalidArgument, "perm dim {p} is out of range of input rank {rank}");
            }
            *size = dims::size(&input, p.rem_euclid(rank as i64) as usize);
        }
    }
    c.set_output(0, PartialShape::new(&sizes));
    Ok(())
}

/// Equal parts of input 0 along the axis, one per output.
pub(crate) fn split(c: &mut Context<'_>) -> Result<()> {
    common::expect_scalar(c, 0)?;
    let (input, parts) = (c.input(1), c.num_outputs() as i64);
    let shape = match (input.rank(), common::int(c, 0)?) {
        (None, _) => PartialShape::unknown(),
        (Some(rank), None) => PartialShape::unknown_of_rank(rank),
        (Some(rank), Some(split_dim)) => {
            let axis = dims::axis(split_dim, rank)?;
            let size = dims::size(&input, axis);
            if size >= 0 && size % parts.max(1) != 0 {
                bail!(
                    InvalidArgument,
                    "Dimension size must be evenly divisible by {parts} but is {size}\n\tNumber of ways to split should evenly divide the split dimension"
                );
            }
            dims::replaced(&input, axis, if size < 0 { c.symbolic_quotient(size, parts.max(1)) } else { size / parts.max(1) })
        }
    };
    common::set_all(c, &shape)?;
    (0..c.num_outputs()).for_each(|i| c.set_min_rank(i, 1));
    value::set_elements(c, 1);
    Ok(())
}

/// Parts along the axis in input 2, with the lengths in input 1, of which one may be −1.
pub(crate) fn split_v(c: &mut Context<'_>) -> Result<()> {
    let (input, parts) = (c.input(0), c.num_outputs());
    (0..parts).for_each(|i| c.set_min_rank(i, 1));
    let Some(rank) = input.rank() else { return Ok(()) };
    let (lengths, axis) = (common::ints(c, 1)?, common::int(c, 2)?);
    let Some(axis) = axis else { return common::set_all(c, &PartialShape::unknown_of_rank(rank)) };
    let axis = dims::axis(axis, rank)?;
    let total = dims::size(&input, axis);
    let Some(mut lengths) = lengths else {
        return common::set_all(c, &dims::replaced(&input, axis, dims::UNKNOWN));
    };
    if lengths.len() != parts {
        bail!(InvalidArgument, "Length of size_splits should be equal to num_outputs");
    }
    if let Some((i, size)) = lengths.iter().enumerate().find(|(_, size)| **size < -1) {
        bail!(InvalidArgument, "Split size at index {i} must be >= 0. Got: {size}");
    }
    let Some(known) = value::sum(&lengths.iter().copied().filter(|&n| n >= 0).collect::<Vec<_>>()) else {
        bail!(InvalidArgument, "size_splits overflow");
    };
    match lengths.iter().filter(|&&n| n < 0).count() {
        0 if total >= 0 && known != total => {
            bail!(InvalidArgument, "can't split axis of size {total} into pieces of size [{}]", join(&lengths))
        }
        1 if total >= 0 && known > total => {
            bail!(InvalidArgument, "can't split axis of size {total} into pieces of size [{}]", join(&lengths))
        }
        1 if total >= 0 => lengths.iter_mut().filter(|n| **n < 0).for_each(|n| *n = total - known),
        1 => lengths.iter_mut().filter(|n| **n < 0).for_each(|n| *n = c.symbolic_difference(total, known)),
        0 => {}
        _ => bail!(InvalidArgument, "size_splits can only have one -1"),
    }
    for (i, &length) in lengths.iter().enumerate() {
        c.set_output(i, dims::replaced(&input, axis, length));
    }
    Ok(())
}

fn join(values: &[i64]) -> String {
    values.iter().map(i64::to_string).collect::<Vec<_>>().join(",")
}

/// Inputs of one shape, stacked along a new dimension.
pub(crate) fn pack(c: &mut Context<'_>) -> Result<()> {
    let n = c.num_inputs();
    let mut item = c.input(n.saturating_sub(1));
    for i in (0..n.saturating_sub(1)).rev() {
        item = c.input(i).merge(&item).map_err(|e| e.append(format!("\n\tFrom merging shape {i} with other shapes.")))?;
    }
    let Some(sizes) = item.dims() else {
        c.set_min_rank(0, 1);
        return Ok(());
    };
    let mut sizes = sizes.to_vec();
    let axis = new_axis(c, sizes.len())?;
    sizes.insert(axis, n as i64);
    c.set_output(0, PartialShape::new(&sizes));
    pack_value(c, item.rank(), axis);
    Ok(())
}

/// Scalars become a vector, whose elements may be sizes; rows become a matrix.
fn pack_value(c: &mut Context<'_>, rank: Option<usize>, axis: usize) {
    let Ok(dtype @ (DType::I32 | DType::I64)) = c.attrs().get::<DType>("T") else { return };
    let rows: Option<Vec<Vec<i64>>> = (0..c.num_inputs()).map(|i| c.known(i)?.to_i64_vec().ok()).collect();
    match (rows, rank) {
        (Some(rows), Some(_)) if axis == 0 => value::set_ints(c, dtype, Some(rows.concat())),
        (Some(rows), Some(1)) => {
            let length = rows.first().map_or(0, Vec::len);
            let columns = (0..length).flat_map(|i| rows.iter().filter_map(move |row| row.get(i).copied())).collect();
            value::set_ints(c, dtype, Some(columns));
        }
        (None, Some(0)) => {
            let size = |i: usize| value::sizes(c, i).and_then(|sizes| sizes.first().copied()).unwrap_or(dims::UNKNOWN);
            let sizes = (0..c.num_inputs()).map(size).collect();
            value::set_sizes(c, dtype, Some(sizes));
        }
        _ => {}
    }
}

/// The `axis` attribute as a place between `rank` dimensions.
fn new_axis(c: &Context<'_>, rank: usize) -> Result<usize> {
    let (axis, rank) = (c.attrs().get::<i64>("axis")?, rank as i64);
    if axis < -rank - 1 || axis > rank {
        bail!(InvalidArgument, "Invalid axis: {axis}; must be in [{},{})", -rank - 1, rank + 1);
    }
    Ok(if axis < 0 { axis + rank + 1 } else { axis } as usize)
}

/// The slices along one axis, each an output.
pub(crate) fn unpack(c: &mut Context<'_>) -> Result<()> {
    let input = c.input(0);
    let Some(sizes) = input.dims() else { return Ok(()) };
    let (axis, rank) = (c.attrs().get::<i64>("axis")?, sizes.len() as i64);
    if axis < -rank || axis >= rank {
        bail!(InvalidArgument, "Invalid axis: {axis}; must be in [{},{rank})", -rank);
    }
    let mut sizes = sizes.to_vec();
    let length = sizes.remove(axis.rem_euclid(rank) as usize);
    dims::expect(length, c.num_outputs() as i64)?;
    common::set_all(c, &PartialShape::new(&sizes))?;
    value::set_elements(c, 0);
    Ok(())
}

/// Inputs joined along an axis, which is the last input, or for `Concat` the first.
pub(crate) fn concat(c: &mut Context<'_>) -> Result<()> {
    let last = c.num_inputs().saturating_sub(1);
    let (axis_input, values) = if c.op_def().name == "Concat" { (0, 1..last + 1) } else { (last, 0..last) };
    concat_along(c, axis_input, values)
}

/// Inputs `values` joined along the axis in input `axis_input`.
pub(super) fn concat_along(c: &mut Context<'_>, axis_input: usize, values: std::ops::Range<usize>) -> Result<()> {
    common::expect_scalar(c, axis_input)?;
    c.set_min_rank(0, 1);
    let Some(axis) = common::int(c, axis_input)? else {
        // All inputs have the same rank; a scalar cannot be joined.
        let rank = values.clone().find_map(|i| c.input(i).rank());
        let Some(rank) = rank else { return Ok(()) };
        if rank == 0 {
            bail!(InvalidArgument, "Can't concatenate scalars (use tf.stack instead)");
        }
        for i in values {
            c.with_rank(i, rank)?;
        }
        c.set_output(0, PartialShape::unknown_of_rank(rank));
        return Ok(());
    };
    let min_rank = if axis < 0 { axis.checked_neg() } else { axis.checked_add(1) };
    let min_rank = usize::try_from(min_rank.unwrap_or(i64::MAX)).unwrap_or(usize::MAX);
    let mut joined: Option<(PartialShape, usize)> = None;
    let mut unknown = false;
    for i in values.clone() {
        let input = dims::with_rank_at_least(&c.input(i), min_rank)?;
        let Some(rank) = input.rank() else {
            unknown = true;
            continue;
        };
        joined = Some(match joined {
            None => (input, dims::axis(axis, rank)?),
            Some((before, at)) => {
                let input = dims::with_rank(&input, before.rank().unwrap_or(rank))?;
                let outer = dims::without_last(&before, rank - at).merge(&dims::without_last(&input, rank - at))?;
                let inner = dims::suffix(&before, at + 1).merge(&dims::suffix(&input, at + 1))?;
                let sum = dims::sum(c, dims::size(&before, at), dims::size(&input, at))?;
                (outer.concat(&PartialShape::new(&[sum])).concat(&inner), at)
            }
        });
    }
    let Some((shape, at)) = joined else { return Ok(()) };
    c.set_output(0, if unknown { dims::replaced(&shape, at, dims::UNKNOWN) } else { shape });
    concat_value(c, values);
    Ok(())
}

/// Vectors of known sizes joined are a vector of known sizes.
fn concat_value(c: &mut Context<'_>, values: std::ops::Range<usize>) {
    let Ok(dtype) = c.attrs().get::<DType>("T") else { return };
    if !matches!(dtype, DType::I32 | DType::I64) || c.output_mut(0).and_then(|o| o.shape.rank()) != Some(1) {
        return;
    }
    if let Some(parts) = values.clone().map(|i| c.known(i).and_then(|t| t.to_i64_vec().ok())).collect::<Option<Vec<_>>>() {
        value::set_ints(c, dtype, Some(parts.concat()));
    } else if let Some(parts) = values.map(|i| value::sizes(c, i)).collect::<Option<Vec<_>>>() {
        value::set_sizes(c, dtype, Some(parts.concat()));
    }
}

/// Rows side by side, in the shape of the attribute `shape`.
pub(crate) fn parallel_concat(c: &mut Context<'_>) -> Result<()> {
    let shape = common::shape_of_attr(c, "shape")?;
    if !shape.is_fully_defined() || shape.rank() == Some(0) {
        bail!(InvalidArgument, "shape attr must be fully defined.");
    }
    let mut row = dims::replaced(&shape, 0, 1);
    for i in 0..c.num_inputs() {
        let input = c.input(i);
        if !input.is_fully_defined() {
            bail!(InvalidArgument, "All input shapes must be fully defined.");
        }
        if input.rank() == Some(0) {
            bail!(InvalidArgument, "The rank of all input shapes must be greater than 0, but input {i} had rank 0.");
        }
        if dims::size(&input, 0) != 1 {
            bail!(InvalidArgument, "Size of first dimension must be 1.");
        }
        row = input.merge(&row).map_err(|e| e.context(format!("From merging shape {i} with other shapes.")))?;
    }
    c.set_output(0, shape);
    Ok(())
}
