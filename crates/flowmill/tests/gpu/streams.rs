//! Work of different streams, delayed and reordered: whatever is not ordered by events shows in the results.

use crate::setup::{GPU, OTHER_GPU, assert_no_leaks, session, values};
use flowmill::prelude::*;

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
