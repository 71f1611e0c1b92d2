//! The kernel of reductions over any set of axes.

use super::reducers::Reducer;
use crate::cast::cast_tensor;
use crate::elementwise::{PARALLEL_MIN, Word};
use flowmill_kernels::axes::Plan;
use flowmill_numeric::reduce as numeric;
use flowmill_runtime::{Cost, Kernel, KernelContext, KernelInit};
use flowmill_tensor::{Allocator, DType, Result, Tensor};
use std::marker::PhantomData;
use std::sync::Arc;

/// The kernel of `R` over elements of `T`, or of a type of 16 bits that is widened to `T` and rounded once.
struct Reduction<T, R> {
    keep_dims: bool,
    cost: Cost,
    marker: PhantomData<fn() -> (T, R)>,
}

/// Makes the kernel of `R` over elements of `T`. It is expensive if its input is known to be large.
pub(super) fn reduction<T: Word, R: Reducer<T>>(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let large = init.input_shape(0).num_elements().is_some_and(|n| n >= PARALLEL_MIN);
    let cost = if large { Cost::Expensive } else { Cost::Cheap };
    Ok(Arc::new(Reduction::<T, R> { keep_dims: init.attrs.get_or("keep_dims", false)?, cost, marker: PhantomData }))
}

/// Makes the kernel of `R` over elements of a type of 16 bits.
pub(super) fn narrow_reduction<R: Reducer<f32>>(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    match init.dtype("T")? {
        DType::F16 | DType::BF16 => reduction::<f32, R>(init),
        _ => init.unsupported(),
    }
}

/// Returns the reduction of `x` over `axes`.
///
/// # Errors
/// Returns `InvalidArgument` for axes that are out of range or given twice.
pub(crate) fn reduce<T: Word, R: Reducer<T>>(alloc: &Allocator, input: &Tensor, axes: &Tensor, keep_dims: bool) -> Result<Tensor> {
    let plan = Plan::new(input.shape(), axes, keep_dims)?;
    if R::KEEPS_SINGLE && plan.count == 1 {
        return input.clone().reshaped(plan.shape);
    }
    let mut out = alloc.uninit(T::DTYPE, plan.shape.clone())?;
    numeric::reduce::<T, R>(input.as_slice::<T>()?, &plan.segments, plan.count, out.as_mut_slice::<T>()?);
    Ok(out)
}

impl<T: Word, R: Reducer<T>> Kernel for Reduction<T, R> {
    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (alloc, input) = (ctx.allocator(), ctx.input(0)?);
        let wide = cast_tensor(alloc, input, T::DTYPE)?;
        let out = cast_tensor(alloc, &reduce::<T, R>(alloc, &wide, ctx.input(1)?, self.keep_dims)?, input.dtype())?;
        ctx.set_output(0, out);
        Ok(())
    }

    fn cost(&self) -> Option<Cost> {
        Some(self.cost)
    }
}
