//! Milliseconds that partitioning takes for graphs of 100,000 nodes: the fastest of several runs.
//!
//! An argument that begins with no dash selects the measurements whose names contain it. With `once`, each runs once, for `valgrind --tool=callgrind
//! --toggle-collect='*partition::partition'`.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use flowmill_graph::{Graph, Node, NodeId, OpRegistry};
use flowmill_partition::{Assignment, Devices, Memory, PartitionOptions, partition};
use flowmill_proto::NodeDef;
use flowmill_proto::attr_value::Value;
use flowmill_tensor::DType;
use std::sync::Arc;
use std::time::{Duration, Instant};

const NUM_NODES: usize = 100_000;

struct Hosts;

impl Devices for Hosts {
    fn name(&self, device: usize) -> String {
        format!("/job:localhost/replica:0/task:0/device:CPU:{device}")
    }

    fn incarnation(&self, device: usize) -> u64 {
        device as u64
    }

    fn is_host(&self, _: usize) -> bool {
        true
    }

    fn input_memory(&self, _: usize, _: &Node, _: usize) -> Memory {
        Memory::Either
    }

    fn output_memory(&self, _: usize, _: &Node, _: usize) -> Memory {
        Memory::Either
    }
}

fn add(graph: &mut Graph, op: &str, inputs: &[NodeId], attrs: &[(&str, Value)]) -> NodeId {
    let attrs = attrs.iter().map(|(name, value)| ((*name).to_owned(), value.clone().into()));
    let attr = std::iter::once(("T".to_owned(), Value::Type(DType::F32.number()).into())).chain(attrs).collect();
    let name = graph.new_name("n");
    let inputs: Vec<_> = inputs.iter().map(|input| input.output(0)).collect();
    graph.add_node_with_inputs(NodeDef { name, op: op.into(), attr, ..NodeDef::default() }, &inputs, &[]).unwrap()
}

/// Sums of earlier nodes, each near its inputs. If `in_loops`, every hundred nodes are the body of a loop.
fn graph(in_loops: bool) -> Graph {
    let mut graph = Graph::new(Arc::new(OpRegistry::new(flowmill_ops::catalogue()).unwrap()));
    let x = NodeDef { name: "x".into(), op: "_Arg".into(), ..NodeDef::default() };
    let attr = [("T", Value::Type(DType::F32.number())), ("index", Value::I(0))].map(|(name, value)| (name.to_owned(), value.into()));
    let x = graph.add_node(NodeDef { attr: attr.into(), ..x }).unwrap();
    let (mut before, mut count) = (vec![x, x], 0);
    while count < NUM_NODES {
        let mut outside = None;
        if in_loops {
            let frame = Value::S(format!("frame{count}").into());
            let enter = add(&mut graph, "Enter", &before[before.len() - 1..], &[("frame_name", frame)]);
            let merge = add(&mut graph, "Merge", &[enter], &[("N", Value::I(2))]);
            let less = add(&mut graph, "Less", &[merge, merge], &[]);
            let name = graph.new_name("cond");
            let cond = graph.add_node_with_inputs(NodeDef { name, op: "LoopCond".into(), ..NodeDef::default() }, &[less.output(0)], &[]);
            let switch = add(&mut graph, "Switch", &[merge, cond.unwrap()], &[]);
            let body = graph.new_name("body");
            let attr = [("T".to_owned(), Value::Type(DType::F32.number()).into())].into();
            let body = NodeDef { name: body, op: "Identity".into(), attr, ..NodeDef::default() };
            let body = graph.add_node_with_inputs(body, &[switch.output(1)], &[]).unwrap();
            outside = Some((merge, switch));
            before = vec![body, body];
            count += 6;
        }
        for _ in 0..100 {
            let i = before.len();
            before.push(add(&mut graph, "AddV2", &[before[i - 1], before[i - 2]], &[]));
            count += 1;
        }
        if let Some((merge, switch)) = outside {
            let next = add(&mut graph, "NextIteration", &before[before.len() - 1..], &[]);
            graph.add_edge(next.output(0), merge, 1).unwrap();
            let exit = add(&mut graph, "Exit", &[switch], &[]);
            before = vec![exit, exit];
            count += 2;
        }
    }
    graph
}

fn measure(name: &str, graph: &Graph, device: impl Fn(usize) -> usize) {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    if args.iter().any(|arg| arg != "once" && !name.contains(arg.as_str())) {
        return;
    }
    let num_runs = if args.iter().any(|arg| arg == "once") { 1 } else { 10 };
    let assignment: Assignment = graph.op_nodes().enumerate().map(|(i, node)| (node.id(), device(i))).collect();
    let mut best = Duration::MAX;
    let mut num_transfers = 0;
    for _ in 0..num_runs {
        let (graph, assignment) = (graph.clone(), assignment.clone());
        let before = Instant::now();
        let partition = partition(graph, assignment, &Hosts, PartitionOptions::default()).unwrap();
        best = best.min(before.elapsed());
        num_transfers = partition.transfers.len();
    }
    println!("{name:<56} {:>8.1} ms, {num_transfers} transfers", best.as_secs_f64() * 1e3);
}

fn main() {
    let random = |i: usize| ((i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 62) as usize;
    let (flat, loops) = (graph(false), graph(true));
    measure("100,000 nodes, four devices in long runs", &flat, |i| i / 1000 % 4);
    measure("100,000 nodes, a random device for each", &flat, random);
    measure("1,000 loops of 108 nodes, devices in long runs", &loops, |i| i / 50 % 4);
    measure("1,000 loops of 108 nodes, a random device for each", &loops, random);
}
