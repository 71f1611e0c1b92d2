//! Tensors made of few values: `Const`, `Fill`, `ZerosLike`, `OnesLike`, `Empty`, `Range`, `LinSpace`, `OneHot`.

use super::args::{Indices, indices, product, scalar_index, shape_argument};
use super::item::{Item, for_item};
use crate::elementwise::for_whole_parts;
use crate::from_fn::from_fn;
use flowmill_kernels::arithmetic::zeros_like;
use flowmill_proto::TensorProto;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Complex, DType, Element, Result, Shape, Tensor, bail, bf16, error, f16, for_dtype};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("Const", make_const);
    registry.add("Empty", make_empty);
    registry.add("Fill", make_fill);
    registry.add("LinSpace", make_lin_space);
    registry.add("OneHot", make_one_hot);
    registry.add("OnesLike", make_ones_like);
    registry.add("Range", make_range);
    registry.add("ZerosLike", make_zeros_like);
}

fn make_const(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let value = Tensor::from_proto(init.attrs.get::<&TensorProto>("value")?)?;
    let dtype = init.dtype("dtype")?;
    if value.dtype() != dtype {
        bail!(InvalidArgument, "Type mismatch between value ({}) and dtype ({dtype})", value.dtype());
    }
    from_fn(move |ctx| {
        ctx.set_output(0, value.clone());
        Ok(())
    })
}

/// Makes the kernel of `Empty`. TensorFlow leaves the elements unspecified unless `init` is set; here they are zero.
fn make_empty(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("dtype")?;
    from_fn(move |ctx| {
        let shape = shape_argument(ctx.input(0)?, "shape")?;
        ctx.set_output(0, ctx.allocator().zeros(dtype, shape)?);
        Ok(())
    })
}

fn make_fill(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    for_item!(init.dtype("T")?, T => from_fn(|ctx| {
        let (dims, value) = (ctx.input(0)?, ctx.input(1)?);
        if dims.rank() > 1 {
            bail!(InvalidArgument, "dims must represent a vector, got shape {}", dims.shape());
        }
        // A vector of one element is accepted as a scalar, as in TensorFlow.
        if value.num_elements() != 1 || value.rank() > 1 {
            bail!(InvalidArgument, "value must represent a scalar, got shape {}", value.shape());
        }
        let shape = Shape::from_i64(&indices(dims)?)?;
        let item = T::items(value)?;
        let output = T::build(ctx.allocator(), value.dtype(), shape, item, |out| {
            out.fill(item[0].clone());
            Ok(())
        })?;
        ctx.set_output(0, output);
        Ok(())
    }))
}

/// Makes the kernel of `ZerosLike`: zeros of the input's shape; each variant supplies its own zero.
fn make_zeros_like(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("T")?;
    if dtype == DType::Variant {
        return from_fn(|ctx| {
            let zeros = zeros_like(ctx.input(0)?)?;
            ctx.set_output(0, zeros);
            Ok(())
        });
    }
    for_item!(dtype, T => {
        let zero = T::zero()?;
        from_fn(move |ctx| {
            let shape = ctx.input(0)?.shape().clone();
            let output = match ctx.take_if_reusable(0, dtype, &shape) {
                Some(mut tensor) => {
                    T::update(&mut tensor, |out| {
                        out.fill(zero.clone());
                        Ok(())
                    })?;
                    tensor
                }
                None => ctx.allocator().zeros(dtype, shape)?,
            };
            ctx.set_output(0, output);
            Ok(())
        })
    })
}

/// A type that has the number one.
trait One: Element {
    fn one() -> Self;
}

macro_rules! one {
    ($($t:ty => $one:expr),* $(,)?) => { $(impl One for $t { fn one() -> $t { $one } })* };
}

one! {
    f16 => f16::ONE, bf16 => bf16::ONE, f32 => 1.0, f64 => 1.0, i8 => 1, i16 => 1, i32 => 1, i64 => 1, u8 => 1, u16 => 1, u32 => 1, u64 => 1,
    bool => true, Complex<f32> => Complex::new(1.0, 0.0), Complex<f64> => Complex::new(1.0, 0.0),
}

fn make_ones_like(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("T")?;
    for_dtype!(dtype, [f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, bool, Complex<f32>, Complex<f64>], T => from_fn(move |ctx| {
        let shape = ctx.input(0)?.shape().clone();
        let mut output = match ctx.take_if_reusable(0, dtype, &shape) {
            Some(tensor) => tensor,
            None => ctx.allocator().uninit(dtype, shape)?,
        };
        output.as_mut_slice::<T>()?.fill(T::one());
        ctx.set_output(0, output);
        Ok(())
    }), _ => init.unsupported())
}

/// A type that `Range` supports.
trait Progression: Element + PartialOrd + std::fmt::Display {
    /// Returns the number of steps of `delta` from `start` to `limit`. The sign of `delta` was checked.
    fn count(start: Self, limit: Self, delta: Self) -> Result<usize>;
    /// Returns `start + i * delta`.
    fn at(start: Self, delta: Self, i: usize) -> Self;
}

macro_rules! float_progression {
    ($($f:ty, $to_f64:expr, $from_i:expr;)*) => {
        $(impl Progression for $f {
            fn count(start: $f, limit: $f, delta: $f) -> Result<usize> {
                let to_f64: fn($f) -> f64 = $to_f64;
                let steps = to_f64((limit - start) / delta).abs().ceil();
                if !(0.0..i64::MAX as f64).contains(&steps) {
                    bail!(InvalidArgument, "Requires ((limit - start) / delta) <= 9223372036854775807");
                }
                Ok(steps as usize)
            }
            fn at(start: $f, delta: $f, i: usize) -> $f {
                let from_i: fn(usize) -> $f = $from_i;
                start + from_i(i) * delta
            }
        })*
    };
}

macro_rules! integer_progression {
    ($($i:ty),*) => {
        $(impl Progression for $i {
            fn count(start: $i, limit: $i, delta: $i) -> Result<usize> {
                let distance = i128::from(limit).abs_diff(i128::from(start));
                let steps = distance.div_ceil(i128::from(delta).unsigned_abs());
                usize::try_from(steps).map_err(|_| error!(InvalidArgument, "Requires ((limit - start) / delta) <= 9223372036854775807"))
            }
            fn at(start: $i, delta: $i, i: usize) -> $i {
                start.wrapping_add(delta.wrapping_mul(i as $i))
            }
        })*
    };
}

float_progression! {
    f16, f64::from, |i| f16::from_f64(i as f64);
    bf16, f64::from, |i| bf16::from_f64(i as f64);
    f32, f64::from, |i| i as f32;
    f64, |x| x, |i| i as f64;
}
integer_progression!(i32, i64);

fn make_range(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    for_dtype!(init.dtype("Tidx")?, [f16, bf16, f32, f64, i32, i64], T => from_fn(range::<T>), _ => init.unsupported())
}

/// Returns the only element of a scalar, or of a vector that is accepted as one.
fn scalar_argument<T: Element>(ctx: &KernelContext<'_>, i: usize, name: &str) -> Result<T> {
    match ctx.input(i)?.as_slice::<T>()? {
        &[value] if ctx.input(i)?.rank() <= 1 => Ok(value),
        _ => bail!(InvalidArgument, "{name} must be a scalar, not shape {}", ctx.input(i)?.shape()),
    }
}

fn range<T: Progression>(ctx: &mut KernelContext<'_>) -> Result<()> {
    let start: T = scalar_argument(ctx, 0, "start")?;
    let limit: T = scalar_argument(ctx, 1, "limit")?;
    let delta: T = scalar_argument(ctx, 2, "delta")?;
    let zero = T::default();
    if delta == zero {
        bail!(InvalidArgument, "Requires delta != 0: {delta}");
    }
    if delta > zero && start > limit {
        bail!(InvalidArgument, "Requires start <= limit when delta > 0: {start}/{limit}");
    }
    if delta < zero && start < limit {
        bail!(InvalidArgument, "Requires start >= limit when delta < 0: {start}/{limit}");
    }
    let n = T::count(start, limit, delta)?;
    let mut output = ctx.allocator().uninit(T::DTYPE, [n])?;
    output.as_mut_slice::<T>()?.iter_mut().enumerate().for_each(|(i, slot)| *slot = T::at(start, delta, i));
    ctx.set_output(0, output);
    Ok(())
}

fn make_lin_space(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    match init.dtype("T")? {
        DType::F32 => from_fn(|ctx| lin_space::<f32>(ctx, |start, stop, i, n| start + (stop - start) / (n - 1) as f32 * i as f32)),
        DType::F64 => from_fn(|ctx| lin_space::<f64>(ctx, |start, stop, i, n| start + (stop - start) / (n - 1) as f64 * i as f64)),
        _ => init.unsupported(),
    }
}

/// Outputs `num` values from `start` on, the last of which is exactly `stop`.
fn lin_space<T: Element>(ctx: &mut KernelContext<'_>, at: fn(T, T, usize, usize) -> T) -> Result<()> {
    let start: T = scalar_argument(ctx, 0, "start")?;
    let stop: T = scalar_argument(ctx, 1, "stop")?;
    let num = scalar_index(ctx.input(2)?, "num")?;
    let Some(n) = usize::try_from(num).ok().filter(|&n| n > 0) else { bail!(InvalidArgument, "Requires num > 0: {num}") };
    let mut output = ctx.allocator().uninit(T::DTYPE, [n])?;
    for (i, slot) in output.as_mut_slice::<T>()?.iter_mut().enumerate() {
        *slot = match i {
            0 => start,
            i if i == n - 1 => stop,
            i => at(start, stop, i, n),
        };
    }
    ctx.set_output(0, output);
    Ok(())
}

fn make_one_hot(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let axis: i64 = init.attrs.get_or("axis", -1)?;
    for_item!(init.dtype("T")?, T => from_fn(move |ctx| one_hot::<T>(ctx, axis)))
}

fn one_hot<T: Item>(ctx: &mut KernelContext<'_>, axis: i64) -> Result<()> {
    let (index, depth, on, off) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?, ctx.input(3)?);
    let rank = index.rank();
    let at = match usize::try_from(axis) {
        Ok(axis) if axis <= rank => axis,
        _ if axis == -1 => rank,
        _ => bail!(InvalidArgument, "Expected axis to be -1 or between [0, {}).  But received: {axis}", rank + 1),
    };
    for (name, scalar) in [("depth", depth), ("on_value", on), ("off_value", off)] {
        if scalar.rank() != 0 {
            bail!(InvalidArgument, "{name} must be a scalar, but got: {}", scalar.shape());
        }
    }
    let depth = scalar_index(depth, "depth")?;
    let Ok(depth) = usize::try_from(depth) else { bail!(InvalidArgument, "depth must be non-negative, got: {depth}") };
    let mut shape = index.shape().clone();
    let suffix = product(&shape[at..]);
    shape.insert(at, depth);
    let (on, off) = (T::items(on)?, T::items(off)?);
    let hot: Indices = indices(index)?;
    let output = T::build(ctx.allocator(), ctx.input(2)?.dtype(), shape, off, |out| {
        for_whole_parts(out, depth * suffix, &|start, block| {
            block.fill(off[0].clone());
            let first = start.checked_div(depth).unwrap_or(0);
            for (i, &hot) in hot[first..].iter().enumerate().take(block.len().checked_div(depth).unwrap_or(0)) {
                if let Some(hot) = usize::try_from(hot).ok().filter(|&hot| hot < depth) {
                    block[(i / suffix * depth + hot) * suffix + i % suffix] = on[0].clone();
                }
            }
        });
        Ok(())
    })?;
    ctx.set_output(0, output);
    Ok(())
}
