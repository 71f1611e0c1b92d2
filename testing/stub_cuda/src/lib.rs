//! A stub of the CUDA driver, of NVRTC, of cuBLASLt and of cuDNN, for tests on machines without a GPU. It is never shipped.
//!
//! [`install`] loads libraries under the names `libcuda.so`, `libnvrtc.so`, `libcublasLt.so` and `libcudnn.so.9`, so that the process finds them in place of CUDA's. They have two devices
//! in the host's memory. The stub of NVRTC compiles the text of kernels with the host's C++ compiler (`CXX`, or `c++`) and keeps what it compiled in
//! `target/stub_cuda`. A thread of a kernel is a fiber, and barriers and shuffles wait for the other threads.
//!
//! Work is done when it is enqueued, or in the asynchronous mode ([`Driver::set_asynchronous`]) later and in another order.
//!
//! It is not a GPU: threads of a block do not run at the same time, functions round as the host's do, and a kernel that leaves its memory is the
//! process's end.
#![deny(missing_docs, unreachable_pub)]

mod blas_lt;
mod compile;
mod controls;
mod convolutions;
mod dnn;
mod driver;
mod errors;
mod foreign;
mod graphs;
mod numbers;
mod nvrtc;
mod objects;
mod streams;

pub use compile::precompile;
pub use controls::{DEVICES, Kind};

use controls::{Controls, DeviceControls};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

/// The error of a device that was lost, which every later call returns (`CUDA_ERROR_DEVICE_UNAVAILABLE`).
const LOST: u32 = 46;

/// The driver, used by one test at a time. Its faults are taken back when it is dropped.
#[derive(Debug)]
pub struct Driver {
    controls: &'static Controls,
    _alone: MutexGuard<'static, ()>,
}

/// Loads the stub into the process, unless it is loaded, and waits until no other test uses it.
///
/// # Errors
/// Returns the compiler's and the linker's messages.
pub fn install() -> Result<Driver, String> {
    static INSTALLED: LazyLock<Result<&'static Controls, String>> = LazyLock::new(load);
    static ALONE: Mutex<()> = Mutex::new(());
    let controls = (*INSTALLED).clone()?;
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    controls.reset();
    Ok(Driver { controls, _alone: alone })
}

/// Makes a directory with `libcuda.so` and `libnvrtc.so`, which a process can be started with (`LD_LIBRARY_PATH`).
///
/// # Errors
/// Returns the compiler's and the linker's messages.
pub fn library_directory() -> Result<PathBuf, String> {
    let test = std::env::current_exe().map_err(|e| e.to_string())?;
    let stub = test.parent().map(|directory| directory.join("libstub_cuda.so")).unwrap_or_default();
    compile::driver_libraries(&stub)
}

fn load() -> Result<&'static Controls, String> {
    let directory = library_directory()?;
    let open = |name: &str| {
        // SAFETY: the stub's initialisers have no conditions.
        unsafe { libloading::Library::new(directory.join(name)) }.map_err(|e| e.to_string())
    };
    std::mem::forget(open("libnvrtc.so")?);
    std::mem::forget(open("libcublasLt.so")?);
    std::mem::forget(open("libcudnn.so.9")?);
    let driver = open("libcuda.so")?;
    // SAFETY: the library exports this function with this type.
    let controls = unsafe { driver.get::<unsafe extern "C" fn() -> *const Controls>(b"stub_cuda_controls") }.map_err(|e| e.to_string())?;
    // SAFETY: the controls are a static of the library, which stays loaded, and both copies of this crate come from one compilation.
    let controls = unsafe { &*controls() };
    std::mem::forget(driver);
    Ok(controls)
}

impl Driver {
    /// Makes the streams that are created from now on do their work later, and in an order of streams that the seed chooses. Only events and the order
    /// within a stream are kept.
    pub fn set_asynchronous(&self, seed: u64) {
        self.controls.seed.store(streams::spread(seed), Ordering::SeqCst);
    }

    fn device(&self, device: usize) -> &'static DeviceControls {
        &self.controls.devices[device]
    }

    /// Makes the stub of cuBLASLt usable by devices that are opened from now on. Otherwise it refuses to be opened.
    pub fn provide_blas_lt(&self) {
        self.controls.has_blas_lt.store(true, Ordering::SeqCst);
    }

    /// Makes the products of cuBLASLt fail from now on.
    pub fn fail_products(&self) {
        self.controls.fails_products.store(true, Ordering::SeqCst);
    }

    /// Returns the number of products that cuBLASLt has computed since the driver was installed.
    pub fn products(&self) -> u64 {
        self.controls.products.load(Ordering::SeqCst)
    }

    /// Makes the stub of cuDNN usable by devices that are opened from now on. Otherwise it refuses to be opened.
    pub fn provide_dnn(&self) {
        self.controls.has_dnn.store(true, Ordering::SeqCst);
    }

    /// Makes the convolutions of cuDNN fail from now on.
    pub fn fail_convolutions(&self) {
        self.controls.fails_convolutions.store(true, Ordering::SeqCst);
    }

    /// Returns the number of convolutions and gradients that cuDNN has computed since the driver was installed, and the number of those whose algorithm
    /// is not deterministic.
    pub fn convolutions(&self) -> (u64, u64) {
        (self.controls.convolutions.load(Ordering::SeqCst), self.controls.unordered_convolutions.load(Ordering::SeqCst))
    }

    /// Makes the driver say from now on that no device accesses the memory of another.
    pub fn remove_peers(&self) {
        self.controls.has_no_peers.store(true, Ordering::SeqCst);
    }

    /// Returns the number of bytes that were copied from one device to another since the driver was installed.
    pub fn peer_bytes(&self) -> u64 {
        self.controls.peer_bytes.load(Ordering::SeqCst)
    }

    /// Sets the size of a device's memory in bytes.
    pub fn set_memory_limit(&self, device: usize, bytes: u64) {
        self.device(device).memory_limit.store(bytes, Ordering::SeqCst);
    }

    /// Makes the driver refuse the launch after `launches` more.
    pub fn refuse_launch_after(&self, device: usize, launches: u32) {
        self.device(device).launches_until_refusal.store(launches.into(), Ordering::SeqCst);
    }

    /// Makes the kernel that is launched after `launches` more access an illegal address. The device is unusable afterwards, as a GPU is.
    pub fn fault_after(&self, device: usize, launches: u32) {
        self.device(device).launches_until_fault.store(launches.into(), Ordering::SeqCst);
    }

    /// Makes every later call for the device fail.
    pub fn lose(&self, device: usize) {
        self.device(device).error.store(LOST, Ordering::SeqCst);
    }

    /// Returns the amount of `kind` that the device has in use.
    pub fn live(&self, device: usize, kind: Kind) -> i64 {
        self.device(device).live(kind)
    }

    /// Returns everything that the devices have in use, as text. An empty text means that nothing leaked.
    pub fn leaks(&self) -> String {
        let kinds = [Kind::Memory, Kind::Pinned, Kind::Streams, Kind::Events, Kind::Modules, Kind::Graphs];
        let all = (0..DEVICES).flat_map(|device| kinds.map(|kind| (device, kind, self.live(device, kind))));
        all.filter(|&(_, _, n)| n != 0).map(|(device, kind, n)| format!("{kind:?} of device {device}: {n}\n")).collect()
    }

    /// Returns the number of kernels that were launched on a device since the driver was installed.
    pub fn launches(&self, device: usize) -> u64 {
        self.device(device).launches.load(Ordering::SeqCst)
    }

    /// Returns the number of captures of a device's work that were begun since the driver was installed.
    pub fn captures(&self, device: usize) -> u64 {
        self.device(device).captures.load(Ordering::SeqCst)
    }

    /// Returns the number of graphs that were launched on a device since the driver was installed.
    pub fn graph_launches(&self, device: usize) -> u64 {
        self.device(device).graph_launches.load(Ordering::SeqCst)
    }

    /// Makes the captures of a device's work end with an error from now on.
    pub fn fail_captures(&self, device: usize) {
        self.device(device).fails_captures.store(true, Ordering::SeqCst);
    }

    /// Returns the number of bytes that were copied between a device and the host since the driver was installed.
    pub fn copied_bytes(&self, device: usize) -> u64 {
        self.device(device).copied_bytes.load(Ordering::SeqCst)
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.controls.reset();
    }
}
