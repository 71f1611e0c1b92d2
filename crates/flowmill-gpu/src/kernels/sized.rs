//! Kernels whose outputs' sizes, or errors, depend on numbers that the GPU computes.
//!
//! The host waits for these numbers alone: work is enqueued up to them, a copy of them to the host follows it in the stream, and the thread that waits
//! for copies enqueues the rest of the work. The thread that runs the step does other work meanwhile.

use crate::device::GpuDevice;
use flowmill_runtime::{AsyncContext, AsyncKernel, Kernel, KernelContext};
use flowmill_tensor::{Result, Tensor, bail};
use std::sync::Arc;

/// Work that has been enqueued.
pub(super) enum Begun {
    /// All of it, with these outputs.
    Whole(Vec<Tensor>),
    /// The work that computes some numbers. The function gets them in the host's memory, enqueues the rest of the work and returns the outputs.
    Numbers(Tensor, Box<dyn FnOnce(&GpuDevice, &Tensor) -> Result<Vec<Tensor>> + Send>),
}

struct Sized<F>(F);

/// Makes a kernel of a function that enqueues its work for some inputs.
///
/// # Errors
/// Returns no error; the type is that of functions that make kernels.
pub(super) fn sized<F>(begin: F) -> Result<Arc<dyn Kernel>>
where
    F: Fn(&GpuDevice, &[Tensor]) -> Result<Begun> + Send + Sync + 'static,
{
    Ok(Arc::new(Sized(begin)))
}

impl<F> Kernel for Sized<F>
where
    F: Fn(&GpuDevice, &[Tensor]) -> Result<Begun> + Send + Sync + 'static,
{
    fn compute(&self, _: &mut KernelContext<'_>) -> Result<()> {
        bail!(Internal, "a kernel that waits for numbers of the GPU is started");
    }

    fn as_async(&self) -> Option<&dyn AsyncKernel> {
        Some(self)
    }
}

impl<F> AsyncKernel for Sized<F>
where
    F: Fn(&GpuDevice, &[Tensor]) -> Result<Begun> + Send + Sync + 'static,
{
    fn start(&self, ctx: AsyncContext) {
        let device = ctx.device_step().device.clone();
        match GpuDevice::of(&device).and_then(|gpu| (self.0)(gpu, ctx.inputs())) {
            Err(e) => ctx.done(Err(e)),
            Ok(Begun::Whole(outputs)) => ctx.done(Ok(outputs.into_iter().map(Some).collect())),
            Ok(Begun::Numbers(numbers, then)) => {
                let own = device.clone();
                let end = move |numbers: Result<Tensor>| {
                    let outputs = numbers.and_then(|numbers| then(GpuDevice::of(&own)?, &numbers));
                    ctx.done(outputs.map(|outputs| outputs.into_iter().map(Some).collect()));
                };
                device.copy_dense_to_host(numbers, Box::new(end));
            }
        }
    }
}
