//! Kernels that are one function.

use flowmill_runtime::{Cost, Kernel, KernelContext};
use flowmill_tensor::Result;
use std::sync::Arc;

struct FromFn<F> {
    compute: F,
    cost: Cost,
}

impl<F: Fn(&mut KernelContext<'_>) -> Result<()> + Send + Sync + 'static> Kernel for FromFn<F> {
    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        (self.compute)(ctx)
    }

    fn cost(&self) -> Cost {
        self.cost
    }
}

/// A cheap kernel that calls `compute`. It is a `Result` so that makers can end with it.
pub(crate) fn from_fn(compute: impl Fn(&mut KernelContext<'_>) -> Result<()> + Send + Sync + 'static) -> Result<Arc<dyn Kernel>> {
    Ok(Arc::new(FromFn { compute, cost: Cost::Cheap }))
}

/// The same for work that is worth another thread.
pub(crate) fn expensive_from_fn(compute: impl Fn(&mut KernelContext<'_>) -> Result<()> + Send + Sync + 'static) -> Result<Arc<dyn Kernel>> {
    Ok(Arc::new(FromFn { compute, cost: Cost::Expensive }))
}
