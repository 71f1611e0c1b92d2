//! Gradients against finite differences.
#![allow(clippy::unwrap_used, clippy::panic)]

use flowmill::builder::gradients::{GradientOptions, add_gradients};
use flowmill::builder::{BuilderState, GraphBuilder, Scope, WhileOptions};
use flowmill::{Code, DType, OutputId, PartialShape, Result, Session, SessionOptions, Tensor};
use flowmill_proto::AttrValue;
use std::sync::Arc;

/// Fed tensors, and a function of them.
struct Case {
    session: Arc<Session>,
    xs: Vec<String>,
    y: String,
    grads: Vec<String>,
}

/// Builds `f` of placeholders with the shapes of `values`, known or not, and its gradients.
fn build(values: &[Tensor], static_shapes: bool, f: impl FnOnce(&mut GraphBuilder<'_>, &[OutputId]) -> Result<OutputId>) -> Result<Case> {
    let mut graph = flowmill::new_graph()?;
    let mut state = BuilderState::default();
    let mut b = GraphBuilder::new(&mut graph, &mut state, Scope::root())?;
    let mut xs = Vec::new();
    for value in values {
        let shape = if static_shapes { PartialShape::from(value.shape().clone()) } else { PartialShape::unknown_of_rank(value.rank()) };
        let x = b.op("Placeholder").name("x").attr("dtype", flowmill_proto::DataType::DtDouble).attr("shape", shape.to_proto());
        xs.push(x.output()?);
    }
    let y = f(&mut b, &xs)?;
    let grads = add_gradients(&mut b, &[y], &xs, &[], &GradientOptions::default())?;
    let mut names = Vec::new();
    for grad in &grads {
        let grad = b.densify(grad.as_ref().unwrap())?;
        names.push(b.graph().tensor_name(grad));
    }
    let name = |t: &OutputId| b.graph().tensor_name(*t);
    let (xs, y) = (xs.iter().map(name).collect(), name(&y));
    graph.validate()?;
    Ok(Case { session: flowmill::session(graph, SessionOptions::default())?, xs, y, grads: names })
}

impl Case {
    fn run(&self, values: &[Tensor], fetches: &[&str]) -> Vec<Tensor> {
        let feeds: Vec<(&str, Tensor)> = self.xs.iter().map(String::as_str).zip(values.iter().cloned()).collect();
        self.session.run(&feeds, fetches, &[]).unwrap()
    }

    /// The sum of `y`.
    fn loss(&self, values: &[Tensor]) -> f64 {
        self.run(values, &[&self.y])[0].as_slice::<f64>().unwrap().iter().sum()
    }

    fn compare(&self, what: &str, values: &[Tensor]) {
        const STEP: f64 = 1e-5;
        let fetches: Vec<&str> = self.grads.iter().map(String::as_str).collect();
        let grads = self.run(values, &fetches);
        for (i, grad) in grads.iter().enumerate() {
            assert_eq!(grad.shape(), values[i].shape(), "{what}: gradient {i}");
            for element in 0..grad.num_elements() {
                let moved = |by: f64| {
                    let mut values = values.to_vec();
                    values[i].as_mut_slice::<f64>().unwrap()[element] += by;
                    self.loss(&values)
                };
                let numeric = (moved(STEP) - moved(-STEP)) / (2.0 * STEP);
                let symbolic = grad.as_slice::<f64>().unwrap()[element];
                let tolerance = 1e-6 + 1e-5 * numeric.abs();
                assert!(
                    (numeric - symbolic).abs() < tolerance,
                    "{what}: gradient {i}, element {element}: {symbolic}, by differences {numeric}"
                );
            }
        }
    }
}

/// Compares with static and with unknown shapes.
fn check(what: &str, values: &[Tensor], f: impl Fn(&mut GraphBuilder<'_>, &[OutputId]) -> Result<OutputId>) {
    for static_shapes in [true, false] {
        build(values, static_shapes, &f).unwrap_or_else(|e| panic!("{what}: {e}")).compare(what, values);
    }
}

/// Numbers between 0.2 and 0.9, none like another.
fn numbers(shape: &[usize]) -> Tensor {
    let count: usize = shape.iter().product();
    let values: Vec<f64> = (0..count).map(|i| 0.2 + 0.7 * ((i as f64 * 0.618_034 + 0.1) % 1.0)).collect();
    Tensor::from_slice(shape.to_vec(), &values).unwrap()
}

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
    type Build = fn(&mut GraphBuilder<'_>, OutputId) -> Result<OutputId>;
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
    let pads = |b: &mut GraphBuilder<'_>, op: &str, x: &[OutputId]| {
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

fn greater(b: &mut GraphBuilder<'_>, x: OutputId, limit: f64) -> Result<OutputId> {
    let all = b.vector(&[0i32])?;
    let sum = b.call("Sum", &[x, all])?;
    let limit = b.scalar(limit)?;
    b.call("Greater", &[sum, limit])
}

#[test]
fn conditionals() {
    for limit in [0.0, 100.0] {
        check("cond", &[numbers(&[3]), numbers(&[3])], |b, x| {
            let (x, y) = (x[0], x[1]);
            let pred = greater(b, x, limit)?;
            let out = b.cond(
                "cond",
                pred,
                |b| Ok(vec![b.call("Mul", &[x, y])?]),
                |b| {
                    let square = b.call("Square", &[x])?;
                    Ok(vec![b.call("Mul", &[square, y])?])
                },
            )?;
            b.call("Mul", &[out[0], y])
        });
        // A branch that one of the tensors does not come into.
        check("cond of one", &[numbers(&[3]), numbers(&[3])], |b, x| {
            let (x, y) = (x[0], x[1]);
            let pred = greater(b, x, limit)?;
            let out = b.cond("cond", pred, |b| Ok(vec![b.call("Square", &[x])?]), |_| Ok(vec![y]))?;
            b.call("Mul", &[out[0], out[0]])
        });
    }
}

/// `for _ in 0..times { vars = body(vars) }`
fn repeat(
    b: &mut GraphBuilder<'_>,
    times: i32,
    vars: &[OutputId],
    options: &WhileOptions,
    body: impl FnOnce(&mut GraphBuilder<'_>, OutputId, &[OutputId]) -> Result<Vec<OutputId>>,
) -> Result<Vec<OutputId>> {
    let mut all = vec![b.scalar(0i32)?];
    all.extend_from_slice(vars);
    let mut exits = b.while_loop(
        "while",
        &all,
        options,
        |b, vars| {
            let limit = b.scalar(times)?;
            b.call("Less", &[vars[0], limit])
        },
        |b, vars| {
            let one = b.scalar(1i32)?;
            let next = b.call("AddV2", &[vars[0], one])?;
            let mut results = vec![next];
            results.extend(body(b, vars[0], &vars[1..])?);
            Ok(results)
        },
    )?;
    exits.remove(0);
    Ok(exits)
}

#[test]
fn loops() {
    for parallel_iterations in [1, 10] {
        let options = WhileOptions { parallel_iterations, ..WhileOptions::default() };
        check("a power", &[numbers(&[2]), numbers(&[2])], |b, x| {
            let w = x[1];
            let out = repeat(b, 4, &[x[0]], &options, |b, _, vars| {
                let y = b.call("Mul", &[vars[0], w])?;
                Ok(vec![b.call("Tanh", &[y])?])
            })?;
            Ok(out[0])
        });
        check("two variables, one of which does not matter at the end", &[numbers(&[2]), numbers(&[2])], |b, x| {
            let out = repeat(b, 3, &[x[0], x[1]], &options, |b, _, vars| {
                let product = b.call("Mul", &[vars[0], vars[1]])?;
                let sine = b.call("Sin", &[vars[1]])?;
                Ok(vec![product, sine])
            })?;
            Ok(out[0])
        });
        check("a loop that does not run", &[numbers(&[2]), numbers(&[2])], |b, x| {
            let w = x[1];
            let out = repeat(b, 0, &[x[0]], &options, |b, _, vars| Ok(vec![b.call("Mul", &[vars[0], w])?]))?;
            let weighted = b.call("Mul", &[out[0], w])?;
            Ok(weighted)
        });
        check("a nested loop", &[numbers(&[2]), numbers(&[2])], |b, x| {
            let w = x[1];
            let out = repeat(b, 3, &[x[0]], &options, |b, i, vars| {
                let scaled = b.call("Mul", &[vars[0], w])?;
                // The inner loop runs once, twice, three times.
                let (zero, start) = (b.scalar(0i32)?, scaled);
                let inner = b.while_loop(
                    "inner",
                    &[zero, start],
                    &options,
                    |b, vars| b.call("LessEqual", &[vars[0], i]),
                    |b, vars| {
                        let one = b.scalar(1i32)?;
                        let product = b.call("Mul", &[vars[1], w])?;
                        let next = b.call("AddV2", &[vars[0], one])?;
                        Ok(vec![next, b.call("Sin", &[product])?])
                    },
                )?;
                Ok(vec![b.call("AddV2", &[inner[1], vars[0]])?])
            })?;
            Ok(out[0])
        });
        check("a conditional in a loop", &[numbers(&[2]), numbers(&[2])], |b, x| {
            let w = x[1];
            let out = repeat(b, 4, &[x[0]], &options, |b, i, vars| {
                let two = b.scalar(2i32)?;
                let odd = b.call("FloorMod", &[i, two])?;
                let one = b.scalar(1i32)?;
                let pred = b.call("Equal", &[odd, one])?;
                let var = vars[0];
                let chosen = b.cond(
                    "cond",
                    pred,
                    |b| Ok(vec![b.call("Mul", &[var, w])?]),
                    |b| {
                        let square = b.call("Square", &[var])?;
                        Ok(vec![b.call("Cos", &[square])?])
                    },
                )?;
                Ok(chosen)
            })?;
            Ok(out[0])
        });
    }
}

#[test]
fn a_loop_in_a_conditional() {
    for limit in [0.0, 100.0] {
        check("loop in cond", &[numbers(&[2]), numbers(&[2])], |b, x| {
            let (x, w) = (x[0], x[1]);
            let pred = greater(b, x, limit)?;
            let out = b.cond(
                "cond",
                pred,
                |b| repeat(b, 3, &[x], &WhileOptions::default(), |b, _, vars| Ok(vec![b.call("Mul", &[vars[0], w])?])),
                |b| Ok(vec![b.call("Mul", &[x, x])?]),
            )?;
            b.call("Mul", &[out[0], w])
        });
    }
}

#[test]
fn rows_gathered_in_a_loop_are_summed() {
    check("embedding", &[numbers(&[4, 2])], |b, x| {
        let table = x[0];
        let start = b.constant("start", &Tensor::vector(&[0.3f64, 0.4])?)?;
        let out = repeat(b, 6, &[start], &WhileOptions::default(), |b, i, vars| {
            let (four, axis) = (b.scalar(3i32)?, b.scalar(0i32)?);
            let row = b.call("FloorMod", &[i, four])?;
            let row = b.call("GatherV2", &[table, row, axis])?;
            let sum = b.call("AddV2", &[vars[0], row])?;
            Ok(vec![b.call("Sin", &[sum])?])
        })?;
        Ok(out[0])
    });
}

#[test]
fn second_derivatives() {
    let x = numbers(&[3]);
    for op in ["Tanh", "Sigmoid", "Sqrt", "Rsqrt", "Reciprocal", "Exp", "Log", "Sin"] {
        check(op, std::slice::from_ref(&x), |b, x| {
            let y = b.call(op, &[x[0]])?;
            let square = b.call("Square", &[y])?;
            let cube = b.call("Mul", &[square, y])?;
            let grads = add_gradients(b, &[cube], x, &[], &GradientOptions::default())?;
            b.densify(grads[0].as_ref().unwrap())
        });
    }
}

#[test]
fn what_does_not_depend_has_no_gradient() {
    let mut graph = flowmill::new_graph().unwrap();
    let mut state = BuilderState::default();
    let mut b = GraphBuilder::new(&mut graph, &mut state, Scope::root()).unwrap();
    let x = b.constant("x", &Tensor::scalar(1.0f64)).unwrap();
    let z = b.constant("z", &Tensor::scalar(1.0f64)).unwrap();
    let stopped = b.call("StopGradient", &[x]).unwrap();
    let y = b.call("Mul", &[stopped, x]).unwrap();
    let none = GradientOptions::default();
    assert_eq!(add_gradients(&mut b, &[y], &[z], &[], &none).unwrap(), [None]);
    let stops = GradientOptions { stop_gradients: vec![y], ..GradientOptions::default() };
    assert_eq!(add_gradients(&mut b, &[y], &[x], &[], &stops).unwrap(), [None]);
    let error = {
        let y = b.op("MatrixInverse").input(x).output();
        let y = y.or_else(|_| b.call("Betainc", &[x, x, x])).unwrap();
        add_gradients(&mut b, &[y], &[x], &[], &none).unwrap_err()
    };
    assert_eq!(error.code(), Code::NotFound);
    assert!(error.message().starts_with("No gradient defined for operation '"), "{error}");
    let integer = b.scalar(1i32).unwrap();
    let error = add_gradients(&mut b, &[integer], &[x], &[], &none).unwrap_err();
    assert_eq!(error.code(), Code::InvalidArgument);
}
