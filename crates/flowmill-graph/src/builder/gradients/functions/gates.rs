//! Conditionals of `Switch` and `Merge` in a body that is divided.
//!
//! A tensor in a branch that is not taken is dead, and a dead tensor is no result of a function. So what the backward part needs of a branch leaves
//! the forward part through a `Merge` with a zero from the other side, and comes back into the branch through a `Switch` on the same predicate.

use super::joint::{Joint, Needs, is_repeatable, origin, type_attr};
use crate::builder::ScopedBuilder;
use crate::traverse::topological_order;
use crate::{Graph, NodeId, OutputId};
use flowmill_tensor::{DType, PartialShape, Result, Tensor};
use rustc_hash::FxHashMap;

/// The predicate and the output of a `Switch` that lets something through.
type Gate = (OutputId, u32);

/// For each node the gates that it is behind, the outermost first.
pub(super) struct Gates(FxHashMap<NodeId, Vec<Gate>>);

impl Gates {
    /// Finds the gates of a graph without loops.
    ///
    /// # Errors
    /// `InvalidArgument` for a graph with a cycle.
    pub(super) fn of(graph: &Graph) -> Result<Gates> {
        let mut gates = Gates(FxHashMap::default());
        for id in topological_order(graph)? {
            let inputs: Vec<Vec<Gate>> = graph.inputs(id).map(|i| gates.before(graph, i)).collect();
            let own = if graph[id].is_merge() {
                inputs.into_iter().reduce(|a, b| a.iter().zip(&b).take_while(|(a, b)| a == b).map(|(&a, _)| a).collect())
            } else {
                let controls = graph.control_inputs(id).filter_map(|c| gates.0.get(&c).cloned());
                inputs.into_iter().chain(controls).max_by_key(Vec::len)
            };
            if let Some(own) = own.filter(|own| !own.is_empty()) {
                gates.0.insert(id, own);
            }
        }
        Ok(gates)
    }

    /// Returns the gates that a tensor is behind.
    fn before(&self, graph: &Graph, tensor: OutputId) -> Vec<Gate> {
        let mut gates = self.0.get(&tensor.node).cloned().unwrap_or_default();
        if graph[tensor.node].is_switch()
            && let Some(predicate) = graph.input(tensor.node, 1)
        {
            gates.push((origin(graph, predicate), tensor.slot));
        }
        gates
    }
}

impl Joint {
    /// Merges tensors that are needed out of the branches that they are in.
    pub(super) fn keep_alive(&mut self, needs: Needs) -> Result<Needs> {
        let gates = Gates::of(&self.body.graph)?;
        let mut kept = Needs { tensors: Vec::new(), replaced: needs.replaced };
        let mut back = FxHashMap::default();
        for tensor in needs.tensors {
            self.bring_back(tensor, &gates, &mut kept.tensors, &mut back)?;
        }
        for origin in kept.replaced.values_mut() {
            *origin = back.get(origin).copied().unwrap_or(*origin);
        }
        kept.replaced.extend(back.into_iter().filter(|(tensor, back)| tensor != back));
        Ok(kept)
    }

    /// Returns the tensor of the backward part that replaces `tensor`; adds the forward tensors that this takes to `kept`.
    fn bring_back(
        &mut self,
        tensor: OutputId,
        gates: &Gates,
        kept: &mut Vec<OutputId>,
        back: &mut FxHashMap<OutputId, OutputId>,
    ) -> Result<OutputId> {
        if let Some(&known) = back.get(&tensor) {
            return Ok(known);
        }
        let before = gates.before(&self.body.graph, tensor);
        let mut alive = tensor;
        for &(predicate, slot) in before.iter().rev() {
            alive = self.build(|b| merge_with_zero(b, alive, predicate, slot))?;
        }
        if !is_repeatable(&self.body.graph[alive.node]) && !kept.contains(&alive) {
            kept.push(alive);
        }
        let mut found = alive;
        for (predicate, slot) in before {
            let predicate = self.bring_back(predicate, gates, kept, back)?;
            found = self.build(|b| Ok(b.switch(found, predicate)?.output(slot)))?;
        }
        back.insert(tensor, found);
        Ok(found)
    }
}

/// Returns a tensor that is alive where the predicate has the value of `slot`, and a zero where it has the other.
fn merge_with_zero(b: &mut ScopedBuilder<'_>, tensor: OutputId, predicate: OutputId, slot: u32) -> Result<OutputId> {
    let dtype = b.dtype(tensor);
    let zero = match dtype {
        // Any will do, nobody looks at it.
        DType::Resource => b
            .op("VarHandleOp")
            .name("none")
            .attr("dtype", type_attr(DType::F32))
            .attr("shape", PartialShape::scalar().to_proto())
            .output()?,
        DType::Variant => {
            let any = b.scalar(-1i32)?;
            b.op("EmptyTensorList").inputs(&[any, any]).attr("element_dtype", type_attr(DType::F32)).output()?
        }
        _ => b.constant("Const", &Tensor::zeros(dtype, [])?)?,
    };
    let zero = b.switch(zero, predicate)?.output(1 - slot);
    b.call("Merge", &if slot == 0 { [tensor, zero] } else { [zero, tensor] })
}
