//! A graph and the functions of its library as one list of nodes and one of edges.

use flowmill_cost::{Assumptions, CostModel};
use flowmill_graph::traverse::is_back_edge;
use flowmill_graph::{
    Attrs, ControlFlow, FrameId, Function, FunctionLibrary, Graph, Node, NodeId, Role, ShapeAnalysis, TensorType, instantiate_function,
};
use flowmill_proto::AttrValue;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The name of the scope that holds the functions. No node has it, because names of nodes contain no colon.
pub(crate) const FUNCTIONS: &str = "functions:";

/// Functions of a library whose bodies are drawn. Others are counted and left out.
pub(crate) const MAX_FUNCTIONS: usize = 5000;

/// The graph, or the body of a function.
pub(crate) struct Part<'a> {
    pub(crate) graph: Cow<'a, Graph>,
    /// The function's name; `None` for the graph itself.
    pub(crate) function: Option<String>,
    pub(crate) shapes: ShapeAnalysis,
    /// `None` for a graph whose loops do not fit together.
    pub(crate) costs: Option<CostModel>,
    pub(crate) frames: Option<ControlFlow>,
}

impl<'a> Part<'a> {
    fn new(graph: Cow<'a, Graph>, function: Option<String>) -> Part<'a> {
        let shapes = ShapeAnalysis::new(&graph);
        let costs = CostModel::new(&graph, &Assumptions::default()).ok();
        let has_loops = graph.op_nodes().any(Node::is_enter);
        let frames = if has_loops { ControlFlow::new(&graph).ok() } else { None };
        Part { graph, function, shapes, costs, frames }
    }
}

/// A node of a part.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlatNode {
    pub(crate) part: u32,
    pub(crate) id: NodeId,
}

/// The kind of an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum EdgeKind {
    /// It carries a tensor.
    Data,
    /// It carries a reference to a variable.
    Reference,
    /// It carries nothing: the target waits for the source.
    Control,
}

/// An edge between nodes, by their numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlatEdge {
    pub(crate) src: u32,
    pub(crate) dst: u32,
    /// The output of the source; 0 for a control edge.
    pub(crate) slot: u32,
    pub(crate) kind: EdgeKind,
    /// True for an edge that closes a loop.
    pub(crate) is_back: bool,
}

/// The nodes and edges of all parts.
pub(crate) struct FlatGraph<'a> {
    pub(crate) parts: Vec<Part<'a>>,
    pub(crate) nodes: Vec<FlatNode>,
    pub(crate) edges: Vec<FlatEdge>,
    /// Functions that are not drawn: there are too many, or their attributes are not bound by any call.
    pub(crate) skipped_functions: Vec<String>,
}

impl<'a> FlatGraph<'a> {
    /// Lists the nodes and edges of a graph and of its functions.
    pub(crate) fn new(graph: &'a Graph) -> FlatGraph<'a> {
        let mut flat = FlatGraph { parts: Vec::new(), nodes: Vec::new(), edges: Vec::new(), skipped_functions: Vec::new() };
        flat.add(Part::new(Cow::Borrowed(graph), None));
        let callers = callers(graph);
        for (i, function) in graph.library().iter().enumerate() {
            match (i < MAX_FUNCTIONS).then(|| body(graph, function, &callers)).flatten() {
                Some(body) => flat.add(Part::new(Cow::Owned(body), Some(function.name().to_owned()))),
                None => flat.skipped_functions.push(function.name().to_owned()),
            }
        }
        flat
    }

    fn add(&mut self, part: Part<'a>) {
        let number = self.parts.len() as u32;
        let mut numbers = vec![u32::MAX; part.graph.num_node_ids()];
        for node in part.graph.op_nodes() {
            numbers[node.id().index()] = self.nodes.len() as u32;
            self.nodes.push(FlatNode { part: number, id: node.id() });
        }
        for edge in part.graph.edges().filter(|edge| edge.src > NodeId::SINK && edge.dst > NodeId::SINK) {
            let kind = match input_type(&part.graph, edge.dst, edge.dst_input) {
                None => EdgeKind::Control,
                Some(input) if input.is_ref => EdgeKind::Reference,
                Some(_) => EdgeKind::Data,
            };
            self.edges.push(FlatEdge {
                src: numbers[edge.src.index()],
                dst: numbers[edge.dst.index()],
                slot: u32::try_from(edge.src_output).unwrap_or(0),
                kind,
                is_back: is_back_edge(&part.graph, &edge),
            });
        }
        self.parts.push(part);
    }

    /// Returns the part of a node, and the node.
    pub(crate) fn node(&self, node: u32) -> (&Part<'a>, &Node) {
        let FlatNode { part, id } = self.nodes[node as usize];
        let part = &self.parts[part as usize];
        (part, &part.graph[id])
    }

    /// Returns a node's loop, with the number of its part, unless it is in none.
    pub(crate) fn frame(&self, node: u32) -> Option<(u32, FrameId)> {
        let FlatNode { part, id } = self.nodes[node as usize];
        let frames = self.parts[part as usize].frames.as_ref()?;
        // An `Enter` belongs to the loop that it leads into.
        let frame = if self.node(node).1.role() == Role::Enter { frames.output_frame_of(id) } else { frames.frame_of(id) };
        (frame != FrameId::ROOT).then_some((part, frame))
    }

    /// Returns the type and the shape of an output as text, such as `f32[?,64]`.
    pub(crate) fn tensor_text(&self, node: u32, slot: u32) -> String {
        let (part, node) = self.node(node);
        let Some(output) = node.output_types().get(slot as usize) else { return String::new() };
        let shape = part.shapes.shape(node.id().output(slot));
        let reference = if output.is_ref { "&" } else { "" };
        match shape.dims() {
            Some(_) => format!("{reference}{}{shape}", output.dtype.name()),
            None => format!("{reference}{}[…]", output.dtype.name()),
        }
    }
}

fn input_type(graph: &Graph, node: NodeId, input: i32) -> Option<TensorType> {
    graph.get(node)?.input_types().get(usize::try_from(input).ok()?).copied()
}

/// The attributes of the first call of each function.
type Callers = BTreeMap<String, Attrs>;

fn callers(graph: &Graph) -> Callers {
    let mut callers = Callers::new();
    let library = graph.library();
    if library.is_empty() {
        return callers;
    }
    for node in graph.op_nodes() {
        note_calls(&mut callers, library, node.op(), node.attrs());
    }
    for node in library.iter().flat_map(|function| &function.def().node_def) {
        note_calls(&mut callers, library, &node.op, &Attrs::from(node.attr.clone()));
    }
    callers
}

fn note_calls(callers: &mut Callers, library: &FunctionLibrary, op: &str, attrs: &Attrs) {
    if library.get(op).is_some() {
        callers.entry(op.to_owned()).or_insert_with(|| attrs.clone());
    }
    for function in attrs.values().flat_map(AttrValue::functions) {
        callers.entry(function.name.clone()).or_insert_with(|| Attrs::from(function.attr.clone()));
    }
}

fn body(graph: &Graph, function: &Function, callers: &Callers) -> Option<Graph> {
    let unbound = Attrs::default();
    let attrs = callers.get(function.name()).unwrap_or(&unbound);
    instantiate_function(function, attrs, graph.library(), graph.registry()).ok().map(|body| body.graph)
}
