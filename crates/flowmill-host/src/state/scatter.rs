//! Updates of parts of variables, by reference and by handle: rows, slices selected by index vectors, and strided slices.

use super::indices::{row_starts, slice_starts};
use super::update::{Update, update_blocks};
use super::{Variable, VariableKind};
use crate::array::slice_spec::{Masks, resolve};
use crate::blocks::concat_blocks;
use crate::from_fn::from_fn;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Result, Shape, Tensor, bail, check_memory};
use std::sync::Arc;

macro_rules! register_updates {
    ($registry:expr, $make:ident, $($op:literal, $resource_op:literal => $update:ident;)*) => {
        $($registry.add($op, |init| $make(init, Update::$update, VariableKind::Ref));
        $registry.add($resource_op, |init| $make(init, Update::$update, VariableKind::Resource));)*
    };
}

pub(super) fn register(registry: &mut KernelRegistry) {
    register_updates! { registry, make_scatter,
        "ScatterUpdate", "ResourceScatterUpdate" => Assign;
        "ScatterAdd", "ResourceScatterAdd" => Add;
        "ScatterSub", "ResourceScatterSub" => Sub;
        "ScatterMul", "ResourceScatterMul" => Mul;
        "ScatterDiv", "ResourceScatterDiv" => Div;
        "ScatterMin", "ResourceScatterMin" => Min;
        "ScatterMax", "ResourceScatterMax" => Max;
    }
    register_updates! { registry, make_scatter_nd,
        "ScatterNdUpdate", "ResourceScatterNdUpdate" => Assign;
        "ScatterNdAdd", "ResourceScatterNdAdd" => Add;
        "ScatterNdSub", "ResourceScatterNdSub" => Sub;
        "ScatterNdMin", "ResourceScatterNdMin" => Min;
        "ScatterNdMax", "ResourceScatterNdMax" => Max;
    }
    registry.add("StridedSliceAssign", |init| make_strided_slice_assign(init, VariableKind::Ref));
    registry.add("ResourceStridedSliceAssign", |init| make_strided_slice_assign(init, VariableKind::Resource));
}

/// Returns a kernel that changes the variable in input 0. If that is a reference, it is the output.
fn updating(
    kind: VariableKind,
    change: impl Fn(&KernelContext<'_>, &mut Tensor) -> Result<()> + Send + Sync + 'static,
) -> Result<Arc<dyn Kernel>> {
    from_fn(move |ctx| {
        Variable::from_input(ctx, 0)?.update(|value| change(ctx, value))?;
        match kind {
            VariableKind::Ref => ctx.forward(0, 0),
            VariableKind::Resource => Ok(()),
        }
    })
}

fn check_dtype(value: &Tensor, updates: &Tensor) -> Result<()> {
    if value.dtype() != updates.dtype() {
        bail!(
            InvalidArgument,
            "Trying to update variable with wrong dtype. Expected {} got {}",
            value.dtype().cpp_name(),
            updates.dtype().cpp_name()
        );
    }
    Ok(())
}

/// Makes the kernel of `ScatterAdd` and related ops. Inputs: variable, indices of rows, and an update for each row, or a scalar for all.
fn make_scatter(init: &KernelInit<'_>, update: Update, kind: VariableKind) -> Result<Arc<dyn Kernel>> {
    update.checked_dtype(init, kind.dtype_attr())?;
    updating(kind, move |ctx, value| {
        let (indices, updates) = (ctx.input(1)?, ctx.input(2)?);
        check_dtype(value, updates)?;
        let Some((&rows, row)) = value.shape().split_first() else {
            bail!(InvalidArgument, "params must be at least 1-D, got shape {}", value.shape());
        };
        let expected = indices.shape().iter().chain(row).copied();
        if updates.rank() != 0 && !expected.eq(updates.shape().iter().copied()) {
            bail!(
                InvalidArgument,
                "Must have updates.shape = indices.shape + params.shape[1:] or updates.shape = [], got updates.shape {}, indices.shape {}, params.shape {}",
                updates.shape(),
                indices.shape(),
                value.shape()
            );
        }
        let block = Shape::new(row).num_elements();
        let starts = row_starts(indices, rows, block)?;
        update_blocks(update, value, &starts, block, updates)
    })
}

/// Makes the kernel of `ScatterNdAdd` and related ops. The rows of the indices select slices of the variable.
fn make_scatter_nd(init: &KernelInit<'_>, update: Update, kind: VariableKind) -> Result<Arc<dyn Kernel>> {
    update.checked_dtype(init, "T")?;
    updating(kind, move |ctx, value| {
        let (indices, updates) = (ctx.input(1)?, ctx.input(2)?);
        check_dtype(value, updates)?;
        let slice = check_nd_shapes(indices.shape(), updates.shape(), value.shape())?;
        match slice_starts(indices, value.shape())? {
            Ok(starts) => update_blocks(update, value, &starts, slice, updates),
            Err(bad) => bail!(InvalidArgument, "{bad} does not index into shape {}", value.shape()),
        }
    })
}

/// Checks the shapes of a `ScatterNd`-like op, and returns the number of elements of a slice.
fn check_nd_shapes(indices: &Shape, updates: &Shape, value: &Shape) -> Result<usize> {
    let Some((&depth, batch)) = indices.split_last() else {
        bail!(InvalidArgument, "Indices shape must have rank at least one. Found: {indices}");
    };
    if value.rank() == 0 {
        bail!(InvalidArgument, "Output must be at least 1-D, got shape: {value}");
    }
    if updates.get(..batch.len()) != Some(batch) {
        let n = batch.len();
        bail!(InvalidArgument, "Dimensions [0,{n}) of indices[shape={indices}] must match dimensions [0,{n}) of updates[shape={updates}]");
    }
    let slice = value.get(depth..);
    if slice.is_none() || updates.get(batch.len()..) != slice {
        bail!(
            InvalidArgument,
            "Dimensions [{depth},{}) of input[shape={value}] must match dimensions [{},{}) of updates[shape={updates}]",
            value.rank(),
            batch.len(),
            updates.rank()
        );
    }
    Ok(Shape::new(slice.unwrap_or_default()).num_elements())
}

/// Makes the kernel that assigns to a slice `variable[begin:end:strides]`. The value is broadcast to the slice. Inputs: variable, begin, end,
/// strides, value.
fn make_strided_slice_assign(init: &KernelInit<'_>, kind: VariableKind) -> Result<Arc<dyn Kernel>> {
    let masks = Masks::from_attrs(init.attrs)?;
    updating(kind, move |ctx, target| {
        let value = ctx.input(4)?;
        check_dtype(target, value)?;
        let (region, shape) = resolve(target.shape(), ctx.input(1)?, ctx.input(2)?, ctx.input(3)?, &masks)?;
        let source = broadcast_indices(value.shape(), &shape)?;
        let strides = target.shape().strides();
        let sizes = Shape::new(&region.sizes);
        let inner = sizes.strides();
        let start = |i: usize| -> usize {
            let along =
                |axis: usize| (region.begins[axis] + (i / inner[axis] % sizes[axis]) as i64 * region.steps[axis]) as usize * strides[axis];
            (0..sizes.rank()).map(along).sum()
        };
        check_memory::<usize>(sizes.num_elements())?;
        let starts: Vec<usize> = (0..sizes.num_elements()).map(start).collect();
        let values = concat_blocks(ctx.allocator(), value.dtype(), [starts.len()].into(), source.into_iter().map(|i| (value, i..i + 1)))?;
        update_blocks(Update::Assign, target, &starts, 1, &values)
    })
}

/// Returns, for every element of `to`, the position of the element of `from` that is broadcast to it.
fn broadcast_indices(from: &Shape, to: &Shape) -> Result<Vec<usize>> {
    if Shape::broadcast(from, to).as_ref() != Some(to) {
        bail!(InvalidArgument, "could not broadcast input array from shape {from} into shape {to}");
    }
    let (from_strides, to_strides) = (from.strides(), to.strides());
    let skipped = to.rank() - from.rank();
    let source = |i: usize| {
        (0..from.rank())
            .filter(|&axis| from[axis] != 1)
            .map(|axis| i / to_strides[axis + skipped] % to[axis + skipped] * from_strides[axis])
            .sum()
    };
    check_memory::<usize>(to.num_elements())?;
    Ok((0..to.num_elements()).map(source).collect())
}
