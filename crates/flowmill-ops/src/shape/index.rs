//! Gathering, scattering, and ops on vectors of indices.

use super::{common, dims, value};
use flowmill_graph::InferenceContext as Context;
use flowmill_tensor::{DType, PartialShape, Result, Symbol, Tensor, bail};

/// Rows of input 0.
pub(crate) fn gather(c: &mut Context<'_>) -> Result<()> {
    let params = dims::with_rank_at_least(&c.input(0), 1)?;
    let shape = c.input(1).concat(&dims::suffix(&params, 1));
    c.set_output(0, shape);
    Ok(())
}

/// Slices of input 0 along the axis in input 2, for each of the leading `batch_dims`.
pub(crate) fn gather_v2(c: &mut Context<'_>) -> Result<()> {
    let (params, indices) = (dims::with_rank_at_least(&c.input(0), 1)?, c.input(1));
    common::expect_scalar(c, 2)?;
    let batch_dims: i64 = c.attrs().get_or("batch_dims", 0)?;
    let Some(axis) = common::int(c, 2)? else {
        if let (Some(p), Some(i)) = (params.rank(), indices.rank()) {
            let rank = (p + i) as i64 - 1 - batch_dims.max(0);
            c.set_output(0, PartialShape::unknown_of_rank(rank.max(0) as usize));
        }
        return Ok(());
    };
    if axis >= 0 {
        dims::with_rank_at_least(&params, usize::try_from(axis).unwrap_or(usize::MAX).saturating_add(1))?;
    } else {
        dims::with_rank_at_least(&params, usize::try_from(axis.unsigned_abs()).unwrap_or(usize::MAX))?;
    }
    let (Some(p), Some(i)) = (params.dims(), indices.dims()) else { return Ok(()) };
    if batch_dims < -(i.len() as i64) || batch_dims > i.len() as i64 {
        bail!(InvalidArgument, "batch_dims {batch_dims} must be in [{}, {}]", -(i.len() as i64), i.len());
    }
    let batch = if batch_dims < 0 { batch_dims + i.len() as i64 } else { batch_dims } as usize;
    let axis = dims::axis(axis, p.len())?;
    let shape: PartialShape = p[..axis].iter().chain(&i[batch..]).chain(&p[axis + 1..]).copied().collect();
    c.set_output(0, shape);
    gather_value(c);
    Ok(())
}

/// Elements of a vector of sizes are sizes.
fn gather_value(c: &mut Context<'_>) {
    let Ok(dtype @ (DType::I32 | DType::I64)) = c.attrs().get::<DType>("Tparams") else { return };
    if c.input(0).rank() != Some(1) {
        return;
    }
    let (Some(from), Some(indices)) = (value::sizes(c, 0), c.known(1).and_then(|t| t.to_i64_vec().ok())) else { return };
    let taken = indices.iter().map(|&i| usize::try_from(i).ok().and_then(|i| from.get(i).copied())).collect::<Option<Vec<_>>>();
    if c.known(0).is_some() { value::set_ints(c, dtype, taken) } else { value::set_sizes(c, dtype, taken) }
}

/// Slices at coordinates: the last dimension of the indices counts how many of the input's they fix.
pub(crate) fn gather_nd(c: &mut Context<'_>) -> Result<()> {
    let shape = gathered_nd(&c.input(0), &c.input(1))?;
    c.set_output(0, shape);
    Ok(())
}

/// The shape of slices of `params` at the coordinates `indices`.
pub(crate) fn gathered_nd(params: &PartialShape, indices: &PartialShape) -> Result<PartialShape> {
    let indices = dims::with_rank_at_least(indices, 1)?;
    let (Some(rank), Some(index_rank)) = (params.rank(), indices.rank()) else { return Ok(PartialShape::unknown()) };
    let Some(depth) = indices.dim(index_rank - 1) else { return Ok(PartialShape::unknown()) };
    if depth > rank {
        bail!(InvalidArgument, "indices.shape[-1] must be <= params.rank, but saw indices shape: {indices} and params shape: {params}");
    }
    Ok(dims::without_last(&indices, 1).concat(&dims::suffix(params, depth)))
}

/// Updates at coordinates, spread over the shape in input 2.
pub(crate) fn scatter_nd(c: &mut Context<'_>) -> Result<()> {
    let shape = c.input_as_shape(2)?;
    check_scatter_nd(&c.input(0), &c.input(1), &shape)?;
    c.set_output(0, shape);
    Ok(())
}

/// Updates (input 2) at coordinates (input 1) of input 0, whose shape stays.
pub(crate) fn scatter_nd_update(c: &mut Context<'_>) -> Result<()> {
    let target = dims::with_rank_at_least(&c.input(0), 1)?;
    check_scatter_nd(&c.input(1), &c.input(2), &target)?;
    common::unchanged(c)
}

/// Like [`scatter_nd_update`], for a variable by handle.
pub(crate) fn resource_scatter_nd_update(c: &mut Context<'_>) -> Result<()> {
    let target = common::variable_shape_of(c, 0);
    check_scatter_nd(&c.input(1), &c.input(2), &target)
}

fn check_scatter_nd(indices: &PartialShape, updates: &PartialShape, target: &PartialShape) -> Result<()> {
    if target.num_elements() == Some(0) && (indices.num_elements().is_some_and(|n| n > 0) || updates.num_elements().is_some_and(|n| n > 0))
    {
        bail!(InvalidArgument, "Indices and updates specified for empty output");
    }
    let (Some(i), Some(u)) = (indices.dims(), updates.dims()) else { return Ok(()) };
    let Some((&depth, outer)) = i.split_last() else { return Ok(()) };
    let outer = outer.len();
    let (a, b) = (PartialShape::new(&i[..outer]), PartialShape::new(u.get(..outer).unwrap_or(u)));
    a.merge(&b).map_err(|e| {
        e.context(format!(
            "Dimensions [0,{outer}) of indices[shape={indices}] = {a} must match dimensions [0,{outer}) of updates[shape={updates}] = {b}"
        ))
    })?;
    let (Ok(depth), Some(rank)) = (usize::try_from(depth), target.rank()) else { return Ok(()) };
    let (a, b) = (dims::suffix(target, depth), dims::suffix(updates, outer));
    a.merge(&b).map_err(|e| {
        e.context(format!(
            "Dimensions [{depth},{rank}) of input[shape={target}] = {a} must match dimensions [{outer},{}) of updates[shape={updates}] = {b}",
            u.len()
        ))
    })?;
    Ok(())
}

/// Each dimension as many times as input 1 says.
pub(crate) fn tile(c: &mut Context<'_>) -> Result<()> {
    let input = c.input(0);
    let multiples = c.input_as_shape(1)?;
    let rank = match (input.rank(), multiples.rank()) {
        (Some(rank), _) | (None, Some(rank)) => rank,
        (None, None) => return Ok(()),
    };
    let (input, multiples) = (dims::with_rank(&input, rank)?, dims::with_rank(&multiples, rank)?);
    let sizes = (0..rank).map(|i| dims::multiply(dims::size(&input, i), dims::size(&multiples, i))).collect::<Result<Vec<_>>>()?;
    c.set_output(0, PartialShape::new(&sizes));
    Ok(())
}

/// Rows of (before, after) in input 1 widen each dimension; for the gradient they narrow it.
pub(crate) fn pad(c: &mut Context<'_>) -> Result<()> {
    let paddings = dims::with_rank(&c.input(1), 2)?;
    dims::expect(dims::size(&paddings, 1), 2)?;
    let Some(rank) = dims::as_rank(dims::size(&paddings, 0)).or(c.input(0).rank()) else { return Ok(()) };
    let input = dims::with_rank(&c.input(0), rank)?;
    let Some(values) = common::ints(c, 1)? else {
        c.set_output(0, PartialShape::unknown_of_rank(rank));
        return Ok(());
    };
    let mut sizes = Vec::with_capacity(rank);
    for (i, pair) in values.chunks_exact(2).enumerate().take(rank) {
        if pair[0] < 0 || pair[1] < 0 {
            bail!(InvalidArgument, "Paddings must be non-negative");
        }
        let both = dims::add(pair[0], pair[1])?;
        let size = dims::size(&input, i);
        sizes.push(if c.op_def().name == "MirrorPadGrad" { dims::difference(c, size, both)? } else { dims::sum(c, size, both)? });
    }
    c.set_output(0, PartialShape::new(&sizes));
    Ok(())
}

/// Numbers from `start` to `limit` by `delta`.
pub(crate) fn range(c: &mut Context<'_>) -> Result<()> {
    for (i, name) in ["start", "limit", "delta"].into_iter().enumerate() {
        common::expect_scalar(c, i).map_err(|e| e.append(format!("\n\t for '{name}'")))?;
    }
    c.set_output(0, PartialShape::new(&[dims::UNKNOWN]));
    let is = |c: &Context<'_>, i: usize, n: i64| c.known(i).and_then(|t| t.to_i64().ok()) == Some(n);
    // From 0 to a size in steps of 1 there are as many numbers, whatever the size is.
    if is(c, 0, 0)
        && is(c, 2, 1)
        && let Some(&[size]) = value::sizes(c, 1).as_deref()
        && Symbol::from_size(size).is_some()
    {
        c.set_output(0, PartialShape::new(&[size]));
    }
    let (Some(start), Some(limit), Some(delta)) = (c.constant(0), c.constant(1), c.constant(2)) else { return Ok(()) };
    let dtype = start.dtype();
    if matches!(dtype, DType::I32 | DType::I64) {
        let (start, limit, delta) = (start.to_i64()?, limit.to_i64()?, delta.to_i64()?);
        check_range(start, limit, delta)?;
        let span = i128::from(limit) - i128::from(start);
        let count = i64::try_from((span.abs() + i128::from(delta).abs() - 1) / i128::from(delta).abs());
        let Ok(count) = count else { bail!(InvalidArgument, "Requires ((limit - start) / delta) <= {}", i64::MAX) };
        c.set_output(0, PartialShape::new(&[count]));
        if count as usize <= value::MAX_ELEMENTS {
            let values = (0..count).map(|i| start.checked_add(i.checked_mul(delta)?)).collect();
            value::set_ints(c, dtype, values);
        }
    } else if let (Some(start), Some(limit), Some(delta)) = (float(start), float(limit), float(delta)) {
        check_range(start, limit, delta)?;
        let count = ((limit - start) / delta).abs().ceil();
        if count.is_nan() || count >= i64::MAX as f64 {
            bail!(InvalidArgument, "Requires ((limit - start) / delta) <= {}", i64::MAX);
        }
        c.set_output(0, PartialShape::new(&[count as i64]));
    }
    Ok(())
}

fn check_range<T: PartialOrd + Default + std::fmt::Display>(start: T, limit: T, delta: T) -> Result<()> {
    let zero = T::default();
    if delta == zero {
        bail!(InvalidArgument, "Requires delta != 0");
    }
    if start > limit && delta > zero {
        bail!(InvalidArgument, "Requires start <= limit when delta > 0: {start}/{limit}");
    }
    if start < limit && delta < zero {
        bail!(InvalidArgument, "Requires start >= limit when delta < 0: {start}/{limit}");
    }
    Ok(())
}

fn float(t: &Tensor) -> Option<f64> {
    match t.dtype() {
        DType::F32 => t.to_scalar::<f32>().ok().map(f64::from),
        DType::F64 => t.to_scalar::<f64>().ok(),
        _ => None,
    }
}

/// The coordinates of the true elements.
pub(crate) fn where_(c: &mut Context<'_>) -> Result<()> {
    let rank = c.input(0).rank().map_or(dims::UNKNOWN, |r| r as i64);
    c.set_output(0, PartialShape::new(&[dims::UNKNOWN, rank]));
    Ok(())
}

/// Flat indices become coordinates, a row for each dimension.
pub(crate) fn unravel_index(c: &mut Context<'_>) -> Result<()> {
    let indices = dims::with_rank_at_most(&c.input(0), 1)?;
    let rank = common::expect_vector(c, 1)?;
    match indices.rank() {
        Some(0) => c.set_output(0, PartialShape::new(&[rank])),
        Some(_) => {
            let n = indices.num_elements().map_or(dims::UNKNOWN, |n| n as i64);
            c.set_output(0, PartialShape::new(&[rank, n]));
        }
        None => {}
    }
    Ok(())
}

/// Values (input 1) each get a place in the sorted rows of input 0.
pub(crate) fn search_sorted(c: &mut Context<'_>) -> Result<()> {
    dims::with_rank(&c.input(0), 2)?;
    let values = dims::with_rank(&c.input(1), 2)?;
    c.set_output(0, values);
    Ok(())
}

/// The shape in input 1, to which input 0 must broadcast.
pub(crate) fn broadcast_to(c: &mut Context<'_>) -> Result<()> {
    dims::with_rank(&c.input(1), 1)?;
    let shape = c.input_as_shape(1)?;
    let (input, Some(rank)) = (c.input(0), shape.rank()) else { return Ok(()) };
    let mut sizes: Vec<i64> = (0..rank).map(|i| dims::size(&shape, i)).collect();
    if let Some(from) = dims::with_rank_at_most(&input, rank)?.dims() {
        for (&size, to) in from.iter().rev().zip(sizes.iter_mut().rev()) {
            // Only a one is repeated.
            if size > 1 {
                *to = dims::merge(size, *to).map_err(|e| e.append(format_args!(". Incompatible shapes: {input} vs. {shape}")))?;
            }
        }
    }
    c.set_output(0, PartialShape::new(&sizes));
    Ok(())
}

/// The broadcast of two shapes that are the inputs' values.
pub(crate) fn broadcast_args(c: &mut Context<'_>) -> Result<()> {
    let (x, y) = (common::expect_vector(c, 0)?, common::expect_vector(c, 1)?);
    let rank = if x < 0 || y < 0 { dims::UNKNOWN } else { x.max(y) };
    c.set_output(0, PartialShape::new(&[rank]));
    if let (Some(x), Some(y)) = (value::sizes(c, 0), value::sizes(c, 1)) {
        let shape = PartialShape::broadcast(&PartialShape::new(&x), &PartialShape::new(&y))?;
        value::set_shape(c, 0, c.attrs().get("T")?, shape);
    }
    Ok(())
}

/// The axes over which the gradients of two broadcast inputs are summed.
pub(crate) fn broadcast_gradient_args(c: &mut Context<'_>) -> Result<()> {
    common::expect_vector(c, 0)?;
    common::expect_vector(c, 1)?;
    common::vectors(c)?;
    let dtype: DType = c.attrs().get("T")?;
    let (Some(x), Some(y)) = (common::ints(c, 0)?, common::ints(c, 1)?) else { return Ok(()) };
    let rank = x.len().max(y.len());
    let at = |shape: &[i64], axis: usize| (axis + shape.len()).checked_sub(rank).map_or(1, |i| shape[i]);
    if PartialShape::broadcast(&PartialShape::new(&x), &PartialShape::new(&y)).is_err() {
        return Ok(());
    }
    // A one, or a dimension that is not there, was repeated: its gradient is a sum. Equal shapes sum nothing.
    for (output, shape) in [(0, &x), (1, &y)] {
        let axes: Vec<i64> = (0..rank).filter(|&axis| x != y && at(shape, axis) == 1).map(|axis| axis as i64).collect();
        value::set(c, output, Tensor::index_vector(dtype, &axes).ok());
    }
    Ok(())
}

/// The permutation that undoes the one in input 0.
pub(crate) fn invert_permutation(c: &mut Context<'_>) -> Result<()> {
    common::unchanged_with_rank::<1>(c)?;
    let Some(perm) = common::ints(c, 0)? else { return Ok(()) };
    let mut inverse = vec![-1; perm.len()];
    for (i, &p) in perm.iter().enumerate() {
        if let Some(slot) = usize::try_from(p).ok().and_then(|p| inverse.get_mut(p)) {
            *slot = i as i64;
        }
    }
    if inverse.iter().all(|&i| i >= 0) {
        value::set_ints(c, c.attrs().get("T")?, Some(inverse));
    }
    Ok(())
}

/// One vector per input: the offset of that input in the concatenation.
pub(crate) fn concat_offset(c: &mut Context<'_>) -> Result<()> {
    for i in 1..c.num_inputs() {
        c.set_output(i - 1, c.input(i));
    }
    let dtype: DType = c.attrs().get("shape_type")?;
    let shapes = (1..c.num_inputs()).map(|i| c.known(i).and_then(|t| t.to_i64_vec().ok())).collect::<Option<Vec<_>>>();
    let (Some(shapes), Some(axis)) = (shapes, common::int(c, 0)?) else { return Ok(()) };
    let rank = shapes.first().map_or(0, Vec::len);
    let Ok(axis) = dims::axis(axis, rank) else { return Ok(()) };
    let mut offset = 0i64;
    for (i, shape) in shapes.iter().enumerate() {
        let mut offsets = vec![0; rank];
        offsets[axis] = offset;
        value::set(c, i, Tensor::index_vector(dtype, &offsets).ok());
        offset = offset.saturating_add(shape.get(axis).copied().unwrap_or(0));
    }
    Ok(())
}

/// A one-hot vector of `depth` elements for each index, along `axis`.
pub(crate) fn one_hot(c: &mut Context<'_>) -> Result<()> {
    let axis: i64 = c.attrs().get("axis")?;
    if axis < -1 {
        bail!(InvalidArgument, "axis must be >= -1");
    }
    let depth = common::size_input(c, 1)?;
    common::expect_scalar(c, 2)?;
    common::expect_scalar(c, 3)?;
    let indices = c.input(0);
    let Some(sizes) = indices.dims() else {
        c.set_min_rank(0, 1);
        return Ok(());
    };
    let mut sizes = sizes.to_vec();
    let at = if axis < 0 { sizes.len() } else { axis as usize };
    if at > sizes.len() {
        bail!(InvalidArgument, "Shape must be at least rank {at} but is rank {}", sizes.len());
    }
    sizes.insert(at, depth);
    c.set_output(0, PartialShape::new(&sizes));
    Ok(())
}
