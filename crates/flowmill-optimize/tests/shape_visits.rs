//! All passes together infer the shapes of each node once.
#![allow(clippy::unwrap_used)]

mod support;

use flowmill_graph::text::{ConstantTable, parse_graph};
use flowmill_graph::{InferenceContext, OpRegistry, ShapeFn};
use flowmill_optimize::{Options, optimize_with_shapes};
use flowmill_tensor::Result;
use std::collections::HashMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use support::{Arithmetic, assert_shapes_hold};

/// The catalogue's shape functions by op.
static SHAPE_FNS: LazyLock<HashMap<String, ShapeFn>> =
    LazyLock::new(|| flowmill_ops::catalogue().into_iter().filter_map(|op| Some((op.name.clone(), op.shape_fn?))).collect());

static CALLS: AtomicUsize = AtomicUsize::new(0);

/// Counts a call, and does what the op's own shape function does.
fn counted(context: &mut InferenceContext<'_>) -> Result<()> {
    CALLS.fetch_add(1, Ordering::Relaxed);
    SHAPE_FNS[&context.op_def().name](context)
}

#[test]
fn shape_functions_are_called_once_per_node() {
    let mut ops = flowmill_ops::catalogue();
    ops.iter_mut().filter(|op| op.shape_fn.is_some()).for_each(|op| op.shape_fn = Some(counted));
    let registry = Arc::new(OpRegistry::new(ops).unwrap());
    // Residual layers, normalisations and sums with common factors: each pass that asks for shapes has work.
    let mut text = "h0 = _Arg() {T=f32, _output_shapes=list(shape)[[?,2]], index=0}\nhalf = Const() {value=f32[]{2.0}}\n".to_owned();
    for i in 0..20 {
        let values = "w{i} = Const() {value=f32[2,2]{1.0,2.0,3.0,4.0}}\nb{i} = Const() {value=f32[2]{1.0,2.0}}\n";
        let layer = "p{i} = MatMul(h{i}, w{i})\ns{i} = BiasAdd(p{i}, b{i})\nr{i} = Relu(s{i})\n";
        let sum = "t{i} = Tanh(r{i})\nu{i} = Mul(half, r{i})\nv{i} = Mul(half, t{i})\ny{i} = AddV2(u{i}, v{i})\nh{j} = Mul(y{i}, t{i})\n";
        write!(text, "{}", [values, layer, sum].concat().replace("{i}", &i.to_string()).replace("{j}", &(i + 1).to_string())).unwrap();
    }
    text += "r:0 = _Retval(h20) {index=0}\n";
    let mut graph = parse_graph(&text, &registry, &ConstantTable::default()).unwrap();
    CALLS.store(0, Ordering::Relaxed);
    let (report, shapes) = optimize_with_shapes(&mut graph, &Options::default(), &Arithmetic);
    let calls = CALLS.load(Ordering::Relaxed);
    let passes = ["fuse_epilogues", "merge_duplicates", "hoist_common_factor", "fuse_elementwise"];
    assert!(passes.iter().all(|pass| report.num_changes(pass) > 0), "{report:?}");
    // Node ids count all nodes that there ever were.
    assert!(0 < calls && calls <= graph.num_node_ids(), "{calls} calls for {} nodes", graph.num_node_ids());
    assert_shapes_hold(&graph, &shapes, "layers");
}
