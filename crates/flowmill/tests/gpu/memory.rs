//! The options of a GPU's memory, its statistics, and the pool of page-locked buffers.

use crate::setup::{GPU, assert_no_leaks, gpus, session, session_of, values};
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
    // A device of the test before may still give its memory back.
    assert_no_leaks(&driver);
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

#[test]
fn updates_write_to_the_memory_of_a_variable_that_nobody_else_holds() {
    let driver = stub_cuda::install().unwrap();
    for (op, index) in [("ResourceScatterAdd", Some(1i32)), ("AssignAddVariableOp", None)] {
        let devices = gpus();
        let gpu = devices[0].clone();
        let b = GraphBuilder::new().unwrap();
        let (variable, update, held) = b
            .with_device(GPU, || {
                let fill = |rows: i32| b.op("Fill").input(b.constant([rows, 1 << 18])?).input(b.constant(1f32)?).output();
                let variable = b.variable("v", fill(8)?)?;
                let update = b.op(op).input(variable.handle());
                let update = match index {
                    Some(index) => update.input(b.constant([index])?).input(fill(1)?),
                    None => update.input(fill(8)?),
                };
                let update = update.finish()?;
                let before = variable.read()?;
                let again = b.after(&[before.node()], || variable.assign_add(before))?;
                Ok((variable, update, b.after(&[again], || b.op("Neg").input(before).output())?))
            })
            .unwrap();
        // Without fusion of constants, each step fills anew.
        let session = session_of(&b, devices, SessionOptions { optimize: false, ..SessionOptions::default() });
        session.runner().target(variable.initializer()).run().unwrap();
        for _ in 0..3 {
            session.runner().target(update).run().unwrap();
        }
        // The variable and the update.
        let most = if index.is_some() { 9 * MEGABYTE + MEGABYTE / 2 } else { 16 * MEGABYTE + MEGABYTE / 2 };
        let stats = gpu.memory_stats().unwrap();
        assert!(stats.peak_bytes_in_use <= most, "{op}: {stats:?}");
        let value = |row: usize| if index.is_none_or(|index| index as usize == row) { 4f32 } else { 1.0 };
        let read: Tensor = session.runner().fetch(variable.value()).unwrap();
        assert!((0..8).all(|row| values(&read)[row << 18] == value(row)), "{op}");
        let old: Tensor = session.runner().fetch(held).unwrap();
        assert!((0..8).all(|row| values(&old)[row << 18] == -value(row)), "{op}: what was read before does not change");
        drop((session, gpu));
        assert_no_leaks(&driver);
    }
}
