//! `SparseToDense`, `SparseReorder` and `SparseReshape`.

use super::{Sparse, describe, index_matrix, matrix, pick, pick_indices, position, scattered};
use crate::from_fn::from_fn;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Result, Shape, bail, check_memory};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("SparseReorder", |_| from_fn(reorder));
    registry.add("SparseReshape", |_| from_fn(reshape));
    registry.add("SparseToDense", make_to_dense);
}

fn make_to_dense(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let validate = init.attrs.get_or("validate_indices", true)?;
    from_fn(move |ctx| to_dense(ctx, validate))
}

/// Outputs a dense tensor that has the values at their indices, and the default value elsewhere. Indices may be one number, one number per value,
/// or one row per value.
fn to_dense(ctx: &mut KernelContext<'_>, validate: bool) -> Result<()> {
    let (indices, shape, values, default) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?, ctx.input(3)?);
    let (count, width) = match *indices.shape().dims() {
        [] => (1, 1),
        [n] => (n, 1),
        [n, width] => (n, width),
        _ => bail!(InvalidArgument, "sparse_indices should be a scalar, vector, or matrix, got shape {}", indices.shape()),
    };
    if shape.rank() != 1 {
        bail!(InvalidArgument, "output_shape must be rank 1, got shape {}", shape.shape());
    }
    if shape.num_elements() != width {
        bail!(InvalidArgument, "output_shape has incorrect number of elements: {} should be: {width}", shape.num_elements());
    }
    if values.rank() != 0 && !(values.rank() == 1 && values.num_elements() == count) {
        bail!(InvalidArgument, "sparse_values has incorrect shape {}, should be [] or [{count}]", values.shape());
    }
    if default.rank() != 0 {
        bail!(InvalidArgument, "default_value should be a scalar.");
    }
    let shape = Shape::from_i64(&shape.to_i64_vec()?)?;
    let indices = indices.to_i64_vec()?;
    let row = |i: usize| &indices[i * width..][..width];
    check_memory::<usize>(count)?;
    let mut positions = Vec::with_capacity(count);
    for i in 0..count {
        let Some(position) = position(row(i), &shape) else {
            let sizes: Vec<String> = shape.iter().map(usize::to_string).collect();
            bail!(InvalidArgument, "{} is out of bounds: need 0 <= index < [{}]", describe(i, row(i)), sizes.join(","));
        };
        if validate && i > 0 && row(i) <= row(i - 1) {
            if row(i) == row(i - 1) {
                bail!(InvalidArgument, "{} is repeated", describe(i, row(i)));
            }
            bail!(
                InvalidArgument,
                "{} is out of order. Many sparse ops require sorted indices.\n    Use `tf.sparse.reorder` to create a correctly ordered copy.\n\n",
                describe(i, row(i))
            );
        }
        positions.push(position);
    }
    let dense = scattered(ctx.allocator(), values, &positions, shape, default)?;
    ctx.set_output(0, dense);
    Ok(())
}

/// Outputs the tensor with its values in row-major order.
fn reorder(ctx: &mut KernelContext<'_>) -> Result<()> {
    let sparse = Sparse::input(ctx, 0)?;
    let order = sparse.order();
    if order.is_sorted() {
        ctx.forward(0, 0)?;
        return ctx.forward(1, 1);
    }
    let (indices, values) = (pick_indices(ctx.allocator(), &sparse, &order)?, pick(ctx.allocator(), sparse.values, &order)?);
    ctx.set_output(0, indices);
    ctx.set_output(1, values);
    Ok(())
}

/// Outputs the tensor in another shape: values keep their row-major positions. One size of the shape may be inferred.
fn reshape(ctx: &mut KernelContext<'_>) -> Result<()> {
    let (indices, old, new) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?);
    let (count, width) = matrix(indices, "Input indices")?;
    for (name, tensor) in [("Input", old), ("Target", new)] {
        if tensor.rank() != 1 {
            bail!(InvalidArgument, "{name} shape should be a vector but received shape {}", tensor.shape());
        }
    }
    if width != old.num_elements() {
        bail!(
            InvalidArgument,
            "Input tensor rank must match input shape length: indices of shape {} for {} sizes",
            indices.shape(),
            old.num_elements()
        );
    }
    let old = Shape::from_i64(old.as_slice()?)?;
    let new = target_shape(&old, new.as_slice()?)?;
    let sizes = ctx.allocator().vector(&new.to_i64())?;
    if old == new {
        ctx.forward(0, 0)?;
        ctx.set_output(1, sizes);
        return Ok(());
    }
    if old.num_elements() != new.num_elements() {
        bail!(
            InvalidArgument,
            "Input to reshape is a tensor with {} dense values, but the requested shape has {}. input_shape={old} output_shape={new}",
            old.num_elements(),
            new.num_elements()
        );
    }
    let source = indices.as_slice::<i64>()?;
    check_memory::<i64>(count.saturating_mul(new.rank()))?;
    let mut moved = vec![0i64; count * new.rank()];
    for (i, to) in (0..count).zip(moved.chunks_exact_mut(new.rank().max(1))) {
        let row = &source[i * width..][..width];
        let Some(mut rest) = position(row, &old) else {
            bail!(InvalidArgument, "{} is out of bounds of the shape {old}", describe(i, row));
        };
        for (to, &size) in to.iter_mut().zip(new.iter()).rev() {
            *to = (rest % size) as i64;
            rest /= size;
        }
    }
    let indices = index_matrix(ctx.allocator(), &moved, new.rank(), count)?;
    ctx.set_output(0, indices);
    ctx.set_output(1, sizes);
    Ok(())
}

/// Returns the requested shape, with its inferred size.
fn target_shape(old: &Shape, sizes: &[i64]) -> Result<Shape> {
    let mut open = None;
    let mut sizes = sizes.to_vec();
    for (i, size) in sizes.iter_mut().enumerate() {
        match (*size, open) {
            (-1, Some(other)) => bail!(InvalidArgument, "only one output dimension may be -1, not both {other} and {i}"),
            (-1, None) => {
                open = Some(i);
                *size = 1;
            }
            (..-1, _) => bail!(InvalidArgument, "size {i} must be non-negative, not {size}"),
            _ => {}
        }
    }
    let mut shape = Shape::from_i64(&sizes)?;
    let Some(open) = open else { return Ok(shape) };
    let (dense, known) = (old.num_elements(), shape.num_elements());
    if known == 0 {
        bail!(
            InvalidArgument,
            "reshape cannot infer the missing input size for an empty tensor unless all specified input sizes are non-zero"
        );
    }
    if dense % known != 0 {
        bail!(
            InvalidArgument,
            "Input to reshape is a SparseTensor with {dense} dense values, but the requested shape requires a multiple of {known}. input_shape={old} output_shape={shape}"
        );
    }
    shape[open] = dense / known;
    Ok(shape)
}
