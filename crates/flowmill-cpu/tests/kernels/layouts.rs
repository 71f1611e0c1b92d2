//! Ops on images with channels first return the same values as with channels last.

use crate::testing::{Call, ints, ty};
use flowmill_proto::AttrValue;
use flowmill_tensor::{Code, DType, Shape, Tensor};

/// Returns a tensor of this shape with values that differ.
fn ramp(shape: &[usize], step: f32) -> Tensor {
    let n: usize = shape.iter().product();
    let values: Vec<f32> = (0..n).map(|i| ((i * 37 % 101) as f32 - 50.0) * step).collect();
    Tensor::from_slice(Shape::new(shape), &values).unwrap()
}

fn permuted(x: &Tensor, order: &[i64]) -> Tensor {
    let attrs = [("T", ty(x.dtype())), ("Tperm", ty(DType::I64))];
    Call::new("Transpose").attrs(&attrs).inputs(vec![x.clone(), Tensor::vector(order).unwrap()]).run1().unwrap()
}

/// Returns the permutation from channels last to channels first, such as `[0, 3, 1, 2]`.
fn to_first(rank: usize) -> Vec<i64> {
    let rank = rank as i64;
    [0, rank - 1].into_iter().chain(1..rank - 1).collect()
}

/// An input of an op: an image, a vector with a size for each of its dimensions, or neither.
enum Input {
    Image(Tensor),
    Sizes(Vec<i32>),
    Other(Tensor),
}
use Input::{Image, Other, Sizes};

/// Runs `op` in both layouts; `lists` have one entry per dimension (two for paddings). Outputs of the images' rank are compared as images.
#[track_caller]
fn check(op: &str, rank: usize, attrs: &[(&str, AttrValue)], lists: &[(&str, &[i64])], inputs: &[Input], image_output: bool) {
    let order = to_first(rank);
    let move_list = |list: &[i64]| -> Vec<i64> {
        let each = list.len() / rank;
        order.iter().flat_map(|&axis| list[axis as usize * each..][..each].to_vec()).collect()
    };
    let call = |first: bool| {
        let format = match (rank, first) {
            (4, false) => "NHWC",
            (4, true) => "NCHW",
            (_, false) => "NDHWC",
            (_, true) => "NCDHW",
        };
        let mut call = Call::new(op).attr("data_format", format).attrs(attrs);
        for (name, list) in lists {
            call = call.attr(name, ints(&if first { move_list(list) } else { list.to_vec() }));
        }
        for input in inputs {
            call = call.input(match input {
                Image(image) if first => permuted(image, &order),
                Image(other) | Other(other) => other.clone(),
                Sizes(sizes) if first => Tensor::vector(&order.iter().map(|&axis| sizes[axis as usize]).collect::<Vec<_>>()).unwrap(),
                Sizes(sizes) => Tensor::vector(sizes).unwrap(),
            });
        }
        call.run().unwrap_or_else(|e| panic!("{op} {format}: {e}"))
    };
    let (last, first) = (call(false), call(true));
    assert!(last[0].as_ref().is_some_and(|t| t.num_elements() > 0), "{op}");
    for (i, (last, first)) in last.iter().zip(&first).enumerate() {
        let expected = last.as_ref().map(|t| if i == 0 && image_output { permuted(t, &order) } else { t.clone() });
        assert_eq!(*first, expected, "{op}: output {i}");
    }
}

fn f32s() -> Vec<(&'static str, AttrValue)> {
    vec![("T", ty(DType::F32)), ("U", ty(DType::F32)), ("TInput", ty(DType::F32)), ("Tshape", ty(DType::I32))]
}

fn with(name: &'static str, value: impl Into<AttrValue>) -> Vec<(&'static str, AttrValue)> {
    let mut attrs = f32s();
    attrs.push((name, value.into()));
    attrs
}

#[test]
fn convolutions() {
    let (x, w, dy) = (ramp(&[2, 5, 7, 4], 0.1), ramp(&[3, 2, 4, 6], 0.2), ramp(&[2, 3, 4, 6], 0.1));
    let same = with("padding", "SAME");
    let lists: &[(&str, &[i64])] = &[("strides", &[1, 2, 2, 1]), ("dilations", &[1, 1, 1, 1])];
    check("Conv2D", 4, &same, lists, &[Image(x.clone()), Other(w.clone())], true);
    check("Conv2DBackpropInput", 4, &same, lists, &[Sizes(vec![2, 5, 7, 4]), Other(w.clone()), Image(dy.clone())], true);
    check("Conv2DBackpropInputV2", 4, &same, lists, &[Image(x.clone()), Other(w.clone()), Image(dy.clone())], true);
    let filter_sizes = Tensor::vector(&[3, 2, 4, 6]).unwrap();
    check("Conv2DBackpropFilter", 4, &same, lists, &[Image(x.clone()), Other(filter_sizes), Image(dy.clone())], false);
    check("Conv2DBackpropFilterV2", 4, &same, lists, &[Image(x.clone()), Other(w.clone()), Image(dy)], false);
    let lists: &[(&str, &[i64])] =
        &[("strides", &[1, 1, 2, 1]), ("dilations", &[1, 1, 3, 1]), ("explicit_paddings", &[0, 0, 1, 2, 3, 0, 0, 0])];
    check("Conv2D", 4, &with("padding", "EXPLICIT"), lists, &[Image(x.clone()), Other(w)], true);
    let w = ramp(&[3, 2, 4, 2], 0.3);
    let lists: &[(&str, &[i64])] = &[("strides", &[1, 2, 2, 1]), ("dilations", &[1, 1, 1, 1])];
    check("DepthwiseConv2dNative", 4, &same, lists, &[Image(x.clone()), Other(w.clone())], true);
    let dy = ramp(&[2, 3, 4, 8], 0.1);
    let sizes = Sizes(vec![2, 5, 7, 4]);
    check("DepthwiseConv2dNativeBackpropInput", 4, &same, lists, &[sizes, Other(w), Image(dy.clone())], true);
    let sizes = Other(Tensor::vector(&[3, 2, 4, 2]).unwrap());
    check("DepthwiseConv2dNativeBackpropFilter", 4, &same, lists, &[Image(x), sizes, Image(dy)], false);
}

#[test]
fn fused_convolution_with_residual() {
    let mut attrs = with("padding", "VALID");
    attrs.push(("fused_ops", crate::testing::strings(&["BiasAdd", "Add", "Relu"])));
    let inputs =
        [Image(ramp(&[1, 4, 5, 3], 0.1)), Other(ramp(&[2, 2, 3, 4], 0.1)), Other(ramp(&[4], 1.0)), Image(ramp(&[1, 3, 4, 4], 0.5))];
    check("_FusedConv2D", 4, &attrs, &[("strides", &[1, 1, 1, 1]), ("dilations", &[1, 1, 1, 1])], &inputs, true);
}

#[test]
fn convolutions_of_volumes() {
    let same = with("padding", "SAME");
    let lists: &[(&str, &[i64])] = &[("strides", &[1, 2, 1, 2, 1]), ("dilations", &[1, 1, 1, 1, 1])];
    let (x, w, dy) = (ramp(&[2, 3, 4, 5, 2], 0.1), ramp(&[2, 2, 3, 2, 3], 0.1), ramp(&[2, 2, 4, 3, 3], 0.1));
    check("Conv3D", 5, &same, lists, &[Image(x.clone()), Other(w.clone())], true);
    let w0 = w.clone();
    check("Conv3DBackpropInputV2", 5, &same, lists, &[Sizes(vec![2, 3, 4, 5, 2]), Other(w), Image(dy.clone())], true);
    let mut fused = with("padding", "SAME");
    fused.push(("fused_ops", crate::testing::strings(&["BiasAdd", "Add", "Relu"])));
    let inputs = [Image(x.clone()), Other(w0), Other(ramp(&[3], 1.0)), Image(ramp(&[2, 2, 4, 3, 3], 0.5))];
    check("_FusedConv3D", 5, &fused, lists, &inputs, true);
    let sizes = Other(Tensor::vector(&[2, 2, 3, 2, 3]).unwrap());
    check("Conv3DBackpropFilterV2", 5, &same, lists, &[Image(x), sizes, Image(dy)], false);
}

#[test]
fn pools() {
    let (x, y) = (ramp(&[2, 5, 6, 3], 0.1), ramp(&[2, 3, 3, 3], 0.2));
    let same = with("padding", "SAME");
    let lists: &[(&str, &[i64])] = &[("ksize", &[1, 3, 2, 1]), ("strides", &[1, 2, 2, 1])];
    for op in ["MaxPool", "AvgPool"] {
        check(op, 4, &same, lists, &[Image(x.clone())], true);
    }
    check("MaxPoolGrad", 4, &same, lists, &[Image(x.clone()), Image(y.clone()), Image(y.clone())], true);
    check("MaxPoolGradGrad", 4, &same, lists, &[Image(x.clone()), Image(y.clone()), Image(x.clone())], true);
    check("AvgPoolGrad", 4, &same, lists, &[Sizes(vec![2, 5, 6, 3]), Image(y.clone())], true);
    let window = || [Sizes(vec![1, 3, 2, 1]), Sizes(vec![1, 2, 2, 1])];
    check("MaxPoolV2", 4, &same, &[], &[Image(x.clone())].into_iter().chain(window()).collect::<Vec<_>>(), true);
    for (op, last) in [("MaxPoolGradV2", y.clone()), ("MaxPoolGradGradV2", x.clone())] {
        let inputs: Vec<_> = [Image(x.clone()), Image(y.clone()), Image(last)].into_iter().chain(window()).collect();
        check(op, 4, &same, &[], &inputs, true);
    }
    let explicit = with("padding", "EXPLICIT");
    let lists: &[(&str, &[i64])] =
        &[("ksize", &[1, 3, 2, 1]), ("strides", &[1, 2, 1, 1]), ("explicit_paddings", &[0, 0, 1, 2, 0, 1, 0, 0])];
    check("MaxPool", 4, &explicit, lists, &[Image(x)], true);
}

#[test]
fn pools_of_volumes() {
    let (x, y) = (ramp(&[2, 4, 5, 3, 2], 0.1), ramp(&[2, 2, 3, 2, 2], 0.2));
    let same = with("padding", "SAME");
    let lists: &[(&str, &[i64])] = &[("ksize", &[1, 2, 3, 2, 1]), ("strides", &[1, 2, 2, 2, 1])];
    for op in ["MaxPool3D", "AvgPool3D"] {
        check(op, 5, &same, lists, &[Image(x.clone())], true);
    }
    check("MaxPool3DGrad", 5, &same, lists, &[Image(x.clone()), Image(y.clone()), Image(y.clone())], true);
    check("MaxPool3DGradGrad", 5, &same, lists, &[Image(x.clone()), Image(y.clone()), Image(x)], true);
    check("AvgPool3DGrad", 5, &same, lists, &[Sizes(vec![2, 4, 5, 3, 2]), Image(y)], true);
}

#[test]
fn batch_norms() {
    let (x, dy, v) = (ramp(&[2, 3, 4, 5], 0.1), ramp(&[2, 3, 4, 5], 0.3), || Other(ramp(&[5], 0.01)));
    let positive = || Other(Tensor::vector(&[1f32, 2.0, 0.5, 0.25, 3.0]).unwrap());
    for training in [false, true] {
        let attrs = with("is_training", training);
        for op in ["FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"] {
            check(op, 4, &attrs, &[], &[Image(x.clone()), v(), v(), v(), positive()], true);
        }
        for op in ["FusedBatchNormGrad", "FusedBatchNormGradV2", "FusedBatchNormGradV3"] {
            let mut inputs = vec![Image(dy.clone()), Image(x.clone()), v(), v(), positive()];
            if op.ends_with('3') {
                inputs.push(v());
            }
            check(op, 4, &attrs, &[], &inputs, true);
        }
        let volume = ramp(&[2, 3, 2, 2, 5], 0.1);
        check("FusedBatchNormV3", 5, &attrs, &[], &[Image(volume.clone()), v(), v(), v(), positive()], true);
        check("FusedBatchNormGradV3", 5, &attrs, &[], &[Image(volume.clone()), Image(volume), v(), v(), positive(), v()], true);
    }
}

#[test]
fn biases_and_blocks() {
    for rank in [3, 4, 5] {
        let shape = [&[2; 4][..rank - 1], &[3]].concat();
        let format =
            |first: bool, input: Tensor| Call::new("BiasAdd").attr("data_format", if first { "NCHW" } else { "NHWC" }).input(input);
        let (x, bias, order) = (ramp(&shape, 1.0), ramp(&[3], 2.0), to_first(rank));
        let last = format(false, x.clone()).attr("T", ty(DType::F32)).input(bias.clone()).run1().unwrap();
        let first = format(true, permuted(&x, &order)).attr("T", ty(DType::F32)).input(bias).run1().unwrap();
        assert_eq!(first, permuted(&last, &order));
    }
    check("BiasAddGrad", 4, &f32s(), &[], &[Image(ramp(&[2, 3, 4, 5], 0.5))], false);
    check("SpaceToDepth", 4, &with("block_size", 2), &[], &[Image(ramp(&[2, 4, 6, 3], 1.0))], true);
    check("DepthToSpace", 4, &with("block_size", 2), &[], &[Image(ramp(&[2, 2, 3, 12], 1.0))], true);
}

#[test]
fn convolution_of_any_rank() {
    let call = |format: &str, x: Tensor| {
        let call = Call::new("Conv").attrs(&f32s()).attr("data_format", format).attr("padding", "SAME").attr("strides", ints(&[1; 4]));
        call.attr("dilations", ints(&[])).attr("batch_dims", 2).inputs(vec![x, ramp(&[2, 2, 3, 4], 0.1)]).run1().unwrap()
    };
    let x = ramp(&[2, 2, 4, 5, 3], 0.1);
    let order = [0, 1, 4, 2, 3];
    assert_eq!(call("CHANNELS_FIRST", permuted(&x, &order)), permuted(&call("CHANNELS_LAST", x), &order));
}

#[test]
fn refused_formats() {
    let pool = |format: &str| {
        let call = Call::new("MaxPool").attr("T", ty(DType::F32)).attr("data_format", format).attr("padding", "SAME");
        call.attr("ksize", ints(&[1; 4])).attr("strides", ints(&[1; 4])).input(ramp(&[1, 4, 4, 4], 1.0)).run1().unwrap_err()
    };
    assert_eq!(pool("NCHW_VECT_C").code(), Code::Unimplemented);
    assert!(pool("NCHW_VECT_C").message().contains("NCHW_VECT_C"));
    assert_eq!(pool("NWHC").code(), Code::InvalidArgument);
}

/// Compares with values from TensorFlow, which has no gradient of such a pool.
#[test]
fn pools_over_depth() {
    let call = |op: &str, inputs: Vec<Tensor>| {
        let call = Call::new(op).attr("T", ty(DType::F32)).attr("data_format", "NHWC").attr("padding", "SAME");
        call.attr("ksize", ints(&[1, 1, 1, 2])).attr("strides", ints(&[1, 1, 1, 2])).inputs(inputs).run1()
    };
    let tensor = |shape: &[usize], values: &[f32]| Tensor::from_slice(Shape::new(shape), values).unwrap();
    let x = tensor(&[1, 1, 2, 4], &[1.0, 3.0, 5.0, 4.0, -2.0, -7.0, 0.0, 8.0]);
    let y = tensor(&[1, 1, 2, 2], &[3.0, 5.0, -2.0, 8.0]);
    assert_eq!(call("MaxPool", vec![x.clone()]).unwrap(), y);
    let dy = tensor(&[1, 1, 2, 2], &[10.0, 20.0, 30.0, 40.0]);
    let expected = tensor(&[1, 1, 2, 4], &[0.0, 10.0, 20.0, 0.0, 30.0, 0.0, 0.0, 40.0]);
    assert_eq!(call("MaxPoolGrad", vec![x, y, dy]).unwrap(), expected);
    assert_eq!(call("MaxPool", vec![ramp(&[1, 1, 1, 3], 1.0)]).unwrap_err().code(), Code::Unimplemented);
    assert_eq!(call("AvgPool", vec![ramp(&[1, 1, 1, 4], 1.0)]).unwrap_err().code(), Code::Unimplemented);
    let call = |x: Tensor| {
        let call = Call::new("MaxPool").attr("T", ty(DType::F32)).attr("data_format", "NCHW").attr("padding", "VALID");
        call.attr("ksize", ints(&[1, 2, 1, 1])).attr("strides", ints(&[1, 2, 1, 1])).input(x).run1().unwrap()
    };
    assert_eq!(call(ramp(&[1, 4, 2, 2], 1.0)).shape().dims(), [1, 2, 2, 2]);
}
