//! Kernels that are compiled when they are first enqueued.

use crate::backend::{Function, Grid};
use crate::device::{Argument, GpuDevice};
use crate::text::{compute_name, element_name, source};
use flowmill_tensor::{DType, Result, error};
use smallvec::SmallVec;
use std::sync::{Arc, OnceLock};

/// A kernel of some text for some types. It belongs to a graph node's kernel, and so to one device.
pub(crate) struct CompiledKernel {
    text: &'static str,
    name: &'static str,
    types: SmallVec<[(&'static str, &'static str); 3]>,
    function: OnceLock<Arc<dyn Function>>,
}

impl CompiledKernel {
    /// Returns the kernel `name` of a text in which the names of `types` are defined as the types that follow them.
    pub(crate) fn new(text: &'static str, name: &'static str, types: &[(&'static str, &'static str)]) -> CompiledKernel {
        CompiledKernel { text, name, types: SmallVec::from_slice(types), function: OnceLock::new() }
    }

    /// Returns the kernel for elements `T` of a type, which are computed with in the type `C`.
    ///
    /// # Errors
    /// Returns `Internal` for a type that GPUs do not have.
    pub(crate) fn of(text: &'static str, name: &'static str, dtype: DType) -> Result<CompiledKernel> {
        Ok(CompiledKernel::new(text, name, &element_types(dtype)?))
    }

    /// Enqueues the kernel. The arguments must fit the kernel's parameters.
    ///
    /// # Errors
    /// Returns the errors of the compiler and the driver.
    pub(crate) fn launch(&self, device: &GpuDevice, grid: Grid, arguments: &[Argument<'_>]) -> Result<()> {
        let function = match self.function.get() {
            Some(function) => function,
            None => {
                let loaded = device.function(&source(&self.types, self.text), self.name)?;
                self.function.get_or_init(|| loaded)
            }
        };
        device.launch(function, grid, arguments)
    }
}

/// Returns the definitions of `T` and `C` for elements of a type.
///
/// # Errors
/// Returns `Internal` for a type that GPUs do not have.
pub(crate) fn element_types(dtype: DType) -> Result<[(&'static str, &'static str); 2]> {
    match (element_name(dtype), compute_name(dtype)) {
        (Some(element), Some(compute)) => Ok([("T", element), ("C", compute)]),
        _ => Err(error!(Internal, "GPU kernels have no elements of type {dtype}")),
    }
}

/// Returns a number as a 32-bit argument.
///
/// # Errors
/// Returns `Unimplemented` for a number with more bits.
pub(crate) fn word(n: usize) -> Result<u32> {
    u32::try_from(n).map_err(|_| error!(Unimplemented, "GPU kernels count to {} and not to {n}", u32::MAX))
}
