//! Each file of `tests/cases` holds graphs before and after partitioning, in text form:
//!
//! ```text
//! # what the case shows
//! x = Placeholder() {dtype=f32} @A
//! y = Neg(x) @B
//! ---
//! the parts, each after the name of its device in brackets, or the error; written by `BLESS=1`
//! ===
//! ```
//!
//! The devices `A` to `D` have the host's memory; `G` and `H` have their own, and take the second input of `Reshape` in the host's memory.
#![allow(clippy::unwrap_used, clippy::panic)]

use flowmill_graph::text::{ConstantTable, parse_graph};
use flowmill_graph::{ControlFlow, Graph, Node, OpRegistry};
use flowmill_partition::{Assignment, Devices, MAX_COPIED_BYTES, partition};
use flowmill_proto::NodeDef;
use flowmill_tensor::{DType, Tensor};
use std::fmt::Write;
use std::sync::{Arc, LazyLock};

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

    fn takes_in_host_memory(&self, _: usize, node: &Node, input: usize) -> bool {
        node.role().host_input().map_or(node.is_op("Reshape") && input == 1, |of_role| of_role == input)
    }
}

fn assignment(graph: &Graph) -> Assignment {
    let device = |node: &Node| NAMES.iter().position(|name| *name == node.device()).unwrap_or(0);
    graph.op_nodes().map(|node| (node.id(), device(node))).collect()
}

/// Returns the parts of a graph as text. Attributes that all sends and receives have are left out.
fn after(before: &str, what: &str) -> String {
    let graph = parse_graph(before, &REGISTRY, &ConstantTable::default()).unwrap_or_else(|e| panic!("{what}: {e}"));
    let assignment = assignment(&graph);
    let partition = match partition(graph, assignment, &Cases) {
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
    for entry in std::fs::read_dir(format!("{}/tests/cases", env!("CARGO_MANIFEST_DIR"))).unwrap() {
        let path = entry.unwrap().path();
        let (text, mut blessed) = (std::fs::read_to_string(&path).unwrap(), String::new());
        for case in text.split_inclusive("===\n").filter(|c| !c.trim().is_empty()) {
            let case = case.trim_end_matches("===\n");
            let (head, expected) = case.split_once("---\n").unwrap_or((case, ""));
            let what = format!("{}: {}", path.display(), head.lines().next().unwrap_or_default());
            let before: String = head.lines().filter(|l| !l.starts_with('#')).map(|l| format!("{l}\n")).collect();
            let actual = after(&before, &what);
            if std::env::var_os("BLESS").is_none() {
                assert_eq!(actual, expected, "{what}");
            }
            write!(blessed, "{head}---\n{actual}===\n").unwrap();
        }
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(path, blessed).unwrap();
        }
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
        let attr = [("T".to_owned(), graph[id].attrs().0["dtype"].clone())].into();
        graph.add_node(NodeDef { attr, ..other }).unwrap();
        let assignment = assignment(&graph);
        assert_eq!(partition(graph, assignment, &Cases).unwrap().transfers.len(), num_transfers, "{num_bytes} bytes");
    }
}
