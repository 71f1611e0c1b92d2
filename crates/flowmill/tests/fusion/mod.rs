//! Random graphs of element-wise functions give the same bits with and without their fusion.

use flowmill::{Graph, SessionOptions, Tensor};
use flowmill_graph::text::{ConstantTable, parse_graph};
use std::fmt::Write;

/// SplitMix64 (Steele, Lea and Flood, 2014).
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n as u64) as usize
    }
}

const UNARY: &[&str] = &["Abs", "Exp", "Neg", "Sigmoid", "Tanh", "Relu", "Square", "Softplus", "Erf", "Sin", "Floor", "Elu"];
const BINARY: &[&str] = &["AddV2", "Sub", "Mul", "Maximum", "Minimum", "SquaredDifference", "RealDiv"];

/// A graph of `x`, `[rows, columns]`, and the names of some of its tensors. Values have that shape, or are a column, a row or a scalar.
fn program(random: &mut Random, rows: usize, columns: usize) -> (String, Vec<String>) {
    let mut text = format!(
        "x = Placeholder() {{dtype=f32, shape=[?,?]}}\nw = Placeholder() {{dtype=f32, shape=[?,?]}}\nshape = Const() {{value=i32[2]{{{rows},{columns}}}}}\n\
         last = Const() {{value=i32[]{{-1}}}}\nhalf = Const() {{value=f32[]{{0.5}}}}\nv0 = Reshape(x, shape)\n\
         v1:2 = Split(last, w) {{num_split=2}}\n"
    );
    let mut values = vec!["v0".to_owned(), "v1:0".to_owned(), "v1:1".to_owned(), "half".to_owned()];
    let mut scalars = vec!["half".to_owned()];
    for i in 2..3 + random.below(24) {
        let pick = |random: &mut Random| values[values.len() - 1 - random.below(values.len().min(8))].clone();
        let (a, b) = (pick(random), pick(random));
        match random.below(12) {
            0 if !scalars.contains(&a) => writeln!(text, "v{i} = Mean({a}, last) {{keep_dims=true}}").unwrap(),
            1..6 => writeln!(text, "v{i} = {}({a})", UNARY[random.below(UNARY.len())]).unwrap(),
            _ => writeln!(text, "v{i} = {}({a}, {b})", BINARY[random.below(BINARY.len())]).unwrap(),
        }
        if scalars.contains(&a) && (scalars.contains(&b) || !text.ends_with(&format!("{b})\n"))) {
            scalars.push(format!("v{i}"));
        }
        values.push(format!("v{i}"));
    }
    let fetches = values.split_off(4).into_iter().rev().enumerate().filter(|(i, _)| *i == 0 || random.below(5) == 0);
    let fetches = fetches.map(|(_, name)| format!("{name}:0")).collect();
    (text, fetches)
}

fn run(text: &str, fetches: &[String], feeds: &[(&str, Tensor)], disabled: &[&str]) -> Vec<(Vec<usize>, Vec<u32>)> {
    let graph: Graph = parse_graph(text, &flowmill::registry().unwrap(), &ConstantTable::new()).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let disabled_passes = disabled.iter().map(|&d| d.to_owned()).collect();
    let session = flowmill::session(graph, SessionOptions { disabled_passes, ..SessionOptions::default() }).unwrap();
    let fetches: Vec<&str> = fetches.iter().map(String::as_str).collect();
    let results = session.run(feeds, &fetches, &[]).unwrap_or_else(|e| panic!("{e}\n{text}"));
    // Which NaN comes of two is nobody's promise.
    let bits = |x: &f32| if x.is_nan() { f32::NAN.to_bits() } else { x.to_bits() };
    results.iter().map(|t| (t.shape().dims().to_vec(), t.as_slice::<f32>().unwrap().iter().map(bits).collect())).collect()
}

#[test]
fn fused_functions_have_the_bits_of_separate_ones() {
    for seed in 0..150 {
        let mut random = Random(seed);
        let (rows, columns) = ([1, 3, 40][random.below(3)], [1, 6, 96, 700][random.below(4)]);
        let (text, fetches) = program(&mut random, rows, columns);
        let values = |n: usize, random: &mut Random| (0..n).map(|_| random.below(4001) as f32 / 1000.0 - 2.0).collect::<Vec<_>>();
        let x = Tensor::from_slice(vec![rows, columns], &values(rows * columns, &mut random)).unwrap();
        let w = Tensor::from_slice(vec![rows, 2 * columns], &values(2 * rows * columns, &mut random)).unwrap();
        let feeds = [("x:0", x), ("w:0", w)];
        let fused = run(&text, &fetches, &feeds, &[]);
        let separate = run(&text, &fetches, &feeds, &["fuse_elementwise"]);
        assert!(fused == separate, "seed {seed}: {fetches:?} of\n{text}");
    }
}
