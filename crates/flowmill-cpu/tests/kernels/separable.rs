//! `_FusedSeparableConv2D` against the convolutions that it consists of.

use crate::testing::{Call, ints, message, strings, ty, types};
use flowmill_proto::AttrValue;
use flowmill_tensor::{Code, DType, Result, Shape, Tensor};

/// Returns values around zero with a long period.
fn tensor(dims: &[usize], seed: usize) -> Tensor {
    let len = Shape::new(dims).num_elements();
    let values: Vec<f32> = (0..len).map(|i| ((i * 7919 + seed * 104_729) % 2003) as f32 / 2000.0 - 0.5).collect();
    Tensor::from_slice(Shape::new(dims), &values).unwrap()
}

/// A convolution: its filter, and the functions that follow it with what they take.
struct Stage {
    filter: Tensor,
    functions: Vec<&'static str>,
    args: Vec<Tensor>,
}

fn stage(filter: &[usize], functions: &[&'static str]) -> Stage {
    let channels = if filter[0] == 1 { filter[3] } else { filter[2] * filter[3] };
    let args = if functions.contains(&"BiasAdd") { vec![tensor(&[channels], 5)] } else { Vec::new() };
    Stage { filter: tensor(filter, 3), functions: functions.to_vec(), args }
}

impl Stage {
    fn inputs(&self) -> impl Iterator<Item = Tensor> {
        [self.filter.clone()].into_iter().chain(self.args.clone())
    }

    /// Computes the convolution and its functions as one node.
    fn apply(&self, op: &str, input: Tensor, steps: &[(&str, AttrValue)]) -> Result<Tensor> {
        let args = self.args.len();
        let call = Call::new(op).attrs(steps).attr("num_args", args as i64).attr("fused_ops", strings(&self.functions));
        let call = if op == "_FusedConv2D" { call.attr("TArgs", types(&vec![DType::F32; args])) } else { call };
        call.input(input).inputs(self.inputs().collect()).run1()
    }
}

fn steps(stride: i64, padding: &str) -> Vec<(&'static str, AttrValue)> {
    vec![("T", ty(DType::F32)), ("strides", ints(&[1, stride, stride, 1])), ("padding", padding.into())]
}

fn fused(input: Tensor, before: Option<&Stage>, middle: &Stage, after: Option<&Stage>, steps: &[(&str, AttrValue)]) -> Result<Tensor> {
    let inputs = |stage: Option<&Stage>| stage.map_or(Vec::new(), |stage| stage.inputs().collect());
    let functions = |stage: Option<&Stage>| strings(stage.map_or(&[][..], |stage| &stage.functions[..]));
    let (expansion, projection) = (inputs(before), inputs(after));
    Call::new("_FusedSeparableConv2D")
        .attrs(steps)
        .attr("num_expansion", expansion.len() as i64)
        .attr("num_args", middle.args.len() as i64)
        .attr("num_projection", projection.len() as i64)
        .attr("expansion_ops", functions(before))
        .attr("fused_ops", functions(Some(middle)))
        .attr("projection_ops", functions(after))
        .input(input)
        .input(middle.filter.clone())
        .inputs([expansion, middle.args.clone(), projection].concat())
        .run1()
}

/// Images whose inner tensors are larger and smaller than a block, one and several, on one thread and two.
#[test]
fn blocks_have_the_bits_of_separate_convolutions() {
    for (batch, size, stride, padding, threads) in
        [(1, 40, 1, "SAME", 1), (1, 41, 2, "SAME", 2), (3, 40, 2, "VALID", 2), (9, 12, 1, "SAME", 2), (2, 7, 1, "VALID", 1)]
    {
        let out = if padding == "SAME" { size / stride + size % stride } else { (size - 3) / stride + 1 };
        let before = stage(&[1, 1, 16, 96], &["BiasAdd", "HardSwish"]);
        let middle = stage(&[3, 3, 96, 1], &["BiasAdd", "Relu6"]);
        let mut after = stage(&[1, 1, 96, 24], &["BiasAdd", "Add"]);
        after.args.push(tensor(&[batch, out, out, 24], 8));
        let (input, inner) = (tensor(&[batch, size, size, 16], 1), tensor(&[batch, size, size, 96], 2));
        let (one, steps) = (steps(1, "SAME"), steps(stride as i64, padding));
        let expanded = before.apply("_FusedConv2D", input.clone(), &one).unwrap();
        let depthwise = middle.apply("_FusedDepthwiseConv2dNative", expanded, &steps).unwrap();
        let expected = after.apply("_FusedConv2D", depthwise.clone(), &one).unwrap();
        let from_inner = middle.apply("_FusedDepthwiseConv2dNative", inner.clone(), &steps).unwrap();
        let projected = after.apply("_FusedConv2D", from_inner, &one).unwrap();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let whole = fused(input.clone(), Some(&before), &middle, Some(&after), &steps).unwrap();
            assert!(whole == expected, "{batch} images of {size}, {padding}");
            assert!(fused(input, Some(&before), &middle, None, &steps).unwrap() == depthwise, "{batch} images of {size}, {padding}");
            assert!(fused(inner, None, &middle, Some(&after), &steps).unwrap() == projected, "{batch} images of {size}, {padding}");
        });
    }
}

#[test]
fn no_images_and_no_channels_of_output_are_empty() {
    let (before, middle) = (stage(&[1, 1, 4, 8], &[]), stage(&[3, 3, 8, 1], &[]));
    let none = fused(tensor(&[0, 5, 5, 4], 1), Some(&before), &middle, None, &steps(1, "SAME")).unwrap();
    assert_eq!(none.shape().dims(), [0, 5, 5, 8]);
    let narrow = stage(&[1, 1, 8, 0], &[]);
    let none = fused(tensor(&[2, 5, 5, 4], 1), Some(&before), &middle, Some(&narrow), &steps(1, "SAME")).unwrap();
    assert_eq!(none.shape().dims(), [2, 5, 5, 0]);
}

#[test]
fn inputs_that_do_not_fit_together_are_errors() {
    let same = steps(1, "SAME");
    let input = || tensor(&[1, 5, 5, 4], 1);
    let (before, middle) = (stage(&[1, 1, 4, 8], &[]), stage(&[3, 3, 8, 1], &[]));
    let run = |before: &Stage, middle: &Stage, after: Option<&Stage>, steps: &[(&str, AttrValue)]| {
        message(fused(input(), Some(before), middle, after, steps))
    };
    assert!(run(&stage(&[1, 1, 3, 8], &[]), &middle, None, &same).contains("same depth: 4 vs 3"));
    assert!(run(&stage(&[3, 1, 4, 8], &[]), &middle, None, &same).contains("a filter of one position"));
    assert!(run(&before, &stage(&[3, 3, 9, 1], &[]), None, &same).contains("same depth: 8 vs 9"));
    assert!(run(&before, &stage(&[3, 3, 8, 0], &[]), None, &same).contains("no elements"));
    assert!(run(&before, &stage(&[7, 7, 8, 1], &[]), None, &steps(1, "VALID")).contains("Computed output size would be negative"));
    assert!(run(&before, &middle, Some(&stage(&[1, 1, 9, 2], &[])), &same).contains("same depth: 8 vs 9"));
    let mut biased = stage(&[1, 1, 4, 8], &["BiasAdd"]);
    biased.args = vec![tensor(&[7], 1)];
    assert!(run(&biased, &middle, None, &same).contains("as many biases"));
    let mut added = stage(&[1, 1, 8, 2], &["BiasAdd", "Add"]);
    added.args.push(tensor(&[1, 5, 4, 2], 1));
    assert!(run(&before, &middle, Some(&added), &same).contains("Incompatible shapes"));
    added.functions = vec!["BiasAdd"];
    assert!(run(&before, &middle, Some(&added), &same).contains("which its functions do not take"));
    assert!(message(fused(tensor(&[5, 5, 4], 1), Some(&before), &middle, None, &same)).contains("4-dimensional"));
    let early = Stage { functions: vec!["Add"], args: vec![tensor(&[1, 5, 5, 8], 1)], filter: before.filter.clone() };
    let refused = fused(input(), Some(&early), &middle, None, &same).unwrap_err();
    assert_eq!(refused.code(), Code::Unimplemented, "{refused}");
}
