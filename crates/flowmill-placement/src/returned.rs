//! Resources that calls of functions return: a consumer is on the device of the resource, not on that of the call.

use crate::colocate::{calls_functions, takes_resource};
use flowmill_graph::{Attrs, DeviceName, FunctionBody, Graph, Node, NodeId, OutputId, Role, instantiate_function};
use flowmill_proto::NameAttrList;
use flowmill_tensor::DType;
use rustc_hash::FxHashSet;

/// The deepest nesting of calls that is looked into. Deeper and recursive calls constrain no device.
const MAX_DEPTH: usize = 32;

/// The origin of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A node of the graph hands it to the call.
    Node(NodeId),
    /// A node in the body of a function makes it, with this request.
    Body(DeviceName),
}

/// Returns the origins of a resource in a graph. A node that calls no functions is the origin of all that it returns.
pub(crate) fn origins(graph: &Graph, resource: OutputId) -> Vec<Origin> {
    let (mut found, mut stack, mut seen) = (Vec::new(), vec![resource], FxHashSet::default());
    while let Some(output) = stack.pop() {
        let Some(node) = graph.get(output.node).filter(|_| seen.insert(output)) else { continue };
        if !calls_functions(graph, node) {
            found.push(Origin::Node(output.node));
            continue;
        }
        for source in of_call(graph, node, output.slot as usize, 0) {
            match source {
                Source::Input(i) => stack.extend(graph.input(node.id(), i)),
                Source::Made(device) => found.push(Origin::Body(device)),
            }
        }
    }
    found
}

/// The source of a resource that a call returns.
enum Source {
    /// A data input of the call.
    Input(usize),
    /// A node in the body, with this request.
    Made(DeviceName),
}

/// Returns the sources of a resource that a node returns from the functions that it calls.
fn of_call(graph: &Graph, node: &Node, output: usize, depth: usize) -> Vec<Source> {
    if node.role() == Role::While {
        return vec![Source::Input(output)];
    }
    if depth == MAX_DEPTH {
        return Vec::new();
    }
    // The first input of a conditional chooses the function.
    let num_skipped = usize::from(matches!(node.role(), Role::If | Role::Case));
    let bodies = bodies(graph, node);
    bodies.iter().flat_map(|body| of_body(body, output, num_skipped, depth)).collect()
}

fn bodies(graph: &Graph, node: &Node) -> Vec<FunctionBody> {
    let attrs = node.attrs();
    let instantiate = |name: &str, attrs: &Attrs| {
        let function = graph.library().get(name)?;
        // What is wrong with a body is reported when it is compiled.
        instantiate_function(function, attrs, graph.library(), graph.registry()).ok()
    };
    if graph.library().get(node.op()).is_some() {
        return instantiate(node.op(), attrs).into_iter().collect();
    }
    let named = ["f", "then_branch", "else_branch"].into_iter().filter_map(|name| attrs.get::<&NameAttrList>(name).ok());
    let listed = attrs.list::<&NameAttrList>("branches").unwrap_or_default();
    named.chain(listed).filter_map(|function| instantiate(&function.name, &Attrs(function.attr.clone()))).collect()
}

/// Follows a result of a body back to where the resource comes from.
fn of_body(body: &FunctionBody, result: usize, num_skipped: usize, depth: usize) -> Vec<Source> {
    let graph = &body.graph;
    let mut stack: Vec<OutputId> = body.retvals.get(result).and_then(|&id| graph.input(id, 0)).into_iter().collect();
    let (mut found, mut seen) = (Vec::new(), FxHashSet::default());
    while let Some(output) = stack.pop() {
        let Some(node) = graph.get(output.node).filter(|_| seen.insert(output)) else { continue };
        if let Some(i) = body.args.iter().position(|&arg| arg == node.id()) {
            found.push(Source::Input(i + num_skipped));
        } else if calls_functions(graph, node) {
            for source in of_call(graph, node, output.slot as usize, depth + 1) {
                match source {
                    Source::Input(i) => stack.extend(graph.input(node.id(), i)),
                    made => found.push(made),
                }
            }
        } else if takes_resource(node) {
            let is_resource = |i: &usize| node.input_types().get(*i).is_some_and(|t| t.dtype == DType::Resource);
            // Several outputs are the inputs in their order, or the two sides of a switch.
            let same = output.slot as usize;
            let inputs: Vec<usize> = match node.role() {
                Role::Kernel if node.num_outputs() == node.num_inputs() => vec![same],
                _ => (0..node.num_inputs()).collect(),
            };
            stack.extend(inputs.into_iter().filter(is_resource).filter_map(|i| graph.input(node.id(), i)));
        } else {
            found.push(Source::Made(DeviceName::parse_requested(node.device()).unwrap_or_default()));
        }
    }
    found
}
