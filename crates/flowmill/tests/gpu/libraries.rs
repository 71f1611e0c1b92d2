//! Products by cuBLASLt, of which the stub has one function, and by the crate's own kernels where it is missing or fails.

use crate::compare::{Random, numbers};
use crate::setup::{GPU, assert_no_leaks, session};
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
