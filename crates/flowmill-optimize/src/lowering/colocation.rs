//! The colocation of what a call is lowered to.

use flowmill_graph::{Graph, Node, NodeId, Role};
use flowmill_proto::AttrValue;
use flowmill_tensor::Result;

/// The attribute that names the nodes that a node is colocated with.
const CLASS: &str = "_class";

/// The colocation of a call, which passes to the nodes that replace the call. As in TensorFlow, nodes with a colocation or a device of their
/// own keep that, and the nodes of a loop's variables are not colocated.
pub(crate) struct CallColocation {
    class: Option<AttrValue>,
    device: String,
    is_loop: bool,
    first_new: usize,
}

impl CallColocation {
    /// Notes the colocation of a call before it is lowered.
    pub(crate) fn of(graph: &Graph, call: NodeId) -> CallColocation {
        let node = graph.get(call);
        let class = node.and_then(|node| node.attrs().attr(CLASS).cloned());
        let is_loop = node.is_some_and(|node| node.role() == Role::While);
        CallColocation { class, device: node.map_or("", Node::device).to_owned(), is_loop, first_new: graph.num_node_ids() }
    }

    /// Passes it to the nodes that have been added since.
    pub(crate) fn pass_on(self, graph: &mut Graph) -> Result<()> {
        let Some(class) = self.class else { return Ok(()) };
        for id in (self.first_new..graph.num_node_ids()).map(|id| NodeId(id as u32)) {
            let keeps_own = |node: &Node| node.attrs().contains(CLASS) || node.device() != self.device;
            let follows = |node: &Node| !(keeps_own(node) || self.is_loop && moves_variables(node));
            if graph.get(id).is_some_and(follows) {
                graph.set_attr(id, CLASS, class.clone())?;
            }
        }
        Ok(())
    }
}

fn moves_variables(node: &Node) -> bool {
    node.is_enter() || node.is_next_iteration() || node.is_exit() || node.is_switch() || node.is_merge()
}
