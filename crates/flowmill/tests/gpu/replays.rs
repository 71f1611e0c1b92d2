//! Strands whose work is captured once and replayed: their results are those of steps that run each node.

use crate::compare::{Random, numbers};
use crate::setup::{GPU, OTHER_GPU, assert_no_leaks, gpus, session_of, values};
use flowmill::prelude::*;
use flowmill::runtime::program::FuseOptions;
use flowmill::{CallableOptions, Code, RunOptions};
use std::sync::Arc;
use std::time::Duration;
use stub_cuda::{Driver, Kind};

const F: DType = DType::F32;

/// Steps of which the last ones replay: the first notes addresses, the second records, and a third may record again because an input has moved.
const STEPS: usize = 6;

/// Options that make strands of `min` or more kernels.
fn options(min: Option<usize>) -> SessionOptions {
    let usual = SessionOptions::default();
    SessionOptions { fuse: FuseOptions { min_replayed: min, ..usual.fuse }, ..usual }
}

fn constant<'b>(b: &'b GraphBuilder, value: &Tensor) -> flowmill::Result<Output<'b>> {
    b.op("Const").attr("dtype", value.dtype()).attr("value", value).output()
}

/// A network on a GPU: products, a softmax, a shape that is computed, and a reduction.
fn network<'b>(b: &'b GraphBuilder, x: Output<'b>, device: &str) -> flowmill::Result<[Output<'b>; 2]> {
    let mut random = Random::new(7);
    b.with_device(device, || {
        let first = b.op("MatMul").input(x).input(constant(b, &random.tensor(F, &[8, 6]))?).output()?;
        let hidden = b.op("Tanh").input(first).output()?;
        let second = b.op("MatMul").input(hidden).input(constant(b, &random.tensor(F, &[6, 4]))?).output()?;
        let likely = b.op("Softmax").input(second).output()?;
        let shape = b.op("Shape").input(likely).output()?;
        let size = b.op("Prod").input(shape).input(b.constant([0i32])?).attr("keep_dims", true).output()?;
        let flat = b.op("Reshape").input(b.op("Sigmoid").input(likely).output()?).input(size).output()?;
        let sum = b.op("Cumsum").input(flat).input(b.constant(0i32)?).output()?;
        Ok([likely, sum])
    })
}

fn input(rows: usize, seed: u64) -> Tensor {
    Random::new(seed).tensor(F, &[rows, 8])
}

/// The network's values on the CPU.
fn expected(feeds: &[Tensor]) -> Vec<[Vec<f64>; 2]> {
    let b = GraphBuilder::new().unwrap();
    let x = b.placeholder(F, [-1, 8]).unwrap();
    let outputs = network(&b, x, "/device:CPU:0").unwrap();
    let session = session_of(&b, Vec::new(), SessionOptions::default());
    let run =
        |feed: &Tensor| session.runner().feed(x, feed.clone()).fetch(outputs).map(|values: [Tensor; 2]| values.each_ref().map(numbers));
    feeds.iter().map(|feed| run(feed).unwrap()).collect()
}

fn assert_close(found: &[Tensor; 2], expected: &[Vec<f64>; 2], context: &str) {
    for (found, expected) in found.iter().zip(expected) {
        let found = numbers(found);
        assert_eq!(found.len(), expected.len(), "{context}");
        let is_close = found.iter().zip(expected).all(|(a, b)| (a - b).abs() <= 1e-5 * b.abs().max(1.0));
        assert!(is_close, "{context}: {found:?} instead of {expected:?}");
    }
}

fn in_any_order(driver: &Driver, mut check: impl FnMut(u64)) {
    for seed in 0..6 {
        if seed > 0 {
            driver.set_asynchronous(seed);
        }
        check(seed);
    }
}

#[test]
fn replayed_steps_have_the_values_of_the_cpu() {
    let driver = stub_cuda::install().unwrap();
    let feeds: Vec<Tensor> = (0..STEPS as u64).map(|seed| input(3, seed)).collect();
    let expected = expected(&feeds);
    in_any_order(&driver, |seed| {
        for min in [None, Some(1), Some(4)] {
            let b = GraphBuilder::new().unwrap();
            let x = b.placeholder(F, [-1, 8]).unwrap();
            let outputs = network(&b, x, GPU).unwrap();
            let session = session_of(&b, gpus(), options(min));
            let before = driver.graph_launches(0);
            for (feed, expected) in feeds.iter().zip(&expected) {
                let found = session.runner().feed(x, feed.clone()).fetch(outputs).unwrap();
                assert_close(&found, expected, &format!("seed {seed}, {min:?}"));
            }
            let replays = driver.graph_launches(0) - before;
            assert_eq!(replays > 0, min.is_some(), "{replays} replays with {min:?}");
        }
    });
    assert_no_leaks(&driver);
}

#[test]
fn each_combination_of_shapes_has_its_recording() {
    let driver = stub_cuda::install().unwrap();
    // More combinations than are kept.
    let feeds: Vec<Tensor> =
        (0..11).flat_map(|rows| (0..4).map(move |seed| input(rows, seed))).chain((0..12).map(|i| input(1 + i % 2, i as u64))).collect();
    let expected = expected(&feeds);
    let b = GraphBuilder::new().unwrap();
    let x = b.placeholder(F, [-1, 8]).unwrap();
    let outputs = network(&b, x, GPU).unwrap();
    let session = session_of(&b, gpus(), options(Some(4)));
    for (i, (feed, expected)) in feeds.iter().zip(&expected).enumerate() {
        let found = session.runner().feed(x, feed.clone()).fetch(outputs).unwrap();
        assert_close(&found, expected, &format!("step {i}"));
    }
    assert!(driver.captures(0) >= 11 && driver.graph_launches(0) >= 11, "{} captures", driver.captures(0));
    assert!(driver.live(0, Kind::Graphs) <= 9, "{} graphs are kept", driver.live(0, Kind::Graphs));
    drop(session);
    assert_no_leaks(&driver);
}

#[test]
fn outputs_that_are_held_are_not_overwritten() {
    let driver = stub_cuda::install().unwrap();
    in_any_order(&driver, |seed| {
        let b = GraphBuilder::new().unwrap();
        let x = b.node().name("x").placeholder(F, [-1, 8]).unwrap();
        let [likely, sum] = network(&b, x, GPU).unwrap();
        let back = b.node().name("back").placeholder(F, [-1, 4]).unwrap();
        b.with_device(GPU, || b.op("Neg").name("read").input(back).output()).unwrap();
        let names = [likely, sum].map(|output| output.name().unwrap());
        let session = Arc::new(session_of(&b, gpus(), options(Some(1))));
        let [first, second] = names.each_ref().map(String::as_str);
        let on_gpu = CallableOptions {
            feeds: &["x:0"],
            fetches: &[first, second],
            fetch_devices: &[(first, GPU), (second, GPU)],
            ..CallableOptions::default()
        };
        let step = session.make_callable_with(&on_gpu).unwrap();
        let feeds: Vec<Tensor> = (0..10).map(|seed| input(3, seed)).collect();
        let held: Vec<Vec<Tensor>> = feeds.iter().map(|feed| step.run(vec![feed.clone()]).unwrap()).collect();
        assert!(driver.graph_launches(0) > 0);
        let copy =
            CallableOptions { feeds: &["back:0"], fetches: &["read:0"], feed_devices: &[("back:0", GPU)], ..CallableOptions::default() };
        let copy = session.make_callable_with(&copy).unwrap();
        for (held, expected) in held.iter().zip(expected(&feeds)) {
            let negative = copy.run(vec![held[0].clone()]).unwrap().swap_remove(0);
            let expected: Vec<f64> = expected[0].iter().map(|x| -x).collect();
            let found = numbers(&negative);
            assert!(found.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-5), "seed {seed}: {found:?} instead of {expected:?}");
        }
    });
    assert_no_leaks(&driver);
}

#[test]
fn steps_and_sessions_at_once() {
    let driver = stub_cuda::install().unwrap();
    let feeds: Vec<Tensor> = (0..12).map(|i| input(2 + i % 2, i as u64)).collect();
    let expected = expected(&feeds);
    in_any_order(&driver, |seed| {
        // The sessions share the GPUs, as all of a process do.
        let devices = gpus();
        let builders: Vec<GraphBuilder> = (0..2).map(|_| GraphBuilder::new().unwrap()).collect();
        let sessions: Vec<_> = builders
            .iter()
            .map(|b| {
                let x = b.placeholder(F, [-1, 8]).unwrap();
                let outputs = network(b, x, GPU).unwrap();
                (session_of(b, devices.clone(), options(Some(4))), x.id(), outputs.map(|output| output.id()))
            })
            .collect();
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (session, x, outputs) = &sessions[thread % 2];
                let (feeds, expected) = (&feeds, &expected);
                scope.spawn(move || {
                    for i in (0..feeds.len()).map(|i| (i + thread) % feeds.len()) {
                        let found = session.runner().feed(*x, feeds[i].clone()).fetch(*outputs).unwrap();
                        assert_close(&found, &expected[i], &format!("seed {seed}, thread {thread}"));
                    }
                });
            }
        });
    });
    assert!(driver.graph_launches(0) > 0);
    assert_no_leaks(&driver);
}

#[test]
fn a_capture_that_fails_is_not_tried_again() {
    let driver = stub_cuda::install().unwrap();
    driver.fail_captures(0);
    let feeds: Vec<Tensor> = (0..STEPS as u64).map(|seed| input(3, seed)).collect();
    let b = GraphBuilder::new().unwrap();
    let x = b.placeholder(F, [-1, 8]).unwrap();
    let outputs = network(&b, x, GPU).unwrap();
    let session = session_of(&b, gpus(), options(Some(4)));
    for (feed, expected) in feeds.iter().zip(expected(&feeds)) {
        assert_close(&session.runner().feed(x, feed.clone()).fetch(outputs).unwrap(), &expected, "plain");
    }
    assert_eq!((driver.captures(0), driver.graph_launches(0)), (1, 0));
    drop(session);
    assert_no_leaks(&driver);
}

#[test]
fn a_graph_that_cannot_be_launched_is_replaced_by_its_nodes() {
    let driver = stub_cuda::install().unwrap();
    let feeds: Vec<Tensor> = (0..STEPS as u64).map(|seed| input(3, seed)).collect();
    let b = GraphBuilder::new().unwrap();
    let x = b.placeholder(F, [-1, 8]).unwrap();
    let outputs = network(&b, x, GPU).unwrap();
    let session = session_of(&b, gpus(), options(Some(4)));
    for (i, (feed, expected)) in feeds.iter().zip(expected(&feeds)).enumerate() {
        if i == STEPS - 2 {
            driver.refuse_launch_after(0, 1);
        }
        assert_close(&session.runner().feed(x, feed.clone()).fetch(outputs).unwrap(), &expected, "step");
    }
    drop(session);
    assert_no_leaks(&driver);
}

#[test]
fn a_fault_in_a_graph_fails_the_step() {
    for seed in [0, 1, 2] {
        let driver = stub_cuda::install().unwrap();
        if seed > 0 {
            driver.set_asynchronous(seed);
        }
        let b = GraphBuilder::new().unwrap();
        let x = b.placeholder(F, [-1, 8]).unwrap();
        let outputs = network(&b, x, GPU).unwrap();
        let session = session_of(&b, gpus(), options(Some(4)));
        let run = |seed| -> Result<[Tensor; 2], flowmill::Error> { session.runner().feed(x, input(3, seed)).fetch(outputs) };
        (0..STEPS as u64).for_each(|seed| drop(run(seed).unwrap()));
        let before = driver.graph_launches(0);
        driver.fault_after(0, 1);
        assert_eq!(run(1).unwrap_err().code(), Code::Internal);
        assert_eq!(driver.graph_launches(0), before + 1);
        assert!(run(2).is_err(), "the device is lost");
        drop(session);
        assert_no_leaks(&driver);
    }
}

#[test]
fn recordings_give_their_memory_back_when_it_is_full() {
    let driver = stub_cuda::install().unwrap();
    driver.set_memory_limit(0, 36 << 20);
    let b = GraphBuilder::new().unwrap();
    let x = b.placeholder(F, [-1]).unwrap();
    let reversed = b
        .with_device(GPU, || {
            let mut reversed = x;
            for _ in 0..2 {
                reversed = b.op("ReverseV2").input(reversed).input(b.constant([0i32])?).output()? * 2.0;
            }
            Ok(reversed)
        })
        .unwrap();
    let session = session_of(&b, gpus(), options(Some(2)));
    let run =
        |n: usize| -> Result<Tensor, flowmill::Error> { session.runner().feed(x, Tensor::vector(&vec![0f32; n]).unwrap()).fetch(reversed) };
    // Each size fits alone. The recordings of all sizes do not.
    for n in [1 << 16, 1 << 17, 3 << 15, 1 << 16, 5 << 14, 1 << 17] {
        for _ in 0..4 {
            assert_eq!(values(&run(n).unwrap()), vec![0f32; n]);
        }
    }
    assert!(driver.graph_launches(0) > 0);
    assert_eq!(run(1 << 21).unwrap_err().code(), Code::ResourceExhausted);
    assert_eq!(values(&run(1 << 16).unwrap()).len(), 1 << 16);
    drop(session);
    assert_no_leaks(&driver);
}

#[test]
fn strands_in_loops_over_devices() {
    let driver = stub_cuda::install().unwrap();
    in_any_order(&driver, |seed| {
        for (inter_op_threads, on_gpus) in [(1, [GPU, GPU]), (0, [GPU, OTHER_GPU])] {
            let b = GraphBuilder::new().unwrap();
            let x = b.placeholder(F, [2]).unwrap();
            let start = b.constant(0i32).unwrap();
            let [_, y] = b
                .while_loop(
                    [start, x],
                    |[i, _]| b.less(i, 7),
                    |[i, x]| {
                        let next = b.with_device(on_gpus[0], || {
                            let sum = b.op("Cumsum").input(x).input(b.constant(0i32)?).output()?;
                            b.op("ReverseV2").input(sum).input(b.constant([0i32])?).output()
                        })?;
                        let next = b.with_device(on_gpus[1], || {
                            b.op("Cumsum").input(next).input(b.constant(0i32)?).attr("reverse", true).output()
                        })?;
                        Ok([i + 1, next * 0.5])
                    },
                )
                .unwrap();
            let session = session_of(&b, gpus(), SessionOptions { inter_op_threads, ..options(Some(1)) });
            for step in 0..4 {
                let (mut p, mut q) = (1.0 + step as f32, 0.5f32);
                let feed = Tensor::vector(&[p, q]).unwrap();
                for _ in 0..7 {
                    let sums = [p + q, p];
                    (p, q) = ((sums[0] + sums[1]) * 0.5, sums[1] * 0.5);
                }
                assert_eq!(values(&session.runner().feed(x, feed).fetch(y).unwrap()), [p, q], "seed {seed}, step {step}");
            }
        }
        assert!(driver.graph_launches(0) > 0);
    });
    assert_no_leaks(&driver);
}

#[test]
fn a_loop_on_another_device_is_waited_for() {
    let driver = stub_cuda::install().unwrap();
    for loop_device in ["/device:CPU:0", OTHER_GPU] {
        let b = GraphBuilder::new().unwrap();
        let x = b.node().name("x").placeholder(F, [2]).unwrap();
        let sum = |x| b.with_device(GPU, || b.op("Cumsum").input(x).input(b.constant(0i32)?).output());
        let first = sum(x).unwrap();
        let [_, looped] = b
            .while_loop(
                [b.constant(0i32).unwrap(), b.constant([0f32, 0.0]).unwrap()],
                |[i, _]| b.less(i, 3),
                // The loop's value depends on the first sum by its back edge alone.
                |[i, _]| b.with_device(loop_device, || Ok([i + 1, first * b.op("Cast").input(i).attr("DstT", F).output()?])),
            )
            .unwrap();
        let both = b.with_device(GPU, || b.op("ConcatV2").input_list(&[first, looped]).input(b.constant(0i32)?).output()).unwrap();
        let name = sum(both).unwrap().name().unwrap();
        let session = session_of(&b, gpus(), options(Some(1)));
        let limited = RunOptions { timeout: Some(Duration::from_secs(60)), ..RunOptions::default() };
        for step in 0..4 {
            let p = step as f32;
            let found = session.run_with(&[("x:0", Tensor::vector(&[p, 1.0]).unwrap())], &[&name], &[], &limited).unwrap();
            assert_eq!(values(&found.values[0]), [p, 2.0 * p + 1.0, 4.0 * p + 1.0, 6.0 * p + 3.0], "{loop_device}, step {step}");
        }
    }
    assert!(driver.graph_launches(0) > 0);
    assert_no_leaks(&driver);
}

#[test]
fn a_tensor_that_goes_to_another_device_and_back_is_waited_for() {
    let driver = stub_cuda::install().unwrap();
    let b = GraphBuilder::new().unwrap();
    let x = b.placeholder(F, [-1]).unwrap();
    let y = b
        .with_device(GPU, || {
            let first = b.op("Cumsum").input(x).input(b.constant(0i32)?).output()?;
            let other = b.op("ReverseV2").input(first).input(b.constant([0i32])?).output()?;
            let on_host = b.with_device("/device:CPU:0", || b.op("Tanh").input(first).output())?;
            let on_other = b.with_device(OTHER_GPU, || b.op("Cumsum").input(first).input(b.constant(0i32)?).output())?;
            let all = b.op("ConcatV2").input_list(&[other, on_host, on_other]).input(b.constant(0i32)?).output()?;
            b.op("Cumsum").input(all).input(b.constant(0i32)?).output()
        })
        .unwrap();
    let session = session_of(&b, gpus(), options(Some(1)));
    for _ in 0..STEPS {
        let found = session.runner().feed(x, Tensor::vector(&[0f32, 1.0]).unwrap()).fetch(y).unwrap();
        assert_eq!(values(&found), [1.0, 1.0, 1.0, 1.0 + 1f32.tanh(), 1.0 + 1f32.tanh(), 2.0 + 1f32.tanh()]);
    }
    assert!(driver.graph_launches(0) > 0);
    drop(session);
    assert_no_leaks(&driver);
}

#[test]
fn variables_random_numbers_and_strands() {
    let run = |min: Option<usize>, device: &str| -> Vec<Vec<f64>> {
        let b = GraphBuilder::new().unwrap();
        let x = b.placeholder(F, [-1, 4]).unwrap();
        let (variable, loss, train) = b
            .with_device(device, || {
                let variable = b.variable("w", constant(&b, &Random::new(3).tensor(F, &[4, 3]))?)?;
                let noise =
                    b.op("RandomUniform").input(b.constant([4i32, 3])?).attr("dtype", F).attr("seed", 5i64).attr("seed2", 9i64).output()?;
                let w = variable.read()?;
                let product = b.op("MatMul").input(x).input(b.op("AddV2").input(w).input(noise).output()?).output()?;
                let likely = b.op("Softmax").input(product).output()?;
                let loss = b.op("Sum").input(likely * likely).input(b.constant([0i32, 1])?).output()?;
                let [gradient] = b.gradients([loss], [w])?;
                Ok((variable, loss, b.after(&[loss.node()], || variable.assign_sub(gradient * 0.5))?))
            })
            .unwrap();
        let devices = if device == GPU { gpus() } else { Vec::new() };
        let session = session_of(&b, devices, options(min));
        session.runner().target(variable.initializer()).run().unwrap();
        let mut results = Vec::new();
        for i in 0..8 {
            let feed = Random::new(i).tensor(F, &[2, 4]);
            let value: Tensor = session.runner().feed(x, feed).target(train).fetch(loss).unwrap();
            results.push(numbers(&value));
        }
        results.push(numbers(&session.runner().fetch(variable.value()).unwrap()));
        results
    };
    let driver = stub_cuda::install().unwrap();
    let expected = run(None, "/device:CPU:0");
    in_any_order(&driver, |seed| {
        let before = driver.graph_launches(0);
        let found = run(Some(1), GPU);
        for (step, (found, expected)) in found.iter().zip(&expected).enumerate() {
            let is_close = found.iter().zip(expected).all(|(a, b)| (a - b).abs() <= 1e-4 * b.abs().max(1.0));
            assert!(is_close, "seed {seed}, step {step}: {found:?} instead of {expected:?}");
        }
        assert!(driver.graph_launches(0) > before);
    });
    assert_no_leaks(&driver);
}

#[test]
fn traced_steps_name_the_nodes() {
    let driver = stub_cuda::install().unwrap();
    let b = GraphBuilder::new().unwrap();
    let x = b.node().name("x").placeholder(F, [-1, 8]).unwrap();
    let [likely, _] = network(&b, x, GPU).unwrap();
    let name = likely.name().unwrap();
    let session = session_of(&b, gpus(), options(Some(1)));
    let run = |trace| session.run_with(&[("x:0", input(3, 1))], &[&name], &[], &RunOptions { trace, ..RunOptions::default() }).unwrap();
    let plain = numbers(&run(false).values[0]);
    for trace in [false, false, true, false] {
        let outcome = run(trace);
        assert_eq!(numbers(&outcome.values[0]), plain);
        assert_eq!(outcome.stats.is_some_and(|stats| stats.take().iter().any(|node| &*node.op == "Softmax")), trace);
    }
    assert!(driver.graph_launches(0) > 0);
    drop(session);
    assert_no_leaks(&driver);
}
