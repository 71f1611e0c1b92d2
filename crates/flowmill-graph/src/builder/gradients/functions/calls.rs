//! Gradients of calls: calls of the backward part.

use super::{CallGradient, define, func, is_stateful, run_attrs, tensors_of, type_list, with_tensors};
use crate::builder::ScopedBuilder;
use crate::builder::gradients::Grad;
use crate::{FunctionArg, OutputId, Role};
use flowmill_tensor::{DType, PartialShape, Result, bail};
use rustc_hash::FxHashMap;

impl CallGradient {
    /// Extends the call by what its gradient needs, and adds that.
    pub(super) fn finish_call(&mut self, b: &mut ScopedBuilder<'_>) -> Result<Vec<Option<Grad>>> {
        let [joint] = &mut self.joints[..] else { bail!(Internal, "a call of no function") };
        let results: Vec<OutputId> = joint.grads.iter().flatten().flat_map(tensors_of).collect();
        let stops = joint.dys.clone();
        let needs = joint.needs(&results, &stops)?;
        let joint = &self.joints[0];
        let (known, more) = self.sources(0, &needs.tensors);
        let attrs = run_attrs(b.graph().node(self.node)?.attrs());
        if !more.is_empty() {
            self.extend_function(b, &more)?;
        }
        let mut tensors = Vec::with_capacity(results.len());
        if !results.is_empty() {
            let mut inputs: Vec<OutputId> = self.grads.iter().copied().flatten().collect();
            inputs.extend(needs.tensors.iter().map(|t| known[t]));
            let args = joint.dys.iter().chain(&needs.tensors).map(|&t| joint.arg(t)).collect::<Result<Vec<FunctionArg>>>()?;
            let def = joint.backward(&args, &results, needs.replaced)?;
            let op = if is_stateful(&def) { "StatefulPartitionedCall" } else { "PartitionedCall" };
            let f = func(define(b, def)?);
            let mut call = b.op(op).inputs(&inputs).attr("Tin", type_list(args.iter().map(|a| a.dtype)));
            call = call.attr("Tout", type_list(results.iter().map(|&r| joint.dtype(r)))).attr("f", f);
            for (name, value) in attrs {
                call = call.attr(&name, value);
            }
            let node = call.finish()?;
            for (slot, &result) in results.iter().enumerate() {
                let tensor = node.output(slot as u32);
                b.merge_shape(tensor, &joint.shape(result))?;
                tensors.push(tensor);
            }
        }
        let mut tensors = tensors.into_iter();
        let mut grads = vec![None; self.inputs.len()];
        for (grad, &x) in joint.grads.iter().zip(&self.xs) {
            grads[x] = match grad {
                Some(grad) => with_tensors(grad, &mut tensors),
                None => self.unreached(b, x)?,
            };
        }
        Ok(grads)
    }

    /// Returns the tensors around a function that have the values of its own tensors: the node's inputs, its outputs, and further outputs. Also
    /// returns the tensors of the function that must become further results for that.
    pub(super) fn sources(&self, function: usize, tensors: &[OutputId]) -> (FxHashMap<OutputId, OutputId>, Vec<OutputId>) {
        let joint = &self.joints[function];
        let mut known: FxHashMap<OutputId, OutputId> = FxHashMap::default();
        for (i, &result) in joint.results.iter().enumerate() {
            known.insert(result, self.node.output(i as u32));
        }
        known.extend(joint.args.iter().copied().zip(self.inputs.iter().copied()));
        let (num_results, mut more) = (joint.results.len(), Vec::new());
        for &tensor in tensors {
            known.entry(tensor).or_insert_with(|| {
                more.push(tensor);
                self.node.output((num_results + more.len() - 1) as u32)
            });
        }
        (known, more)
    }

    /// Makes the node call a function that returns more of its tensors. A node whose op is the function becomes a call of it.
    fn extend_function(&self, b: &mut ScopedBuilder<'_>, more: &[OutputId]) -> Result<()> {
        let joint = &self.joints[0];
        let name = define(b, joint.forward(&[], more)?)?;
        let node = b.graph().node(self.node)?;
        let tin: Vec<DType> = node.input_types().iter().map(|t| t.dtype).collect();
        let tout = node.output_types().iter().map(|t| t.dtype).chain(more.iter().map(|&t| joint.dtype(t)));
        let tout = type_list(tout);
        let mut attrs = node.attrs().clone();
        let op = if node.role() == Role::Call {
            None
        } else {
            let op = if node.op_def().is_stateful() { "StatefulPartitionedCall" } else { "PartitionedCall" };
            attrs.retain(|name, _| name.starts_with('_'));
            attrs.set("Tin", type_list(tin));
            Some(b.graph().op_def(op)?.clone())
        };
        attrs.set("f", func(name));
        attrs.set("Tout", tout);
        let shapes: Vec<PartialShape> = more.iter().map(|&t| joint.shape(t)).collect();
        b.extend_call(self.node, op, attrs, &shapes)
    }
}
