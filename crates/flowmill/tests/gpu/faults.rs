//! Failing launches, lost devices, and memory that is full.

use crate::setup::{GPU, OTHER_GPU, assert_no_leaks, gpu_device, gpus, session, session_of, values};
use flowmill::device::Device;
use flowmill::prelude::*;
use flowmill::{Code, Error};
use std::sync::Arc;

/// The graph `y = -x` on GPU 0 and `z = x + x` on GPU 1.
fn graph() -> GraphBuilder {
    let b = GraphBuilder::new().unwrap();
    let x = b.node().name("x").placeholder(DType::F32, [-1]).unwrap();
    b.with_device(GPU, || b.op("Neg").name("y").input(x).output()).unwrap();
    b.with_device(OTHER_GPU, || b.op("AddV2").name("z").input(x).input(x).output()).unwrap();
    b
}

fn fetch(session: &Session, name: &str, n: usize) -> Result<Tensor, Error> {
    session.runner().feed("x:0", Tensor::vector(&vec![1f32; n]).unwrap()).fetch(name)
}

#[test]
fn a_refused_launch_fails_one_step_and_names_the_node() {
    let driver = stub_cuda::install().unwrap();
    let session = session(&graph());
    assert_eq!(values(&fetch(&session, "y:0", 2).unwrap()), [-1.0; 2]);
    driver.refuse_launch_after(0, 0);
    let error = fetch(&session, "y:0", 2).unwrap_err();
    assert_eq!((error.code(), error.node()), (Code::Internal, Some("y")), "{error}");
    assert!(error.message().contains("CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"), "{error}");
    assert_eq!(values(&fetch(&session, "y:0", 2).unwrap()), [-1.0; 2], "the session goes on");
    drop(session);
    assert_no_leaks(&driver);
}

#[test]
fn a_kernel_that_faults_fails_the_step_that_waits_for_it() {
    for seed in [0, 1, 2] {
        let driver = stub_cuda::install().unwrap();
        if seed != 0 {
            driver.set_asynchronous(seed);
        }
        let session = session(&graph());
        fetch(&session, "y:0", 2).unwrap();
        driver.fault_after(0, 0);
        for n in [2, 40_000] {
            let error = fetch(&session, "y:0", n).unwrap_err();
            assert_eq!(error.code(), Code::Internal, "{error}");
            assert!(error.message().contains("CUDA_ERROR_ILLEGAL_ADDRESS"), "{error}");
        }
        drop(session);
        assert_no_leaks(&driver);
    }
}

#[test]
fn a_lost_device_fails_every_step_on_it() {
    let driver = stub_cuda::install().unwrap();
    let session = session(&graph());
    fetch(&session, "y:0", 2).unwrap();
    driver.lose(0);
    for _ in 0..3 {
        let error = fetch(&session, "y:0", 2).unwrap_err();
        assert_eq!(error.code(), Code::Internal, "{error}");
        assert!(error.message().contains("CUDA_ERROR_DEVICE_UNAVAILABLE"), "{error}");
    }
    drop(session);
    assert_no_leaks(&driver);
}

#[test]
fn a_session_with_a_lost_device_goes_on_without_it() {
    let driver = stub_cuda::install().unwrap();
    let session = session(&graph());
    assert_eq!(values(&fetch(&session, "z:0", 2).unwrap()), [2.0; 2]);
    driver.lose(0);
    fetch(&session, "y:0", 2).unwrap_err();
    assert_eq!(values(&fetch(&session, "z:0", 2).unwrap()), [2.0; 2]);
    drop(session);
    assert_no_leaks(&driver);
}

#[test]
fn a_device_that_is_lost_before_it_is_opened_is_an_error() {
    let driver = stub_cuda::install().unwrap();
    driver.lose(1);
    let error = flowmill::gpu::cuda_devices(&Default::default(), Default::default()).err().unwrap();
    assert!(error.message().contains("CUDA_ERROR_DEVICE_UNAVAILABLE"), "{error}");
    assert_no_leaks(&driver);
}

#[test]
fn full_memory_is_an_error_with_sizes_and_is_given_back() {
    let driver = stub_cuda::install().unwrap();
    // The driver's reserve is left out of it.
    driver.set_memory_limit(0, 48 << 20);
    let devices = gpus();
    let device: Arc<dyn Device> = devices[0].clone();
    let session = session_of(&graph(), devices, SessionOptions::default());
    let limit = gpu_device(&device).memory_stats().unwrap().bytes_limit;
    assert!((8 << 20..48 << 20).contains(&limit), "{limit}");
    let fits = limit / 4 / 4;
    fetch(&session, "y:0", fits).unwrap();
    for _ in 0..2 {
        let error = fetch(&session, "y:0", limit / 4 + 1).unwrap_err();
        assert_eq!(error.code(), Code::ResourceExhausted, "{error}");
        for part in [format!("{limit} bytes"), "/device:GPU:0".to_owned(), (limit + 4).next_multiple_of(256).to_string()] {
            assert!(error.message().contains(&part), "{part}: {error}");
        }
        assert_eq!(values(&fetch(&session, "y:0", fits).unwrap()).len(), fits, "the memory was given back");
    }
    let stats = gpu_device(&device).memory_stats().unwrap();
    assert!(stats.peak_bytes_in_use >= 2 * 4 * fits && stats.peak_bytes_in_use <= limit, "{stats:?}");
    drop((session, device));
    assert_no_leaks(&driver);
}

#[test]
fn memory_that_another_process_holds_is_not_taken() {
    let driver = stub_cuda::install().unwrap();
    driver.set_memory_limit(0, 128 << 20);
    let devices = gpus();
    // Less is left than when the device was opened.
    driver.set_memory_limit(0, 16 << 20);
    let session = session_of(&graph(), devices, SessionOptions::default());
    let error = fetch(&session, "y:0", 8 << 20).unwrap_err();
    assert_eq!(error.code(), Code::ResourceExhausted, "{error}");
    assert_eq!(values(&fetch(&session, "y:0", 1 << 20).unwrap()).len(), 1 << 20);
}

#[test]
fn an_error_for_a_full_memory_names_the_holders_and_the_free_blocks() {
    let driver = stub_cuda::install().unwrap();
    driver.set_memory_limit(0, 64 << 20);
    let devices = gpus();
    let b = GraphBuilder::new().unwrap();
    let x = b.placeholder(DType::F32, [-1]).unwrap();
    let total = b
        .with_device(GPU, || {
            let small = b.op("Neg").name("small").input(x).output()?;
            let big = b.op("ConcatV2").name("big").input_list(&[small; 8]).input(b.constant(0i32)?).output()?;
            let bigger = b.op("ConcatV2").name("bigger").input_list(&[big; 8]).input(b.constant(0i32)?).output()?;
            Ok(b.op("Sum").input(bigger).input(b.constant([0i32])?).output()?
                + b.op("Sum").input(big).input(b.constant([0i32])?).output()?)
        })
        .unwrap();
    // Without fusion, each node has its own kernel.
    let session = session_of(&b, devices, SessionOptions { optimize: false, ..SessionOptions::default() });
    let run = |n: usize| -> Result<Tensor, Error> { session.runner().feed(x, Tensor::vector(&vec![1f32; n]).unwrap()).fetch(total) };
    run(1000).unwrap();
    let error = run(1 << 18).unwrap_err();
    assert_eq!((error.code(), error.node()), (Code::ResourceExhausted, Some("bigger")), "{error}");
    for part in [&format!("{{{{node big}}}} {} in 1 block", 8 << 20), "blocks of which the largest has"] {
        assert!(error.message().contains(part), "{part}: {error}");
    }
    run(1000).unwrap();
    drop(session);
    assert_no_leaks(&driver);
}
