//! Calls of functions, branches and loops by functions on GPUs: their values are those of the CPU.

use crate::compare::{ints, numbers};
use crate::setup::{GPU, OTHER_GPU, assert_no_leaks, gpus, session_of};
use flowmill::prelude::*;
use flowmill::proto::NameAttrList;
use flowmill::{Code, Function, PartialShape};

const CPU: &str = "/device:CPU:0";
const F32: DType = DType::F32;
const I32: DType = DType::I32;

/// Builds a program of a tensor of three floats and a truth value, for a device that calls are on.
pub(crate) type Program = for<'b> fn(&'b GraphBuilder, Output<'b>, Output<'b>, &str) -> flowmill::Result<Vec<Output<'b>>>;

/// Functions are called by nodes, so that none is inlined.
pub(crate) fn options(inter_op_threads: usize) -> SessionOptions {
    SessionOptions { lower: false, inter_op_threads, ..SessionOptions::default() }
}

/// Builds a program on `device` and runs it several times.
pub(crate) fn run(program: Program, device: &str, options: SessionOptions) -> Vec<Vec<f64>> {
    let b = GraphBuilder::new().unwrap();
    // Shapes that are not known are computed in each step.
    let (x, p) = (b.placeholder(F32, [-1]).unwrap(), b.placeholder(DType::Bool, []).unwrap());
    let fetches = program(&b, x, p, device).unwrap();
    let session = session_of(&b, gpus(), options);
    let mut results = Vec::new();
    for truth in [true, false, true] {
        let runner = session.runner().feed(x, Tensor::vector(&[0.5f32, -1.5, 2.0]).unwrap()).feed(p, Tensor::scalar(truth));
        results.extend(runner.fetch(&fetches[..]).unwrap().iter().map(numbers));
    }
    results
}

/// Checks that a program has the CPU's values on a GPU, and that nodes of its functions run there.
pub(crate) fn check(program: Program) {
    let driver = stub_cuda::install().unwrap();
    let expected = run(program, CPU, options(1));
    for inter_op_threads in [1, 0] {
        let launches = driver.launches(0);
        assert_eq!(run(program, GPU, options(inter_op_threads)), expected);
        assert!(driver.launches(0) > launches, "kernels run on the GPU");
    }
    assert_no_leaks(&driver);
}

fn named(name: &str) -> NameAttrList {
    NameAttrList { name: name.to_owned(), ..NameAttrList::default() }
}

fn shape() -> PartialShape {
    PartialShape::new(&[3])
}

/// `f(x) = x² + x`
fn square_and_add(b: &GraphBuilder) -> flowmill::Result<Function<'_, 1, 1>> {
    b.function("square_and_add", [(F32, shape())], |[x]| Ok([x * x + x]))
}

/// `f(x) = -x`
fn negate(b: &GraphBuilder) -> flowmill::Result<Function<'_, 1, 1>> {
    b.function("negate", [(F32, shape())], |[x]| Ok([-x]))
}

/// Adds a node of `op`, which calls functions, with one result for each of `results`.
pub(crate) fn call<'b>(
    b: &'b GraphBuilder,
    op: &'static str,
    own: &[Output<'b>],
    args: &[Output<'b>],
    attrs: &[(&str, &[&str])],
) -> flowmill::Result<Vec<Output<'b>>> {
    let types: Vec<DType> = args.iter().map(|arg| arg.dtype()).collect();
    let mut node = own.iter().fold(b.op(op), |node, input| node.input(*input)).input_list(args);
    if !matches!(op, "While" | "StatelessWhile" | "For") {
        node = node.attr("Tout", &types[..]);
    }
    for (name, functions) in attrs {
        let functions: Vec<NameAttrList> = functions.iter().map(|function| named(function)).collect();
        node = if *name == "branches" { node.attr(name, &functions[..]) } else { node.attr(name, &functions[0]) };
    }
    let id = node.finish()?;
    Ok((0..args.len() as u32).map(|i| b.output(id.output(i))).collect())
}

#[test]
fn a_call() {
    check(|b, x, _, device| {
        let f = square_and_add(b)?;
        let [y] = b.with_device(device, || f.call([x]))?;
        Ok(vec![y, y + 1.0])
    });
}

#[test]
fn a_call_of_a_node_whose_op_is_the_function() {
    check(|b, x, _, device| {
        let f = square_and_add(b)?;
        Ok(vec![b.op(f.name().to_owned()).input(x).device(device).output()?])
    });
}

#[test]
fn nested_calls() {
    check(|b, x, _, device| {
        let f = square_and_add(b)?;
        let g = b.function("twice", [(F32, shape())], |[x]| {
            let [y] = f.call([x])?;
            f.call([y + x])
        })?;
        Ok(b.with_device(device, || g.call([x]))?.to_vec())
    });
}

#[test]
fn a_call_updates_a_captured_variable() {
    let driver = stub_cuda::install().unwrap();
    for (device, inter_op_threads) in [(CPU, 1), (GPU, 1), (GPU, 0)] {
        let b = GraphBuilder::new().unwrap();
        let x = b.placeholder(F32, shape()).unwrap();
        let (v, sum) = b
            .with_device(device, || {
                let v = b.variable("v", b.constant([1.0f32, 2.0, 3.0])?)?;
                let f = b.function("update", [(F32, shape())], |[x]| {
                    let added = v.assign_add(x)?;
                    Ok([b.after(&[added], || v.read())?])
                })?;
                let [sum] = f.call([x])?;
                Ok((v, sum))
            })
            .unwrap();
        let session = session_of(&b, gpus(), options(inter_op_threads));
        session.runner().target(v.initializer()).run().unwrap();
        for step in [1.0, 2.0, 3.0] {
            let launches = driver.launches(0);
            let value = session.runner().feed(x, Tensor::vector(&[0.5f32, -1.5, 2.0]).unwrap()).fetch(sum).unwrap();
            assert_eq!(numbers(&value), [1.0 + 0.5 * step, 2.0 - 1.5 * step, 3.0 + 2.0 * step]);
            assert_eq!(driver.launches(0) > launches, device == GPU, "the update is a kernel of the variable's device");
        }
    }
    assert_no_leaks(&driver);
}

#[test]
fn branches() {
    check(|b, x, p, device| {
        let (f, g) = (square_and_add(b)?, negate(b)?);
        let names: [(&str, &[&str]); 2] = [("then_branch", &[f.name()]), ("else_branch", &[g.name()])];
        b.with_device(device, || {
            let mut all = call(b, "If", &[p], &[x], &names)?;
            all.extend(call(b, "StatelessIf", &[p], &[x], &names)?);
            // A predicate that the GPU computes, and one that is no truth value.
            let chosen =
                b.op("Less").input(b.op("Sum").input(x).input(b.constant([0i32])?).output()?).input(b.constant(0.5f32)?).output()?;
            all.extend(call(b, "If", &[chosen], &[x], &names)?);
            let number = b.op("Cast").input(p).attr("DstT", F32).output()?;
            all.extend(call(b, "If", &[number], &[x], &names)?);
            Ok(all)
        })
    });
}

#[test]
fn cases() {
    check(|b, x, p, device| {
        let (f, g) = (square_and_add(b)?, negate(b)?);
        let names: [(&str, &[&str]); 1] = [("branches", &[f.name(), g.name()])];
        b.with_device(device, || {
            let index = b.op("Cast").input(p).attr("DstT", I32).output()?;
            let mut all = call(b, "Case", &[index], &[x], &names)?;
            all.extend(call(b, "StatelessCase", &[b.constant(7i32)?], &[x], &names)?);
            Ok(all)
        })
    });
}

#[test]
fn a_loop_counts_on_the_host_or_decides_on_the_gpu() {
    check(|b, x, _, device| {
        let args = || [(I32, PartialShape::scalar()), (F32, shape())];
        let counts = b.function("counts", args(), |[i, _]| Ok([b.op("Less").input(i).input(b.constant(5i32)?).output()?]))?;
        let body = b.function("body", args(), |[i, x]| Ok([b.op("AddV2").input(i).input(b.constant(1i32)?).output()?, x * 0.5 + 1.0]))?;
        let decides = b.function("decides", [(F32, shape())], |[x]| {
            let sum = b.op("Sum").input(x).input(b.constant([0i32])?).output()?;
            Ok([b.op("Less").input(sum).input(b.constant(50.0f32)?).output()?])
        })?;
        let doubles = b.function("doubles", [(F32, shape())], |[x]| Ok([x + x + 0.125]))?;
        b.with_device(device, || {
            let names: [(&str, &[&str]); 2] = [("cond", &[counts.name()]), ("body", &[body.name()])];
            let mut all = call(b, "While", &[], &[b.constant(0i32)?, x], &names)?;
            let names: [(&str, &[&str]); 2] = [("cond", &[decides.name()]), ("body", &[doubles.name()])];
            all.extend(call(b, "StatelessWhile", &[], &[x], &names)?);
            Ok(all)
        })
    });
}

#[test]
fn a_loop_over_a_range() {
    check(|b, x, p, device| {
        let body = b.function("body", [(I32, PartialShape::scalar()), (F32, shape())], |[i, x]| {
            Ok([x * 0.5 + b.op("Cast").input(i).attr("DstT", F32).output()?])
        })?;
        b.with_device(device, || {
            let limit = b.op("AddV2").input(b.op("Cast").input(p).attr("DstT", I32).output()?).input(b.constant(4i32)?).output()?;
            let bounds = [b.constant(1i32)?, limit, b.constant(2i32)?];
            call(b, "For", &bounds, &[x], &[("body", &[body.name()])])
        })
    });
}

#[test]
fn gradients() {
    check(|b, x, _, device| {
        let f = square_and_add(b)?;
        let g = b.function("nested", [(F32, shape())], |[x]| f.call([x * 0.5]))?;
        let [y] = b.with_device(device, || g.call([x]))?;
        let [slope] = b.with_device(device, || b.gradients(y, [x]))?;
        let symbolic = b.with_device(device, || {
            let node = b.op("SymbolicGradient").input_list(&[x, x]).attr("Tout", &[F32]).attr("f", named(f.name()));
            Ok(b.output(node.finish()?.output(0)))
        })?;
        Ok(vec![y, slope, symbolic])
    });
}

#[test]
fn a_body_spans_the_cpu_and_both_gpus() {
    check(|b, x, _, device| {
        let f = b.function("everywhere", [(F32, shape())], |[x]| {
            let here = x * x;
            let on_host = b.with_device(CPU, || Ok(here - 1.0))?;
            let there = b.with_device(OTHER_GPU, || Ok(-on_host))?;
            Ok([there + here, on_host])
        })?;
        let [y, z] = b.with_device(device, || f.call([x]))?;
        Ok(vec![y, z, b.with_device(device, || Ok(y + z))?])
    });
}

#[test]
fn integers_and_shapes_are_handed_over_in_either_memory() {
    check(|b, x, _, device| {
        let args = [(F32, PartialShape::unknown()), (I32, PartialShape::new(&[2])), (I32, PartialShape::new(&[2]))];
        let f = b.function("reshape", args, |[x, dims, factors]| {
            let y = b.op("Reshape").input(x).input(dims).output()?;
            let factors = b.op("Cast").input(factors).attr("DstT", F32).output()?;
            let shape = b.op("Shape").input(y).output()?;
            Ok([y * b.op("Sum").input(factors).input(b.constant([0i32])?).output()?, shape])
        })?;
        b.with_device(device, || {
            let column = b.op("Reshape").input(x).input(b.constant([3i32, 1])?).output()?;
            let on_host = b.op("Shape").input(column).output()?;
            let on_device = b.op("Cast").input(b.op("Cast").input(on_host).attr("DstT", F32).output()? - 0.0).attr("DstT", I32).output()?;
            let [y, shape] = f.call([x, on_device, on_host])?;
            let [z, further] = f.call([y, shape, shape])?;
            let number = b.op("Cast").input(further).attr("DstT", F32).output()?;
            Ok(vec![y, z, shape, number, b.op("Reshape").input(x).input(further).output()?])
        })
    });
}

#[test]
fn a_tensor_in_the_hosts_memory_reaches_a_kernel_through_nodes_that_pass_it_on() {
    check(|b, x, p, device| {
        let f = negate(b)?;
        b.with_device(device, || {
            let size = b.op("Identity").input(b.op("Size").input(x).output()?).output()?;
            let [chosen] = b.cond(p, || Ok([b.op("Identity").input(size).output()?]), || Ok([b.constant(5i32)?]))?;
            let number = b.op("Cast").input(chosen).attr("DstT", F32).output()?;
            let [y] = f.call([x])?;
            Ok(vec![y * number])
        })
    });
}

#[test]
fn a_call_that_requests_no_device_prefers_a_gpu() {
    let driver = stub_cuda::install().unwrap();
    let program: Program = |b, x, _, device| {
        let f = square_and_add(b)?;
        Ok(b.with_device(device, || f.call([x]))?.to_vec())
    };
    let expected = run(program, CPU, options(0));
    for (device, is_soft) in [("", false), ("/device:GPU:7", true)] {
        let launches = driver.launches(0);
        assert_eq!(run(program, device, SessionOptions { allow_soft_placement: is_soft, ..options(0) }), expected);
        assert!(driver.launches(0) > launches, "kernels run on the GPU");
    }
}

#[test]
fn the_error_of_a_body_is_that_of_the_call() {
    let driver = stub_cuda::install().unwrap();
    let b = GraphBuilder::new().unwrap();
    let (x, dims) = (b.placeholder(F32, [3]).unwrap(), b.placeholder(I32, [1]).unwrap());
    let args = [(F32, shape()), (I32, PartialShape::new(&[1]))];
    let reshape = |[x, dims]: [_; 2]| Ok([b.op("Reshape").name("other_shape").input(x).input(dims).output()? * 2.0]);
    let f = b.function("f", args, reshape).unwrap();
    let [y] = b.with_device(GPU, || f.call([x, dims])).unwrap();
    let session = session_of(&b, gpus(), options(0));
    let with_size = |size| session.runner().feed(x, Tensor::vector(&[1f32, 2.0, 3.0]).unwrap()).feed(dims, ints(&[size])).fetch(y);
    assert_eq!(numbers(&with_size(3).unwrap()), [2.0, 4.0, 6.0]);
    let e = with_size(4).unwrap_err();
    assert_eq!((e.code(), e.op()), (Code::InvalidArgument, Some("Reshape")), "{e}");
    assert_eq!(numbers(&with_size(3).unwrap()), [2.0, 4.0, 6.0]);
    drop(session);
    assert_no_leaks(&driver);
}
