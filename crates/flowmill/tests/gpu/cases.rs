//! Nodes of every element-wise op and of matrix products, for every type that GPUs have, once on the host and once on a GPU.

use crate::setup::{GPU, session_of};
use flowmill::device::{Device, KernelDef};
use flowmill::prelude::*;
use flowmill::{PartialShape, Shape, bf16, f16};
use std::sync::Arc;

/// Nodes of one op, and shapes of their inputs to run them with.
pub(crate) struct Suite {
    pub(crate) op: &'static str,
    builder: GraphBuilder,
    pairs: Vec<Pair>,
    /// The shapes of a node's inputs for each run.
    shapes: Vec<Vec<Vec<usize>>>,
}

/// A node on the host and the same node on a GPU, with inputs of these types.
struct Pair {
    name: String,
    inputs: Vec<DType>,
    output: DType,
}

/// SplitMix64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn within(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Floats at which functions have their special cases.
const SPECIAL: [f64; 9] = [0.0, -0.0, 1.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 2.5, -3.5];

macro_rules! by_type {
    ($dtype:expr, $T:ident => $body:expr) => {
        match $dtype {
            DType::F16 => {
                type $T = f16;
                $body
            }
            DType::BF16 => {
                type $T = bf16;
                $body
            }
            DType::F32 => {
                type $T = f32;
                $body
            }
            DType::F64 => {
                type $T = f64;
                $body
            }
            DType::I8 => {
                type $T = i8;
                $body
            }
            DType::I16 => {
                type $T = i16;
                $body
            }
            DType::I32 => {
                type $T = i32;
                $body
            }
            DType::I64 => {
                type $T = i64;
                $body
            }
            DType::U8 => {
                type $T = u8;
                $body
            }
            DType::U16 => {
                type $T = u16;
                $body
            }
            DType::U32 => {
                type $T = u32;
                $body
            }
            DType::U64 => {
                type $T = u64;
                $body
            }
            other => panic!("no numbers of type {other}"),
        }
    };
}

trait Number {
    fn of(value: f64) -> Self;
    fn value(self) -> f64;
}

macro_rules! numbers {
    ($($T:ty)*) => {$(
        impl Number for $T {
            fn of(value: f64) -> $T {
                value as $T
            }

            fn value(self) -> f64 {
                self as f64
            }
        }
    )*};
}

numbers! { f32 f64 i8 i16 i32 i64 u8 u16 u32 u64 }

impl Number for f16 {
    fn of(value: f64) -> f16 {
        f16::from_f64(value)
    }

    fn value(self) -> f64 {
        self.to_f64()
    }
}

impl Number for bf16 {
    fn of(value: f64) -> bf16 {
        bf16::from_f64(value)
    }

    fn value(self) -> f64 {
        self.to_f64()
    }
}

pub(crate) fn tensor(dtype: DType, dims: &[usize], mut value: impl FnMut(usize) -> f64) -> Tensor {
    let n = dims.iter().product::<usize>();
    if dtype == DType::Bool {
        return Tensor::from_slice(Shape::new(dims), &(0..n).map(|i| value(i) > 0.0).collect::<Vec<bool>>()).unwrap();
    }
    by_type!(dtype, T => Tensor::from_slice(Shape::new(dims), &(0..n).map(|i| <T as Number>::of(value(i))).collect::<Vec<T>>()).unwrap())
}

fn numbers_of(tensor: &Tensor) -> Vec<f64> {
    match tensor.dtype() {
        DType::Bool => tensor.as_slice::<bool>().unwrap().iter().map(|&b| f64::from(u8::from(b))).collect(),
        dtype => by_type!(dtype, T => tensor.as_slice::<T>().unwrap().iter().map(|&x| Number::value(x)).collect()),
    }
}

/// The interval that an op's arguments are from.
fn domain(op: &str, dtype: DType, argument: usize) -> (f64, f64) {
    let is_integer = !dtype.is_floating() && dtype != DType::Bool;
    let is_unsigned = matches!(dtype, DType::U8 | DType::U16 | DType::U32 | DType::U64);
    match op {
        "Acos" | "Asin" | "Atanh" => (-0.95, 0.95),
        "Acosh" => (1.1, 5.0),
        "Log" | "Sqrt" | "Rsqrt" | "Lgamma" => (0.1, 6.0),
        "Log1p" => (-0.9, 5.0),
        "Erfinv" => (-0.95, 0.95),
        "Ndtri" => (0.05, 0.95),
        "Betainc" if argument == 2 => (0.0, 1.0),
        "Polygamma" if argument == 0 => (1.0, 1.0),
        "Zeta" if argument == 0 => (1.5, 6.0),
        "Digamma" | "Polygamma" | "Zeta" | "Expint" | "Spence" => (0.1, 6.0),
        "Igamma" | "Igammac" | "IgammaGradA" | "RandomGammaGrad" | "Betainc" => (0.1, 6.0),
        _ if op.starts_with("BesselK") || op.starts_with("BesselY") => (0.1, 6.0),
        "Xlogy" | "Xlog1py" if argument == 1 => (0.1, 5.0),
        "Pow" if is_integer && argument == 1 => (0.0, 5.0),
        "Pow" if argument == 0 && !is_integer => (0.1, 4.0),
        // A divisor of 0 is an error of the host alone.
        "Div" | "RealDiv" | "FloorDiv" | "FloorMod" | "Mod" | "TruncateDiv" | "TruncateMod" if is_integer && argument == 1 => (1.0, 9.0),
        "Cast" => (0.0, 100.0),
        _ if is_unsigned => (0.0, 11.0),
        _ if is_integer => (-10.0, 10.0),
        _ => (-3.0, 3.0),
    }
}

/// The number of units in the last place by which a GPU's result may differ from the host's. Integers and booleans are equal.
///
/// Both compute 16-bit floats as `f32` and round once, so that they differ if the `f32` results are on two sides of a boundary. `f32` and `f64`
/// functions are the libraries' own approximations.
fn tolerance(op: &str, dtype: DType) -> f64 {
    match dtype {
        // The host rounds the difference before it is squared, and each partial sum.
        DType::F16 | DType::BF16 if op == "SquaredDifference" || LISTS.contains(&op) => 2.0,
        DType::F16 | DType::BF16 => 1.0,
        DType::F32 if op == "Lgamma" || op == "Pow" => 32.0,
        DType::F32 => 8.0,
        DType::F64 if op == "Lgamma" => 64.0,
        // Sums of many terms, of which the logarithms of gamma functions differ most.
        DType::F64 if is_special(op) => 512.0,
        DType::F64 => 16.0,
        _ => 0.0,
    }
}

/// Returns true for functions that are series, continued fractions or quantiles.
fn is_special(op: &str) -> bool {
    const NAMES: [&str; 15] = [
        "Betainc",
        "Dawsn",
        "Digamma",
        "Erfinv",
        "Expint",
        "FresnelCos",
        "FresnelSin",
        "Igamma",
        "IgammaGradA",
        "Igammac",
        "Ndtri",
        "Polygamma",
        "RandomGammaGrad",
        "Spence",
        "Zeta",
    ];
    op.starts_with("Bessel") || NAMES.contains(&op)
}

fn is_close(op: &str, dtype: DType, a: f64, b: f64) -> bool {
    let (epsilon, smallest) = match dtype {
        DType::F16 => (2f64.powi(-10), 2f64.powi(-14)),
        DType::BF16 => (2f64.powi(-7), f64::from(f32::MIN_POSITIVE)),
        DType::F32 => (f64::from(f32::EPSILON), f64::from(f32::MIN_POSITIVE)),
        DType::F64 => (f64::EPSILON, f64::MIN_POSITIVE),
        _ => (0.0, 0.0),
    };
    // A small result of large terms has the error of its terms.
    let terms = if op.contains("MatMul") {
        64.0
    } else if LISTS.contains(&op) {
        4.0
    } else {
        1.0
    };
    a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= tolerance(op, dtype) * epsilon * a.abs().max(b.abs()).max(terms) + smallest
}

impl Suite {
    fn new(op: &'static str, shapes: &[&[&[usize]]]) -> Suite {
        let shapes = shapes.iter().map(|run| run.iter().map(|dims| dims.to_vec()).collect()).collect();
        Suite { op, builder: GraphBuilder::new().unwrap(), pairs: Vec::new(), shapes }
    }

    /// Adds a node with inputs of these types, unless the op has none of them. `attributes` sets the others.
    fn add(&mut self, label: &str, inputs: &[DType], is_list: bool, attributes: &[(&str, bool)], to: Option<DType>) {
        let b = &self.builder;
        let name = format!("{}_{label}", self.op);
        let placeholders: Vec<Output<'_>> = (0..inputs.len())
            .map(|i| b.node().name(&format!("{name}_{i}")).placeholder(inputs[i], PartialShape::default()).unwrap())
            .collect();
        let node = |device: &str| {
            let mut node = b.op(self.op).name(&format!("{name}_{device}"));
            if is_list {
                node = node.input_list(&placeholders);
            } else {
                for &placeholder in &placeholders {
                    node = node.input(placeholder);
                }
            }
            for &(attribute, value) in attributes {
                node = node.attr(attribute, value);
            }
            if let Some(to) = to {
                node = node.attr("DstT", to);
            }
            if self.op == "AccumulateNV2" {
                node = node.attr("shape", PartialShape::unknown());
            }
            node.output()
        };
        let Ok(host) = node("host") else { return };
        b.with_device(GPU, || node("gpu")).unwrap();
        self.pairs.push(Pair { name, inputs: inputs.to_vec(), output: host.dtype() });
    }

    fn feeds(&self, shapes: &[Vec<usize>], special: bool) -> Vec<(String, Tensor)> {
        let mut random = Random(shapes.iter().flatten().fold(self.op.len() as u64, |hash, &dim| hash * 31 + dim as u64));
        let mut feeds = Vec::new();
        for pair in &self.pairs {
            for (i, &dtype) in pair.inputs.iter().enumerate() {
                let (low, high) = domain(self.op, dtype, i);
                let value = |n: usize| match () {
                    () if special && dtype.is_floating() => SPECIAL[if i == 0 { n % 9 } else { n / 9 % 9 }],
                    () => random.within(low, high),
                };
                feeds.push((format!("{}_{i}:0", pair.name), tensor(dtype, &shapes[i.min(shapes.len() - 1)], value)));
            }
        }
        feeds
    }

    fn run(&self, session: &Session, feeds: &[(String, Tensor)], device: &str) -> flowmill::Result<Vec<Tensor>> {
        let feeds: Vec<(&str, Tensor)> = feeds.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
        let fetches: Vec<String> = self.pairs.iter().map(|pair| format!("{}_{device}:0", pair.name)).collect();
        session.run(&feeds, &fetches.iter().map(String::as_str).collect::<Vec<_>>(), &[])
    }

    fn session(&self, device: Arc<dyn Device>) -> Session {
        session_of(&self.builder, vec![device], SessionOptions { optimize: false, ..SessionOptions::default() })
    }

    /// Makes every node load its kernels on a device that computes nothing.
    pub(crate) fn load(&self, device: Arc<dyn Device>) {
        let session = self.session(device);
        for shapes in &self.shapes {
            self.run(&session, &self.feeds(shapes, false), "gpu").unwrap();
        }
    }

    /// Compares each node on the GPU with the node on the host. Returns what differs.
    pub(crate) fn differences(&self, device: Arc<dyn Device>) -> Vec<String> {
        let session = self.session(device);
        let mut differences = Vec::new();
        let arguments = self.pairs.first().map_or(0, |pair| pair.inputs.len());
        let is_plain =
            arguments <= 2 && !self.op.contains("MatMul") && !matches!(self.op, "Cast" | "BiasAdd" | "BiasAddV1" | "Lgamma" | "Softplus");
        let special = is_plain.then(|| (vec![vec![81]; arguments], true));
        let runs = self.shapes.iter().map(|shapes| (shapes.clone(), false)).chain(special);
        for (shapes, special) in runs {
            let feeds = self.feeds(&shapes, special);
            let ran = self.run(&session, &feeds, "host").and_then(|host| Ok((host, self.run(&session, &feeds, "gpu")?)));
            let (host, gpu) = match ran {
                Ok(results) => results,
                Err(e) => {
                    differences.push(format!("{} of {shapes:?}: {e}", self.op));
                    continue;
                }
            };
            for ((pair, host), gpu) in self.pairs.iter().zip(&host).zip(&gpu) {
                if host.shape() != gpu.shape() || host.dtype() != gpu.dtype() {
                    differences.push(format!("{} of {shapes:?}: {} and {}", pair.name, host.shape(), gpu.shape()));
                    continue;
                }
                let (expected, found) = (numbers_of(host), numbers_of(gpu));
                let wrong = (0..expected.len()).find(|&i| !is_close(self.op, pair.output, expected[i], found[i]));
                if let Some(i) = wrong {
                    let of: Vec<f64> = feeds
                        .iter()
                        .filter(|(name, value)| name.starts_with(&format!("{}_", pair.name)) && value.num_elements() == expected.len())
                        .map(|(_, value)| numbers_of(value)[i])
                        .collect();
                    let message = format!("{} of {shapes:?}, element {i} of {of:?}: {} on the host, {}", pair.name, expected[i], found[i]);
                    differences.push(message);
                }
            }
        }
        differences
    }
}

/// Shapes whose elements are packed, alone, none, and of many blocks.
const EQUAL: [&[&[usize]]; 5] = [&[&[67]], &[&[5]], &[&[]], &[&[2, 0, 3]], &[&[3, 1729]]];
const BROADCAST: [&[&[usize]]; 8] = [
    &[&[67], &[67]],
    &[&[5], &[5]],
    &[&[67], &[]],
    &[&[], &[2, 67]],
    &[&[], &[]],
    &[&[3, 1, 5], &[4, 1]],
    &[&[0, 3], &[3]],
    &[&[2, 3, 4, 5], &[3, 1, 1]],
];
const SELECT: [&[&[usize]]; 4] = [&[&[67]], &[&[], &[67], &[67]], &[&[3, 1], &[4], &[3, 4]], &[&[5], &[], &[5]]];
const BETAINC: [&[&[usize]]; 4] = [&[&[67]], &[&[67], &[], &[67]], &[&[], &[], &[2, 5]], &[&[0], &[0], &[]]];
const CLIP: [&[&[usize]]; 3] = [&[&[67], &[], &[]], &[&[5], &[], &[]], &[&[0], &[], &[]]];
const BIAS: [&[&[usize]]; 3] = [&[&[70, 3], &[3]], &[&[2, 3, 5], &[5]], &[&[0, 3], &[3]]];

/// Ops that take as many inputs as their node says.
const LISTS: [&str; 2] = ["AccumulateNV2", "AddN"];

/// Returns the element-wise ops that GPUs have, with nodes of all types.
pub(crate) fn elementwise(device: &Arc<dyn Device>) -> Vec<Suite> {
    let (ops, host) = (flowmill::registry().unwrap(), flowmill::kernels());
    let mut suites = Vec::new();
    for &(op, special_shapes) in ELEMENTWISE {
        let def = ops.get(op).unwrap();
        // The other registration of an op is that of integers in the host's memory.
        let num_types = |def: &&KernelDef| def.constraints().first().map_or(0, |(_, types)| types.len());
        let kernel = device.kernels().defs(op).iter().max_by_key(num_types).unwrap();
        let arity = if LISTS.contains(&op) { 3 } else { def.inputs.len() };
        let has_one_shape = arity == 1 || LISTS.contains(&op) || op.ends_with("Grad");
        let shapes = special_shapes.unwrap_or(if has_one_shape { &EQUAL } else { &BROADCAST });
        let mut suite = Suite::new(op, shapes);
        let types = |name: &str| kernel.constraints().iter().find(|(attribute, _)| *attribute == name).map(|&(_, types)| types);
        if op == "Cast" {
            for &from in types("SrcT").unwrap() {
                for &to in types("DstT").unwrap() {
                    suite.add(&format!("{from}_{to}"), &[from], false, &[], Some(to));
                }
            }
        }
        for &dtype in types("T")
            .unwrap_or(&[DType::Bool])
            .iter()
            .filter(|&&dtype| op != "Cast" && (dtype == DType::Bool || host.supports_type(op, dtype)))
        {
            let mut inputs = vec![dtype; arity];
            if op == "SelectV2" {
                inputs[0] = DType::Bool;
            }
            suite.add(&dtype.to_string(), &inputs, LISTS.contains(&op), &[], None);
        }
        assert!(!suite.pairs.is_empty(), "{op} has no types");
        suites.push(suite);
    }
    suites
}

/// Returns matrix products, transposed and in batches that are broadcast.
pub(crate) fn matrices(device: &Arc<dyn Device>) -> Vec<Suite> {
    const BATCHES: [(&str, [&str; 2]); 3] =
        [("MatMul", ["transpose_a", "transpose_b"]), ("BatchMatMul", ["adj_x", "adj_y"]), ("BatchMatMulV2", ["adj_x", "adj_y"])];
    let mut suites = Vec::new();
    for (op, names) in BATCHES {
        let [kernel] = device.kernels().defs(op) else { panic!("GPUs have no kernel of {op}") };
        for [a, b] in [[false, false], [true, false], [false, true], [true, true]] {
            // (m, n, k), and the batches of both.
            let mut products: Vec<([usize; 3], &[usize], &[usize])> =
                vec![([1, 1, 1], &[], &[]), ([70, 65, 33], &[], &[]), ([3, 130, 0], &[], &[])];
            match op {
                "BatchMatMul" => products = vec![([5, 7, 19], &[3], &[3]), ([2, 3, 4], &[2, 2], &[2, 2]), ([2, 3, 4], &[0], &[0])],
                "BatchMatMulV2" => {
                    products = vec![
                        ([5, 7, 19], &[3], &[]),
                        ([2, 3, 4], &[2, 1], &[1, 3]),
                        ([66, 2, 4], &[], &[2, 2]),
                        ([4, 4, 4], &[2, 3], &[3]),
                    ];
                }
                _ => {}
            }
            let with = |batch: &[usize], rows: usize, columns: usize, transposed: bool| {
                let matrix = if transposed { [columns, rows] } else { [rows, columns] };
                [batch, &matrix].concat()
            };
            let shapes =
                products.iter().map(|&([m, n, k], batch_a, batch_b)| vec![with(batch_a, m, k, a), with(batch_b, k, n, b)]).collect();
            let mut suite = Suite { op, builder: GraphBuilder::new().unwrap(), pairs: Vec::new(), shapes };
            for &(_, types) in kernel.constraints() {
                types.iter().for_each(|&dtype| suite.add(&dtype.to_string(), &[dtype; 2], false, &[(names[0], a), (names[1], b)], None));
            }
            suites.push(suite);
        }
    }
    suites
}

type Shapes = Option<&'static [&'static [&'static [usize]]]>;

/// The element-wise ops, with the shapes of those that do not broadcast all inputs.
#[rustfmt::skip]
const ELEMENTWISE: &[(&str, Shapes)] = &[
    ("Abs", None), ("AccumulateNV2", None), ("Acos", None), ("Acosh", None), ("Add", None), ("AddN", None), ("AddV2", None), ("Asin", None), ("Asinh", None), ("Atan", None),
    ("Atan2", None), ("Atanh", None), ("BiasAdd", Some(&BIAS)), ("BiasAddV1", Some(&BIAS)), ("BitwiseAnd", None), ("BitwiseOr", None), ("BitwiseXor", None), ("Cast", None),
    ("Ceil", None), ("ClipByValue", Some(&CLIP)), ("Cos", None), ("Cosh", None), ("Div", None), ("DivNoNan", None), ("Elu", None), ("EluGrad", None),
    ("Equal", None), ("Erf", None), ("Erfc", None), ("Exp", None), ("Expm1", None), ("Floor", None), ("FloorDiv", None), ("FloorMod", None),
    ("Greater", None), ("GreaterEqual", None), ("Inv", None), ("InvGrad", None), ("Invert", None), ("IsFinite", None), ("IsInf", None), ("IsNan", None),
    ("LeakyRelu", None), ("LeftShift", None), ("LeakyReluGrad", None), ("Less", None), ("LessEqual", None), ("Lgamma", None), ("Log", None), ("Log1p", None),
    ("LogicalAnd", None), ("LogicalNot", None), ("LogicalOr", None), ("Maximum", None), ("Minimum", None), ("Mod", None), ("Mul", None),
    ("MulNoNan", None), ("Neg", None), ("NotEqual", None), ("Pow", None), ("RealDiv", None), ("Reciprocal", None), ("ReciprocalGrad", None),
    ("Relu", None), ("Relu6", None), ("Relu6Grad", None), ("ReluGrad", None), ("RightShift", None), ("Rint", None), ("Round", None), ("Rsqrt", None), ("RsqrtGrad", None),
    ("SelectV2", Some(&SELECT)), ("Selu", None), ("SeluGrad", None), ("Sigmoid", None), ("SigmoidGrad", None), ("Sign", None), ("Sin", None),
    ("Sinh", None), ("Softplus", None), ("SoftplusGrad", None), ("Softsign", None), ("SoftsignGrad", None), ("Sqrt", None), ("SqrtGrad", None),
    ("Square", None), ("SquaredDifference", None), ("Sub", None), ("Tan", None), ("Tanh", None), ("TanhGrad", None), ("TruncateDiv", None),
    ("Betainc", Some(&BETAINC)), ("BesselI0", None), ("BesselI0e", None), ("BesselI1", None), ("BesselI1e", None), ("BesselJ0", None),
    ("BesselJ1", None), ("BesselK0", None), ("BesselK0e", None), ("BesselK1", None), ("BesselK1e", None), ("BesselY0", None), ("BesselY1", None),
    ("Dawsn", None), ("Digamma", None), ("Erfinv", None), ("Expint", None), ("FresnelCos", None), ("FresnelSin", None), ("Igamma", None),
    ("IgammaGradA", None), ("Igammac", None), ("Ndtri", None), ("NextAfter", None), ("Polygamma", None), ("RandomGammaGrad", None), ("Spence", None),
    ("Zeta", None),
    ("TruncateMod", None), ("Xdivy", None), ("Xlog1py", None), ("Xlogy", None),
];
