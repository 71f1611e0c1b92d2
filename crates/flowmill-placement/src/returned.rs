//! Resources that calls of functions return: a consumer is on the device of the resource, not on that of the call.

use crate::colocate::takes_resource;
use flowmill_graph::{Attrs, DeviceName, FunctionBody, Graph, Node, NodeId, OutputId, Role, instantiate_function};
use flowmill_proto::NameAttrList;
use flowmill_tensor::DType;
use rustc_hash::{FxHashMap, FxHashSet};

/// The deepest nesting of calls that is looked into. Deeper calls constrain no device.
const MAX_DEPTH: usize = 32;

/// The origin of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A node of the graph hands it to the call.
    Node(NodeId),
    /// A node in the body of a function makes it, with this request.
    Body(DeviceName),
}

/// The source of a resource that a call returns.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Source {
    /// A data input of the call, counted from the first argument of the function.
    Arg(usize),
    /// A node in the body, with this request.
    Made(DeviceName),
}

/// The functions that were looked into, each result of them once.
#[derive(Default)]
pub(crate) struct Returned {
    /// The sources by function and result. A function that is being looked into has none, which ends recursion.
    sources: FxHashMap<(String, usize), Vec<Source>>,
}

impl Returned {
    /// Returns the origins of a resource in a graph. A node that calls no functions is the origin of all that it returns.
    pub(crate) fn origins(&mut self, graph: &Graph, resource: OutputId) -> Vec<Origin> {
        let (mut found, mut stack, mut seen) = (Vec::new(), vec![resource], FxHashSet::default());
        while let Some(output) = stack.pop() {
            let Some(node) = graph.get(output.node).filter(|_| seen.insert(output)) else { continue };
            if !graph.calls_functions(node) {
                found.push(Origin::Node(output.node));
                continue;
            }
            for source in self.of_call(graph, node, output.slot as usize, 0) {
                match source {
                    Source::Arg(i) => stack.extend(argument(graph, node, i)),
                    Source::Made(device) => found.push(Origin::Body(device)),
                }
            }
        }
        found
    }

    /// Returns the sources of a resource that a node returns from the functions that it calls.
    fn of_call(&mut self, graph: &Graph, node: &Node, output: usize, depth: usize) -> Vec<Source> {
        if matches!(node.role(), Role::While | Role::For) {
            return vec![Source::Arg(output)];
        }
        if depth == MAX_DEPTH {
            return Vec::new();
        }
        let mut found = Vec::new();
        for (name, attrs) in called(graph, node) {
            let key = (name, output);
            if let Some(sources) = self.sources.get(&key) {
                found.extend_from_slice(sources);
                continue;
            }
            self.sources.insert(key.clone(), Vec::new());
            // What is wrong with a body is reported when it is compiled.
            let function = graph.library().get(&key.0);
            let body = function.and_then(|f| instantiate_function(f, &attrs, graph.library(), graph.registry()).ok());
            let sources = body.map_or_else(Vec::new, |body| self.of_body(&body, output, depth));
            found.extend_from_slice(&sources);
            self.sources.insert(key, sources);
        }
        distinct(found)
    }

    /// Follows a result of a body back to where the resource comes from.
    fn of_body(&mut self, body: &FunctionBody, result: usize, depth: usize) -> Vec<Source> {
        let graph = &body.graph;
        let mut stack: Vec<OutputId> = body.retvals.get(result).and_then(|&id| graph.input(id, 0)).into_iter().collect();
        let (mut found, mut seen) = (Vec::new(), FxHashSet::default());
        while let Some(output) = stack.pop() {
            let Some(node) = graph.get(output.node).filter(|_| seen.insert(output)) else { continue };
            if let Some(i) = body.args.iter().position(|&arg| arg == node.id()) {
                found.push(Source::Arg(i));
            } else if graph.calls_functions(node) {
                for source in self.of_call(graph, node, output.slot as usize, depth + 1) {
                    match source {
                        Source::Arg(i) => stack.extend(argument(graph, node, i)),
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
        distinct(found)
    }
}

/// Returns the sources, each once. Otherwise nested calls could have exponentially many.
fn distinct(mut sources: Vec<Source>) -> Vec<Source> {
    let mut seen = FxHashSet::default();
    sources.retain(|source| seen.insert(source.clone()));
    sources
}

/// Returns the tensor that a call passes as argument `i` of its functions, which for a loop is the first value of variable `i`.
fn argument(graph: &Graph, node: &Node, i: usize) -> Option<OutputId> {
    graph.input(node.id(), i + node.role().num_own_inputs())
}

/// Returns the functions that a node may call, with their attributes.
fn called(graph: &Graph, node: &Node) -> Vec<(String, Attrs)> {
    let attrs = node.attrs();
    if graph.library().get(node.op()).is_some() {
        return vec![(node.op().to_owned(), attrs.clone())];
    }
    let named = ["f", "then_branch", "else_branch"].into_iter().filter_map(|name| attrs.get::<&NameAttrList>(name).ok());
    let listed = attrs.list::<&NameAttrList>("branches").unwrap_or_default();
    named.chain(listed).map(|function| (function.name.clone(), Attrs::from(function.attr.clone()))).collect()
}
