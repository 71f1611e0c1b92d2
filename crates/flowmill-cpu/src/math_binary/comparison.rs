//! Comparisons, logical and bitwise operations.

use crate::elementwise::{Binary, BinaryOp, Word, broadcast_positions, broadcast_shape};
use crate::from_fn::from_fn;
use crate::number::Ordered;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, ScalarOp};
use flowmill_tensor::{Allocator, Bytes, Complex, DType, Result, Shape, Tensor, bail, bf16, f16, for_dtype};
use std::sync::Arc;

/// `a == b`.
pub(super) struct Equal;
/// `a != b`.
pub(super) struct NotEqual;
/// `a < b`.
pub(super) struct Less;
/// `a <= b`.
pub(super) struct LessEqual;
/// `a > b`.
pub(super) struct Greater;
/// `a >= b`.
pub(super) struct GreaterEqual;
/// Logical and.
pub(super) struct LogicalAnd;
/// Logical or.
pub(super) struct LogicalOr;
/// Bitwise and.
pub(super) struct BitwiseAnd;
/// Bitwise or.
pub(super) struct BitwiseOr;
/// Bitwise exclusive or.
pub(super) struct BitwiseXor;
/// Shifts to the left; the distance is clamped to the type's width.
pub(super) struct LeftShift;
/// Shifts to the right, keeping the sign; the distance is clamped to the type's width.
pub(super) struct RightShift;

macro_rules! comparisons {
    ($($op:ident: $bound:ident, |$a:ident, $b:ident| $body:expr;)*) => {
        $(impl<T: $bound> BinaryOp<T> for $op {
            type Out = bool;
            #[inline(always)]
            fn apply($a: T, $b: T) -> bool { $body }
        })*
    };
}

comparisons! {
    Equal: Word, |a, b| a == b;
    NotEqual: Word, |a, b| a != b;
    Less: Ordered, |a, b| a < b;
    LessEqual: Ordered, |a, b| a <= b;
    Greater: Ordered, |a, b| a > b;
    GreaterEqual: Ordered, |a, b| a >= b;
}

impl BinaryOp<bool> for LogicalAnd {
    type Out = bool;
    #[inline(always)]
    fn apply(a: bool, b: bool) -> bool {
        a & b
    }
}

impl BinaryOp<bool> for LogicalOr {
    type Out = bool;
    #[inline(always)]
    fn apply(a: bool, b: bool) -> bool {
        a | b
    }
}

macro_rules! bits {
    ($($t:ty),*) => {
        $(
            bits!(@each $t, BitwiseAnd, |a, b| a & b);
            bits!(@each $t, BitwiseOr, |a, b| a | b);
            bits!(@each $t, BitwiseXor, |a, b| a ^ b);
            bits!(@each $t, LeftShift, |a, b| a << distance(b as i64, <$t>::BITS));
            bits!(@each $t, RightShift, |a, b| a >> distance(b as i64, <$t>::BITS));
        )*
    };
    (@each $t:ty, $op:ident, |$a:ident, $b:ident| $body:expr) => {
        impl BinaryOp<$t> for $op {
            type Out = $t;
            #[inline(always)]
            fn apply($a: $t, $b: $t) -> $t { $body }
        }
    };
}
bits!(i8, i16, i32, i64, u8, u16, u32, u64);

/// Returns a shift's distance within `0..bits`. An unsigned 64-bit distance past `i64` looks negative and becomes 0, as it does in TensorFlow.
#[inline(always)]
fn distance(distance: i64, bits: u32) -> u32 {
    distance.clamp(0, i64::from(bits) - 1) as u32
}

/// The kernel of `Equal` or `NotEqual`, which may return a single value for shapes that do not broadcast instead of an error.
struct Equality<A: Word> {
    compare: Binary<A, bool>,
    /// The value for shapes that do not broadcast, or `None` for an error.
    mismatch: Option<bool>,
}

fn shapes_match(a: &Tensor, b: &Tensor) -> bool {
    a.shape() == b.shape() || Shape::broadcast(a.shape(), b.shape()).is_some()
}

impl<A: Word> Kernel for Equality<A> {
    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        if let Some(value) = self.mismatch
            && !shapes_match(ctx.input(0)?, ctx.input(1)?)
        {
            ctx.set_output(0, Tensor::scalar(value));
            return Ok(());
        }
        self.compare.compute(ctx)
    }

    fn scalar_op(&self) -> Option<ScalarOp> {
        self.compare.scalar_op()
    }
}

fn make_equality<O>(init: &KernelInit<'_>, mismatch: bool, on_strings: fn(&Bytes, &Bytes) -> bool) -> Result<Arc<dyn Kernel>>
where
    O: BinaryOp<f32, Out = bool>
        + BinaryOp<f64, Out = bool>
        + BinaryOp<f16, Out = bool>
        + BinaryOp<bf16, Out = bool>
        + BinaryOp<i8, Out = bool>
        + BinaryOp<i16, Out = bool>
        + BinaryOp<i32, Out = bool>
        + BinaryOp<i64, Out = bool>
        + BinaryOp<u8, Out = bool>
        + BinaryOp<u16, Out = bool>
        + BinaryOp<u32, Out = bool>
        + BinaryOp<u64, Out = bool>
        + BinaryOp<bool, Out = bool>
        + BinaryOp<Complex<f32>, Out = bool>
        + BinaryOp<Complex<f64>, Out = bool>,
{
    let mismatch = (!init.attrs.get_or("incompatible_shape_error", true)?).then_some(mismatch);
    let dtype = init.dtype("T")?;
    if dtype == DType::String {
        return from_fn(move |ctx| {
            let (a, b) = (ctx.input(0)?, ctx.input(1)?);
            let out = match mismatch {
                Some(value) if !shapes_match(a, b) => Tensor::scalar(value),
                _ => compare_strings(ctx.allocator(), a, b, on_strings)?,
            };
            ctx.set_output(0, out);
            Ok(())
        });
    }
    for_dtype!(dtype, [f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, bool, Complex<f32>, Complex<f64>],
        T => Ok(Arc::new(Equality::<T> { compare: Binary::of::<O>(), mismatch })), _ => init.unsupported())
}

fn compare_strings(alloc: &Allocator, a: &Tensor, b: &Tensor, f: fn(&Bytes, &Bytes) -> bool) -> Result<Tensor> {
    let shape = broadcast_shape(a.shape(), b.shape())?;
    let (x, y) = (a.as_strings()?, b.as_strings()?);
    let pairs = broadcast_positions(a.shape(), &shape).into_iter().zip(broadcast_positions(b.shape(), &shape));
    let values: Vec<bool> = pairs.map(|(i, j)| f(&x[i], &y[j])).collect();
    alloc.from_slice(shape, &values)
}

/// Makes the kernel of `Equal`.
pub(super) fn make_equal(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    make_equality::<Equal>(init, false, |a, b| a == b)
}

/// Makes the kernel of `NotEqual`.
pub(super) fn make_not_equal(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    make_equality::<NotEqual>(init, true, |a, b| a != b)
}

/// Makes the kernel of `ApproximateEqual`: `|x - y| < tolerance`, for tensors of one shape.
pub(super) fn make_approximate_equal(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let tolerance = f64::from(init.attrs.get_or("tolerance", 1e-5f32)?);
    for_dtype!(init.dtype("T")?, [f32, f64], T => from_fn(move |ctx| {
        let (a, b) = (ctx.input(0)?, ctx.input(1)?);
        if a.shape() != b.shape() {
            bail!(InvalidArgument, "x and y must be of the same shape. x shape: {}. y shape: {}", a.shape(), b.shape());
        }
        let pairs = a.as_slice::<T>()?.iter().zip(b.as_slice::<T>()?);
        let close: Vec<bool> = pairs.map(|(&x, &y)| ((x - y).abs() as f64) < tolerance).collect();
        let out = ctx.allocator().from_slice(a.shape().clone(), &close)?;
        ctx.set_output(0, out);
        Ok(())
    }), _ => init.unsupported())
}
