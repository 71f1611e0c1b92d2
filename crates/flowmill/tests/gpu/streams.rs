//! Work of different streams, delayed and reordered: whatever is not ordered by events shows in the results.

use crate::setup::{GPU, OTHER_GPU, assert_no_leaks, session, session_of, values};
use flowmill::gpu::GpuOptions;
use flowmill::gpu::cuda::CudaOptions;
use flowmill::prelude::*;
use stub_cuda::Driver;

/// Copies longer than this many floats have streams of their own.
const LONG: usize = 20_000;

#[test]
fn copies_and_kernels_are_ordered_whatever_the_order_of_streams() {
    let driver = stub_cuda::install().unwrap();
    for seed in 1..40 {
        driver.set_asynchronous(seed);
        let b = GraphBuilder::new().unwrap();
        let x = b.placeholder(DType::F32, [-1]).unwrap();
        let y = b.with_device(GPU, || Ok(x * x + x)).unwrap();
        let on_host = y - 1.0;
        let z = b.with_device(OTHER_GPU, || Ok(on_host + y)).unwrap();
        let back = b.with_device(GPU, || Ok(z * y)).unwrap();
        let session = session(&b);
        for step in 0..6 {
            // Blocks of memory change owners between steps.
            let n = if step % 2 == 0 { LONG } else { 5 } + step;
            let feed: Vec<f32> = (0..n).map(|i| ((i + step) % 17) as f32).collect();
            let [y, back] = session.runner().feed(x, Tensor::vector(&feed).unwrap()).fetch([y, back]).unwrap();
            let expected: Vec<f32> = feed.iter().map(|x| x * x + x).collect();
            assert_eq!(values(&y), expected, "seed {seed}");
            assert_eq!(values(&back), expected.iter().map(|y| (y - 1.0 + y) * y).collect::<Vec<f32>>(), "seed {seed}");
        }
    }
    assert_no_leaks(&driver);
}

#[test]
fn sizes_are_read_when_the_work_before_them_has_ended() {
    let driver = stub_cuda::install().unwrap();
    for seed in 1..10 {
        driver.set_asynchronous(seed);
        let b = GraphBuilder::new().unwrap();
        let x = b.placeholder(DType::F32, [-1]).unwrap();
        let positive = b.with_device(GPU, || b.op("Relu").input(x).output()).unwrap();
        let places = b.op("Where").attr("T", DType::F32).input(positive).device(GPU).output().unwrap();
        let other = b.op("Cast").attr("DstT", DType::F32).input(places).device(OTHER_GPU).output().unwrap();
        let session = session(&b);
        for step in 0..4 {
            // Blocks of memory change owners between steps.
            let n = if step % 2 == 0 { LONG } else { 5 } + step;
            let feed: Vec<f32> = (0..n).map(|i| ((i + step) % 7) as f32 - 3.0).collect();
            let other = session.runner().feed(x, Tensor::vector(&feed).unwrap()).fetch(other).unwrap();
            let expected: Vec<f32> = (0..n).filter(|&i| feed[i] > 0.0).map(|i| i as f32).collect();
            assert_eq!(values(&other), expected, "seed {seed}");
        }
    }
    assert_no_leaks(&driver);
}

/// Runs steps that send tensors of several sizes from one GPU to the other and back, and returns the bytes that the host gets and gives.
fn ping_pong(driver: &Driver, options: GpuOptions, steps: usize) -> u64 {
    let b = GraphBuilder::new().unwrap();
    let x = b.placeholder(DType::F32, [-1]).unwrap();
    let mut y = b.with_device(GPU, || Ok(x + 1.0)).unwrap();
    for device in [OTHER_GPU, GPU, OTHER_GPU, GPU] {
        // Memory is given back and taken again while copies are on their way.
        y = b.with_device(device, || Ok(y * 2.0 - y * 0.5)).unwrap();
    }
    let sum = b.with_device(GPU, || b.op("Sum").input(y).input(b.constant([0i32])?).output()).unwrap();
    let session = session_of(&b, flowmill::gpu::cuda_devices(&CudaOptions::default(), options).unwrap(), SessionOptions::default());
    let mut fed = 0;
    let before: u64 = (0..2).map(|device| driver.copied_bytes(device)).sum();
    for step in 0..steps {
        let n = [LONG, 5, 3 * LONG, 0][step % 4] + step;
        fed += 4 * n as u64;
        let result = session.runner().feed(x, Tensor::vector(&vec![15f32; n]).unwrap()).fetch(sum).unwrap();
        assert_eq!(values(&result), [n as f32 * 81.0]);
    }
    (0..2).map(|device| driver.copied_bytes(device)).sum::<u64>() - before - fed
}

#[test]
fn tensors_go_from_gpu_to_gpu_over_a_link_or_through_the_host() {
    let driver = stub_cuda::install().unwrap();
    let linked = GpuOptions::default();
    let mut linked_bytes = 0;
    for seed in 0..12 {
        if seed > 0 {
            driver.set_asynchronous(seed);
        }
        assert!(ping_pong(&driver, linked, 6) < 100, "the host gets only the sums");
        let through_link = driver.peer_bytes();
        linked_bytes = if seed == 0 { through_link } else { linked_bytes };
        assert!(linked_bytes > 0);
        let copied = ping_pong(&driver, GpuOptions { peer_copies: false, ..linked }, 6);
        assert_eq!(driver.peer_bytes(), through_link, "an option turns the link off");
        assert_eq!(through_link, linked_bytes * (seed + 1));
        assert!(copied >= 2 * linked_bytes, "each byte is copied to the host and from there");
    }
    driver.remove_peers();
    let through_link = driver.peer_bytes();
    ping_pong(&driver, linked, 4);
    assert_eq!(driver.peer_bytes(), through_link, "the driver has no link");
    assert_no_leaks(&driver);
}

#[test]
fn a_full_memory_of_the_other_gpu_is_an_error() {
    let driver = stub_cuda::install().unwrap();
    driver.set_memory_limit(1, 40 << 20);
    let b = GraphBuilder::new().unwrap();
    let x = b.placeholder(DType::F32, [-1]).unwrap();
    let y = b.with_device(GPU, || Ok(x + 1.0)).unwrap();
    let z = b.with_device(OTHER_GPU, || Ok(y * 2.0)).unwrap();
    let session = session(&b);
    let with = |n: usize| session.runner().feed(x, Tensor::vector(&vec![1f32; n]).unwrap()).fetch(z);
    assert_eq!(values(&with(3).unwrap()), [4.0; 3]);
    let error = with(4 << 20).unwrap_err();
    assert_eq!(error.code(), flowmill::Code::ResourceExhausted, "{error}");
    assert!(error.message().contains("GPU:1"), "{error}");
    assert_eq!(values(&with(3).unwrap()), [4.0; 3]);
    drop(session);
    assert_no_leaks(&driver);
}

#[test]
fn steps_at_once_share_streams() {
    let driver = stub_cuda::install().unwrap();
    for seed in 1..12 {
        driver.set_asynchronous(seed);
        let b = GraphBuilder::new().unwrap();
        let x = b.placeholder(DType::F32, [-1]).unwrap();
        let y = b.with_device(GPU, || Ok(-(x * x))).unwrap() + 1.0;
        let z = b.with_device(OTHER_GPU, || Ok(y * 2.0)).unwrap();
        let session = session(&b);
        let (x, z) = (x.id(), z.id());
        std::thread::scope(|scope| {
            for thread in 0..3 {
                let session = &session;
                scope.spawn(move || {
                    for i in 0..6 {
                        let value = (thread * 100 + i) as f32;
                        let fed = vec![value; if i % 2 == 0 { LONG } else { 3 }];
                        let result = session.runner().feed(x, Tensor::vector(&fed).unwrap()).fetch(z).unwrap();
                        assert_eq!(values(&result), vec![2.0 - 2.0 * value * value; fed.len()], "seed {seed}");
                    }
                });
            }
        });
    }
    assert_no_leaks(&driver);
}

#[test]
fn a_variable_is_read_after_it_is_assigned() {
    let driver = stub_cuda::install().unwrap();
    for seed in 1..12 {
        driver.set_asynchronous(seed);
        let b = GraphBuilder::new().unwrap();
        let x = b.placeholder(DType::F32, [-1]).unwrap();
        let (variable, assign) = b
            .with_device(GPU, || {
                let variable = b.variable("v", b.constant(vec![0.0f32; LONG])?)?;
                Ok((variable, variable.assign(x)?))
            })
            .unwrap();
        let read = b.with_device(GPU, || b.after(&[assign], || Ok(variable.read()? * 2.0))).unwrap();
        let session = session(&b);
        session.runner().target(variable.initializer()).run().unwrap();
        for step in 0..5 {
            let fed = vec![step as f32; LONG];
            let doubled = session.runner().feed(x, Tensor::vector(&fed).unwrap()).fetch(read).unwrap();
            assert_eq!(values(&doubled), vec![2.0 * step as f32; LONG], "seed {seed}");
        }
    }
    assert_no_leaks(&driver);
}
