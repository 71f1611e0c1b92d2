//! A GPU that does not exist, for questions of placement.

use crate::device::kernel_registry;
use flowmill_runtime::{CopyDone, Device, DeviceAttributes, KernelRegistry};
use flowmill_tensor::{DType, Result, Shape, Tensor, bail, error};

/// A device of type `GPU` without a GPU. It has the kernels, so that a session places nodes on it; it runs none.
pub struct PlannedGpu(DeviceAttributes);

impl PlannedGpu {
    /// Makes the device `GPU:number`.
    pub fn new(number: u32) -> PlannedGpu {
        PlannedGpu(DeviceAttributes::local("GPU", number, 0))
    }
}

impl Device for PlannedGpu {
    fn attributes(&self) -> &DeviceAttributes {
        &self.0
    }

    fn kernels(&self) -> &KernelRegistry {
        kernel_registry()
    }

    fn allocate(&self, _: DType, _: &Shape) -> Result<Tensor> {
        bail!(FailedPrecondition, "{} is for placement only", self.0.name)
    }

    fn copy_dense_to_host(&self, _: Tensor, done: CopyDone) {
        done(Err(error!(FailedPrecondition, "{} is for placement only", self.0.name)));
    }

    fn copy_dense_from_host(&self, _: Tensor, done: CopyDone) {
        done(Err(error!(FailedPrecondition, "{} is for placement only", self.0.name)));
    }
}
