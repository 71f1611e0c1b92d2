//! Functions for tests in other languages, which load the stub as a library: the controls that [`Driver`](crate::Driver) has in Rust.

use crate::controls::{DEVICES, DeviceControls};
use crate::objects::CONTROLS;
use crate::streams;
use std::ffi::c_uint;
use std::sync::atomic::Ordering;

fn device(number: c_uint) -> &'static DeviceControls {
    &CONTROLS.devices[number as usize % DEVICES]
}

/// Makes the streams that are created from now on asynchronous, or changes the order of those that are.
#[unsafe(no_mangle)]
extern "C" fn stub_cuda_set_asynchronous(seed: u64) {
    let seed = streams::spread(seed);
    CONTROLS.seed.store(seed, Ordering::SeqCst);
    streams::reseed(seed);
}

/// Makes the stub of cuBLASLt usable by devices that are opened from now on.
#[unsafe(no_mangle)]
extern "C" fn stub_cuda_provide_blas_lt() {
    CONTROLS.has_blas_lt.store(true, Ordering::SeqCst);
}

/// Sets the size of a device's memory in bytes.
#[unsafe(no_mangle)]
extern "C" fn stub_cuda_set_memory_limit(number: c_uint, bytes: u64) {
    device(number).memory_limit.store(bytes, Ordering::SeqCst);
}

/// Returns the number of kernels that were launched on a device.
#[unsafe(no_mangle)]
extern "C" fn stub_cuda_launches(number: c_uint) -> u64 {
    device(number).launches.load(Ordering::SeqCst)
}

/// Returns the number of graphs that were launched on a device.
#[unsafe(no_mangle)]
extern "C" fn stub_cuda_graph_launches(number: c_uint) -> u64 {
    device(number).graph_launches.load(Ordering::SeqCst)
}

/// Returns the number of bytes that were copied between a device and the host.
#[unsafe(no_mangle)]
extern "C" fn stub_cuda_copied_bytes(number: c_uint) -> u64 {
    device(number).copied_bytes.load(Ordering::SeqCst)
}
