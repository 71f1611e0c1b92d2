//! Cumulative sums, products and log-sum-exps along one axis.

use super::outer_inner;
use crate::elementwise::for_whole_parts;
use crate::from_fn::from_fn;
use crate::number::Number;
use flowmill_runtime::{Kernel, KernelContext, KernelInit};
use flowmill_tensor::{Complex, Result, Tensor, bail, bf16, f16, for_dtype};
use num_traits::Float;
use std::sync::Arc;

/// The attributes of a scan.
#[derive(Clone, Copy)]
struct Direction {
    /// True if an element's result excludes the element itself.
    exclusive: bool,
    /// True if the scan runs from the last element to the first.
    reverse: bool,
}

fn direction(init: &KernelInit<'_>) -> Result<Direction> {
    Ok(Direction { exclusive: init.attrs.get_or("exclusive", false)?, reverse: init.attrs.get_or("reverse", false)? })
}

/// Makes the kernel of `Cumsum`.
pub(super) fn make_cumsum(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let direction = direction(init)?;
    for_dtype!(init.dtype("T")?, [f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, Complex<f32>, Complex<f64>],
        T => make(direction, |x, lanes, direction| scan::<T>(x, lanes, direction, T::ZERO, T::plus)), _ => init.unsupported())
}

/// Makes the kernel of `Cumprod`.
pub(super) fn make_cumprod(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let direction = direction(init)?;
    for_dtype!(init.dtype("T")?, [f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, Complex<f32>, Complex<f64>],
        T => make(direction, |x, lanes, direction| scan::<T>(x, lanes, direction, T::ONE, T::times)), _ => init.unsupported())
}

/// Makes the kernel of `CumulativeLogsumexp`.
pub(super) fn make_cumulative_logsumexp(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let direction = direction(init)?;
    for_dtype!(init.dtype("T")?, [f32, f64], T => make(direction, |x, lanes, direction| scan::<T>(x, lanes, direction, T::NEG_INFINITY, log_add_exp)),
        _ => for_dtype!(init.dtype("T")?, [f16, bf16], T => make(direction, |x, lanes, direction| {
            scan::<T>(x, lanes, direction, T::NEG_INFINITY, |a, b| T::narrow(log_add_exp(a.widen(), b.widen())))
        }), _ => init.unsupported()))
}

/// Returns `log(exp(a) + exp(b))` without overflow.
fn log_add_exp<F: Float>(a: F, b: F) -> F {
    let (low, high) = if a < b { (a, b) } else { (b, a) };
    if high == F::neg_infinity() { high } else { high + (low - high).exp().ln_1p() }
}

/// The dimensions of a scan: blocks of `size` rows of `inner` elements.
#[derive(Clone, Copy)]
struct Lanes {
    size: usize,
    inner: usize,
}

/// Makes a kernel that replaces its input by the results of `scan`.
fn make(direction: Direction, scan: fn(&mut Tensor, Lanes, Direction) -> Result<()>) -> Result<Arc<dyn Kernel>> {
    from_fn(move |ctx| compute(ctx, direction, scan))
}

fn compute(ctx: &mut KernelContext<'_>, direction: Direction, scan: fn(&mut Tensor, Lanes, Direction) -> Result<()>) -> Result<()> {
    let mut x = ctx.take_writable(0)?;
    let axis = ctx.input(1)?;
    if axis.rank() != 0 {
        bail!(InvalidArgument, "ScanOp: axis must be a scalar, not {}", axis.shape());
    }
    let (rank, axis) = (x.rank(), axis.to_i64()?);
    let Some(axis) = x.shape().axis(axis) else {
        bail!(InvalidArgument, "ScanOp: Expected scan axis in the range [{}, {rank}), but got {axis}", -(rank as i64));
    };
    let (size, (_, inner)) = (x.shape()[axis], outer_inner(x.shape(), axis));
    if x.num_elements() > 0 {
        scan(&mut x, Lanes { size, inner }, direction)?;
    }
    ctx.set_output(0, x);
    Ok(())
}

fn scan<T: Number>(
    x: &mut Tensor,
    Lanes { size, inner }: Lanes,
    direction: Direction,
    start: T,
    f: impl Fn(T, T) -> T + Sync,
) -> Result<()> {
    let block = size * inner;
    for_whole_parts(x.as_mut_slice::<T>()?, block, &|_, blocks| {
        let mut acc = vec![start; inner];
        for block in blocks.chunks_exact_mut(block) {
            acc.fill(start);
            for i in 0..size {
                let i = if direction.reverse { size - 1 - i } else { i };
                for (acc, x) in acc.iter_mut().zip(&mut block[i * inner..(i + 1) * inner]) {
                    let next = f(*acc, *x);
                    *x = if direction.exclusive { *acc } else { next };
                    *acc = next;
                }
            }
        }
    });
    Ok(())
}
