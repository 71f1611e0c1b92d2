//! Pools of tensors of any element type, computed in the few types that `flowmill_numeric::pool` is compiled for.

use flowmill_numeric::pool::{self, Pooled};
use flowmill_numeric::window::Volume;
use flowmill_tensor::{Allocator, Element, Result, Shape, Tensor, bf16, f16};
use half::slice::HalfFloatSliceExt;

/// An element type of pools.
pub(super) trait PoolElement: Element {
    /// The type that the pool is computed in: exact for maxima, and of more digits for sums.
    type Wide: Pooled;
    /// The maximum of no elements.
    const LOWEST: Self::Wide;

    /// Calls a function with the inputs as wide elements, and with the output's.
    fn widely<const N: usize>(
        alloc: &Allocator,
        inputs: [&[Self]; N],
        output: &mut [Self],
        compute: impl FnOnce([&[Self::Wide]; N], &mut [Self::Wide]),
    ) -> Result<()>;
}

macro_rules! same {
    ($($t:ty),*) => {$(
        impl PoolElement for $t {
            type Wide = $t;
            const LOWEST: $t = <$t>::MIN;

            fn widely<const N: usize>(
                _: &Allocator,
                inputs: [&[$t]; N],
                output: &mut [$t],
                compute: impl FnOnce([&[$t]; N], &mut [$t]),
            ) -> Result<()> {
                compute(inputs, output);
                Ok(())
            }
        }
    )*};
}
same!(f32, f64, i8, u8, i32, i64, u64);

macro_rules! wider {
    ($($t:ty as $wide:ty, $lowest:expr, $widen:expr, $narrow:expr;)*) => {$(
        impl PoolElement for $t {
            type Wide = $wide;
            const LOWEST: $wide = $lowest;

            fn widely<const N: usize>(
                alloc: &Allocator,
                inputs: [&[$t]; N],
                output: &mut [$t],
                compute: impl FnOnce([&[$wide]; N], &mut [$wide]),
            ) -> Result<()> {
                let len = inputs.iter().map(|input| input.len()).fold(output.len(), usize::saturating_add);
                let _reserved = alloc.reserve::<$wide>(len)?;
                let (widen, narrow): (fn(&[$t], &mut [$wide]), fn(&[$wide], &mut [$t])) = ($widen, $narrow);
                let inputs = inputs.map(|input| {
                    let mut wide = vec![<$wide>::default(); input.len()];
                    widen(input, &mut wide);
                    wide
                });
                let mut wide = vec![<$wide>::default(); output.len()];
                compute(inputs.each_ref().map(Vec::as_slice), &mut wide);
                narrow(&wide, output);
                Ok(())
            }
        }
    )*};
}

/// Converts each element by `as`, which wraps sums of gradients around as additions of the narrow type do.
macro_rules! by_as {
    ($wide:ty, $narrow:ty) => {
        |from, to| to.iter_mut().zip(from).for_each(|(to, &from)| *to = from as $wide)
    };
}

wider! {
    f16 as f32, -65504.0, |from, to| from.convert_to_f32_slice(to), |from, to| to.convert_from_f32_slice(from);
    bf16 as f32, f32::from_bits(0xFF7F_0000), |from, to| from.convert_to_f32_slice(to), |from, to| to.convert_from_f32_slice(from);
    i16 as i32, i16::MIN as i32, by_as!(i32, i16), by_as!(i16, i32);
    u16 as i32, 0, by_as!(i32, u16), by_as!(u16, i32);
    u32 as i64, 0, by_as!(i64, u32), by_as!(u32, i64);
}

/// Returns the maximum of each window, in a tensor of this shape.
pub(super) fn max_pool<T: PoolElement>(alloc: &Allocator, v: &Volume, input: &Tensor, shape: Shape) -> Result<Tensor> {
    computed::<T, _>(alloc, shape, [input], |[input], out| pool::max_pool(v, input, out, T::LOWEST))
}

/// Returns the average of each window, in a tensor of this shape.
pub(super) fn avg_pool<T: PoolElement>(alloc: &Allocator, v: &Volume, input: &Tensor, shape: Shape) -> Result<Tensor> {
    computed::<T, _>(alloc, shape, [input], |[input], out| pool::avg_pool(v, input, out))
}

/// Returns the gradient of [`max_pool`]: that of each window goes to its first maximum.
pub(super) fn max_pool_grad<T: PoolElement>(alloc: &Allocator, v: &Volume, input: &Tensor, gradient: &Tensor) -> Result<Tensor> {
    if gradient.num_elements() == 0 {
        return alloc.zeros(T::DTYPE, input.shape().clone());
    }
    computed::<T, _>(alloc, input.shape().clone(), [input, gradient], |[input, gradient], out| pool::max_pool_grad(v, input, gradient, out))
}

/// Returns the gradient of [`avg_pool`], in a tensor of this shape: that of each window is spread evenly over its elements.
pub(super) fn avg_pool_grad<T: PoolElement>(alloc: &Allocator, v: &Volume, gradient: &Tensor, shape: Shape) -> Result<Tensor> {
    if gradient.num_elements() == 0 {
        return alloc.zeros(T::DTYPE, shape);
    }
    computed::<T, _>(alloc, shape, [gradient], |[gradient], out| pool::avg_pool_grad(v, gradient, out))
}

/// Returns a tensor of this shape that a function computes from wide elements. It isn't called for empty tensors.
fn computed<T: PoolElement, const N: usize>(
    alloc: &Allocator,
    shape: Shape,
    inputs: [&Tensor; N],
    compute: impl FnOnce([&[T::Wide]; N], &mut [T::Wide]),
) -> Result<Tensor> {
    let mut out = alloc.uninit(T::DTYPE, shape)?;
    if out.num_elements() > 0 {
        let mut slices = [&[][..]; N];
        for (slice, input) in slices.iter_mut().zip(inputs) {
            *slice = input.as_slice::<T>()?;
        }
        T::widely(alloc, slices, out.as_mut_slice()?, compute)?;
    }
    Ok(out)
}
