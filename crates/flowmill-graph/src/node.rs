//! One node of a graph.

use crate::signature::{Signature, TensorType};
use crate::{Attrs, EdgeId, NodeId, OpDef, OpTraits, Role};
use flowmill_proto::node_def::ExperimentalDebugInfo;
use flowmill_proto::{FullTypeDef, NodeDef, UnknownFields};
use smallvec::SmallVec;
use std::fmt;
use std::sync::Arc;

/// Edges by id; four lie in the node itself.
pub(crate) type EdgeList = SmallVec<[EdgeId; 4]>;

/// A node: its op and its definition, which passes may change. Its edges are reached through the [`crate::Graph`].
#[derive(Clone)]
pub struct Node {
    pub(crate) id: NodeId,
    pub(crate) name: Arc<str>,
    pub(crate) op_def: Arc<OpDef>,
    pub(crate) signature: Arc<Signature>,
    /// `None` for none. A thin pointer: graphs have many nodes and few devices.
    pub(crate) device: Option<Arc<String>>,
    pub(crate) attrs: Attrs,
    /// Data inputs by `dst_input` ([`EdgeId::NONE`] if not connected), then control inputs in the order they were added.
    pub(crate) in_edges: EdgeList,
    pub(crate) out_edges: EdgeList,
    pub(crate) rest: Option<Box<NodeRest>>,
}

/// Parts of a `NodeDef` that the graph does not use and keeps for export.
#[derive(Clone, Default, PartialEq)]
pub(crate) struct NodeRest {
    pub(crate) debug_info: Option<ExperimentalDebugInfo>,
    pub(crate) full_type: Option<FullTypeDef>,
    pub(crate) unknown_fields: UnknownFields,
}

impl NodeRest {
    /// Takes these fields out of `def`; `None` if it has none.
    pub(crate) fn take(def: &mut NodeDef) -> Option<Box<NodeRest>> {
        let rest = NodeRest {
            debug_info: def.experimental_debug_info.take(),
            full_type: def.experimental_type.take(),
            unknown_fields: std::mem::take(&mut def.unknown_fields),
        };
        (rest.debug_info.is_some() || rest.full_type.is_some() || !rest.unknown_fields.is_empty()).then(|| Box::new(rest))
    }
}

impl Node {
    /// Returns the node's id.
    pub fn id(&self) -> NodeId {
        self.id
    }

    /// The name, unique in its graph.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The name, shared with the graph.
    pub fn shared_name(&self) -> &Arc<str> {
        &self.name
    }

    /// Returns the op's type, such as `MatMul`.
    pub fn op(&self) -> &str {
        &self.op_def.name
    }

    /// Returns the op's definition.
    pub fn op_def(&self) -> &Arc<OpDef> {
        &self.op_def
    }

    /// Returns the device asked for, which may be partial; empty for none.
    pub fn device(&self) -> &str {
        self.device.as_deref().map_or("", String::as_str)
    }

    /// Returns the attributes, defaults included.
    pub fn attrs(&self) -> &Attrs {
        &self.attrs
    }

    /// Types of the data inputs, lists counted one by one.
    pub fn input_types(&self) -> &[TensorType] {
        self.signature.inputs()
    }

    /// Types of the outputs, lists counted one by one.
    pub fn output_types(&self) -> &[TensorType] {
        self.signature.outputs()
    }

    /// Number of data inputs, connected or not.
    pub fn num_inputs(&self) -> usize {
        self.signature.inputs().len()
    }

    /// Number of outputs.
    pub fn num_outputs(&self) -> usize {
        self.signature.outputs().len()
    }

    /// Names of the nodes this one was made from, as passes record them; empty for none.
    pub fn original_names(&self) -> &[String] {
        self.rest.as_ref().and_then(|r| r.debug_info.as_ref()).map_or(&[], |d| &d.original_node_names)
    }

    /// Returns true if this is `_SOURCE` or `_SINK`.
    pub fn is_source_or_sink(&self) -> bool {
        self.id <= NodeId::SINK
    }

    /// Returns the traits of the op.
    pub fn traits(&self) -> &OpTraits {
        &self.op_def.traits
    }

    /// Returns the role of the op.
    pub fn role(&self) -> Role {
        self.op_def.traits.role
    }

    /// Returns true if the node's op is called `op`.
    pub fn is_op(&self, op: &str) -> bool {
        self.op_def.name == op
    }

    /// `Merge` or `RefMerge`.
    pub fn is_merge(&self) -> bool {
        self.role() == Role::Merge
    }

    /// `Switch`, `RefSwitch` or `_SwitchN`.
    pub fn is_switch(&self) -> bool {
        self.role() == Role::Switch
    }

    /// `Enter` or `RefEnter`.
    pub fn is_enter(&self) -> bool {
        self.role() == Role::Enter
    }

    /// `Exit` or `RefExit`.
    pub fn is_exit(&self) -> bool {
        self.role() == Role::Exit
    }

    /// `NextIteration` or `RefNextIteration`.
    pub fn is_next_iteration(&self) -> bool {
        self.role() == Role::NextIteration
    }

    /// Returns true if the op belongs to control flow, such as `Switch`.
    pub fn is_control_flow(&self) -> bool {
        self.role().is_control_flow()
    }

    /// Data inputs' edges, [`EdgeId::NONE`] if not connected.
    pub(crate) fn data_in(&self) -> &[EdgeId] {
        &self.in_edges[..self.num_inputs()]
    }

    /// Control inputs' edges.
    pub(crate) fn control_in(&self) -> &[EdgeId] {
        &self.in_edges[self.num_inputs()..]
    }
}

/// `{name}({op})`.
impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {}({})", self.id, self.name, self.op())
    }
}
