//! Sessions over the host and the stub's GPUs.

use crate::recorder::Recorder;
use flowmill::device::{Device, HostDevice};
use flowmill::gpu::cuda::CudaOptions;
use flowmill::gpu::{GpuDevice, GpuOptions};
use flowmill::prelude::*;
use std::sync::Arc;
use std::time::{Duration, Instant};
use stub_cuda::Driver;

pub(crate) const GPU: &str = "/device:GPU:0";
pub(crate) const OTHER_GPU: &str = "/device:GPU:1";

/// Runs cases on the stub of the driver, or only records them if the thread does. Their kernels are compiled together, since one compiler for each takes
/// much longer.
pub(crate) fn on_stub(cases: impl Fn()) {
    if Recorder::recording().is_some() {
        return cases();
    }
    let recorder = Recorder::new();
    recorder.record(&cases);
    let _driver = stub_cuda::install().unwrap();
    stub_cuda::precompile(recorder.texts().iter().map(String::as_str)).unwrap();
    cases();
}

/// The stub's GPUs as devices.
pub(crate) fn gpus() -> Vec<Arc<dyn Device>> {
    gpus_with(GpuOptions::default())
}

pub(crate) fn gpus_with(options: GpuOptions) -> Vec<Arc<dyn Device>> {
    if let Some(recording) = Recorder::recording() {
        return vec![recording.device];
    }
    flowmill::gpu::cuda_devices(&CudaOptions::default(), options).unwrap()
}

pub(crate) fn session_of(b: &GraphBuilder, devices: Vec<Arc<dyn Device>>, options: SessionOptions) -> Session {
    let host = HostDevice::cpu(0, flowmill::kernels());
    Session::with_devices(b.shared_graph().clone(), std::iter::once(host).chain(devices).collect(), options).unwrap()
}

/// Makes a session with the CPU and both GPUs.
pub(crate) fn session(b: &GraphBuilder) -> Session {
    session_of(b, gpus(), SessionOptions::default())
}

pub(crate) fn values(tensor: &Tensor) -> &[f32] {
    tensor.as_slice().unwrap()
}

pub(crate) fn gpu_device(device: &Arc<dyn Device>) -> &GpuDevice {
    GpuDevice::of(device).unwrap()
}

/// Checks that nothing of the driver is in use. A device's own thread may still give back the last copies.
pub(crate) fn assert_no_leaks(driver: &Driver) {
    let start = Instant::now();
    while !driver.leaks().is_empty() && start.elapsed() < Duration::from_secs(10) {
        std::thread::yield_now();
    }
    assert_eq!(driver.leaks(), "", "everything was given back");
}
