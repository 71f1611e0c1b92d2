//! Each op's gradient function.

use crate::{check, numbers};
use flowmill::builder::ScopedBuilder;
use flowmill::{DType, OutputId, Result, Tensor};
use flowmill_proto::AttrValue;

fn dtype(dtype: DType) -> AttrValue {
    flowmill_proto::attr_value::Value::Type(dtype.number()).into()
}

#[test]
fn functions_of_one_tensor() {
    let ops = "Neg Abs Square Sqrt Rsqrt Tanh Sigmoid Reciprocal Exp Expm1 Log Log1p Sin Cos Tan Sinh Cosh Asin Acos Asinh Atan Atanh Erf Erfc \
               Lgamma Identity Relu Relu6 LeakyRelu Softplus Softsign Elu Selu Softmax LogSoftmax Snapshot";
    for op in ops.split_whitespace() {
        // Weighted, so that gradients of sums that are constant come up.
        check(op, &[numbers(&[2, 3])], |b, x| {
            let y = b.call(op, x)?;
            let weights = b.constant("w", &numbers(&[2, 3]))?;
            b.call("Mul", &[y, weights])
        });
    }
    check("Acosh", &[numbers(&[3])], |b, x| {
        let one = b.scalar(1.0f64)?;
        let x = b.call("AddV2", &[x[0], one])?;
        b.call("Acosh", &[x])
    });
    check("L2Loss", &[numbers(&[2, 3])], |b, x| b.call("L2Loss", x));
}

#[test]
fn functions_of_two_tensors_broadcast() {
    let shapes: [(&[usize], &[usize]); 5] =
        [(&[2, 3], &[2, 3]), (&[2, 3], &[3]), (&[], &[2, 2]), (&[2, 1], &[1, 3]), (&[3, 1, 2], &[4, 1])];
    for op in ["Add", "AddV2", "Sub", "Mul", "Div", "RealDiv", "DivNoNan", "Maximum", "Minimum", "Pow", "SquaredDifference", "Atan2"] {
        for (x, y) in shapes {
            let (x, mut y) = (numbers(x), numbers(y));
            y.as_mut_slice::<f64>().unwrap().iter_mut().for_each(|v| *v = *v * 0.9 + 0.05);
            check(op, &[x, y], |b, x| b.call(op, x));
        }
    }
    let large = Tensor::vector(&[5.3f64, 7.9]).unwrap();
    check("FloorMod", &[large, Tensor::scalar(2.1f64)], |b, x| b.call("FloorMod", x));
}

#[test]
fn matrix_products() {
    for (a, c) in [(false, false), (false, true), (true, false), (true, true)] {
        let x = numbers(if a { &[3, 2] } else { &[2, 3] });
        let y = numbers(if c { &[4, 3] } else { &[3, 4] });
        check("MatMul", &[x, y], |b, x| b.op("MatMul").inputs(x).attr("transpose_a", a).attr("transpose_b", c).output());
        let x = numbers(if a { &[2, 1, 3, 2] } else { &[2, 1, 2, 3] });
        let y = numbers(if c { &[5, 4, 3] } else { &[5, 3, 4] });
        check("BatchMatMulV2", &[x, y], |b, x| b.op("BatchMatMulV2").inputs(x).attr("adj_x", a).attr("adj_y", c).output());
    }
}

#[test]
fn reductions() {
    for op in ["Sum", "Mean", "Max", "Min", "Prod"] {
        for axes in [&[0i32][..], &[-1], &[0, 2], &[]] {
            for keep in [false, true] {
                check(op, &[numbers(&[2, 3, 2])], |b, x| {
                    let axes = b.vector(axes)?;
                    b.op(op).inputs(&[x[0], axes]).attr("keep_dims", keep).output()
                });
            }
        }
    }
    check("Cumsum", &[numbers(&[2, 3])], |b, x| {
        let axis = b.scalar(1i32)?;
        let y = b.op("Cumsum").inputs(&[x[0], axis]).attr("exclusive", true).output()?;
        b.call("Mul", &[y, x[0]])
    });
    check("SegmentMean", &[numbers(&[4, 2])], |b, x| {
        let segments = b.vector(&[0i32, 0, 2, 2])?;
        let y = b.call("SegmentMean", &[x[0], segments])?;
        b.call("Square", &[y])
    });
    check("UnsortedSegmentSum", &[numbers(&[4, 2])], |b, x| {
        let (segments, count) = (b.vector(&[1i32, -1, 0, 1])?, b.scalar(3i32)?);
        let y = b.call("UnsortedSegmentSum", &[x[0], segments, count])?;
        b.call("Square", &[y])
    });
    check("TopKV2", &[numbers(&[3, 5])], |b, x| {
        let k = b.scalar(2i32)?;
        let y = b.call("TopKV2", &[x[0], k])?;
        b.call("Square", &[y])
    });
}

#[test]
fn what_moves_elements() {
    type Build = fn(&mut ScopedBuilder<'_>, OutputId) -> Result<OutputId>;
    let cases: &[(&str, Build)] = &[
        ("Reshape", |b, x| {
            let shape = b.vector(&[3i32, -1])?;
            b.call("Reshape", &[x, shape])
        }),
        ("Transpose", |b, x| {
            let order = b.vector(&[2i32, 0, 1])?;
            b.call("Transpose", &[x, order])
        }),
        ("ConcatV2", |b, x| {
            let axis = b.scalar(-2i32)?;
            let twice = b.call("Square", &[x])?;
            b.call("ConcatV2", &[x, twice, axis])
        }),
        ("Split", |b, x| {
            let axis = b.scalar(1i32)?;
            let parts = b.op("Split").inputs(&[axis, x]).attr("num_split", 3i64).finish()?;
            b.call("Mul", &[parts.output(0), parts.output(2)])
        }),
        ("Pack and Unpack", |b, x| {
            let packed = b.op("Pack").inputs(&[x, x]).attr("axis", 1i64).output()?;
            let parts = b.op("Unpack").input(packed).attr("axis", 2i64).attr("num", 3i64).finish()?;
            b.call("Mul", &[parts.output(0), parts.output(1)])
        }),
        ("Slice", |b, x| {
            let (begin, size) = (b.vector(&[1i32, 0, 1])?, b.vector(&[1i32, 2, 1])?);
            b.call("Slice", &[x, begin, size])
        }),
        ("StridedSlice", |b, x| {
            let (begin, end, step) = (b.vector(&[1i32, 2])?, b.vector(&[0i32, 0])?, b.vector(&[1i32, -1])?);
            b.op("StridedSlice").inputs(&[x, begin, end, step]).attr("shrink_axis_mask", 1i64).output()
        }),
        ("PadV2", |b, x| {
            let paddings = b.constant("p", &Tensor::from_slice([3usize, 2], &[1i32, 0, 0, 2, 0, 0])?)?;
            let value = b.scalar(0.5f64)?;
            b.call("PadV2", &[x, paddings, value])
        }),
        ("Tile", |b, x| {
            let multiples = b.vector(&[2i32, 1, 3])?;
            b.call("Tile", &[x, multiples])
        }),
        ("BroadcastTo", |b, x| {
            let shape = b.vector(&[4i32, 2, 3, 2])?;
            b.call("BroadcastTo", &[x, shape])
        }),
        ("ReverseV2", |b, x| {
            let axes = b.vector(&[0i32, 2])?;
            b.call("ReverseV2", &[x, axes])
        }),
        ("GatherV2 of rows", |b, x| {
            let (indices, axis) = (b.vector(&[1i32, 0, 1])?, b.scalar(0i32)?);
            b.call("GatherV2", &[x, indices, axis])
        }),
        ("GatherV2 along an axis", |b, x| {
            let indices = b.constant("i", &Tensor::from_slice([2usize, 2], &[1i32, 0, 1, 1])?)?;
            let axis = b.scalar(-1i32)?;
            b.call("GatherV2", &[x, indices, axis])
        }),
        ("GatherV2 with batch dimensions", |b, x| {
            let indices = b.constant("i", &Tensor::from_slice([2usize, 3, 2], &[1i32, 0, 1, 1, 0, 0, 0, 1, 1, 0, 1, 1])?)?;
            let axis = b.scalar(2i32)?;
            b.op("GatherV2").inputs(&[x, indices, axis]).attr("batch_dims", 2i64).output()
        }),
        ("GatherV2 with batch dimensions before the axis", |b, x| {
            let indices = b.constant("i", &Tensor::from_slice([2usize, 2], &[1i64, 0, 1, 1])?)?;
            let axis = b.scalar(-1i32)?;
            b.op("GatherV2").inputs(&[x, indices, axis]).attr("batch_dims", -1i64).output()
        }),
        ("GatherNd", |b, x| {
            let indices = b.constant("i", &Tensor::from_slice([3usize, 2], &[1i32, 0, 0, 1, 1, 0])?)?;
            b.call("GatherNd", &[x, indices])
        }),
        ("SelectV2", |b, x| {
            let half = b.scalar(0.5f64)?;
            let cond = b.call("Greater", &[x, half])?;
            let square = b.call("Square", &[x])?;
            b.call("SelectV2", &[cond, square, half])
        }),
        ("Cast", |b, x| {
            let single = b.op("Cast").input(x).attr("DstT", dtype(DType::F64)).output()?;
            b.call("Mul", &[single, x])
        }),
        ("DynamicPartition", |b, x| {
            let parts = b.vector(&[1i32, 0])?;
            let parts = b.op("DynamicPartition").inputs(&[x, parts]).attr("num_partitions", 2i64).finish()?;
            b.call("Mul", &[parts.output(0), parts.output(1)])
        }),
    ];
    for (what, f) in cases {
        check(what, &[numbers(&[2, 3, 2])], |b, x| {
            let y = f(b, x[0])?;
            b.call("Square", &[y])
        });
    }
}

#[test]
fn neural_networks() {
    let pads = |b: &mut ScopedBuilder<'_>, op: &str, x: &[OutputId]| {
        b.op(op).inputs(x).attr("strides", vec![1i64, 2, 2, 1]).attr("padding", "SAME").output()
    };
    check("Conv2D", &[numbers(&[1, 4, 5, 2]), numbers(&[3, 3, 2, 2])], |b, x| {
        let y = pads(b, "Conv2D", x)?;
        b.call("Square", &[y])
    });
    for op in ["MaxPool", "AvgPool"] {
        check(op, &[numbers(&[1, 5, 4, 2])], |b, x| {
            let size = vec![1i64, 2, 2, 1];
            let y = b.op(op).inputs(x).attr("ksize", size.clone()).attr("strides", size).attr("padding", "SAME").output()?;
            b.call("Square", &[y])
        });
    }
    check("BiasAdd", &[numbers(&[2, 3]), numbers(&[3])], |b, x| {
        let y = b.call("BiasAdd", x)?;
        b.call("Square", &[y])
    });
    check("SoftmaxCrossEntropyWithLogits", &[numbers(&[2, 3]), numbers(&[2, 3])], |b, x| {
        // Labels are probabilities: the op's own gradient is right for those alone.
        let labels = b.call("Softmax", &[x[1]])?;
        b.call("SoftmaxCrossEntropyWithLogits", &[x[0], labels])
    });
    check("SparseSoftmaxCrossEntropyWithLogits", &[numbers(&[2, 3])], |b, x| {
        let labels = b.vector(&[2i32, 0])?;
        b.call("SparseSoftmaxCrossEntropyWithLogits", &[x[0], labels])
    });
}
