//! The options of a GPU's memory, its statistics, and the pool of page-locked buffers.

use crate::setup::{GPU, assert_no_leaks, session, session_of, values};
use flowmill::Code;
use flowmill::device::Device;
use flowmill::gpu::cuda::CudaOptions;
use flowmill::gpu::{GpuOptions, MemoryOptions};
use flowmill::prelude::*;
use std::sync::Arc;
use stub_cuda::Kind;

const MEGABYTE: usize = 1 << 20;

fn open(memory: MemoryOptions) -> Result<Vec<Arc<dyn Device>>, flowmill::Error> {
    flowmill::gpu::cuda_devices(&CudaOptions::default(), GpuOptions { memory, ..GpuOptions::default() })
}

/// The graph `y = -x` on a GPU.
fn negated(b: &GraphBuilder) -> (Output<'_>, Output<'_>) {
    let x = b.placeholder(DType::F32, [-1]).unwrap();
    (x, b.with_device(GPU, || b.op("Neg").input(x).output()).unwrap())
}

#[test]
fn a_fraction_limits_the_memory_and_growth_takes_it_when_it_is_needed() {
    let driver = stub_cuda::install().unwrap();
    driver.set_memory_limit(0, 128 << 20);
    for (allow_growth, reserved) in [(true, 0), (false, 32 * MEGABYTE)] {
        let devices = open(MemoryOptions { fraction: Some(0.25), allow_growth }).unwrap();
        let gpu = devices[0].clone();
        let stats = gpu.memory_stats().unwrap();
        assert_eq!((stats.bytes_limit, stats.bytes_reserved), (32 * MEGABYTE, reserved));
        assert_eq!(driver.live(0, Kind::Memory), reserved as i64);
        let b = GraphBuilder::new().unwrap();
        let (x, y) = negated(&b);
        let session = session_of(&b, devices, SessionOptions::default());
        let run =
            |n: usize| -> Result<Tensor, flowmill::Error> { session.runner().feed(x, Tensor::vector(&vec![1f32; n]).unwrap()).fetch(y) };
        run(3 * MEGABYTE).unwrap();
        let stats = gpu.memory_stats().unwrap();
        assert!(stats.bytes_reserved <= 32 * MEGABYTE && stats.peak_bytes_in_use >= 24 * MEGABYTE, "{stats:?}");
        assert_eq!(driver.live(0, Kind::Memory), stats.bytes_reserved as i64);
        assert_eq!(run(5 * MEGABYTE).unwrap_err().code(), Code::ResourceExhausted);
        drop((session, gpu));
        assert_no_leaks(&driver);
    }
}

#[test]
fn a_fraction_that_is_not_positive_is_an_error() {
    let driver = stub_cuda::install().unwrap();
    for fraction in [0.0, -0.5, f64::NAN] {
        let error = open(MemoryOptions { fraction: Some(fraction), allow_growth: true }).err().unwrap();
        assert_eq!(error.code(), Code::InvalidArgument, "{error}");
    }
    assert_no_leaks(&driver);
}

#[test]
fn page_locked_buffers_are_used_again() {
    let driver = stub_cuda::install().unwrap();
    let b = GraphBuilder::new().unwrap();
    let (x, y) = negated(&b);
    let session = session(&b);
    let run = |n: usize| -> Tensor { session.runner().feed(x, Tensor::vector(&vec![1f32; n]).unwrap()).fetch(y).unwrap() };
    for n in [100_000, 100_000, 100_000, 90_000, 70_000, 100_000] {
        assert_eq!(values(&run(n)), vec![-1.0; n]);
        // One buffer if the way there has ended before the way back begins, or else one each way.
        let pinned = driver.live(0, Kind::Pinned);
        assert!((512 << 10..=2 * (512 << 10)).contains(&pinned), "{pinned} bytes after {n} elements");
    }
    drop(session);
    assert_no_leaks(&driver);
}
