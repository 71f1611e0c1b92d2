//! Nodes that the optimizer makes have kernels on a GPU, or are not made there.

use crate::compare::{Case, Random, numbers};
use crate::recorder::Recorder;
use crate::setup::{GPU, gpus, on_stub, session_of};
use flowmill::graph::ElementwiseFunction;
use flowmill::prelude::*;
use flowmill::{PartialShape, Shape};

const F: DType = DType::F32;

/// Functions that products end with.
const ACTIVATIONS: [ElementwiseFunction; 11] = [
    ElementwiseFunction::Relu,
    ElementwiseFunction::Relu6,
    ElementwiseFunction::LeakyRelu,
    ElementwiseFunction::Elu,
    ElementwiseFunction::Tanh,
    ElementwiseFunction::Sigmoid,
    ElementwiseFunction::GeluExact,
    ElementwiseFunction::GeluApproximate,
    ElementwiseFunction::Silu,
    ElementwiseFunction::HardSwish,
    ElementwiseFunction::Mish,
];

#[test]
pub(crate) fn products_end_with_functions() {
    on_stub(|| {
        let mut random = Random::new(61);
        let lists = ACTIVATIONS.map(|activation| vec![ElementwiseFunction::BiasAdd, activation]).into_iter().chain([
            vec![],
            vec![ElementwiseFunction::BiasAdd],
            vec![ElementwiseFunction::Relu],
            vec![ElementwiseFunction::BiasAdd, ElementwiseFunction::Add],
            vec![ElementwiseFunction::BiasAdd, ElementwiseFunction::Add, ElementwiseFunction::Relu],
        ]);
        for functions in lists {
            let (bias, residual) = (functions.contains(&ElementwiseFunction::BiasAdd), functions.contains(&ElementwiseFunction::Add));
            let with = |case: Case, args: [Tensor; 2]| {
                let args: Vec<Tensor> =
                    args.into_iter().zip([bias, residual]).filter(|(_, is_used)| *is_used).map(|(arg, _)| arg).collect();
                let case = case.attr("num_args", args.len() as i64).attr("fused_ops", ElementwiseFunction::attr_of(&functions));
                case.list(args).within(16.0)
            };
            let (a, b) = (random.unit(F, &[9, 20]), random.unit(F, &[20, 12]));
            let case = Case::new("_FusedMatMul").input(a).input(b);
            with(case, [random.tensor(F, &[12]), random.tensor(F, &[9, 12])]).attr("leakyrelu_alpha", 0.3f32).check();
            let (x, filter) = (random.unit(F, &[2, 6, 5, 3]), random.unit(F, &[3, 2, 3, 4]));
            if bias {
                let args: i64 = if residual { 2 } else { 1 };
                let case =
                    Case::new("_FusedConv2D").input(x.clone()).input(filter).attr("strides", &[1i64, 1, 1, 1]).attr("padding", "SAME");
                let case = with(case, [random.tensor(F, &[4]), random.tensor(F, &[2, 6, 5, 4])]).attr("TArgs", &vec![F; args as usize][..]);
                case.list(Vec::new()).check();
            }
            let (volume, filter) = (random.unit(F, &[2, 3, 4, 5, 2]), random.unit(F, &[2, 3, 2, 2, 4]));
            let case = Case::new("_FusedConv3D").input(volume).input(filter).attr("strides", &[1i64; 5]).attr("padding", "SAME");
            with(case, [random.tensor(F, &[4]), random.tensor(F, &[2, 3, 4, 5, 4])]).check();
            if !residual {
                let case = Case::new("_FusedDepthwiseConv2dNative").input(x).input(random.unit(F, &[3, 3, 3, 2]));
                let case = with(case, [random.tensor(F, &[6]), random.tensor(F, &[6])]);
                case.attr("strides", &[1i64, 2, 2, 1]).attr("padding", "VALID").check();
            }
        }
    });
}

#[test]
pub(crate) fn attention_is_one_kernel() {
    on_stub(|| {
        let mut random = Random::new(62);
        // Leading dimensions, rows, keys, the size of keys, and the columns of values.
        let sizes: [(&[usize], [usize; 4]); 6] = [
            (&[], [5, 7, 3, 4]),
            (&[2], [33, 40, 8, 5]),
            (&[2, 3], [4, 70, 33, 8]),
            (&[1, 2], [70, 31, 40, 130]),
            (&[2, 0], [3, 3, 2, 2]),
            (&[2], [3, 0, 2, 2]),
        ];
        let interleave = |leading: &[usize], rows: usize, columns: usize, interleaved: bool| -> Vec<usize> {
            let mut dims = [leading, &[rows, columns]].concat();
            if interleaved {
                let rank = dims.len();
                dims.swap(rank - 2, rank - 3);
            }
            dims
        };
        for (leading, [rows, keys, size, columns]) in sizes {
            for (interleaved, transposed) in [(false, false), (true, false), (false, true)] {
                if leading.is_empty() && interleaved {
                    continue;
                }
                let tensor =
                    |random: &mut Random, rows: usize, columns: usize| random.unit(F, &interleave(leading, rows, columns, interleaved));
                let query = tensor(&mut random, rows, size);
                let key = if transposed { tensor(&mut random, size, keys) } else { tensor(&mut random, keys, size) };
                let value = tensor(&mut random, keys, columns);
                let case = |args: Vec<Tensor>, program: &[&str]| {
                    let case = Case::new("_FusedAttention").input(query.clone()).input(key.clone()).input(value.clone());
                    let case = case.attr("N", args.len() as i64).attr("T", F).list(args).attr("program", program);
                    case.attr("interleaved", &[interleaved; 4][..]).attr("key_is_transposed", transposed).within(64.0)
                };
                case(Vec::new(), &[]).check();
                let scale = Tensor::scalar(0.5f32);
                let mut mask_dims = vec![1; leading.len()];
                mask_dims.extend([rows, keys]);
                let mask = random.tensor(F, &mask_dims);
                case(vec![scale.clone(), mask.clone()], &["Mul 0 1", "Add 3 2"]).check();
                let few = Tensor::scalar(-1e9f32);
                let condition = random
                    .tensor(DType::Bool, &mask_dims)
                    .as_slice::<bool>()
                    .unwrap()
                    .iter()
                    .map(|&b| f32::from(u8::from(b)))
                    .collect::<Vec<_>>();
                let condition = Tensor::from_slice(Shape::new(&mask_dims), &condition).unwrap();
                case(vec![condition, few], &["SelectV2 1 0 2"]).check();
                // Rows without a score that counts are not numbers.
                let infinite = Tensor::from_slice(
                    Shape::new(&[keys]),
                    &(0..keys).map(|i| if i < 40 { f32::NEG_INFINITY } else { 0.5 }).collect::<Vec<_>>(),
                )
                .unwrap();
                case(vec![infinite], &["Add 0 1"]).check();
            }
        }
    });
}

#[test]
pub(crate) fn functions_and_reductions_are_one_kernel() {
    on_stub(|| {
        let mut random = Random::new(63);
        let cases: [(&[usize], &[i64]); 6] = [
            (&[5, 300], &[-1]),
            (&[2, 7, 6, 4], &[-2, -3]),
            (&[3, 64], &[-2]),
            (&[2, 5000], &[-1]),
            (&[0, 4], &[-1]),
            (&[4, 3, 5], &[-1, -3]),
        ];
        for (dims, axes) in cases {
            let x = random.tensor(F, dims);
            let last = *dims.last().unwrap();
            let case = |args: Vec<Tensor>, program: &[&str]| {
                let case = Case::new("_FusedReduction").attr("N", args.len() as i64).attr("T", F).list(args).attr("axes", axes);
                case.attr("program", program).within(64.0).check();
            };
            let (epsilon, gamma) = (Tensor::scalar(1e-3f32), random.unit(F, &[last]));
            let norm = ["Mean 0", "SquaredDifference 0 3", "Mean 4", "Add 5 1", "Rsqrt 6", "Sub 0 3", "Mul 8 7", "Mul 9 2"];
            case(vec![x.clone(), epsilon, gamma], &norm);
            case(vec![x.clone()], &["Max 0", "Sub 0 1", "Exp 2", "Sum 3", "RealDiv 3 4"]);
            case(vec![x.clone()], &["Min 0", "Max 0", "Sub 2 1", "Sub 0 1", "RealDiv 4 3"]);
        }
    });
}

#[test]
pub(crate) fn activations_of_several_nodes_are_one() {
    on_stub(|| {
        let mut random = Random::new(64);
        for op in ["_GeluExact", "_GeluApproximate", "_Silu", "_HardSigmoid", "_HardSwish", "_Mish"] {
            Case::new(op).input(random.tensor(F, &[5, 67])).within(16.0).check();
        }
    });
}

/// Builds a network with products, a normalization, softmax and attention on a device. Its results are in the output.
fn network<'b>(b: &'b GraphBuilder, device: &str) -> Output<'b> {
    let mut random = Random::new(65);
    b.with_device(device, || {
        let mut constant = |dims: &[usize]| b.op("Const").attr("dtype", F).attr("value", &random.unit(F, dims)).output();
        let x = b
            .op("Placeholder")
            .name(if device == GPU { "x_gpu" } else { "x_cpu" })
            .attr("dtype", F)
            .attr("shape", PartialShape::new(&[6, 8]))
            .output()?;
        let dense = |x: Output<'b>, w: Output<'b>, bias: Output<'b>| {
            let product = b.op("MatMul").input(x).input(w).output()?;
            b.op("BiasAdd").input(product).input(bias).output()
        };
        let hidden = b.op("Relu").input(dense(x, constant(&[8, 64])?, constant(&[64])?)?).output()?;
        let axis = b.op("Const").attr("dtype", DType::I32).attr("value", &Tensor::vector(&[-1i32])?).output()?;
        let keep = |op: &'static str, x: Output<'b>| b.op(op).input(x).input(axis).attr("keep_dims", true).output();
        let square = b.op("Square").input(hidden).output()?;
        let root = b.op("Rsqrt").input(b.op("AddV2").input(keep("Mean", square)?).input(constant(&[])?).output()?).output()?;
        let normalized = b.op("Mul").input(hidden).input(root).output()?;
        let mut heads = Vec::new();
        for _ in 0..3 {
            heads.push(dense(normalized, constant(&[64, 8])?, constant(&[8])?)?);
        }
        let three = |x: Output<'b>| -> flowmill::Result<Output<'b>> {
            let shape = b.op("Const").attr("dtype", DType::I32).attr("value", &Tensor::vector(&[2i32, 3, 8])?).output()?;
            b.op("Reshape").input(x).input(shape).output()
        };
        let (q, k, v) = (three(heads[0])?, three(heads[1])?, three(heads[2])?);
        let scores = b.op("BatchMatMulV2").input(q).input(k).attr("adj_y", true).output()?;
        let scaled = b.op("Mul").input(scores).input(constant(&[])?).output()?;
        let weights = b.op("Softmax").input(scaled).output()?;
        b.op("BatchMatMulV2").input(weights).input(v).output()
    })
    .unwrap()
}

#[test]
fn the_optimizer_fuses_nodes_of_gpus() {
    let _driver = stub_cuda::install().unwrap();
    let x = Random::new(66).unit(F, &[6, 8]);
    let b = GraphBuilder::new().unwrap();
    let (on_gpu, on_host) = (network(&b, GPU), network(&b, "/device:CPU:0"));
    let feeds = [on_gpu, on_host].map(|_| x.clone());
    let names = ["x_gpu:0", "x_cpu:0"];
    let run = |session: &Session, output: Output<'_>, i: usize| {
        let fetch = session.run(&[(names[i], feeds[i].clone())], &[output.name().unwrap().as_str()], &[]);
        fetch.unwrap().swap_remove(0)
    };
    let session = session_of(&b, gpus(), SessionOptions::default());
    let (actual, expected) = (numbers(&run(&session, on_gpu, 0)), numbers(&run(&session, on_host, 1)));
    assert!(actual.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-4 * (1.0 + b.abs())), "{actual:?} instead of {expected:?}");
    let recorder = Recorder::new();
    let session = session_of(&b, vec![recorder.device()], SessionOptions::default());
    run(&session, on_gpu, 0);
    let texts = recorder.texts();
    for kernel in ["attention(", "fused_reduction(", "matmul("] {
        assert!(texts.iter().any(|text| text.contains(&format!("void {kernel}")) || text.contains(&format!(" {kernel}"))), "{kernel}");
    }
    assert!(!texts.iter().any(|text| text.contains("softmax(")), "the softmax of the attention has no kernel of its own");
}

#[test]
fn what_gpus_cannot_fuse_is_not_fused() {
    let gpu = Recorder::new().device();
    let ops = flowmill::registry().unwrap();
    // The passes ask for these functions before they make a node of an op that GPUs do not have: blocks of rows in a core's cache, and products that leave
    // loops.
    let in_cache = [
        "_FusedConv2DElementwise",
        "_FusedDepthwiseConv2dElementwise",
        "_FusedElementwiseProduct",
        "_FusedMatMulElementwise",
        "_FusedSeparableConv2D",
    ];
    let on_hosts = [&in_cache[..], &["_HoistedMatMul", "_PartMatMul"]].concat();
    for op in in_cache {
        assert!(!gpu.kernels().fuses(op, ElementwiseFunction::BiasAdd, F));
    }
    for function in [ElementwiseFunction::Accumulate, ElementwiseFunction::AccumulatePart] {
        assert!(!gpu.kernels().fuses("_FusedMatMul", function, F));
    }
    let private = |op: &&str| (op.starts_with("_Fused") || on_hosts.contains(op)) && ops.get(op).is_some();
    let mut without: Vec<&str> = flowmill::kernels().ops().into_iter().filter(private).filter(|op| !gpu.kernels().contains(op)).collect();
    without.sort_unstable();
    assert_eq!(without, on_hosts);
}
