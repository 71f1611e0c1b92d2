//! Kernels that consist of one function.

use flowmill_runtime::{Cost, Kernel, KernelContext, KernelInit};
use flowmill_tensor::Result;
use std::sync::Arc;

/// The number of statically known input elements from which a kernel that reads each of them takes more than ten microseconds.
const EXPENSIVE_ELEMENTS: usize = 1 << 16;

struct FromFn<F> {
    compute: F,
    /// `None` for the cost class of the op.
    cost: Option<Cost>,
    batched_inputs: u32,
}

impl<F: Fn(&mut KernelContext<'_>) -> Result<()> + Send + Sync + 'static> Kernel for FromFn<F> {
    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        (self.compute)(ctx)
    }

    fn cost(&self) -> Option<Cost> {
        self.cost
    }

    fn batched_inputs(&self) -> u32 {
        self.batched_inputs
    }
}

/// Returns a kernel that calls `compute`, with the cost class of its op. The result is a `Result` so that makers can end with this call.
///
/// # Errors
/// Returns no error.
pub fn from_fn(compute: impl Fn(&mut KernelContext<'_>) -> Result<()> + Send + Sync + 'static) -> Result<Arc<dyn Kernel>> {
    Ok(Arc::new(FromFn { compute, cost: None, batched_inputs: 0 }))
}

/// Like [`from_fn`], for kernels that may wait, such as for a file ([`Cost::Blocking`]).
///
/// # Errors
/// Returns no error.
pub fn blocking_from_fn(compute: impl Fn(&mut KernelContext<'_>) -> Result<()> + Send + Sync + 'static) -> Result<Arc<dyn Kernel>> {
    Ok(Arc::new(FromFn { compute, cost: Some(Cost::Blocking), batched_inputs: 0 }))
}

/// Like [`from_fn`], for work in proportion to the inputs' elements: the kernel is expensive if the inputs are known to have many.
pub fn linear_from_fn(
    init: &KernelInit<'_>,
    compute: impl Fn(&mut KernelContext<'_>) -> Result<()> + Send + Sync + 'static,
) -> Result<Arc<dyn Kernel>> {
    Ok(Arc::new(FromFn { compute, cost: Some(linear_cost(init)), batched_inputs: 0 }))
}

/// Makes a kernel whose work is in proportion to the elements of input `i`.
pub fn linear_in_from_fn(
    init: &KernelInit<'_>,
    i: usize,
    compute: impl Fn(&mut KernelContext<'_>) -> Result<()> + Send + Sync + 'static,
) -> Result<Arc<dyn Kernel>> {
    let cost = Some(cost_of_elements(init.input_shape(i).num_elements().unwrap_or(0)));
    Ok(Arc::new(FromFn { compute, cost, batched_inputs: 0 }))
}

/// Returns the cost of work in proportion to the inputs' elements.
pub fn linear_cost(init: &KernelInit<'_>) -> Cost {
    cost_of_elements(init.input_shapes.iter().filter_map(|shape| shape.num_elements()).fold(0, usize::saturating_add))
}

fn cost_of_elements(elements: usize) -> Cost {
    if elements >= EXPENSIVE_ELEMENTS { Cost::Expensive } else { Cost::Cheap }
}

/// Like [`from_fn`], with the kernel's estimate of its cost if it has one, for a kernel that works image by image on the inputs in `batched_inputs`: see [`Kernel::batched_inputs`].
pub fn batched_from_fn(
    cost: Option<Cost>,
    batched_inputs: u32,
    compute: impl Fn(&mut KernelContext<'_>) -> Result<()> + Send + Sync + 'static,
) -> Result<Arc<dyn Kernel>> {
    Ok(Arc::new(FromFn { compute, cost, batched_inputs }))
}
