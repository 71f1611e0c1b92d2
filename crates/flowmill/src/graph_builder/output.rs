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
/// A number operand becomes a constant of the tensor's type. Division is Rust's: for integers it rounds toward zero.
#[derive(Clone, Copy)]
pub struct Output<'b> {
    builder: &'b GraphBuilder,
    id: OutputId,
}

/// The id of the result of an operator that failed; no graph has so many nodes.
const FAILED: OutputId = OutputId { node: NodeId(u32::MAX), slot: 0 };

impl<'b> Output<'b> {
    pub(super) fn new(builder: &'b GraphBuilder, id: OutputId) -> Output<'b> {
        Output { builder, id }
    }

    pub(super) fn failed(builder: &'b GraphBuilder) -> Output<'b> {
        Output { builder, id: FAILED }
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
        self.ok()?.id.to_tensor_name(&self.builder.graph.read())
    }

    /// Returns the element type, for a reference that of the value; `Resource` if the graph has no such tensor.
    pub fn dtype(self) -> DType {
        self.builder.graph.read().output_type(self.id).map_or(DType::Resource, |t| t.dtype)
    }

    /// Returns the static shape.
    pub fn shape(self) -> PartialShape {
        self.builder.shape_of(self.id)
    }
}

impl From<Output<'_>> for OutputId {
    fn from(output: Output<'_>) -> OutputId {
        output.id
    }
}

impl ToTensorName for Output<'_> {
    fn to_tensor_name(&self, graph: &Graph) -> Result<String> {
        self.ok()?.id.to_tensor_name(graph)
    }
}

/// The node that produces the output.
impl ToNodeName for Output<'_> {
    fn to_node_name(&self, graph: &Graph) -> Result<String> {
        self.ok()?.id.node.to_node_name(graph)
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
