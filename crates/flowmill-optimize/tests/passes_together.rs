//! Passes leave nothing behind that keeps later passes from their work, or gives them work that nobody needs.
#![allow(clippy::unwrap_used)]

mod support;

use flowmill_graph::text::{ConstantTable, parse_graph};
use flowmill_optimize::{Options, optimize};
use support::{Arithmetic, registry};

/// The ops of the optimised graph, but for constants, in order of their names.
fn optimized(text: &str) -> Vec<String> {
    let mut graph = parse_graph(text, &registry(), &ConstantTable::default()).unwrap();
    let report = optimize(&mut graph, &Options::default(), &Arithmetic);
    assert_eq!(report.num_failures(), 0, "{report:?}");
    let mut ops: Vec<String> = graph.op_nodes().map(|n| n.op().to_owned()).filter(|op| op != "Const" && op != "Placeholder").collect();
    ops.sort();
    ops
}

/// The mask is computed from a tensor of the step, by functions that would form a group with the sum of scores and mask.
#[test]
fn scores_of_a_fused_attention_join_no_group_of_the_mask() {
    let text = "q = Placeholder() {dtype=f32, shape=[2,4,7,8]}\nk = Placeholder() {dtype=f32, shape=[2,4,7,8]}\n\
        v = Placeholder() {dtype=f32, shape=[2,4,7,8]}\nseen = Placeholder() {dtype=f32, shape=[7,7]}\n\
        one = Const() {value=f32[]{1.0}}\nlow = Const() {value=f32[]{-1e9}}\nscale = Const() {value=f32[]{2.0}}\n\
        unseen = Sub(one, seen)\nmask = Mul(unseen, low)\n\
        s = BatchMatMulV2(q, k) {adj_y=true}\nt = RealDiv(s, scale)\nm = AddV2(t, mask)\np = Softmax(m)\ny = BatchMatMulV2(p, v)\n\
        r:0 = _Retval(y) {index=0}\n";
    assert_eq!(optimized(text), ["_FusedAttention", "_FusedElementwise", "_Retval"]);
}

/// Queries are scaled by their positions, which count up to a size that is unknown, and so does the mask.
#[test]
fn an_attention_over_positions_that_are_counted_is_one_node() {
    let text = "x = Placeholder() {dtype=f32, shape=[?,4,?,8]}\nsizes = Shape(x) {out_type=i32}\n\
        two = Const() {value=i32[1]{2}}\nthree = Const() {value=i32[1]{3}}\nstep = Const() {value=i32[1]{1}}\n\
        n = StridedSlice(sizes, two, three, step) {shrink_axis_mask=1}\n\
        zero = Const() {value=i32[]{0}}\none = Const() {value=i32[]{1}}\nlast = Const() {value=i32[]{-1}}\nlow = Const() {value=f32[]{-1e9}}\n\
        numbers = Range(zero, n, one)\npositions = Cast(numbers) {SrcT=i32, DstT=f32}\ncolumn = ExpandDims(positions, last)\nq = Mul(x, column)\n\
        square = Pack(n, n)\nfull = Fill(square, low)\nmask = MatrixBandPart(full, zero, last) {Tindex=i32}\n\
        s = BatchMatMulV2(q, x) {adj_y=true}\nm = AddV2(s, mask)\np = Softmax(m)\ny = BatchMatMulV2(p, x)\n\
        r:0 = _Retval(y) {index=0}\n";
    let ops = optimized(text);
    assert!(ops.contains(&"_FusedAttention".to_owned()) && !ops.iter().any(|op| op == "Softmax"), "{ops:?}");
}
