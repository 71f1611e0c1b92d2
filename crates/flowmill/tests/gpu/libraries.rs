//! Products by cuBLASLt and convolutions by cuDNN, of which the stub has some functions, and by the crate's own kernels where they are missing or fail.

use crate::compare::{Case, Random, ints, numbers};
use crate::networks::check_convolutions;
use crate::setup::{GPU, assert_no_leaks, session, session_of};
use flowmill::gpu::GpuOptions;
use flowmill::gpu::cuda::CudaOptions;
use flowmill::graph::ElementwiseFunction;
use flowmill::prelude::*;
use stub_cuda::Driver;

/// The dimensions of the product.
const SIZES: [usize; 3] = [5, 7, 3];

/// A product with an epilogue, on the CPU and on a GPU. Returns the largest difference.
fn difference(transposed: [bool; 2], has_bias: bool, activation: &'static str) -> f64 {
    let b = GraphBuilder::new().unwrap();
    let [m, k, n] = SIZES;
    let mut random = Random::new(31);
    let mut dims = |rows: usize, columns: usize, transposed: bool| {
        let dims = if transposed { [columns, rows] } else { [rows, columns] };
        (b.placeholder(DType::F32, dims.map(|dim| dim as i64)).unwrap(), random.tensor(DType::F32, &dims))
    };
    let (x, y) = (dims(m, k, transposed[0]), dims(k, n, transposed[1]));
    let bias = (b.placeholder(DType::F32, [n as i64]).unwrap(), Random::new(32).tensor(DType::F32, &[n]));
    let on = |device: &'static str| {
        b.with_device(device, || {
            let product =
                b.op("MatMul").input(x.0).input(y.0).attr("transpose_a", transposed[0]).attr("transpose_b", transposed[1]).output()?;
            let sum = if has_bias { b.op("BiasAdd").input(product).input(bias.0).output()? } else { product };
            match activation {
                "" => Ok(sum),
                "Gelu" => {
                    let cube = sum * sum * sum;
                    Ok(sum * 0.5 * (b.op("Tanh").input((sum + cube * 0.044715) * 0.797_884_6).output()? + 1.0))
                }
                op => b.op(op).input(sum).output(),
            }
        })
        .unwrap()
    };
    let outputs = [on("/device:CPU:0"), on(GPU)];
    let session = session(&b);
    let run = |output| {
        let runner = session.runner().feed(x.0, x.1.clone()).feed(y.0, y.1.clone());
        let runner = if has_bias { runner.feed(bias.0, bias.1.clone()) } else { runner };
        let value: Tensor = runner.fetch(output).unwrap();
        numbers(&value)
    };
    let [expected, found] = outputs.map(run);
    expected.iter().zip(found).fold(0.0, |most, (a, b)| most.max((a - b).abs() / a.abs().max(1.0)))
}

/// Compares all epilogues. Returns the number of products that cuBLASLt computed.
fn compare_all(driver: &Driver) -> u64 {
    let before = driver.products();
    for transposed in [[false, false], [true, false], [false, true], [true, true]] {
        for (has_bias, activation) in [(true, ""), (true, "Relu"), (false, "Relu"), (true, "Gelu")] {
            let difference = difference(transposed, has_bias, activation);
            assert!(difference < 1e-5, "{transposed:?}, bias {has_bias}, {activation}: {difference}");
        }
    }
    driver.products() - before
}

#[test]
fn products_with_epilogues_are_those_of_the_host() {
    let driver = stub_cuda::install().unwrap();
    assert_eq!(compare_all(&driver), 0, "the library cannot be opened");
    driver.provide_blas_lt();
    assert_eq!(compare_all(&driver), 16, "the library computes all products");
    driver.set_asynchronous(3);
    assert_eq!(compare_all(&driver), 16);
    assert_no_leaks(&driver);
}

#[test]
fn a_library_that_fails_is_not_used_any_more() {
    let driver = stub_cuda::install().unwrap();
    driver.provide_blas_lt();
    driver.fail_products();
    assert_eq!(compare_all(&driver), 0);
    assert_no_leaks(&driver);
}

#[test]
fn convolutions_by_a_library_are_those_of_the_host() {
    let driver = stub_cuda::install().unwrap();
    driver.provide_dnn();
    for seed in [0, 5] {
        if seed != 0 {
            driver.set_asynchronous(seed);
        }
        let before = driver.convolutions().0;
        let checked = check_convolutions();
        assert!(driver.convolutions().0 - before >= checked, "the library computes all convolutions");
    }
    assert_no_leaks(&driver);
}

#[test]
fn a_library_of_convolutions_that_fails_is_not_used_any_more() {
    let driver = stub_cuda::install().unwrap();
    driver.provide_dnn();
    driver.fail_convolutions();
    check_convolutions();
    assert_eq!(driver.convolutions().0, 0);
    assert_no_leaks(&driver);
}

#[test]
fn convolutions_by_a_library_end_with_functions() {
    use ElementwiseFunction::{Add, BiasAdd, Relu, Tanh};
    let driver = stub_cuda::install().unwrap();
    driver.provide_dnn();
    let mut random = Random::new(33);
    let lists = [(&[BiasAdd][..], 1usize), (&[BiasAdd, Relu], 1), (&[BiasAdd, Relu], 2), (&[BiasAdd, Tanh], 1), (&[BiasAdd, Add, Relu], 1)];
    for (functions, stride) in lists {
        let mut args = vec![random.tensor(DType::F32, &[4])];
        if functions.contains(&Add) {
            args.push(random.tensor(DType::F32, &[2, 6 / stride, 6 / stride, 4]));
        }
        let before = driver.convolutions().0;
        let case = Case::new("_FusedConv2D").input(random.unit(DType::F32, &[2, 6, 6, 3])).input(random.unit(DType::F32, &[3, 3, 3, 4]));
        let case = case.attr("num_args", args.len() as i64).attr("fused_ops", ElementwiseFunction::attr_of(functions));
        let case = case.attr("strides", &[1, stride as i64, stride as i64, 1]).attr("padding", "SAME");
        case.attr("TArgs", &vec![DType::F32; args.len()][..]).list(args).list(Vec::new()).within(64.0).check();
        assert!(driver.convolutions().0 > before, "{functions:?}");
    }
    assert_no_leaks(&driver);
}

/// Runs a filter's gradient on a GPU with these options. Returns the number of convolutions whose algorithm is not deterministic.
fn unordered_convolutions(driver: &Driver, options: GpuOptions) -> u64 {
    let b = GraphBuilder::new().unwrap();
    let mut random = Random::new(34);
    let x = b.placeholder(DType::F32, [1i64, 5, 5, 2]).unwrap();
    let dy = b.placeholder(DType::F32, [1i64, 5, 5, 3]).unwrap();
    let sizes = b.op("Const").attr("dtype", DType::I32).attr("value", &ints(&[3, 3, 2, 3])).output().unwrap();
    let node = b.op("Conv2DBackpropFilter").device(GPU).input(x).input(sizes).input(dy);
    let output = node.attr("strides", &[1i64; 4]).attr("padding", "SAME").output().unwrap();
    let devices = flowmill::gpu::cuda_devices(&CudaOptions::default(), options).unwrap();
    let session = session_of(&b, devices, SessionOptions::default());
    let before = driver.convolutions();
    let feeds = (random.unit(DType::F32, &[1, 5, 5, 2]), random.unit(DType::F32, &[1, 5, 5, 3]));
    let _: Tensor = session.runner().feed(x, feeds.0).feed(dy, feeds.1).fetch(output).unwrap();
    let after = driver.convolutions();
    assert_eq!(after.0 - before.0, 1, "the library computes the gradient");
    after.1 - before.1
}

#[test]
fn deterministic_algorithms_are_chosen_on_request() {
    let driver = stub_cuda::install().unwrap();
    driver.provide_dnn();
    assert_eq!(unordered_convolutions(&driver, GpuOptions::default()), 1);
    assert_eq!(unordered_convolutions(&driver, GpuOptions { is_deterministic: true, ..GpuOptions::default() }), 0);
}

/// Runs a convolution three times. Returns the number of kernels that the last run launched beside the library's.
fn launches_of_a_later_step(driver: &Driver, is_constant: bool) -> u64 {
    let b = GraphBuilder::new().unwrap();
    let mut random = Random::new(35);
    let x = b.placeholder(DType::F32, [1i64, 5, 5, 2]).unwrap();
    let filter = random.unit(DType::F32, &[3, 3, 2, 4]);
    let w = match is_constant {
        true => b.op("Const").attr("dtype", DType::F32).attr("value", &filter).output().unwrap(),
        false => b.placeholder(DType::F32, [3i64, 3, 2, 4]).unwrap(),
    };
    let output = b.op("Conv2D").device(GPU).input(x).input(w).attr("strides", &[1i64; 4]).attr("padding", "SAME").output().unwrap();
    let session = session(&b);
    let mut launches = 0;
    for _ in 0..3 {
        let runner = session.runner().feed(x, random.unit(DType::F32, &[1, 5, 5, 2]));
        let runner = if is_constant { runner } else { runner.feed(w, filter.clone()) };
        let before = driver.launches(0);
        let _: Tensor = runner.fetch(output).unwrap();
        launches = driver.launches(0) - before;
    }
    launches
}

#[test]
fn constant_filters_are_transposed_once() {
    let driver = stub_cuda::install().unwrap();
    driver.provide_dnn();
    assert_eq!(launches_of_a_later_step(&driver, false), 1, "a filter that is fed is transposed in each step");
    assert_eq!(launches_of_a_later_step(&driver, true), 0);
}
