//! Each file of `tests/cases` holds graphs in text form and the devices of their nodes:
//!
//! ```text
//! # what the case shows
//! ! soft
//! ! kernels Relu=CPU Neg=CPU:2,GPU:1
//! a = Const() {value=f32[]{1.0}} @/device:CPU:1
//! ---
//! a CPU:1
//! ===
//! ```
//!
//! The part after `---` is written by `BLESS=1`. Lines that begin with `!` are options:
//!
//! * `devices CPU:0 GPU:0`: the devices, in their order; `CPU:0 GPU:1 CPU:1 GPU:0` by default. A full name is a device of another task.
//! * `kernels OP=TYPE:PRIORITY,...`: the kernels of an op. Ops that are not listed have kernels of priority 0 for all types.
//! * `soft`: soft placement. `default CPU:1`: the default device. `boundary CPU:0`: the device of arguments and results.
//! * `assigned NODE=CPU:1`: a node that has been placed before.
#![allow(clippy::unwrap_used, clippy::panic)]

use flowmill_graph::text::{ConstantTable, parse_graph};
use flowmill_graph::{DeviceName, Node, OpRegistry};
use flowmill_placement::{Kernels, PlaceOptions, place};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;
use text_cases::Case;

/// Kernels of ops by type and priority.
#[derive(Default)]
struct Table(BTreeMap<String, Vec<(String, i32)>>);

impl Kernels for Table {
    fn priority(&self, node: &Node, device_type: &str) -> Option<i32> {
        match self.0.get(node.op()) {
            None => Some(0),
            Some(types) => types.iter().find(|(name, _)| name == device_type).map(|&(_, priority)| priority),
        }
    }

    fn registered(&self, op: &str) -> Vec<String> {
        self.0.get(op).into_iter().flatten().map(|(name, _)| format!("device='{name}'")).collect()
    }
}

fn device(name: &str) -> DeviceName {
    let local = DeviceName::local("CPU", 0).address_space();
    local.overridden_by(&name.parse().unwrap_or_else(|e| panic!("{name}: {e}")))
}

fn short(name: &DeviceName) -> String {
    match name.address_space() == DeviceName::local("CPU", 0).address_space() {
        true => format!("{}:{}", name.device_type.as_deref().unwrap(), name.device_id.unwrap()),
        false => name.to_string(),
    }
}

/// The devices of the nodes of a case, one per line, or its error.
fn placed(case: &Case<'_>) -> String {
    let what = case.title();
    let registry = Arc::new(OpRegistry::new(flowmill_ops::catalogue()).unwrap());
    let graph = parse_graph(&case.input(), &registry, &ConstantTable::new()).unwrap_or_else(|e| panic!("{what}: {e}"));
    let (mut kernels, mut is_soft, mut default, mut boundary) = (Table::default(), false, None, None);
    let mut devices: Vec<DeviceName> = ["CPU:0", "GPU:1", "CPU:1", "GPU:0"].into_iter().map(device).collect();
    let (mut assigned, mut assignments) = (FxHashMap::default(), Vec::new());
    for option in case.options() {
        let words: Vec<&str> = option.split_whitespace().collect();
        match words[0] {
            "soft" => is_soft = true,
            "devices" => devices = words[1..].iter().map(|name| device(name)).collect(),
            "default" => default = Some(device(words[1])),
            "boundary" => boundary = Some(device(words[1])),
            "assigned" => assignments.extend(words[1..].iter().map(|word| word.split_once('=').unwrap())),
            "kernels" => {
                for (op, types) in words[1..].iter().map(|word| word.split_once('=').unwrap()) {
                    let types = types.split(',').filter(|t| !t.is_empty()).map(|t| {
                        let (name, priority) = t.split_once(':').unwrap_or((t, "0"));
                        (name.to_owned(), priority.parse().unwrap())
                    });
                    kernels.0.insert(op.to_owned(), types.collect());
                }
            }
            _ => panic!("{what}: unknown option {option}"),
        }
    }
    let number = |name: &DeviceName| devices.iter().position(|device| device == name);
    for (node, name) in assignments {
        // An unknown device has a number that no device has.
        assigned.insert(graph.find_node(node).unwrap().id(), number(&device(name)).unwrap_or(99));
    }
    let options = PlaceOptions {
        allow_soft_placement: is_soft,
        default_device: default.as_ref().and_then(number),
        assigned: &assigned,
        boundary_device: boundary.as_ref().and_then(number),
    };
    match place(&graph, &devices, &kernels, &options) {
        Err(e) => format!("{e}\n"),
        Ok(placement) => {
            assert!(graph.nodes().all(|node| placement.device(node.id()).is_some()), "{what}");
            let mut text = String::new();
            for node in graph.op_nodes() {
                writeln!(text, "{} {}", node.name(), short(&devices[placement.device(node.id()).unwrap()])).unwrap();
            }
            text
        }
    }
}

#[test]
fn each_node_is_placed_as_its_case_says() {
    let files = text_cases::files(format!("{}/tests/cases", env!("CARGO_MANIFEST_DIR"))).unwrap();
    assert!(files.len() >= 5);
    files.iter().for_each(|path| text_cases::check(path, placed).unwrap());
}

#[test]
fn a_graph_is_not_placed_without_devices() {
    let registry = Arc::new(OpRegistry::new(flowmill_ops::catalogue()).unwrap());
    let graph = parse_graph("a = NoOp()", &registry, &ConstantTable::new()).unwrap();
    let assigned = FxHashMap::default();
    let options = PlaceOptions { allow_soft_placement: true, default_device: None, assigned: &assigned, boundary_device: None };
    let error = place(&graph, &[], &Table::default(), &options).unwrap_err();
    assert_eq!((error.code(), error.message()), (flowmill_tensor::Code::FailedPrecondition, "No devices are registered"));
}

#[test]
fn nodes_of_a_group_have_the_same_number() {
    let registry = Arc::new(OpRegistry::new(flowmill_ops::catalogue()).unwrap());
    let text = "v = VarHandleOp() {dtype=f32, shape=[]}\nr = ReadVariableOp(v) {dtype=f32}\nn = Neg(r)\nm = Neg(r) {_class=list(string)[\"loc:@n\"]}";
    let graph = parse_graph(text, &registry, &ConstantTable::new()).unwrap();
    let assigned = FxHashMap::default();
    let options = PlaceOptions { allow_soft_placement: true, default_device: None, assigned: &assigned, boundary_device: None };
    let placement = place(&graph, &[device("CPU:0")], &Table::default(), &options).unwrap();
    let group = |name: &str| placement.groups()[graph.find_node(name).unwrap().id().index()];
    assert!(group("v") == group("r") && group("n") == group("m") && group("v") != group("n"));
}
