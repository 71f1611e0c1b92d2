//! Functions in text form: a graph between `function name` and `end`. The name is followed by attributes (`_noinline`) and, as `^node`, by the nodes
//! that the function promises to run.

use flowmill_graph::text::{ConstantTable, parse_graph};
use flowmill_graph::{ARG, FunctionLibrary, Graph, NodeId, OpRegistry, OutputId, RETVAL, arg_ranges};
use flowmill_proto::op_def::ArgDef;
use flowmill_proto::{FunctionDef, NodeDef, OpDef};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Parses a graph that follows the functions it calls. A function may call functions that are defined later.
pub fn parse_with_functions(text: &str) -> Result<Graph, String> {
    let mut library = FunctionLibrary::default();
    let mut rest = String::new();
    let mut open: Option<(String, String)> = None;
    for line in text.lines() {
        match (line.strip_prefix("function "), open.take()) {
            (Some(head), None) => open = Some((head.to_owned(), String::new())),
            (None, Some((head, body))) if line == "end" => {
                let graph = parse(&body, &library)?;
                library.add(function_def(&head, &graph)).map_err(|e| e.to_string())?;
            }
            (None, Some((head, body))) => open = Some((head, format!("{body}{line}\n"))),
            (None, None) => rest += &format!("{line}\n"),
            (Some(_), Some(_)) => return Err("a function in a function".to_owned()),
        }
    }
    let mut graph = parse(&rest, &library)?;
    graph.set_library(Arc::new(library));
    Ok(graph)
}

fn parse(text: &str, library: &FunctionLibrary) -> Result<Graph, String> {
    let ops = flowmill_ops::catalogue().into_iter().chain(library.iter().map(|f| (**f.op_def()).clone()));
    let registry = Arc::new(OpRegistry::new(ops.collect::<Vec<_>>()).map_err(|e| e.to_string())?);
    parse_graph(text, &registry, &ConstantTable::new()).map_err(|e| e.to_string())
}

fn function_def(head: &str, graph: &Graph) -> FunctionDef {
    let mut words = head.split(' ');
    let name = words.next().unwrap_or_default().to_owned();
    let (mut attr, mut control_ret, mut control_output) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
    for word in words {
        match word.strip_prefix('^') {
            Some(node) => {
                control_ret.insert(node.to_owned(), node.to_owned());
                control_output.push(node.to_owned());
            }
            None => {
                attr.insert(word.to_owned(), true.into());
            }
        }
    }
    let of = |op: &str| {
        let mut nodes: Vec<_> = graph.op_nodes().filter(|n| n.is_op(op)).collect();
        nodes.sort_by_key(|n| n.attrs().get::<i64>("index").unwrap());
        nodes
    };
    let arg = |n: &&flowmill_graph::Node| {
        let types = if n.is_op(ARG) { n.output_types() } else { n.input_types() };
        ArgDef { name: n.name().to_lowercase(), r#type: types[0].dtype.number(), ..Default::default() }
    };
    let (args, retvals) = (of(ARG), of(RETVAL));
    let signature = OpDef {
        name,
        input_arg: args.iter().map(arg).collect(),
        output_arg: retvals.iter().map(arg).collect(),
        control_output,
        is_stateful: graph.op_nodes().any(|n| n.op_def().is_stateful() && !n.is_op(ARG) && !n.is_op(RETVAL)),
        ..Default::default()
    };
    let nodes = graph.op_nodes().filter(|n| !n.is_op(ARG) && !n.is_op(RETVAL));
    FunctionDef {
        signature: Some(signature),
        attr,
        node_def: nodes.map(|n| node_def(graph, n.id())).collect(),
        ret: retvals.iter().map(|n| (n.name().to_lowercase(), tensor(graph, graph.input(n.id(), 0).unwrap()))).collect(),
        control_ret,
        ..Default::default()
    }
}

fn node_def(graph: &Graph, id: NodeId) -> NodeDef {
    let node = &graph[id];
    let controls = graph.control_inputs(id).map(|c| format!("^{}", graph[c].name()));
    NodeDef {
        name: node.name().to_owned(),
        op: node.op().to_owned(),
        device: node.device().to_owned(),
        input: graph.inputs(id).map(|o| tensor(graph, o)).chain(controls).collect(),
        attr: node.attrs().to_map(),
        ..Default::default()
    }
}

/// Returns the name of a tensor in the body of a function.
fn tensor(graph: &Graph, output: OutputId) -> String {
    let node = &graph[output.node];
    if node.is_op(ARG) {
        return node.name().to_owned();
    }
    let ranges = arg_ranges(&node.op_def().outputs, node.attrs()).unwrap();
    let slot = output.slot as usize;
    let (arg, range) = node.op_def().outputs.iter().zip(ranges).find(|(_, r)| r.contains(&slot)).unwrap();
    format!("{}:{}:{}", node.name(), arg.name, slot - range.start)
}
