//! Nodes on GPUs: copies both ways, branches, control edges, steps at once.

use crate::setup::{GPU, OTHER_GPU, assert_no_leaks, gpus, session, session_of, values};
use flowmill::prelude::*;

#[test]
fn nodes_run_where_they_are_placed_and_tensors_cross_both_ways() {
    let driver = stub_cuda::install().unwrap();
    for inter_op_threads in [1, 0] {
        let b = GraphBuilder::new().unwrap();
        let x = b.placeholder(DType::F32, [-1]).unwrap();
        let y = b.with_device(GPU, || Ok(x * x + x)).unwrap();
        let on_host = y - 1.0;
        let z = b.with_device(OTHER_GPU, || Ok(-(on_host + y))).unwrap();
        let session = session_of(&b, gpus(), SessionOptions { inter_op_threads, ..SessionOptions::default() });
        // The last one is copied on streams of its own.
        let long: Vec<f32> = (0..40_000).map(|i| i as f32 * 0.25).collect();
        for feed in [vec![1.0f32, 2.0, 3.0], vec![-1.5], vec![], long] {
            let launches = [0, 1].map(|device| driver.launches(device));
            let [y, z] = session.runner().feed(x, Tensor::vector(&feed).unwrap()).fetch([y, z]).unwrap();
            let expected: Vec<f32> = feed.iter().map(|x| x * x + x).collect();
            assert_eq!(values(&y), expected);
            assert_eq!(values(&z), expected.iter().map(|y| -(y - 1.0 + y)).collect::<Vec<f32>>());
            let launched = [0, 1].map(|device| driver.launches(device) - launches[device]);
            assert_eq!(launched.map(|n| n > 0), [!feed.is_empty(); 2], "kernels run on both GPUs: {launched:?}");
        }
    }
    assert_no_leaks(&driver);
}

#[test]
fn a_tensor_stays_on_its_gpu_between_nodes() {
    let driver = stub_cuda::install().unwrap();
    let b = GraphBuilder::new().unwrap();
    let x = b.placeholder(DType::F32, [1000]).unwrap();
    let y = b
        .with_device(GPU, || {
            let mut y = x;
            for _ in 0..10 {
                y = b.op("Sinh").input(b.op("Atan").input(y).output()?).output()?;
            }
            Ok(y)
        })
        .unwrap();
    let session = session(&b);
    let before = driver.copied_bytes(0);
    session.runner().feed(x, Tensor::zeros(DType::F32, [1000]).unwrap()).fetch(y).unwrap();
    assert_eq!(driver.copied_bytes(0) - before, 8000, "one copy there and one back");
}

#[test]
fn a_placeholder_may_request_a_gpu() {
    let _driver = stub_cuda::install().unwrap();
    let b = GraphBuilder::new().unwrap();
    let y = b.with_device(GPU, || Ok(b.node().name("x").placeholder(DType::F32, [-1])? * 2.0)).unwrap();
    let session = session(&b);
    assert_eq!(values(&session.runner().feed("x", Tensor::vector(&[1f32, 2.0]).unwrap()).fetch(y).unwrap()), [2.0, 4.0]);
    let unfed: Result<Tensor, flowmill::Error> = session.runner().fetch(y);
    let error = unfed.unwrap_err();
    assert!(error.message().contains("You must feed a value for placeholder tensor 'x'"), "{error}");
}

#[test]
fn a_branch_on_another_device_is_dead_or_taken() {
    let _driver = stub_cuda::install().unwrap();
    let b = GraphBuilder::new().unwrap();
    let (x, p) = (b.placeholder(DType::F32, [2]).unwrap(), b.placeholder(DType::Bool, []).unwrap());
    let [y] = b.cond(p, || Ok([b.with_device(GPU, || Ok(-(x * x)))?]), || Ok([b.with_device(OTHER_GPU, || Ok(x + x))?])).unwrap();
    let session = session(&b);
    for (taken, expected) in [(true, [-4.0, -9.0]), (false, [4.0, 6.0])] {
        let runner = session.runner().feed(x, Tensor::vector(&[2f32, 3.0]).unwrap()).feed(p, Tensor::scalar(taken));
        assert_eq!(values(&runner.fetch(y).unwrap()), expected);
    }
}

#[test]
fn control_edges_order_nodes_of_different_devices() {
    let _driver = stub_cuda::install().unwrap();
    let b = GraphBuilder::new().unwrap();
    let x = b.placeholder(DType::F32, [1]).unwrap();
    let variable = b.variable("v", b.constant([1.0f32]).unwrap()).unwrap();
    let there = b.with_device(GPU, || Ok(-x)).unwrap();
    let assign = b.after(&[there.node()], || variable.assign_add(x)).unwrap();
    let there_again = b.with_device(OTHER_GPU, || b.after(&[assign], || Ok(x + x))).unwrap();
    let read = b.after(&[there_again.node()], || variable.read()).unwrap();
    let session = session(&b);
    session.runner().target(variable.initializer()).run().unwrap();
    for i in 1..20 {
        let read = session.runner().feed(x, Tensor::vector(&[1f32]).unwrap()).fetch(read).unwrap();
        assert_eq!(values(&read), [1.0 + i as f32]);
    }
}

#[test]
fn a_variable_lives_on_its_gpu() {
    let driver = stub_cuda::install().unwrap();
    let b = GraphBuilder::new().unwrap();
    let x = b.placeholder(DType::F32, [3]).unwrap();
    let (variable, assign, sum) = b
        .with_device(GPU, || {
            let variable = b.variable("v", b.constant([1.0f32, 2.0, 3.0])?)?;
            let assign = variable.assign(x)?;
            Ok((variable, assign, variable.read()? + variable.read()?))
        })
        .unwrap();
    let session = session(&b);
    session.runner().target(variable.initializer()).run().unwrap();
    assert_eq!(values(&session.runner().fetch(sum).unwrap()), [2.0, 4.0, 6.0]);
    session.runner().feed(x, Tensor::vector(&[5f32, 6.0, 7.0]).unwrap()).target(assign).run().unwrap();
    let before = driver.copied_bytes(0);
    assert_eq!(values(&session.runner().fetch(sum).unwrap()), [10.0, 12.0, 14.0]);
    assert_eq!(driver.copied_bytes(0) - before, 12, "only the sum is copied");
    drop(session);
    drop(b);
    assert_no_leaks(&driver);
}

#[test]
fn many_steps_at_once_do_not_mix() {
    let driver = stub_cuda::install().unwrap();
    let b = GraphBuilder::new().unwrap();
    let x = b.placeholder(DType::F32, [-1]).unwrap();
    let y = b.with_device(GPU, || Ok(-(x * x))).unwrap() + 1.0;
    let z = b.with_device(OTHER_GPU, || Ok(y * 2.0)).unwrap();
    let session = session(&b);
    let (x, z) = (x.id(), z.id());
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let session = &session;
            scope.spawn(move || {
                for i in 0..50 {
                    let x_value = (thread * 100 + i) as f32;
                    let fed = vec![x_value; if i % 10 == 9 { 20_000 } else { 3 }];
                    let result = session.runner().feed(x, Tensor::vector(&fed).unwrap()).fetch(z).unwrap();
                    assert_eq!(values(&result), vec![2.0 - 2.0 * x_value * x_value; fed.len()]);
                }
            });
        }
    });
    drop(session);
    assert_no_leaks(&driver);
}

#[test]
fn a_constant_that_a_kernel_takes_in_the_hosts_memory_is_not_copied() {
    let driver = stub_cuda::install().unwrap();
    let b = GraphBuilder::new().unwrap();
    let x = b.placeholder(DType::F32, [2, 3]).unwrap();
    let y = b
        .with_device(GPU, || {
            // The axes are known after constants are folded.
            let axes = b.op("Range").input(b.constant(0i32)?).input(b.constant(2i32)?).input(b.constant(1i32)?).output()?;
            let rows = b.op("Sum").input(x).input(b.constant([1i32])?).output()?;
            Ok(b.op("Sum").input(x).input(axes).output()? + rows)
        })
        .unwrap();
    let session = session(&b);
    let feed = Tensor::from_slice([2, 3], &[1f32, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
    for _ in 0..2 {
        let before = driver.copied_bytes(0);
        let value = session.runner().feed(x, feed.clone()).fetch(y).unwrap();
        assert_eq!(values(&value), [27.0, 36.0]);
        assert_eq!(driver.copied_bytes(0) - before, 24 + 8, "the feed and the result are copied");
    }
}

#[test]
fn a_loop_runs_over_gpus_and_the_host() {
    let driver = stub_cuda::install().unwrap();
    for inter_op_threads in [1, 0] {
        let b = GraphBuilder::new().unwrap();
        let start = b.constant([1.0f32, 0.5]).unwrap();
        let [y] = b
            .while_loop(
                [start],
                |[x]| b.op("Less").input(b.op("Sum").input(x).input(b.constant([0i32])?).output()?).input(b.constant(100.0f32)?).output(),
                |[x]| {
                    let there = b.with_device(GPU, || Ok(x + x))?;
                    let further = b.with_device(OTHER_GPU, || Ok(-there))?;
                    Ok([further * -1.0])
                },
            )
            .unwrap();
        let session = session_of(&b, gpus(), SessionOptions { inter_op_threads, ..SessionOptions::default() });
        for _ in 0..3 {
            assert_eq!(values(&session.runner().fetch(y).unwrap()), [128.0, 64.0]);
        }
    }
    assert_no_leaks(&driver);
}
