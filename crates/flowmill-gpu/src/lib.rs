//! GPU devices: memory, streams and kernels, with CUDA loaded at run time.
//!
//! * [`backend`] is the interface to a GPU's driver; [`cuda`] implements it.
//! * [`GpuDevice`] is the device type `GPU` of sessions.
//! * The text of kernels is CUDA C that does not depend on CUDA's headers; it is generated for the element types of a node and compiled when the node
//!   first runs.
#![deny(missing_docs, unreachable_pub)]

pub mod backend;
mod compiled_kernel;
pub mod cuda;
mod device;
mod elementwise;
mod kernels;
mod memory;
mod planned;
mod replay;
mod text;

pub use device::{Argument, GpuDevice, GpuMemory, GpuOptions};
pub use memory::MemoryOptions;
pub use planned::PlannedGpu;

use flowmill_runtime::Device;
use flowmill_tensor::{Code, Result};
use std::sync::{Arc, OnceLock};

/// Opens all GPUs of this machine as devices `GPU:0`, `GPU:1` and so on.
///
/// # Errors
/// Returns `NotFound` if the machine has no CUDA driver or no GPU, and the driver's errors.
pub fn cuda_devices(cuda: &cuda::CudaOptions, options: GpuOptions) -> Result<Vec<Arc<dyn Device>>> {
    let gpus = cuda::gpus(cuda)?;
    (0..).zip(gpus).map(|(number, gpu)| Ok(GpuDevice::new(number, gpu, options)? as Arc<dyn Device>)).collect()
}

/// Returns the GPUs of this machine, which all sessions of the process share. The options of the first call hold for all. Without a driver or a GPU,
/// the list is empty.
///
/// # Errors
/// Returns the error that opening the GPUs ended with.
pub fn shared_devices(cuda: &cuda::CudaOptions, options: GpuOptions) -> Result<Vec<Arc<dyn Device>>> {
    static DEVICES: OnceLock<Result<Vec<Arc<dyn Device>>>> = OnceLock::new();
    let opened = DEVICES.get_or_init(|| match cuda_devices(cuda, options) {
        Err(e) if e.code() == Code::NotFound => Ok(Vec::new()),
        opened => opened,
    });
    opened.clone()
}
