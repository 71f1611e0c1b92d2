//! Scattering of slices by index: `ScatterNd` and the `TensorScatter` ops.

use super::args::{product, shape_argument};
use super::gather::{ignores_bad_indices, slice_offsets};
use super::item::{Item, for_item};
use crate::from_fn::from_fn;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Allocator, Bytes, Complex, DType, Element, Result, Shape, Tensor, bail, bf16, error, f16, for_dtype};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("ScatterNd", make_scatter_nd);
    registry.add("ScatterNdNonAliasingAdd", |init| match init.dtype("T")? {
        DType::Bool => {
            tensor_scatter(ignores_bad_indices(init)?, |targets, out, updates| targets.combine::<bool>(out, updates, |a, &b| *a |= b))
        }
        _ => make_tensor_scatter(init, Update::Add),
    });
    registry.add("TensorScatterAdd", |init| make_tensor_scatter(init, Update::Add));
    registry.add("TensorScatterMax", |init| make_tensor_scatter(init, Update::Max));
    registry.add("TensorScatterMin", |init| make_tensor_scatter(init, Update::Min));
    registry.add("TensorScatterSub", |init| make_tensor_scatter(init, Update::Sub));
    registry.add("TensorScatterUpdate", make_tensor_scatter_update);
}

/// The operation that combines an update with the current value.
#[derive(Clone, Copy)]
enum Update {
    Add,
    Sub,
    Max,
    Min,
}

/// A type whose elements scatters can add. Integers wrap around.
trait Sum: Element {
    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
}

/// An ordered type. If either value is NaN, the current one is kept.
trait Order: Sum {
    fn above(self, other: Self) -> bool;
}

macro_rules! numbers {
    (floats: $($f:ty),*; integers: $($i:ty),*) => {
        $(impl Sum for $f {
            #[inline]
            fn plus(self, other: Self) -> Self { self + other }
            #[inline]
            fn minus(self, other: Self) -> Self { self - other }
        })*
        $(impl Sum for $i {
            #[inline]
            fn plus(self, other: Self) -> Self { self.wrapping_add(other) }
            #[inline]
            fn minus(self, other: Self) -> Self { self.wrapping_sub(other) }
        })*
    };
}

macro_rules! ordered {
    ($($t:ty),*) => { $(impl Order for $t {
        #[inline]
        fn above(self, other: Self) -> bool { self > other }
    })* };
}

numbers!(floats: f16, bf16, f32, f64, Complex<f32>, Complex<f64>; integers: i8, i16, i32, i64, u8, u16, u32, u64);
ordered!(f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64);

/// The positions of the slices of an update.
struct Targets {
    offsets: Vec<Option<usize>>,
    run: usize,
}

/// Checks the shapes of a scatter into a tensor of shape `shape`, and resolves its indices.
fn targets(alloc: &Allocator, index: &Tensor, updates: &Tensor, shape: &Shape, ignore: bool) -> Result<Targets> {
    let Some((&depth, outer)) = index.shape().split_last() else {
        bail!(InvalidArgument, "Indices shape must have rank at least one. Found:{}", index.shape());
    };
    if shape.num_elements() == 0 && (index.num_elements() > 0 || updates.num_elements() > 0) {
        bail!(InvalidArgument, "Indices and updates specified for empty output.  indices shape: {}", index.shape());
    }
    if updates.shape().get(..outer.len()) != Some(outer) {
        bail!(
            InvalidArgument,
            "Outer dimensions of indices and update must match. Indices shape: {}, updates shape:{}",
            index.shape(),
            updates.shape()
        );
    }
    let inner = updates.shape().get(outer.len()..).unwrap_or(&[]);
    if shape.get(depth..) != Some(inner) {
        bail!(
            InvalidArgument,
            "Inner dimensions of output shape must match inner dimensions of updates shape. Output: {shape} updates: {}",
            updates.shape()
        );
    }
    let offsets = slice_offsets(alloc, index, shape, ignore, |i, row| {
        error!(InvalidArgument, "indices[{i}] = [{row}] does not index into shape {shape}")
    })?;
    Ok(Targets { offsets, run: product(inner) })
}

/// A function that combines each slice of a tensor of updates with the slice at its position.
type Combine = fn(&Targets, out: &mut Tensor, updates: &Tensor) -> Result<()>;

impl Targets {
    /// Like [`Targets::apply`], for tensors.
    fn combine<T: Element>(&self, out: &mut Tensor, updates: &Tensor, combine: impl Fn(&mut T, &T)) -> Result<()> {
        self.apply(out.as_mut_slice::<T>()?, updates.as_slice::<T>()?, combine);
        Ok(())
    }

    /// Combines each slice of `updates` with the slice at its position in `out`, in order.
    fn apply<T>(&self, out: &mut [T], updates: &[T], combine: impl Fn(&mut T, &T)) {
        if self.run == 0 {
            return;
        }
        for (from, offset) in updates.chunks_exact(self.run).zip(&self.offsets) {
            if let Some(to) = offset {
                out[*to..to + self.run].iter_mut().zip(from).for_each(|(a, b)| combine(a, b));
            }
        }
    }
}

/// Makes the kernel of `ScatterNd`. Updates with equal indices are added; `bool` values are combined with `or`, and strings are joined.
fn make_scatter_nd(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let ignore = ignores_bad_indices(init)?;
    let dtype = init.dtype("T")?;
    let add: Combine = for_dtype!(
        dtype,
        [f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, Complex<f32>, Complex<f64>],
        T => |targets, out, updates| targets.combine::<T>(out, updates, |a, &b| *a = a.plus(b)),
        _ => return match dtype {
            DType::Bool => scatter_nd_items::<bool>(dtype, ignore, |a, &b| *a |= b),
            DType::String => scatter_nd_items::<Bytes>(dtype, ignore, |a, b| *a = if a.is_empty() { b.clone() } else { [&a[..], b].concat().into() }),
            _ => init.unsupported(),
        }
    );
    from_fn(move |ctx| {
        let (targets, shape) = scatter_nd_targets(ctx, ignore)?;
        let mut output = ctx.allocator().zeros(dtype, shape)?;
        add(&targets, &mut output, ctx.input(1)?)?;
        ctx.set_output(0, output);
        Ok(())
    })
}

fn scatter_nd_targets(ctx: &KernelContext<'_>, ignore: bool) -> Result<(Targets, Shape)> {
    let shape = shape_argument(ctx.input(2)?, "shape")?;
    Ok((targets(ctx.allocator(), ctx.input(0)?, ctx.input(1)?, &shape, ignore)?, shape))
}

fn scatter_nd_items<T: Item>(dtype: DType, ignore: bool, combine: fn(&mut T, &T)) -> Result<Arc<dyn Kernel>> {
    from_fn(move |ctx| {
        let (targets, shape) = scatter_nd_targets(ctx, ignore)?;
        let updates = T::items(ctx.input(1)?)?;
        let zero = T::zero()?;
        let output = T::build(ctx.allocator(), dtype, shape, updates, |out| {
            out.fill(zero);
            targets.apply(out, updates, combine);
            Ok(())
        })?;
        ctx.set_output(0, output);
        Ok(())
    })
}

fn make_tensor_scatter_update(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let ignore = ignores_bad_indices(init)?;
    for_item!(init.dtype("T")?, T => from_fn(move |ctx| {
        let targets = targets(ctx.allocator(), ctx.input(1)?, ctx.input(2)?, ctx.input(0)?.shape(), ignore)?;
        let mut output = ctx.take_writable(0)?;
        let updates = T::items(ctx.input(2)?)?;
        T::update(&mut output, |out| {
            targets.apply(out, updates, Clone::clone_from);
            Ok(())
        })?;
        ctx.set_output(0, output);
        Ok(())
    }))
}

fn make_tensor_scatter(init: &KernelInit<'_>, update: Update) -> Result<Arc<dyn Kernel>> {
    let ignore = ignores_bad_indices(init)?;
    let dtype = init.dtype("T")?;
    let combine: Combine = match update {
        Update::Add | Update::Sub => {
            for_dtype!(dtype, [f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, Complex<f32>, Complex<f64>], T => match update {
                Update::Add => |targets, out, updates| targets.combine::<T>(out, updates, |a, &b| *a = a.plus(b)),
                _ => |targets, out, updates| targets.combine::<T>(out, updates, |a, &b| *a = a.minus(b)),
            }, _ => return init.unsupported())
        }
        Update::Max | Update::Min => for_dtype!(dtype, [f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64], T => match update {
            Update::Max => |targets, out, updates| targets.combine::<T>(out, updates, |a, &b| if b.above(*a) { *a = b }),
            _ => |targets, out, updates| targets.combine::<T>(out, updates, |a, &b| if a.above(b) { *a = b }),
        }, _ => return init.unsupported()),
    };
    tensor_scatter(ignore, combine)
}

fn tensor_scatter(ignore: bool, combine: Combine) -> Result<Arc<dyn Kernel>> {
    from_fn(move |ctx| {
        let targets = targets(ctx.allocator(), ctx.input(1)?, ctx.input(2)?, ctx.input(0)?.shape(), ignore)?;
        let mut output = ctx.take_writable(0)?;
        combine(&targets, &mut output, ctx.input(2)?)?;
        ctx.set_output(0, output);
        Ok(())
    })
}
