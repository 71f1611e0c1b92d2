//! The declarations of ops say which nodes are pure and which may be folded.
#![allow(clippy::unwrap_used)]

use flowmill_graph::text::{ConstantTable, parse_graph};
use flowmill_graph::{has_effects, is_foldable, is_pure};
use std::sync::Arc;

const GRAPH: &str = "
size = Const() {value=i32[]{4}}
shape = Const() {value=i32[1]{2}}
fed = Placeholder() {dtype=i32}
handle = Placeholder() {dtype=string}
flow = Placeholder() {dtype=f32}
variable = VarHandleOp() {dtype=f32, shape=[]}
negative = Neg(size)
noise = RandomUniform(shape) {dtype=f32}
rows:2 = TensorArrayConcatV2(handle, flow) {dtype=f32}
list = TensorListReserve(shape, size) {element_dtype=f32}
same_list = Identity(list)
same_variable = Identity(variable)
taken = Placeholder() {dtype=bool}
sides:2 = Switch(size, taken)
";

#[test]
fn nodes_with_effects_handles_or_roles_are_neither_merged_nor_folded() {
    let graph = parse_graph(GRAPH, &Arc::new(flowmill_ops::registry().unwrap()), &ConstantTable::default()).unwrap();
    let named = |test: &dyn Fn(&flowmill_graph::Node) -> bool| {
        let mut names: Vec<&str> = graph.op_nodes().filter(|node| test(node)).map(|node| node.name()).collect();
        names.sort_unstable();
        names
    };
    assert_eq!(named(&|node| has_effects(&graph, node)), ["noise", "rows", "variable"]);
    assert_eq!(named(&|node| is_pure(&graph, node)), ["list", "negative", "same_list", "shape", "size"]);
    assert_eq!(named(&|node| is_foldable(&graph, node)), ["negative"]);
}
