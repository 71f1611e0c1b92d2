//! The memory of host devices: each device has a limit and statistics of its own.
#![allow(clippy::unwrap_used)]

use flowmill::device::{Device, HostDevice};
use flowmill::prelude::*;
use flowmill::{Code, CostPlacement, PlacementPolicy, RunOptions, SessionOptions};
use std::sync::Arc;

const MB: usize = 1 << 20;
/// The number of floats in a megabyte.
const FLOATS: usize = MB / 4;

fn device(id: u32, limit: usize) -> Arc<dyn Device> {
    HostDevice::cpu_with_limit(id, flowmill::kernels(), limit)
}

fn session(b: &GraphBuilder, devices: &[&Arc<dyn Device>]) -> Session {
    let devices = devices.iter().map(|&device| device.clone()).collect();
    Session::with_devices(b.shared_graph().clone(), devices, SessionOptions::default()).unwrap()
}

fn megabytes(n: usize) -> Tensor {
    Tensor::zeros(DType::F32, [n * FLOATS]).unwrap()
}

#[test]
fn the_peak_is_that_of_the_tensors_that_are_alive_at_once() {
    let b = GraphBuilder::new().unwrap();
    let x = b.placeholder(DType::F32, [-1]).unwrap();
    let twice = b.concat_v2(&[x, x], 0).unwrap();
    let four_times = b.concat_v2(&[twice, twice], 0).unwrap();
    let cpu = device(0, 100 * MB);
    let session = session(&b, &[&cpu]);
    for _ in 0..3 {
        let result = session.runner().feed(x, megabytes(1)).fetch(four_times).unwrap();
        assert_eq!(cpu.memory_stats().unwrap().bytes_in_use, 4 * MB, "the result is alive, the feed is the caller's");
        drop(result);
    }
    let stats = cpu.memory_stats().unwrap();
    assert_eq!((stats.bytes_in_use, stats.peak_bytes_in_use, stats.largest_allocation), (0, 6 * MB, 4 * MB));
    assert_eq!((stats.num_allocations, stats.bytes_limit), (6, 100 * MB));
    assert_eq!(cpu.attributes().memory_limit, 100 * MB);
}

#[test]
fn a_step_past_the_limit_fails_and_the_session_goes_on() {
    let b = GraphBuilder::new().unwrap();
    let x = b.placeholder(DType::F32, [-1]).unwrap();
    let twice = b.concat_v2(&[x, x], 0).unwrap();
    let cpu = device(0, 5 * MB);
    let session = session(&b, &[&cpu]);
    let error = session.runner().feed(x, megabytes(3)).fetch(twice).unwrap_err();
    assert_eq!(error.code(), Code::ResourceExhausted);
    for part in ["6291456 bytes", "/device:CPU:0", "0 bytes are in use", "the limit is 5242880"] {
        assert!(error.message().contains(part), "{error}");
    }
    assert!(error.node().is_some_and(|node| twice.name().unwrap().starts_with(node)), "{error}");
    assert_eq!(cpu.memory_stats().unwrap().bytes_in_use, 0);
    let result = session.runner().feed(x, megabytes(2)).fetch(twice).unwrap();
    assert_eq!(result.num_elements(), 4 * FLOATS);
}

#[test]
fn devices_of_one_process_have_accounts_of_their_own() {
    let b = GraphBuilder::new().unwrap();
    let x = b.placeholder(DType::F32, [-1]).unwrap();
    let here = b.with_device("/device:CPU:0", || b.concat_v2(&[x, x], 0)).unwrap();
    let there = b.with_device("/device:CPU:1", || b.concat_v2(&[here, here, here], 0)).unwrap();
    let (small, large) = (device(0, 3 * MB), device(1, 100 * MB));
    let both = session(&b, &[&small, &large]);
    let result = both.runner().feed(x, megabytes(1)).fetch(there).unwrap();
    assert_eq!(result.num_elements(), 6 * FLOATS);
    assert_eq!(small.memory_stats().unwrap().peak_bytes_in_use, 2 * MB);
    assert_eq!(large.memory_stats().unwrap().peak_bytes_in_use, 6 * MB);
    let error = both.runner().feed(x, megabytes(2)).fetch(there).unwrap_err();
    assert!(error.message().contains("/device:CPU:0"), "{error}");
}

#[test]
fn variables_hold_their_memory_until_the_session_is_dropped() {
    let b = GraphBuilder::new().unwrap();
    let x = b.placeholder(DType::F32, [FLOATS as i64]).unwrap();
    let variable = b.variable("v", b.constant(vec![0.0f32; FLOATS]).unwrap()).unwrap();
    let assign = variable.assign(x).unwrap();
    let cpu = device(0, 100 * MB);
    let session = session(&b, &[&cpu]);
    // A thread of a pool may hold the plan, and with it the variable, for some time after the step.
    let here = RunOptions { inter_op_thread_pool: -1, ..RunOptions::default() };
    let value = Tensor::from_bytes(DType::F32, [FLOATS], vec![0; MB].into()).unwrap();
    session.runner().feed(x, value).target(assign).options(here).run().unwrap();
    assert_eq!(cpu.memory_stats().unwrap().bytes_in_use, MB, "the value is a copy of the caller's memory");
    drop(session);
    assert_eq!(cpu.memory_stats().unwrap().bytes_in_use, 0);
}

#[test]
fn kernels_that_write_into_their_input_copy_a_feed_on_the_device() {
    let b = GraphBuilder::new().unwrap();
    let x = b.placeholder(DType::F32, [-1, 64]).unwrap();
    for y in
        [b.softmax(x).unwrap(), b.cumsum(x, 0).unwrap(), b.matrix_band_part(x, 1i64, 1i64).unwrap(), b.exp(x).unwrap(), b.tanh(x).unwrap()]
    {
        let cpu = device(0, 100 * MB);
        let fed = megabytes(1).reshaped([FLOATS / 64, 64]).unwrap();
        let result = session(&b, &[&cpu]).runner().feed(x, fed.clone()).fetch(y).unwrap();
        assert_eq!(cpu.memory_stats().unwrap().bytes_in_use, MB, "{:?}", y.name());
        drop(result);
        assert_eq!(cpu.memory_stats().unwrap().bytes_in_use, 0);
    }
}

#[test]
fn receives_that_are_scheduled_keep_the_peak_of_a_device_low() {
    const NUM_TERMS: usize = 20;
    let b = GraphBuilder::new().unwrap();
    let x = b.with_device("/device:CPU:0", || b.placeholder(DType::F32, [])).unwrap();
    let mut terms = Vec::new();
    for i in 0..NUM_TERMS {
        let scalar = b.with_device("/device:CPU:0", || b.add_v2(x, i as f32)).unwrap();
        terms.push(b.with_device("/device:CPU:1", || b.fill([FLOATS as i32], scalar)).unwrap());
    }
    let add = |sum, term| b.with_device("/device:CPU:1", || b.add_v2(sum, term)).unwrap();
    let sum = terms.into_iter().reduce(add).unwrap();
    let run = |options: SessionOptions| {
        let devices = [device(0, 100 * MB), device(1, 100 * MB)];
        let options = SessionOptions { inter_op_threads: 1, intra_op_threads: 1, optimize: false, ..options };
        let session = Session::with_devices(b.shared_graph().clone(), devices.to_vec(), options).unwrap();
        let values = session.runner().feed(x, Tensor::scalar(1.0f32)).fetch(sum).unwrap();
        (devices[1].memory_stats().unwrap().peak_bytes_in_use / MB, values)
    };
    let (peak, values) = run(SessionOptions::default());
    let (scheduled_peak, scheduled_values) = run(SessionOptions { enable_recv_scheduling: true, ..SessionOptions::default() });
    assert_eq!(values, scheduled_values);
    assert!(peak >= NUM_TERMS && scheduled_peak <= 6, "{peak} MB, and {scheduled_peak} MB with scheduled receives");
    let placement = PlacementPolicy::CostModel(CostPlacement::default());
    let (placed_peak, _) = run(SessionOptions { placement, ..SessionOptions::default() });
    assert!(placed_peak <= 6, "{placed_peak} MB when nodes are placed by cost");
}
