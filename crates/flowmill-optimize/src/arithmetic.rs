//! Element-wise functions that replace nodes.

use crate::rewrite::{Constant, add_constant, node_def, replace};
use flowmill_graph::{ElementwiseFunction, Graph, NodeId, OutputId};
use flowmill_proto::NodeDef;
use flowmill_proto::attr_value::Value;
use flowmill_tensor::{DType, Result};

/// A function of operands that replaces a node, and nodes before it as far as the node is concerned.
#[derive(Clone)]
pub(crate) struct Term {
    pub(crate) function: ElementwiseFunction,
    /// The type of the operands, the condition of a selection excepted.
    pub(crate) dtype: DType,
    pub(crate) operands: Vec<Operand>,
    /// The nodes whose control inputs the new node takes over, besides those of the node that it replaces.
    pub(crate) replaced: Vec<NodeId>,
}

/// An operand of a new function.
#[derive(Clone)]
pub(crate) enum Operand {
    Tensor(OutputId),
    /// A new constant.
    Constant(Constant),
    /// A new node.
    Term(Box<Term>),
}

impl From<OutputId> for Operand {
    fn from(tensor: OutputId) -> Operand {
        Operand::Tensor(tensor)
    }
}

impl Term {
    /// Returns the ops of the new nodes.
    pub(crate) fn ops(&self) -> impl Iterator<Item = &'static str> + '_ {
        let inner = self.operands.iter().filter_map(|operand| match operand {
            Operand::Term(term) => Some(op_of(term.function)),
            _ => None,
        });
        inner.chain([op_of(self.function)])
    }
}

/// Returns the op that computes a function.
pub(crate) fn op_of(function: ElementwiseFunction) -> &'static str {
    match function {
        ElementwiseFunction::Add => "AddV2",
        function => function.name(),
    }
}

/// Replaces a node by a term, and returns the new node.
pub(crate) fn apply(graph: &mut Graph, id: NodeId, term: Term) -> Result<NodeId> {
    let mut controls: Vec<NodeId> = graph.control_inputs(id).collect();
    let (def, inputs) = prepare(graph, id, term, &mut controls)?;
    controls.sort_unstable();
    controls.dedup();
    replace(graph, id, def, &inputs, &controls)
}

/// Adds the operands of a term, and returns the definition of its node.
fn prepare(graph: &mut Graph, id: NodeId, term: Term, controls: &mut Vec<NodeId>) -> Result<(NodeDef, Vec<OutputId>)> {
    let mut originals = term.replaced;
    for &node in &originals {
        controls.extend(graph.control_inputs(node));
    }
    originals.push(id);
    let mut inputs = Vec::with_capacity(term.operands.len());
    for operand in term.operands {
        inputs.push(match operand {
            Operand::Tensor(tensor) => tensor,
            Operand::Constant(constant) => add_constant(graph, &constant.value, &constant.controls, id)?,
            Operand::Term(term) => {
                let (mut def, inputs) = prepare(graph, id, *term, controls)?;
                let prefix = graph.node(id)?.name().to_owned();
                def.name = graph.new_name(&prefix);
                graph.add_node_with_inputs(def, &inputs, &[])?.output(0)
            }
        });
    }
    let mut def = node_def(graph, op_of(term.function), String::new(), &originals);
    if graph.op_def(&def.op)?.attrs.iter().any(|attr| attr.name == "T") {
        def.attr.insert("T".to_owned(), Value::Type(term.dtype.number()).into());
    }
    Ok((def, inputs))
}
