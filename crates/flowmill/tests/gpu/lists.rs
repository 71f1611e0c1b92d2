//! Tensor lists whose elements are in a GPU's memory.

use crate::compare::{Random, numbers};
use crate::functions::{Program, call, check, run};
use crate::setup::{GPU, OTHER_GPU, assert_no_leaks, gpus, session, session_of};
use flowmill::prelude::*;
use flowmill::runtime::program::FuseOptions;
use flowmill::{NodeId, PartialShape};
use stub_cuda::Driver;

const CPU: &str = "/device:CPU:0";
const F32: DType = DType::F32;
const VARIANT: DType = DType::Variant;

fn constant<'b>(b: &'b GraphBuilder, value: &Tensor) -> flowmill::Result<Output<'b>> {
    b.op("Const").attr("dtype", value.dtype()).attr("value", value).output()
}

/// Returns a tensor that a node of the current device computes, so that it is in the device's memory.
fn computed<'b>(b: &'b GraphBuilder, value: &Tensor) -> flowmill::Result<Output<'b>> {
    let x = constant(b, value)?;
    b.op("Reverse").input(x).input(constant(b, &Tensor::vector(&vec![false; value.rank()]).unwrap())?).output()
}

fn unknown(b: &GraphBuilder) -> flowmill::Result<Output<'_>> {
    b.constant(-1i32)
}

/// Adds a node of a list op with elements of type `dtype`.
fn listed<'b>(b: &'b GraphBuilder, op: &'static str, dtype: DType, inputs: &[Output<'b>]) -> flowmill::Result<NodeId> {
    let node = inputs.iter().fold(b.op(op), |node, input| node.input(*input));
    node.attr("element_dtype", dtype).finish()
}

fn list<'b>(b: &'b GraphBuilder, op: &'static str, dtype: DType, inputs: &[Output<'b>]) -> flowmill::Result<Output<'b>> {
    Ok(b.output(listed(b, op, dtype, inputs)?.output(0)))
}

fn empty(b: &GraphBuilder, dtype: DType) -> flowmill::Result<Output<'_>> {
    list(b, "EmptyTensorList", dtype, &[unknown(b)?, b.constant(-1i32)?])
}

fn push<'b>(b: &'b GraphBuilder, dtype: DType, to: Output<'b>, item: Output<'b>) -> flowmill::Result<Output<'b>> {
    list(b, "TensorListPushBack", dtype, &[to, item])
}

fn stack<'b>(b: &'b GraphBuilder, dtype: DType, of: Output<'b>) -> flowmill::Result<Output<'b>> {
    list(b, "TensorListStack", dtype, &[of, unknown(b)?])
}

/// Runs all ops of lists of one type on a device.
fn family(device: &str, dtype: DType) -> Vec<Vec<f64>> {
    let b = GraphBuilder::new().unwrap();
    let mut random = Random::new(7);
    let mut tensor = |dims: &[usize]| random.tensor(dtype, dims);
    let build = || -> flowmill::Result<Vec<Output<'_>>> {
        let (x, y, rows) = (computed(&b, &tensor(&[2, 3]))?, computed(&b, &tensor(&[2, 3]))?, computed(&b, &tensor(&[4, 2, 3]))?);
        let shape = b.constant([2i32, 3])?;
        let pushed = push(&b, dtype, push(&b, dtype, empty(&b, dtype)?, x)?, y)?;
        let length = b.op("TensorListLength").input(pushed).output()?;
        let popped = listed(&b, "TensorListPopBack", dtype, &[pushed, shape])?;
        let (shorter, last) = (b.output(popped.output(0)), b.output(popped.output(1)));
        // A list of which only some elements were set: the others are zeros.
        let reserved = list(&b, "TensorListReserve", dtype, &[shape, b.constant(3i32)?])?;
        let set = list(&b, "TensorListSetItem", dtype, &[reserved, b.constant(1i32)?, x])?;
        let unset = list(&b, "TensorListGetItem", dtype, &[set, b.constant(0i32)?, shape])?;
        let resized = b.op("TensorListResize").input(set).input(b.constant(4i32)?).output()?;
        let zeros = listed(&b, "TensorListPopBack", dtype, &[resized, shape])?;
        let of_tensor = list(&b, "TensorListFromTensor", dtype, &[rows, shape])?;
        let item = list(&b, "TensorListGetItem", dtype, &[of_tensor, b.constant(2i32)?, shape])?;
        let gathered = list(&b, "TensorListGather", dtype, &[of_tensor, b.constant([3i32, 0, 3])?, shape])?;
        let indices = b.constant([5i32, 0, 1, 2])?;
        let scattered = list(&b, "TensorListScatter", dtype, &[rows, indices, shape])?;
        let scattered_v2 = list(&b, "TensorListScatterV2", dtype, &[rows, indices, shape, b.constant(7i32)?])?;
        let into = list(&b, "TensorListScatterIntoExistingList", dtype, &[of_tensor, rows, b.constant([1i32, 3, 0, 2])?])?;
        let lengths = b.constant([1i64, 0, 3])?;
        let rest = b.constant([-1i32, 2, 3])?;
        let split = list(&b, "TensorListSplit", dtype, &[rows, rest, lengths])?;
        let joined = listed(&b, "TensorListConcatV2", dtype, &[split, rest, b.constant(Vec::<i64>::new())?])?;
        let padded = listed(&b, "TensorListConcatV2", dtype, &[set, b.constant([-1i32, 3])?, b.constant([4i64, 2, 1])?])?;
        let whole = listed(&b, "TensorListConcat", dtype, &[split])?;
        let lists = list(&b, "TensorListConcatLists", dtype, &[pushed, shorter])?;
        let batch = b.op("Pack").input_list(&[pushed, shorter]).output()?;
        let batch = list(&b, "TensorListPushBackBatch", dtype, &[batch, computed(&b, &tensor(&[2, 5]))?])?;
        let unpacked = b.op("Unpack").input(batch).attr("num", 2i64).finish()?;
        let element_shape = b.op("TensorListElementShape").input(of_tensor).attr("shape_type", DType::I64).output()?;
        let mut fetches = vec![length, last, unset, b.output(zeros.output(1)), item, gathered, element_shape];
        for all in [pushed, shorter, set, of_tensor, scattered, scattered_v2, into, lists] {
            fetches.push(stack(&b, dtype, all)?);
        }
        for node in [joined, padded, whole] {
            fetches.extend([b.output(node.output(0)), b.output(node.output(1))]);
        }
        for i in 0..2 {
            let pop = listed(&b, "TensorListPopBack", dtype, &[b.output(unpacked.output(i)), unknown(&b)?])?;
            fetches.push(b.output(pop.output(1)));
        }
        if dtype != DType::Bool {
            let sum = b.op("AddN").input_list(&[of_tensor, into, of_tensor]).output()?;
            fetches.push(stack(&b, dtype, sum)?);
        }
        fetches.push(stack(&b, dtype, b.op("ZerosLike").input(of_tensor).output()?)?);
        Ok(fetches)
    };
    let fetches = b.with_device(device, build).unwrap();
    // `Pack` and `Unpack` of variants are the CPU's.
    let session = session_of(&b, gpus(), SessionOptions { allow_soft_placement: true, ..SessionOptions::default() });
    session.runner().fetch(&fetches[..]).unwrap().iter().map(numbers).collect()
}

#[test]
fn all_ops_of_lists_have_the_values_of_the_cpu() {
    let driver = stub_cuda::install().unwrap();
    for (seed, dtype) in [(0, F32), (1, F32), (0, DType::F16), (2, DType::I64), (3, DType::I32), (0, DType::Bool)] {
        if seed > 0 {
            driver.set_asynchronous(seed);
        }
        assert_eq!(family(GPU, dtype), family(CPU, dtype), "{dtype}, seed {seed}");
    }
    assert_no_leaks(&driver);
}

/// Adds a list of two lists, of two elements and of one, whose elements are computed from `x`.
fn nested<'b>(b: &'b GraphBuilder, x: Output<'b>) -> flowmill::Result<Output<'b>> {
    let inner = push(b, F32, push(b, F32, empty(b, F32)?, x * x)?, x + 1.0)?;
    let other = push(b, F32, empty(b, F32)?, -x)?;
    push(b, VARIANT, push(b, VARIANT, empty(b, VARIANT)?, inner)?, other)
}

/// Reads the elements of the lists of [`nested`].
fn read<'b>(b: &'b GraphBuilder, of: Output<'b>) -> flowmill::Result<Vec<Output<'b>>> {
    let item = |i: i32| list(b, "TensorListGetItem", VARIANT, &[of, b.constant(i)?, unknown(b)?]);
    Ok(vec![stack(b, F32, item(0)?)? * 2.0, stack(b, F32, item(1)?)? * 3.0])
}

#[test]
fn lists_take_their_elements_along_to_other_devices() {
    let driver = stub_cuda::install().unwrap();
    let x = Tensor::vector(&[0.5f32, -1.5, 2.0]).unwrap();
    for seed in [0, 1, 2, 3] {
        if seed > 0 {
            driver.set_asynchronous(seed);
        }
        for (from, to) in [(GPU, CPU), (CPU, GPU), (GPU, OTHER_GPU), (GPU, GPU)] {
            let b = GraphBuilder::new().unwrap();
            let fed = b.placeholder(F32, [3]).unwrap();
            let lists = b.with_device(from, || nested(&b, fed)).unwrap();
            let elsewhere = b.with_device(to, || read(&b, lists)).unwrap();
            let here = b.with_device(from, || read(&b, lists)).unwrap();
            let session = session(&b);
            let fetches = [elsewhere, here].concat();
            for _ in 0..3 {
                let found: Vec<Vec<f64>> = session.runner().feed(fed, x.clone()).fetch(&fetches[..]).unwrap().iter().map(numbers).collect();
                let expected = [vec![0.5, 4.5, 8.0, 3.0, -1.0, 6.0], vec![-1.5, 4.5, -6.0]];
                assert_eq!(found, [&expected[..], &expected[..]].concat(), "from {from} to {to}, seed {seed}");
            }
        }
    }
    assert_no_leaks(&driver);
}

#[test]
fn a_list_is_fetched_and_fed_with_its_elements() {
    let driver = stub_cuda::install().unwrap();
    let b = GraphBuilder::new().unwrap();
    let x = b.placeholder(F32, [3]).unwrap();
    let lists = b.with_device(GPU, || nested(&b, x)).unwrap();
    let read_there = b.with_device(GPU, || read(&b, lists)).unwrap();
    let session = session(&b);
    let fetched: Tensor = session.runner().feed(x, Tensor::vector(&[1f32, 2.0, 3.0]).unwrap()).fetch(lists).unwrap();
    assert!(fetched.dense_parts().len() == 3 && fetched.dense_parts().iter().all(|part| part.is_on_host()));
    assert_eq!(numbers(fetched.dense_parts()[0]), [1.0, 4.0, 9.0]);
    let again = session.runner().feed(lists, fetched).fetch(&read_there[..]).unwrap();
    assert_eq!(again.iter().map(numbers).collect::<Vec<_>>(), [vec![2.0, 8.0, 18.0, 4.0, 6.0, 8.0], vec![-3.0, -6.0, -9.0]]);
    drop((session, again));
    assert_no_leaks(&driver);
}

#[test]
fn a_list_of_strings_stays_in_the_hosts_memory() {
    let driver = stub_cuda::install().unwrap();
    let b = GraphBuilder::new().unwrap();
    let text = b.placeholder(DType::String, []).unwrap();
    let fetch = || -> flowmill::Result<Output<'_>> {
        let pushed = push(&b, DType::String, empty(&b, DType::String)?, text)?;
        let passed = b.with_device(GPU, || b.op("Identity").input(pushed).output())?;
        let popped = listed(&b, "TensorListPopBack", DType::String, &[passed, unknown(&b)?])?;
        Ok(b.output(popped.output(1)))
    };
    let fetch = fetch().unwrap();
    let session = session_of(&b, gpus(), SessionOptions { allow_soft_placement: true, ..SessionOptions::default() });
    let found = session.runner().feed(text, Tensor::string("text")).fetch(fetch).unwrap();
    assert_eq!(found.as_strings().unwrap()[0], "text");
    drop(session);
    assert_no_leaks(&driver);
}

/// The number of floats of an element in the loops below.
const LONG: usize = 5_000;
const STEPS: i32 = 12;

/// The gradient of a loop by functions, whose values are kept in lists, and a loop that pushes to a list.
fn looped<'b>(b: &'b GraphBuilder, x: Output<'b>, _: Output<'b>, device: &str) -> flowmill::Result<Vec<Output<'b>>> {
    let args = || [(DType::I32, PartialShape::scalar()), (F32, PartialShape::unknown()), (VARIANT, PartialShape::scalar())];
    let cond = b.function("continues", args(), |[i, _, _]| Ok([b.op("Less").input(i).input(b.constant(STEPS)?).output()?]))?;
    let body = b.function("body", args(), |[i, x, all]| {
        let next = b.op("AddV2").input(i).input(b.constant(1i32)?).output()?;
        // Terms of one sign: sums in another order are close.
        let y = x * x * 0.125 + x * 0.25;
        Ok([next, y, push(b, F32, all, y)?])
    })?;
    b.with_device(device, || {
        let long = b.op("Tile").input(x).input(b.constant([(LONG / 3) as i32])?).output()?;
        let names: [(&str, &[&str]); 2] = [("cond", &[cond.name()]), ("body", &[body.name()])];
        let mut all = Vec::new();
        for op in ["While", "StatelessWhile"] {
            let results = call(b, op, &[], &[b.constant(0i32)?, long, empty(b, F32)?], &names)?;
            let kept = stack(b, F32, results[2])?;
            let sum = b.op("Sum").input(kept * kept).input(b.constant([0i32, 1])?).output()?;
            let [slope] = b.gradients(sum, [long])?;
            all.extend([sum, b.op("Sum").input(slope).input(b.constant([0i32])?).output()?]);
        }
        Ok(all)
    })
}

fn assert_close(found: &[Vec<f64>], expected: &[Vec<f64>], context: &str) {
    let mut pairs = found.iter().flatten().zip(expected.iter().flatten());
    let is_close = found.len() == expected.len() && pairs.all(|(a, b)| (a - b).abs() <= 1e-4 * b.abs().max(1.0));
    assert!(is_close, "{context}: {found:?} instead of {expected:?}");
}

/// Checks that loops keep their elements on the GPU: the host gets predicates and results only.
fn check_loops(driver: &Driver, lower: bool, context: &str) {
    // The `ToBool` of a lowered loop has no kernel for GPUs.
    let options = || SessionOptions { lower, allow_soft_placement: true, inter_op_threads: 1, ..SessionOptions::default() };
    let expected = run(looped, CPU, options());
    let before = driver.copied_bytes(0);
    assert_close(&run(looped, GPU, options()), &expected, context);
    let copied = driver.copied_bytes(0) - before;
    assert!(copied < 4 * LONG as u64, "{copied} bytes were copied, and an element has {}", 4 * LONG);
}

#[test]
fn loops_and_their_gradients_keep_elements_on_the_gpu() {
    let driver = stub_cuda::install().unwrap();
    for (seed, lower) in [(0, false), (0, true), (1, false), (2, true)] {
        if seed > 0 {
            driver.set_asynchronous(seed);
        }
        check_loops(&driver, lower, &format!("seed {seed}, lower {lower}"));
    }
    assert_no_leaks(&driver);
}

/// Lists are made and read beside work of single kernels that is recorded and replayed, in loops and outside.
#[test]
fn lists_beside_recorded_work() {
    let driver = stub_cuda::install().unwrap();
    let usual = SessionOptions::default();
    for lower in [false, true] {
        let fuse = FuseOptions { min_replayed: Some(1), ..usual.fuse };
        let options = || SessionOptions { fuse, lower, allow_soft_placement: true, ..SessionOptions::default() };
        assert_close(&run(looped, GPU, options()), &run(looped, CPU, options()), &format!("lower {lower}"));
    }
    assert_no_leaks(&driver);
}

#[test]
fn an_update_of_a_variable_leaves_a_list_of_its_rows_alone() {
    let driver = stub_cuda::install().unwrap();
    let b = GraphBuilder::new().unwrap();
    let build = || -> flowmill::Result<(NodeId, Vec<Output<'_>>)> {
        let variable = b.variable("v", b.constant([1.0f32, 2.0, 3.0, 4.0])?)?;
        let value = variable.read()?;
        let rows = list(&b, "TensorListFromTensor", F32, &[value, unknown(&b)?])?;
        let length = b.op("TensorListLength").input(rows).output()?;
        let updated = b.after(&[length.node()], || variable.assign_add(b.constant([10.0f32; 4])?))?;
        let before = b.after(&[updated], || stack(&b, F32, rows))?;
        let after = b.after(&[updated], || variable.read())?;
        Ok((variable.initializer(), vec![before, after * 1.0]))
    };
    let (initializer, fetches) = b.with_device(GPU, build).unwrap();
    let session = session(&b);
    session.runner().target(initializer).run().unwrap();
    for step in 0..4 {
        let found: Vec<Vec<f64>> = session.runner().fetch(&fetches[..]).unwrap().iter().map(numbers).collect();
        let values = |steps: i32| (1..5).map(|i| f64::from(i + 10 * steps)).collect::<Vec<f64>>();
        assert_eq!(found, [values(step), values(step + 1)]);
    }
    drop(session);
    assert_no_leaks(&driver);
}

#[test]
fn lists_go_to_functions_and_back() {
    let program: Program = |b, x, p, device| {
        let f = b.function("grow", [(VARIANT, PartialShape::scalar()), (F32, PartialShape::unknown())], |[all, x]| {
            Ok([push(b, F32, all, x * 2.0)?, b.op("TensorListLength").input(all).output()?])
        })?;
        b.with_device(device, || {
            let all = push(b, F32, empty(b, F32)?, x + 1.0)?;
            let [grown, length] = f.call([all, x])?;
            let [chosen] = b.cond(p, || Ok([b.op("Identity").input(grown).output()?]), || Ok([b.op("Identity").input(all).output()?]))?;
            Ok(vec![stack(b, F32, grown)?, length, stack(b, F32, chosen)?])
        })
    };
    check(program);
}

#[test]
fn an_error_of_a_copy_is_that_of_the_step() {
    let driver = stub_cuda::install().unwrap();
    driver.set_memory_limit(0, 40 << 20);
    let b = GraphBuilder::new().unwrap();
    let x = b.placeholder(F32, [-1]).unwrap();
    let build = || -> flowmill::Result<Output<'_>> {
        let all = b.with_device(CPU, || (0..8).try_fold(empty(&b, F32)?, |all, i| push(&b, F32, all, x + i as f32)))?;
        b.with_device(GPU, || b.op("TensorListLength").input(b.op("Identity").input(all).output()?).output())
    };
    let length = build().unwrap();
    let session = session(&b);
    let with = |n: usize| session.runner().feed(x, Tensor::vector(&vec![1f32; n]).unwrap()).fetch(length);
    assert_eq!(with(4).unwrap(), Tensor::scalar(8i32));
    assert_eq!(with(400_000).unwrap_err().code(), flowmill::Code::ResourceExhausted);
    assert_eq!(with(4).unwrap(), Tensor::scalar(8i32));
    drop(session);
    assert_no_leaks(&driver);
}
