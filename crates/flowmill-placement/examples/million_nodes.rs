//! Places a graph of a million nodes on three devices and prints the time: `cargo run --release -p flowmill-placement --example million_nodes`.
//!
//! Every tenth node requests a device, every seventh names another one in `_class`, and each variable has eight users.
#![allow(clippy::unwrap_used)]

use flowmill_graph::{DeviceName, Graph, Node, NodeId, OpRegistry, OutputId};
use flowmill_placement::{Kernels, PlaceOptions, place};
use flowmill_proto::attr_value::{ListValue, Value};
use flowmill_proto::{AttrValue, NodeDef};
use flowmill_tensor::DType;
use rustc_hash::FxHashMap;
use std::sync::Arc;
use std::time::Instant;

const NUM_NODES: usize = 1_000_000;

struct AbsOnCpu;

impl Kernels for AbsOnCpu {
    fn priority(&self, node: &Node, device_type: &str) -> Option<i32> {
        (device_type == "CPU" || !node.is_op("Abs")).then_some(0)
    }

    fn registered(&self, _: &str) -> Vec<String> {
        Vec::new()
    }
}

fn add(graph: &mut Graph, i: usize, op: &str, inputs: &[OutputId], dtype: &'static str, class: Option<usize>) -> NodeId {
    let mut def = NodeDef { name: format!("n{i}"), op: op.to_owned(), ..NodeDef::default() };
    def.attr.insert(dtype.to_owned(), Value::Type(DType::F32.number()).into());
    if op == "VarHandleOp" {
        def.attr.insert("shape".to_owned(), Value::Shape(Box::default()).into());
    } else if i % 10 == 3 {
        def.device = format!("/device:CPU:{}", i / 1000 % 2);
    }
    if let Some(class) = class {
        let s = vec![format!("loc:@n{class}").into_bytes().into()];
        def.attr.insert("_class".to_owned(), AttrValue::from(Value::List(Box::new(ListValue { s, ..ListValue::default() }))));
    }
    graph.add_node_with_inputs(def, inputs, &[]).unwrap()
}

fn main() {
    let registry = Arc::new(OpRegistry::new(flowmill_ops::catalogue()).unwrap());
    let mut graph = Graph::new(registry);
    let mut variable = add(&mut graph, 0, "VarHandleOp", &[], "dtype", None);
    let mut last = add(&mut graph, 1, "ReadVariableOp", &[variable.output(0)], "dtype", None);
    for i in 2..NUM_NODES {
        let class = (i % 7 == 0).then_some(i - 2 - i % 5);
        last = match i % 20 {
            0 => {
                variable = add(&mut graph, i, "VarHandleOp", &[], "dtype", None);
                continue;
            }
            1..=8 => add(&mut graph, i, "ReadVariableOp", &[variable.output(0)], "dtype", None),
            9 => add(&mut graph, i, "Abs", &[last.output(0)], "T", None),
            10 | 11 => add(&mut graph, i, "Identity", &[last.output(0)], "T", None),
            _ => add(&mut graph, i, "Neg", &[last.output(0)], "T", class),
        };
    }
    let devices = [DeviceName::local("CPU", 0), DeviceName::local("CPU", 1), DeviceName::local("GPU", 0)];
    let assigned = FxHashMap::default();
    let options = PlaceOptions { allow_soft_placement: true, default_device: None, assigned: &assigned, boundary_device: None };
    let start = Instant::now();
    let placement = place(&graph, &devices, &AbsOnCpu, &options).unwrap();
    let time = start.elapsed();
    let mut counts = [0; 3];
    placement.devices().flatten().for_each(|device| counts[device] += 1);
    println!("{NUM_NODES} nodes placed in {time:?}; per device: {counts:?}");
    assert!(counts.iter().all(|&count| count > 0));
}
