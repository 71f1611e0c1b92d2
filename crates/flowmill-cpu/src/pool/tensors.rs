//! Pools of tensors of any element type, computed in the few types that `flowmill_numeric::pool` is compiled for.

use crate::cast;
use flowmill_numeric::pool::{self, Pooled};
use flowmill_numeric::window::Volume;
use flowmill_tensor::{Allocator, DType, Element, Result, Shape, Tensor, bail, bf16, f16, for_dtype};

/// Returns the type that pools of a type are computed in: exact for maxima, and of more digits for sums. Sums of gradients of integers wrap around when they
/// are cast back, as those of the narrow type do.
fn wide(dtype: DType) -> DType {
    match dtype {
        DType::F16 | DType::BF16 => DType::F32,
        DType::I16 | DType::U16 => DType::I32,
        DType::U32 => DType::I64,
        same => same,
    }
}

/// Computes a pool of a tensor over a volume's windows, in a tensor of this shape.
pub(super) type Forward = fn(&Allocator, &Volume, &Tensor, Shape) -> Result<Tensor>;

/// Returns the maximum of each window, in a tensor of this shape.
///
/// # Errors
/// `Unimplemented` for types that no pool has.
pub(super) fn max_pool(alloc: &Allocator, v: &Volume, input: &Tensor, shape: Shape) -> Result<Tensor> {
    fn pooled<T: Pooled + Element>(alloc: &Allocator, v: &Volume, input: &Tensor, shape: Shape, lowest: T) -> Result<Tensor> {
        computed(alloc, shape, [input], |[input], out| pool::max_pool(v, input, out, lowest))
    }
    match input.dtype() {
        DType::F16 => pooled(alloc, v, input, shape, f16::MIN.to_f32()),
        DType::BF16 => pooled(alloc, v, input, shape, bf16::MIN.to_f32()),
        dtype => for_dtype!(wide(dtype), [f32, f64, i8, u8, i32, i64], T => {
            pooled::<T>(alloc, v, input, shape, T::LOWEST)
        }, _ => bail!(Unimplemented, "There is no max pool of {dtype}")),
    }
}

/// Returns the average of each window, in a tensor of this shape.
///
/// # Errors
/// `Unimplemented` for types that no pool has.
pub(super) fn avg_pool(alloc: &Allocator, v: &Volume, input: &Tensor, shape: Shape) -> Result<Tensor> {
    for_dtype!(wide(input.dtype()), [f32, f64], T => {
        computed::<T, _>(alloc, shape, [input], |[input], out| pool::avg_pool(v, input, out))
    }, _ => bail!(Unimplemented, "There is no average pool of {}", input.dtype()))
}

/// Returns the gradient of [`max_pool`]: that of each window goes to its first maximum.
///
/// # Errors
/// `Unimplemented` for types that no pool has.
pub(super) fn max_pool_grad(alloc: &Allocator, v: &Volume, input: &Tensor, gradient: &Tensor) -> Result<Tensor> {
    if gradient.num_elements() == 0 {
        return alloc.zeros(input.dtype(), input.shape().clone());
    }
    // Bytes have no code of their own, which would be large: their gradients are rare.
    let dtype = match wide(input.dtype()) {
        DType::I8 | DType::U8 => DType::I32,
        wide => wide,
    };
    for_dtype!(dtype, [f32, f64, i32, i64, u64], T => {
        let shape = input.shape().clone();
        computed::<T, _>(alloc, shape, [input, gradient], |[input, gradient], out| pool::max_pool_grad(v, input, gradient, out))
    }, _ => bail!(Unimplemented, "There is no gradient of a max pool of {}", input.dtype()))
}

/// Returns the gradient of [`max_pool`] from its input, its output and the output's gradient: that of each window goes to every element that equals its maximum.
///
/// # Errors
/// `Unimplemented` for types that no pool of volumes has.
pub(super) fn max_pool_grad_to_equals(alloc: &Allocator, v: &Volume, tensors: [&Tensor; 3]) -> Result<Tensor> {
    let [input, _, gradient] = tensors;
    if gradient.num_elements() == 0 {
        return alloc.zeros(input.dtype(), input.shape().clone());
    }
    if wide(input.dtype()) != DType::F32 {
        bail!(Unimplemented, "There is no gradient of a max pool of volumes of {}", input.dtype());
    }
    computed::<f32, _>(alloc, input.shape().clone(), tensors, |[input, output, gradient], out| {
        pool::max_pool_grad_to_equals(v, input, output, gradient, out);
    })
}

/// Returns the gradient of [`avg_pool`], in a tensor of this shape: that of each window is spread evenly over its elements.
///
/// # Errors
/// `Unimplemented` for types that no pool has.
pub(super) fn avg_pool_grad(alloc: &Allocator, v: &Volume, gradient: &Tensor, shape: Shape) -> Result<Tensor> {
    if gradient.num_elements() == 0 {
        return alloc.zeros(gradient.dtype(), shape);
    }
    for_dtype!(wide(gradient.dtype()), [f32, f64], T => {
        computed::<T, _>(alloc, shape, [gradient], |[gradient], out| pool::avg_pool_grad(v, gradient, out))
    }, _ => bail!(Unimplemented, "There is no gradient of an average pool of {}", gradient.dtype()))
}

/// Returns a tensor of this shape and the inputs' type, which a function computes from elements of type `T`. It isn't called for empty tensors.
fn computed<T: Element, const N: usize>(
    alloc: &Allocator,
    shape: Shape,
    inputs: [&Tensor; N],
    compute: impl FnOnce([&[T]; N], &mut [T]),
) -> Result<Tensor> {
    let dtype = inputs.first().map_or(T::DTYPE, |input| input.dtype());
    let mut out = alloc.uninit(T::DTYPE, shape)?;
    if out.num_elements() > 0 {
        let mut wide = inputs.map(Tensor::clone);
        for input in &mut wide {
            *input = cast::cast_tensor(alloc, input, T::DTYPE)?;
        }
        let mut slices = [&[][..]; N];
        for (slice, input) in slices.iter_mut().zip(&wide) {
            *slice = input.as_slice::<T>()?;
        }
        compute(slices, out.as_mut_slice()?);
    }
    cast::cast_tensor(alloc, &out, dtype)
}
