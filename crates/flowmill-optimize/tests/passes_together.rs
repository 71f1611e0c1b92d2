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
