//! Each file of `tests/cases` holds graphs before and after partitioning, in text form:
//!
//! ```text
//! # what the case shows
//! x = Placeholder() {dtype=f32} @A
//! y = Neg(x) @B
//! ! starts x=0 y=5
//! ---
//! the parts, each after the name of its device in brackets, or the error; written by `BLESS=1`
//! ===
//! ```
//!
//! With lines that begin with `! starts`, receives are delayed by these start times. The devices `A` to `D` have the host's memory; `G` and `H` have their own, take the
//! second input of `Reshape` in the host's memory, and leave the output of `Shape` there.
#![allow(clippy::unwrap_used, clippy::panic)]

use flowmill_graph::text::{ConstantTable, parse_graph};
use flowmill_graph::{ControlFlow, Graph, Node, OpRegistry, Role};
use flowmill_partition::{Assignment, Devices, MAX_COPIED_BYTES, Memory, PartitionOptions, partition};
use flowmill_proto::NodeDef;
use flowmill_tensor::{DType, Tensor};
use std::fmt::Write;
use std::sync::{Arc, LazyLock};
use text_cases::Case;

static REGISTRY: LazyLock<Arc<OpRegistry>> = LazyLock::new(|| Arc::new(OpRegistry::new(flowmill_ops::catalogue()).unwrap()));

const NAMES: [&str; 6] = ["A", "B", "C", "D", "G", "H"];

struct Cases;

impl Devices for Cases {
    fn name(&self, device: usize) -> String {
        NAMES[device].to_owned()
    }

    fn incarnation(&self, device: usize) -> u64 {
        device as u64
    }

    fn is_host(&self, device: usize) -> bool {
        device < 4
    }

    fn input_memory(&self, _: usize, node: &Node, input: usize) -> Memory {
        match node.role() {
            Role::Switch if input == 1 => Memory::Host,
            Role::Kernel if node.is_op("Reshape") && input == 1 => Memory::Host,
            Role::Kernel if !node.traits().passes_on => Memory::Device,
            _ => Memory::Either,
        }
    }

    fn output_memory(&self, _: usize, node: &Node, _: usize) -> Memory {
        match node.role() {
            Role::Kernel if node.is_op("Shape") => Memory::Host,
            Role::Kernel | Role::Placeholder if !node.traits().passes_on => Memory::Device,
            _ => Memory::Either,
        }
    }
}

fn assignment(graph: &Graph) -> Assignment {
    let device = |node: &Node| NAMES.iter().position(|name| *name == node.device()).unwrap_or(0);
    graph.op_nodes().map(|node| (node.id(), device(node))).collect()
}

/// Returns the start times of a case: those of the lines `! starts NODE=TIME ...`, by node id.
fn start_times(graph: &Graph, options: &[&str]) -> Option<Vec<Option<u64>>> {
    let mut times = vec![None; graph.num_node_ids()];
    for starts in options.iter().map(|option| option.strip_prefix("starts ").unwrap()) {
        for (node, time) in starts.split_whitespace().map(|start| start.split_once('=').unwrap()) {
            times[graph.find_node(node).unwrap().id().index()] = Some(time.parse().unwrap());
        }
    }
    (!options.is_empty()).then_some(times)
}

/// Returns the parts of a graph as text. Attributes that all sends and receives have are left out.
fn after(case: &Case<'_>) -> String {
    let (what, options) = (case.title(), case.options().collect::<Vec<_>>());
    let graph = parse_graph(&case.input(), &REGISTRY, &ConstantTable::default()).unwrap_or_else(|e| panic!("{what}: {e}"));
    let assignment = assignment(&graph);
    let start_times = start_times(&graph, &options);
    let options = PartitionOptions { start_times: start_times.as_deref() };
    let partition = match partition(graph, assignment, &Cases, options) {
        Ok(partition) => partition,
        Err(e) => return format!("{:?}: {}\n", e.code(), e.message()),
    };
    let mut text = String::new();
    for (device, mut graph) in partition.parts {
        graph.validate().unwrap_or_else(|e| panic!("{what}: {e}\n{graph}"));
        ControlFlow::new(&graph).unwrap_or_else(|e| panic!("{what}: {e}\n{graph}"));
        for id in graph.op_node_ids() {
            assert_eq!(graph[id].device(), NAMES[device], "{what}");
            graph.set_device(id, "").unwrap();
            if let Ok(number) = graph[id].attrs().get::<i64>(flowmill_graph::TRANSFER) {
                let transfer = &partition.transfers[number as usize];
                assert!(transfer.from == device || transfer.to == device, "{what}");
            }
        }
        let text_of_part = graph.to_string();
        let hidden = |attr: &str| attr.split('=').next().is_some_and(|name| matches!(name, "send_device_incarnation" | "tensor_name"));
        let lines = text_of_part.lines().map(|line| match (line.find('{'), line.rfind('}')) {
            (Some(from), Some(to)) if line.contains("_transfer=") => {
                let attrs: Vec<&str> = line[from + 1..to].split(", ").filter(|attr| !hidden(attr)).collect();
                format!("{}{}{}\n", &line[..=from], attrs.join(", "), &line[to..])
            }
            _ => format!("{line}\n"),
        });
        write!(text, "[{}]\n{}", NAMES[device], lines.collect::<String>()).unwrap();
    }
    text
}

#[test]
fn each_case_is_cut_as_it_says() {
    for path in text_cases::files(format!("{}/tests/cases", env!("CARGO_MANIFEST_DIR"))).unwrap() {
        text_cases::check(&path, after).unwrap();
    }
}

#[test]
fn a_large_constant_is_sent() {
    for (num_bytes, num_transfers) in [(MAX_COPIED_BYTES, 0), (MAX_COPIED_BYTES + 4, 1)] {
        let value = Tensor::zeros(DType::F32, [num_bytes / 4]).unwrap().to_proto().unwrap();
        let mut graph = parse_graph("k = Const() {value=f32[]{1.0}} @A", &REGISTRY, &ConstantTable::default()).unwrap();
        let id = graph.find_node("k").unwrap().id();
        graph.set_attr(id, "value", value).unwrap();
        let other = NodeDef { name: "y".into(), op: "Neg".into(), device: "B".into(), input: vec!["k".into()], ..NodeDef::default() };
        let attr = [("T".to_owned(), graph[id].attrs().attr("dtype").unwrap().clone())].into();
        graph.add_node(NodeDef { attr, ..other }).unwrap();
        let assignment = assignment(&graph);
        assert_eq!(
            partition(graph, assignment, &Cases, PartitionOptions::default()).unwrap().transfers.len(),
            num_transfers,
            "{num_bytes} bytes"
        );
    }
}
