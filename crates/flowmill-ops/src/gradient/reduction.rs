//! Gradients of reductions and scans.

use super::formula::Formula;
use super::{Grads, first};
use flowmill_graph::OutputId;
use flowmill_graph::builder::ScopedBuilder;
use flowmill_graph::builder::gradients::Backward;
use flowmill_tensor::Result;

type B<'a> = ScopedBuilder<'a>;

/// The axes of a reduction as a vector, from 0 on.
fn flat_axes(b: &mut B<'_>, axes: OutputId, rank: OutputId) -> Result<OutputId> {
    let flat = b.ints(&[-1])?;
    let axes = b.reshape(axes, flat)?;
    b.wrapped(axes, rank)
}

/// `input`'s shape with ones where `axes` reduce.
fn kept_dims(b: &mut B<'_>, input: OutputId, axes: OutputId) -> Result<OutputId> {
    let shape = b.dynamic_shape_of(input)?;
    let rank = b.rank_of(input)?;
    let axes = flat_axes(b, axes, rank)?;
    let (one, all) = (b.int(1)?, b.all_axes(input)?);
    let shape_of_axes = b.dynamic_shape_of(axes)?;
    let ones = b.call("Fill", &[shape_of_axes, one])?;
    b.op("DynamicStitch").inputs(&[all, axes, shape, ones]).attr("N", 2i64).output()
}

/// A gradient of the result, repeated over what was reduced.
fn spread(b: &mut B<'_>, op: &Backward, grad: OutputId) -> Result<OutputId> {
    let input = op.inputs[0];
    let kept = kept_dims(b, input, op.inputs[1])?;
    let grad = b.reshape(grad, kept)?;
    let shape = b.dynamic_shape_of(input)?;
    b.call("BroadcastTo", &[grad, shape])
}

pub(crate) fn sum(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    first(spread(b, op, dy)?, 1)
}

pub(crate) fn mean(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let grad = spread(b, op, dy)?;
    let elements = b.call("Size", &[op.inputs[0]])?;
    let results = b.call("Size", &[op.output(0)])?;
    let one = b.int(1)?;
    let results = b.call("Maximum", &[results, one])?;
    let count = b.call("FloorDiv", &[elements, results])?;
    let dtype = b.dtype(grad);
    let count = b.cast(count, dtype)?;
    first(b.div(grad, count)?, 1)
}

/// `Max` and `Min`: shared evenly by the elements that are equal to the result.
pub(crate) fn extreme(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let input = op.inputs[0];
    let kept = kept_dims(b, input, op.inputs[1])?;
    let y = b.reshape(op.output(0), kept)?;
    let grad = b.reshape(dy, kept)?;
    let is_extreme = b.call("Equal", &[y, input])?;
    let dtype = b.dtype(grad);
    let indicators = b.cast(is_extreme, dtype)?;
    let number = b.call("Sum", &[indicators, op.inputs[1]])?;
    let number = b.reshape(number, kept)?;
    let share = b.div(indicators, number)?;
    first(b.mul(share, grad)?, 1)
}

/// The product of all other elements, found from products of those before and those after, so that zeros do no harm.
pub(crate) fn prod(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let input = op.inputs[0];
    let grad = spread(b, op, dy)?;
    // Brings the reduced dimensions to the front, as one.
    let rank = b.rank_of(input)?;
    let reduced = flat_axes(b, op.inputs[1], rank)?;
    let (zero, all) = (b.int(0)?, b.all_axes(input)?);
    let others = b.op("ListDiff").inputs(&[all, reduced]).output()?;
    let order = b.call("ConcatV2", &[reduced, others, zero])?;
    let shape = b.dynamic_shape_of(input)?;
    let count = |b: &mut B<'_>, of: OutputId| {
        let sizes = b.call("GatherV2", &[shape, of, zero])?;
        let axis = b.ints(&[0])?;
        b.call("Prod", &[sizes, axis])
    };
    let (num_reduced, num_others) = (count(b, reduced)?, count(b, others)?);
    let moved = b.call("Transpose", &[input, order])?;
    let moved_shape = b.dynamic_shape_of(moved)?;
    let matrix = b.op("Pack").inputs(&[num_reduced, num_others]).output()?;
    let rows = b.reshape(moved, matrix)?;
    let before = b.op("Cumprod").inputs(&[rows, zero]).attr("exclusive", true).output()?;
    let after = b.op("Cumprod").inputs(&[rows, zero]).attr("exclusive", true).attr("reverse", true).output()?;
    let (before, after) = (b.conj(before)?, b.conj(after)?);
    let rest = b.mul(before, after)?;
    let rest = b.reshape(rest, moved_shape)?;
    let back = b.call("InvertPermutation", &[order])?;
    let rest = b.call("Transpose", &[rest, back])?;
    let product = b.mul(grad, rest)?;
    first(b.reshape(product, shape)?, 1)
}

pub(crate) fn cumsum(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let attrs = b.graph().node(op.node)?.attrs();
    let (exclusive, reverse) = (attrs.get_or("exclusive", false)?, attrs.get_or("reverse", false)?);
    let grad = b.op("Cumsum").inputs(&[dy, op.inputs[1]]).attr("exclusive", exclusive).attr("reverse", !reverse).output()?;
    first(grad, 1)
}

pub(crate) fn segment_sum(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let axis = b.int(0)?;
    first(b.call("GatherV2", &[dy, op.inputs[1], axis])?, 1)
}

pub(crate) fn segment_mean(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let segments = op.inputs[1];
    // Each row's share of its segment: one over the segment's number of rows.
    let data = op.inputs[0];
    let rank = b.rank_of(data)?;
    let (zero, one) = (b.int(0)?, b.int(1)?);
    let rows = b.dynamic_shape_of(segments)?;
    let less = b.sub(rank, one)?;
    let axis_shape = b.op("Pack").input(less).output()?;
    let ones_shape = b.call("Fill", &[axis_shape, one])?;
    let shape = b.call("ConcatV2", &[rows, ones_shape, zero])?;
    let number = b.number(dy, 1.0)?;
    let ones = b.call("Fill", &[shape, number])?;
    let counts = b.call("SegmentSum", &[ones, segments])?;
    let scaled = b.call("DivNoNan", &[dy, counts])?;
    first(b.call("GatherV2", &[scaled, segments, zero])?, 1)
}

/// The logarithm of a sum of exponentials of elements up to each one: `exp(x_i) Σ dy_j exp(-y_j)` over the sums `j` that `i` is in, from the
/// logarithms of what is positive and negative in `dy`.
pub(crate) fn cumulative_logsumexp(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let (x, axis, y) = (op.inputs[0], op.inputs[1], op.output(0));
    let attrs = b.graph().node(op.node)?.attrs();
    let (exclusive, reverse) = (attrs.get_or("exclusive", false)?, attrs.get_or("reverse", false)?);
    let (zero, one, none) = (b.number(dy, 0.0)?, b.number(dy, 1.0)?, b.number(dy, f64::NEG_INFINITY)?);
    let mut parts = Vec::with_capacity(2);
    let minus = b.neg(dy)?;
    for value in [dy, minus] {
        let is_positive = b.call("Greater", &[value, zero])?;
        let safe = b.select(is_positive, value, one)?;
        let log = b.call("Log", &[safe])?;
        let log = b.sub(log, y)?;
        let log = b.select(is_positive, log, none)?;
        let sum = b.op("CumulativeLogsumexp").inputs(&[log, axis]).attr("exclusive", exclusive).attr("reverse", !reverse).output()?;
        let exponent = b.add(sum, x)?;
        parts.push(b.call("Exp", &[exponent])?);
    }
    first(b.sub(parts[0], parts[1])?, 1)
}

/// `Σ dy_j y_j / x_i` over the products `j` that `i` is in; as in TensorFlow not a number where an element is zero.
pub(crate) fn cumprod(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let attrs = b.graph().node(op.node)?.attrs();
    let (exclusive, reverse) = (attrs.get_or("exclusive", false)?, attrs.get_or("reverse", false)?);
    let x = b.conj(op.inputs[0])?;
    let y = b.conj(op.output(0))?;
    let product = b.mul(dy, y)?;
    let sum = b.op("Cumsum").inputs(&[product, op.inputs[1]]).attr("exclusive", exclusive).attr("reverse", !reverse).output()?;
    // Where an element is zero, TensorFlow's gradient is zero.
    first(b.call("DivNoNan", &[sum, x])?, 1)
}

/// `x / |x|`.
pub(crate) fn euclidean_norm(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let scale = b.call("DivNoNan", &[dy, op.output(0)])?;
    let scale = spread(b, op, scale)?;
    first(b.mul(scale, op.inputs[0])?, 1)
}

/// Shared evenly by the elements of the last dimension that are equal to the one found.
pub(crate) fn nth_element(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let last = b.int(-1)?;
    let found = b.call("ExpandDims", &[op.output(0), last])?;
    let grad = b.call("ExpandDims", &[dy, last])?;
    let is_found = b.call("Equal", &[found, op.inputs[0]])?;
    let dtype = b.dtype(grad);
    let indicators = b.cast(is_found, dtype)?;
    let over = b.ints(&[-1])?;
    let number = b.op("Sum").inputs(&[indicators, over]).attr("keep_dims", true).output()?;
    let share = b.div(indicators, number)?;
    first(b.mul(share, grad)?, 1)
}

/// `TopKV2`: the gradient of each value goes back to where it was found.
pub(crate) fn top_k(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let shape = b.dynamic_shape_of(op.inputs[0])?;
    first(scattered(b, dy, op.output(1), shape)?, op.inputs.len() - 1)
}

/// `ApproxTopK`: as [`top_k`], with the dimension exchanged for the last one.
pub(crate) fn approx_top_k(b: &mut B<'_>, op: &Backward) -> Grads {
    let (dy, input) = (op.dy(b, 0)?, op.inputs[0]);
    let axis = b.graph().node(op.node)?.attrs().get_or::<i64>("reduction_dimension", -1)?;
    let shape = b.dynamic_shape_of(input)?;
    if axis == -1 {
        return first(scattered(b, dy, op.output(1), shape)?, 0);
    }
    let (zero, one, axis) = (b.int(0)?, b.int(1)?, b.int(axis as i32)?);
    let rank = b.rank_of(input)?;
    let axis = b.call("FloorMod", &[axis, rank])?;
    let last = b.sub(rank, one)?;
    let axes = b.call("Range", &[zero, rank, one])?;
    let (is_axis, is_last) = (b.call("Equal", &[axes, axis])?, b.call("Equal", &[axes, last])?);
    let rest = b.select(is_last, axis, axes)?;
    let order = b.select(is_axis, last, rest)?;
    let dy = b.call("Transpose", &[dy, order])?;
    let indices = b.call("Transpose", &[op.output(1), order])?;
    let shape = b.call("GatherV2", &[shape, order, zero])?;
    let grad = scattered(b, dy, indices, shape)?;
    first(b.call("Transpose", &[grad, order])?, 0)
}

/// Zeros of `shape` with the rows of `dy` added at the `indices` in rows.
fn scattered(b: &mut B<'_>, dy: OutputId, indices: OutputId, shape: OutputId) -> Result<OutputId> {
    let found = b.dynamic_shape_of(indices)?;
    let (minus, zero, one) = (b.int(-1)?, b.int(0)?, b.int(1)?);
    let (rank, axis) = (b.rank_of(dy)?, zero);
    let last_axis = b.sub(rank, one)?;
    let last = b.call("GatherV2", &[shape, last_axis, axis])?;
    let k = b.call("GatherV2", &[found, last_axis, axis])?;
    let wide = b.op("Pack").inputs(&[minus, k]).output()?;
    let indices = b.reshape(indices, wide)?;
    // Every row begins `last` elements after the one before.
    let row_shape = b.dynamic_shape_of(indices)?;
    let rows = b.call("GatherV2", &[row_shape, zero, zero])?;
    let end = b.mul(rows, last)?;
    let starts = b.call("Range", &[zero, end, last])?;
    let starts = b.op("ExpandDims").inputs(&[starts, minus]).output()?;
    let flat_indices = b.add(indices, starts)?;
    let flat = b.ints(&[-1])?;
    let flat_indices = b.reshape(flat_indices, flat)?;
    let column = b.op("ExpandDims").inputs(&[flat_indices, one]).output()?;
    let values = b.reshape(dy, flat)?;
    let axis = b.ints(&[0])?;
    let size = b.call("Prod", &[shape, axis])?;
    let size = b.op("Pack").input(size).output()?;
    let grad = b.call("ScatterNd", &[column, values, size])?;
    b.reshape(grad, shape)
}
