//! CUDA, loaded at run time.
//!
//! Nothing here needs CUDA to build. `cudarc` looks up each function of the driver when it is first called, and panics if the library or the function
//! is missing; this module asks for the libraries first and turns such a panic into an error.

mod blas;
mod blas_lt;
mod compiler;
mod dnn;
mod dnn_functions;
mod driver;
mod graph;
mod libraries;

use crate::backend::Gpu;
use cudarc::driver::{result, sys};
use flowmill_runtime::user_cache;
use flowmill_tensor::{Result, bail, error};
use std::path::PathBuf;
use std::sync::Arc;

/// The way to CUDA's libraries.
#[derive(Clone, Debug, Default)]
pub struct CudaOptions {
    /// Directories with CUDA's libraries (the driver, NVRTC, cuBLAS, cuDNN), which are searched before the system's.
    pub library_paths: Vec<PathBuf>,
    /// The directory in which compiled kernels are kept. `None` keeps them in memory only.
    pub cache: Option<PathBuf>,
}

impl CudaOptions {
    /// Returns the options of the environment: the directories in `FLOWMILL_CUDA_PATH`, and a cache in `FLOWMILL_CACHE`, or in the user's directory of
    /// caches.
    pub fn from_env() -> CudaOptions {
        let paths = std::env::var_os("FLOWMILL_CUDA_PATH").unwrap_or_default();
        let library_paths = std::env::split_paths(&paths).filter(|path| !path.as_os_str().is_empty()).collect();
        CudaOptions { library_paths, cache: user_cache::directory("cuda") }
    }
}

/// Opens all GPUs that the CUDA driver has.
///
/// # Errors
/// Returns `NotFound` if there is no driver or no GPU, and `FailedPrecondition` if the driver is too old.
pub fn gpus(options: &CudaOptions) -> Result<Vec<Arc<dyn Gpu>>> {
    // A function that an old driver lacks ends in a panic.
    match std::panic::catch_unwind(|| open_all(options)) {
        Ok(opened) => opened,
        Err(panic) => {
            let message = panic.downcast_ref::<String>().cloned().unwrap_or_default();
            bail!(FailedPrecondition, "The CUDA driver is not one that can be used: {message}")
        }
    }
}

/// Compiles the text of kernels for an architecture, such as 90 for `sm_90`. No GPU is needed.
///
/// # Errors
/// Returns `NotFound` if NVRTC is not installed, and `Internal` with the compiler's log for a text that does not compile.
pub fn compile(options: &CudaOptions, source: &str, architecture: u32) -> Result<Vec<u8>> {
    libraries::preload(libraries::LIBRARIES, &options.library_paths);
    compiler::Compiler::new(options.cache.clone()).compile(source, architecture)
}

fn open_all(options: &CudaOptions) -> Result<Vec<Arc<dyn Gpu>>> {
    libraries::preload(libraries::DRIVER, &options.library_paths);
    // SAFETY: loading the driver's library runs its initialisers, which have no further conditions.
    if !unsafe { sys::is_culib_present() } {
        bail!(NotFound, "There is no CUDA driver (libcuda.so.1) on this machine: devices of type GPU are not available");
    }
    result::init().map_err(|e| error!(NotFound, "The CUDA driver finds no GPU: {e}"))?;
    let count = result::device::get_count().map_err(|e| error!(NotFound, "The CUDA driver finds no GPU: {e}"))?;
    libraries::preload(libraries::LIBRARIES, &options.library_paths);
    let compiler = Arc::new(compiler::Compiler::new(options.cache.clone()));
    (0..count).map(|ordinal| Ok(Arc::new(driver::CudaGpu::open(ordinal, compiler.clone())?) as Arc<dyn Gpu>)).collect()
}
