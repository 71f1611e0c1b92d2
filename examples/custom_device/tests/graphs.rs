//! Graphs over the host and devices of a type that Flowmill does not know.
#![allow(clippy::unwrap_used)]

use flowmill::device::{Device, HostDevice};
use flowmill::prelude::*;
use flowmill::{Code, RunOptions, SessionOptions};
use flowmill_example_custom_device::test_device;
use std::sync::Arc;

const TEST: &str = "/device:TEST:0";

fn session_of(b: &GraphBuilder, devices: Vec<Arc<dyn Device>>, options: SessionOptions) -> Session {
    let host = HostDevice::cpu(0, flowmill::kernels());
    Session::with_devices(b.shared_graph().clone(), std::iter::once(host).chain(devices).collect(), options).unwrap()
}

fn session(b: &GraphBuilder) -> Session {
    session_of(b, vec![test_device(0, 1 << 20), test_device(1, 1 << 20)], SessionOptions::default())
}

fn values(tensor: &Tensor) -> &[f32] {
    tensor.as_slice().unwrap()
}

#[test]
fn nodes_run_where_they_are_placed_and_tensors_cross_both_ways() {
    for inter_op_threads in [1, 0] {
        let b = GraphBuilder::new().unwrap();
        let x = b.placeholder(DType::F32, [-1]).unwrap();
        let y = b.with_device(TEST, || Ok(x * x + x)).unwrap();
        let on_host = y - 1.0;
        let z = b.with_device("/device:TEST:1", || Ok(-(on_host + y))).unwrap();
        let session = session_of(
            &b,
            vec![test_device(0, 1 << 20), test_device(1, 1 << 20)],
            SessionOptions { inter_op_threads, ..SessionOptions::default() },
        );
        for feed in [vec![1.0f32, 2.0, 3.0], vec![-1.5]] {
            let [y, z] = session.runner().feed(x, Tensor::vector(&feed).unwrap()).fetch([y, z]).unwrap();
            let expected: Vec<f32> = feed.iter().map(|x| x * x + x).collect();
            assert_eq!(values(&y), expected);
            assert_eq!(values(&z), expected.iter().map(|y| -(y - 1.0 + y)).collect::<Vec<f32>>());
        }
    }
}

#[test]
fn steps_with_other_fetches_send_to_other_devices() {
    let b = GraphBuilder::new().unwrap();
    let x = b.placeholder(DType::F32, [1]).unwrap();
    let y = b.with_device(TEST, || Ok(-x)).unwrap();
    let z = b.with_device("/device:TEST:1", || Ok(x + x)).unwrap();
    let session = session(&b);
    for _ in 0..2 {
        for (fetch, expected) in [(y, -3.0), (z, 6.0)] {
            let value = session.runner().feed(x, Tensor::vector(&[3f32]).unwrap()).fetch(fetch).unwrap();
            assert_eq!(values(&value), [expected]);
        }
    }
}

#[test]
fn a_trace_names_the_nodes_of_every_device() {
    let b = GraphBuilder::new().unwrap();
    let x = b.placeholder(DType::F32, [2]).unwrap();
    let y = b.with_device(TEST, || b.op("Neg").name("there").input(x).output()).unwrap();
    let session = session(&b);
    let options = RunOptions { trace: true, ..RunOptions::default() };
    let outcome =
        session.run_with(&[(&x.name().unwrap(), Tensor::vector(&[1f32, 2.0]).unwrap())], &[&y.name().unwrap()], &[], &options).unwrap();
    assert_eq!(values(&outcome.values[0]), [-1.0, -2.0]);
    let stats = outcome.stats.unwrap();
    assert!(stats.take().iter().any(|node| &*node.name == "there"), "the node of the other device is recorded");
}

#[test]
fn a_branch_on_another_device_is_dead_or_taken() {
    let b = GraphBuilder::new().unwrap();
    let (x, p) = (b.placeholder(DType::F32, [2]).unwrap(), b.placeholder(DType::Bool, []).unwrap());
    let [y] = b.cond(p, || Ok([b.with_device(TEST, || Ok(-(x * x)))?]), || Ok([b.with_device("/device:TEST:1", || Ok(x + x))?])).unwrap();
    let session = session(&b);
    for (taken, expected) in [(true, [-4.0, -9.0]), (false, [4.0, 6.0])] {
        let runner = session.runner().feed(x, Tensor::vector(&[2f32, 3.0]).unwrap()).feed(p, Tensor::scalar(taken));
        assert_eq!(values(&runner.fetch(y).unwrap()), expected);
    }
}

#[test]
fn control_edges_order_nodes_of_different_devices() {
    let b = GraphBuilder::new().unwrap();
    let x = b.placeholder(DType::F32, [1]).unwrap();
    let variable = b.variable("v", b.constant([1.0f32]).unwrap()).unwrap();
    let there = b.with_device(TEST, || Ok(-x)).unwrap();
    let assign = b.after(&[there.node()], || variable.assign_add(x)).unwrap();
    let there_again = b.with_device(TEST, || b.after(&[assign], || Ok(x + x))).unwrap();
    let read = b.after(&[there_again.node()], || variable.read()).unwrap();
    let session = session(&b);
    session.runner().target(variable.initializer()).run().unwrap();
    for i in 1..20 {
        let read = session.runner().feed(x, Tensor::vector(&[1f32]).unwrap()).fetch(read).unwrap();
        assert_eq!(values(&read), [1.0 + i as f32]);
    }
}

#[test]
fn an_error_on_one_device_ends_the_step_on_all() {
    let b = GraphBuilder::new().unwrap();
    let (x, y) = (b.placeholder(DType::F32, [-1]).unwrap(), b.placeholder(DType::F32, [-1]).unwrap());
    let z = b.with_device(TEST, || b.op("Mul").name("product").input(x).input(y).output()).unwrap();
    let session = session(&b);
    let feed = |n: usize| Tensor::vector(&vec![1f32; n]).unwrap();
    let error = session.runner().feed(x, feed(2)).feed(y, feed(3)).fetch(z).unwrap_err();
    assert_eq!((error.code(), error.node()), (Code::InvalidArgument, Some("product")), "{error}");
    assert_eq!(values(&session.runner().feed(x, feed(2)).feed(y, feed(2)).fetch(z).unwrap()), [1.0, 1.0], "the session goes on");
    let error = session.runner().feed(x, feed(1 << 19)).feed(y, feed(1 << 19)).fetch(z).unwrap_err();
    assert_eq!(error.code(), Code::ResourceExhausted, "the device's memory is full: {error}");
    assert_eq!(values(&session.runner().feed(x, feed(1)).feed(y, feed(1)).fetch(z).unwrap()), [1.0], "and was given back");
}

#[test]
fn what_the_device_cannot_do_is_refused_by_name() {
    let b = GraphBuilder::new().unwrap();
    let x = b.placeholder(DType::F32, [2]).unwrap();
    let wide = b.placeholder(DType::F64, [2]).unwrap();
    let exp = b.with_device(TEST, || b.exp(x)).unwrap();
    let product = b.with_device(TEST, || Ok(wide * wide)).unwrap();
    let missing = b.with_device("/device:TEST:7", || Ok(-x)).unwrap();
    let options = SessionOptions { place_pruned_graph: true, ..SessionOptions::default() };
    let session = session_of(&b, vec![test_device(0, 1 << 20)], options);
    let error = |y| {
        session
            .runner()
            .feed(x, Tensor::vector(&[1f32, 2.0]).unwrap())
            .feed(wide, Tensor::vector(&[1f64, 2.0]).unwrap())
            .fetch::<Output<'_>>(y)
            .unwrap_err()
    };
    let no_kernel = error(exp);
    assert_eq!(no_kernel.code(), Code::InvalidArgument);
    assert!(no_kernel.message().contains("because no supported kernel for TEST devices is available"), "{no_kernel}");
    let no_type = error(product);
    assert!(no_type.message().contains("Op: Mul") && no_type.message().contains("T in [float32]"), "{no_type}");
    let no_device = error(missing);
    assert_eq!(no_device.code(), Code::InvalidArgument);
    assert!(no_device.message().contains("/job:localhost/replica:0/task:0/device:TEST:0 ]"), "{no_device}");
}

#[test]
fn a_loop_runs_over_several_devices() {
    for inter_op_threads in [1, 0] {
        let b = GraphBuilder::new().unwrap();
        let [y] = b
            .while_loop(
                [b.constant([1.0f32]).unwrap()],
                |[x]| b.op("Less").input(b.op("Sum").input(x).input(b.constant([0i32])?).output()?).input(b.constant(100.0f32)?).output(),
                |[x]| {
                    let there = b.with_device(TEST, || Ok(x + x))?;
                    Ok([b.with_device("/device:TEST:1", || Ok(-there))? * -1.0])
                },
            )
            .unwrap();
        let devices = vec![test_device(0, 1 << 20), test_device(1, 1 << 20)];
        let session = session_of(&b, devices, SessionOptions { inter_op_threads, ..SessionOptions::default() });
        for _ in 0..20 {
            assert_eq!(values(&session.runner().fetch(y).unwrap()), [128.0]);
        }
    }
}

#[test]
fn many_steps_at_once_do_not_mix() {
    let b = GraphBuilder::new().unwrap();
    let x = b.placeholder(DType::F32, [-1]).unwrap();
    let y = b.with_device(TEST, || Ok(-(x * x))).unwrap() + 1.0;
    let session = session(&b);
    let (x, y) = (x.id(), y.id());
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let session = &session;
            scope.spawn(move || {
                for i in 0..50 {
                    let x_value = (thread * 100 + i) as f32;
                    let result = session.runner().feed(x, Tensor::vector(&[x_value]).unwrap()).fetch(y).unwrap();
                    assert_eq!(values(&result), [1.0 - x_value * x_value]);
                }
            });
        }
    });
}

#[test]
fn the_first_device_is_the_host_and_names_differ() {
    let b = GraphBuilder::new().unwrap();
    let with = |devices| Session::with_devices(b.shared_graph().clone(), devices, SessionOptions::default()).err().map(|e| e.code());
    assert_eq!(with(vec![]), Some(Code::InvalidArgument));
    assert_eq!(with(vec![test_device(0, 1)]), Some(Code::InvalidArgument));
    let host = || HostDevice::cpu(0, flowmill::kernels());
    assert_eq!(with(vec![host(), test_device(0, 1), test_device(0, 1)]), Some(Code::InvalidArgument));
    assert_eq!(with(vec![host(), test_device(0, 1), test_device(1, 1)]), None);
}
