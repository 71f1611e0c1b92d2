//! Handles of tensors that are being built.

use super::GraphBuilder;
use crate::{DType, NodeId, OutputId, PartialShape, Result, ToNodeName, ToTensorName};
use flowmill_graph::Graph;
use std::fmt;

/// A tensor of a graph that is being built: an output of a node, together with the builder, so that operators on it can add nodes.
///
/// `x + y`, `x - 1.0`, `2.0 * x`, `x / y`, `x % y`, `-x`, and `&`, `|` and `!` add a node each. An operator cannot return an error: if the node
/// cannot be added, the builder keeps the first error. [`Output::ok`], any method of the builder that gets the output as an input, and
/// [`GraphBuilder::session`] return that error.
///
/// An output may be used in the graph that it is of, and in the bodies of functions inside of that graph, see [`GraphBuilder::function`].
///
/// A number operand becomes a constant of the tensor's type. Division is Rust's: for integers it rounds toward zero.
#[derive(Clone, Copy)]
pub struct Output<'b> {
    builder: &'b GraphBuilder,
    id: OutputId,
    /// The number of the graph: 0 for the builder's own, another one for the body of a function.
    graph: u32,
}

/// The id of the result of an operator that failed; no graph has so many nodes.
const FAILED: OutputId = OutputId { node: NodeId(u32::MAX), slot: 0 };

impl<'b> Output<'b> {
    /// Returns the handle of a tensor of the graph that nodes are added to.
    pub(super) fn new(builder: &'b GraphBuilder, id: OutputId) -> Output<'b> {
        Output { builder, id, graph: builder.current() }
    }

    /// Returns the handle of a tensor of the graph of this number.
    pub(super) fn of(builder: &'b GraphBuilder, id: OutputId, graph: u32) -> Output<'b> {
        Output { builder, id, graph }
    }

    pub(super) fn failed(builder: &'b GraphBuilder) -> Output<'b> {
        Output { builder, id: FAILED, graph: 0 }
    }

    pub(super) fn graph_number(self) -> u32 {
        self.graph
    }

    /// Returns the tensor's id in the graph, which sessions take as a feed or a fetch. The result of an operator that failed has an id that no
    /// tensor has.
    pub fn id(self) -> OutputId {
        self.id
    }

    /// Returns the node that produces the tensor.
    pub fn node(self) -> NodeId {
        self.id.node
    }

    /// Returns the builder.
    pub fn builder(self) -> &'b GraphBuilder {
        self.builder
    }

    /// Returns the output itself, or the error of the operator that should have made it.
    ///
    /// # Errors
    /// The first error of an operator.
    pub fn ok(self) -> Result<Output<'b>> {
        if self.id == FAILED { Err(self.builder.failure()) } else { Ok(self) }
    }

    /// Returns the name of the tensor, such as `MatMul:0`.
    ///
    /// # Errors
    /// `InvalidArgument` if the graph has no such tensor.
    pub fn name(self) -> Result<String> {
        let id = self.ok()?.id;
        let name = self.builder.read_graph(self.graph, |graph, _| id.to_tensor_name(graph));
        name.unwrap_or_else(|| Err(self.builder.ended(self.graph)))
    }

    /// Returns the element type, for a reference that of the value; `Resource` if the graph has no such tensor.
    pub fn dtype(self) -> DType {
        let found = self.builder.read_graph(self.graph, |graph, _| graph.output_type(self.id).map(|t| t.dtype));
        found.and_then(Result::ok).unwrap_or(DType::Resource)
    }

    /// Returns the static shape.
    pub fn shape(self) -> PartialShape {
        self.builder.read_graph(self.graph, |_, state| state.shapes().shape(self.id)).unwrap_or_default()
    }

    /// Returns the output, or an error if it is a tensor of the body of a function, which steps can neither feed nor fetch.
    fn of_session(self) -> Result<Output<'b>> {
        if self.ok()?.graph == 0 { Ok(self) } else { Err(self.builder.ended(self.graph)) }
    }
}

impl From<Output<'_>> for OutputId {
    fn from(output: Output<'_>) -> OutputId {
        output.id
    }
}

impl ToTensorName for Output<'_> {
    fn to_tensor_name(&self, graph: &Graph) -> Result<String> {
        self.of_session()?.id.to_tensor_name(graph)
    }
}

/// The node that produces the output.
impl ToNodeName for Output<'_> {
    fn to_node_name(&self, graph: &Graph) -> Result<String> {
        self.of_session()?.id.node.to_node_name(graph)
    }
}

impl fmt::Debug for Output<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Ok(name) => write!(f, "{name}: {}{}", self.dtype(), self.shape()),
            Err(error) => write!(f, "{error}"),
        }
    }
}
