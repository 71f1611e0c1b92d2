//! `_FusedConv2DElementwise`, `_FusedDepthwiseConv2dElementwise` and `_FusedMatMulElementwise` against the nodes that they consist of.

use crate::testing::{Call, ints, message, strings, ty, types};
use flowmill_proto::AttrValue;
use flowmill_runtime::InferencePrecision;
use flowmill_tensor::{DType, Result, Shape, Tensor};

/// Returns values around zero with a long period.
fn tensor(dims: &[usize], seed: usize) -> Tensor {
    let len = Shape::new(dims).num_elements();
    let values: Vec<f32> = (0..len).map(|i| ((i * 7919 + seed * 104_729) % 2003) as f32 / 2000.0 - 0.5).collect();
    Tensor::from_slice(Shape::new(dims), &values).unwrap()
}

/// A convolution or product with its own epilogue.
#[derive(Clone)]
struct Linear {
    op: &'static str,
    fused: &'static str,
    attrs: Vec<(&'static str, AttrValue)>,
    operands: [Tensor; 2],
    functions: &'static [&'static str],
    epilogue: Vec<Tensor>,
}

impl Linear {
    fn attrs(&self) -> Vec<(&'static str, AttrValue)> {
        [&self.attrs[..], &[("T", ty(DType::F32)), ("fused_ops", strings(self.functions))]].concat()
    }

    fn alone(&self) -> Tensor {
        let call = Call::new(self.op).attrs(&self.attrs()).attr("num_args", self.epilogue.len() as i64);
        let call = if self.op == "_FusedConv2D" { call.attr("TArgs", types(&vec![DType::F32; self.epilogue.len()])) } else { call };
        call.inputs(self.operands.to_vec()).inputs(self.epilogue.clone()).run1().unwrap()
    }

    /// Returns the result of the convolution or product with a program behind it, of which it is value 0.
    fn then(&self, program: &Program) -> Result<Tensor> {
        Call::new(self.fused)
            .attrs(&self.attrs())
            .attrs(&program.attrs())
            .attr("N", program.args.len() as i64)
            .attr("num_epilogue", self.epilogue.len() as i64)
            .inputs(self.operands.to_vec())
            .inputs(self.epilogue.clone())
            .inputs(program.args.clone())
            .run1()
    }
}

struct Program {
    args: Vec<Tensor>,
    instructions: &'static [&'static str],
}

impl Program {
    fn attrs(&self) -> Vec<(&'static str, AttrValue)> {
        let pieces: Vec<i64> = (0..=self.args.len()).flat_map(|_| [0, 1]).collect();
        let last = (self.args.len() + self.instructions.len()) as i64;
        vec![("T", ty(DType::F32)), ("pieces", ints(&pieces)), ("program", strings(self.instructions)), ("outputs", ints(&[last]))]
    }

    /// Returns the result of the program alone for this value 0.
    fn of(&self, value: Tensor) -> Tensor {
        Call::new("_FusedElementwise").attrs(&self.attrs()).input(value).inputs(self.args.clone()).run1().unwrap()
    }
}

/// Checks programs behind a convolution or product on one thread and on two.
fn check(linear: &Linear, programs: &[Program]) {
    let alone = linear.alone();
    for program in programs {
        let expected = program.of(alone.clone());
        for threads in [1, 2] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let result = pool.install(|| linear.then(program).unwrap());
            assert!(result == expected, "{} of {} on {threads} threads", linear.fused, linear.operands[0].shape());
        }
    }
}

fn convolution(image: [usize; 4], filter: [usize; 4], stride: i64) -> Linear {
    Linear {
        op: "_FusedConv2D",
        fused: "_FusedConv2DElementwise",
        attrs: vec![("strides", ints(&[1, stride, stride, 1])), ("padding", "SAME".into())],
        operands: [tensor(&image, 1), tensor(&filter, 2)],
        functions: &["BiasAdd"],
        epilogue: vec![tensor(&[filter[3]], 3)],
    }
}

/// Convolutions by all ways to compute them, whose results are computed in bands of rows, or in bands of several images.
#[test]
fn large_convolutions_have_the_bits_of_separate_nodes() {
    for (image, filter, stride) in [
        ([2, 151, 150, 16], [3, 3, 16, 24], 1),
        ([50, 33, 32, 16], [3, 3, 16, 24], 1),
        ([2, 300, 301, 4], [5, 5, 4, 24], 2),
        ([2, 151, 150, 8], [1, 1, 8, 24], 1),
        ([2, 380, 370, 8], [3, 3, 8, 4], 1),
        ([2, 151, 150, 32], [3, 3, 4, 32], 1),
    ] {
        let linear = convolution(image, filter, stride);
        let residual = tensor(linear.alone().shape().dims(), 7);
        let residual = Program { args: vec![residual, tensor(&[], 6)], instructions: &["Sigmoid 0", "Mul 3 2", "Add 4 1"] };
        let gate = Program { args: vec![tensor(&[image[0], 1, 1, filter[3]], 5)], instructions: &["Mul 1 0"] };
        check(&linear, &[residual, gate]);
    }
}

#[test]
fn small_convolutions_have_the_bits_of_separate_nodes() {
    for (image, filter) in [([2, 20, 21, 16], [3, 3, 16, 32]), ([1, 14, 14, 200], [3, 3, 200, 210]), ([1, 5, 5, 8], [3, 3, 8, 8])] {
        let linear = convolution(image, filter, 1);
        let (whole, channels) = (linear.alone().shape().clone(), filter[3]);
        let slopes = Program { args: vec![tensor(&[channels], 4)], instructions: &["Relu 0", "Sub 0 2", "Mul 1 3", "Add 2 4"] };
        let squares = Program { args: vec![], instructions: &["Square 0", "Mul 1 0"] };
        let none = Program { args: vec![], instructions: &["Relu 0"] };
        check(&linear, &[slopes, squares, none]);
        let epilogue = vec![tensor(&[channels], 3), tensor(whole.dims(), 8)];
        let added = Linear { functions: &["BiasAdd", "Add", "Relu"], epilogue, ..linear };
        check(&added, &[Program { args: vec![tensor(&[channels], 4)], instructions: &["Mul 0 1", "Sub 2 1"] }]);
    }
}

#[test]
fn depthwise_convolutions_have_the_bits_of_separate_nodes() {
    for (image, filter) in [([2, 151, 150, 24], [3, 3, 24, 1]), ([1, 200, 201, 16], [3, 3, 16, 2]), ([1, 9, 9, 16], [3, 3, 16, 1])] {
        let linear = convolution(image, filter, 1);
        let channels = filter[2] * filter[3];
        let linear = Linear {
            op: "_FusedDepthwiseConv2dNative",
            fused: "_FusedDepthwiseConv2dElementwise",
            functions: &["BiasAdd", "Relu6"],
            epilogue: vec![tensor(&[channels], 3)],
            ..linear
        };
        let norm = Program { args: vec![tensor(&[channels], 4), tensor(&[channels], 5)], instructions: &["Mul 0 1", "Add 3 2"] };
        let residual = Program { args: vec![tensor(linear.alone().shape().dims(), 6)], instructions: &["Add 1 0"] };
        check(&linear, &[norm, residual]);
    }
}

#[test]
fn products_have_the_bits_of_separate_nodes() {
    for (rows, depth, columns, transposed) in
        [(3000, 24, 100, (false, false)), (700, 64, 300, (false, true)), (600, 30, 200, (true, false)), (3, 5, 7, (false, false))]
    {
        let size = |transposed: bool, rows: usize, columns: usize| if transposed { [columns, rows] } else { [rows, columns] };
        let linear = Linear {
            op: "_FusedMatMul",
            fused: "_FusedMatMulElementwise",
            attrs: vec![("transpose_a", transposed.0.into()), ("transpose_b", transposed.1.into())],
            operands: [tensor(&size(transposed.0, rows, depth), 1), tensor(&size(transposed.1, depth, columns), 2)],
            functions: &["BiasAdd", "GeluExact"],
            epilogue: vec![tensor(&[columns], 3)],
        };
        let scale = Program { args: vec![tensor(&[columns], 4), tensor(&[rows, columns], 5)], instructions: &["Mul 0 1", "Add 3 2"] };
        check(&linear, &[scale, Program { args: vec![tensor(&[rows, 1], 4)], instructions: &["Mul 0 1", "Exp 2"] }]);
    }
}

/// Packed weights: a product with a constant is computed in bands.
#[test]
fn products_with_constants_have_the_bits_of_separate_nodes() {
    let (rows, matrix, scale) = (tensor(&[12_001, 40], 1), tensor(&[40, 96], 2), tensor(&[96], 3));
    let program = Program { args: vec![scale], instructions: &["Mul 0 1", "Sub 2 0"] };
    let product = Call::new("MatMul").attr("T", ty(DType::F32)).inputs(vec![rows.clone(), matrix.clone()]).run1().unwrap();
    let expected = program.of(product);
    for threads in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let call = Call::new("_FusedMatMulElementwise").attrs(&program.attrs()).attr("N", 1i64).attr("num_epilogue", 0i64);
        let call = call.attr("fused_ops", strings(&[])).inputs(vec![rows.clone(), matrix.clone()]).inputs(program.args.clone());
        assert!(pool.install(|| call.constant(InferencePrecision::F32).run1().unwrap()) == expected);
    }
}

#[test]
fn results_without_elements() {
    let linear = convolution([0, 9, 9, 8], [3, 3, 8, 16], 1);
    let program = Program { args: vec![tensor(&[16], 4)], instructions: &["Mul 0 1"] };
    assert_eq!(linear.then(&program).unwrap().shape().dims(), [0, 9, 9, 16]);
}

#[test]
fn inputs_that_do_not_fit_together_are_errors() {
    let linear = || convolution([1, 9, 9, 8], [3, 3, 8, 16], 1);
    let program = |args: Vec<Tensor>, instructions| Program { args, instructions };
    let wide = program(vec![tensor(&[3, 9, 9, 16], 1)], &["Mul 0 1"]);
    assert!(message(linear().then(&wide)).contains("does not keep the shape [1,9,9,16]"));
    let other = program(vec![tensor(&[5], 1)], &["Mul 0 1"]);
    assert!(message(linear().then(&other)).contains("Incompatible shapes"));
    let without = program(vec![tensor(&[1, 9, 9, 16], 1)], &["Exp 1"]);
    assert_eq!(linear().then(&without).unwrap(), without.of(tensor(&[1], 1)));
    let small = program(vec![tensor(&[16], 1)], &["Exp 1"]);
    assert!(message(linear().then(&small)).contains("does not keep the shape [1,9,9,16]"));
    let missing = Linear { epilogue: vec![], ..linear() };
    assert!(message(missing.then(&program(vec![], &["Exp 0"]))).contains("which its functions do not take"));
    let filter = Linear { operands: [tensor(&[1, 9, 9, 7], 1), tensor(&[3, 3, 8, 16], 2)], ..linear() };
    assert!(message(filter.then(&program(vec![], &["Exp 0"]))).contains("evenly divisible"));
}
