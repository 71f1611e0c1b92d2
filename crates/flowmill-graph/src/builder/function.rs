//! Functions of the library, copied into the graph.

use super::GraphBuilder;
use crate::traverse::topological_order;
use crate::{ARG, Attrs, FunctionBody, NodeId, OutputId, RETVAL, instantiate_function};
use flowmill_proto::NameAttrList;
use flowmill_tensor::{Result, bail};
use rustc_hash::FxHashMap;

impl GraphBuilder<'_> {
    /// The body of a function of the graph's library.
    ///
    /// # Errors
    /// `NotFound` where there is none of that name, and as [`instantiate_function`].
    pub fn function_body(&self, function: &NameAttrList) -> Result<FunctionBody> {
        let Some(found) = self.graph.library().get(&function.name).cloned() else {
            bail!(NotFound, "Function {} is not defined.", function.name);
        };
        instantiate_function(&found, &Attrs(function.attr.clone()), self.graph.library(), self.graph.registry())
    }

    /// Adds the nodes of a function's body in the present scope, with `args` in the place of its arguments; gives its results.
    ///
    /// # Errors
    /// `InvalidArgument` where the arguments do not fit, `Unimplemented` for a body that has a loop of frames, and what adding nodes gives.
    pub fn copy_function(&mut self, body: &FunctionBody, args: &[OutputId]) -> Result<Vec<OutputId>> {
        if args.len() != body.args.len() {
            bail!(InvalidArgument, "A function of {} arguments was called with {}", body.args.len(), args.len());
        }
        let mut outputs: FxHashMap<OutputId, OutputId> = FxHashMap::default();
        let mut nodes: FxHashMap<NodeId, NodeId> = FxHashMap::default();
        for (&arg, &value) in body.args.iter().zip(args) {
            outputs.insert(arg.output(0), value);
        }
        for id in topological_order(&body.graph)? {
            let node = body.graph.node(id)?;
            if node.is_op(ARG) || node.is_op(RETVAL) || id == NodeId::SOURCE || id == NodeId::SINK {
                continue;
            }
            if node.is_enter() || node.is_next_iteration() {
                bail!(Unimplemented, "'{}': the gradient of a function whose body has a loop of frames", node.name());
            }
            let mut inputs = Vec::with_capacity(node.num_inputs());
            for input in body.graph.inputs(id) {
                match outputs.get(&input) {
                    Some(&value) => inputs.push(value),
                    None => bail!(Internal, "'{}' comes before its inputs", node.name()),
                }
            }
            let mut copy = self.op(node.op()).name(node.name()).inputs(&inputs);
            for (name, value) in &node.attrs().0 {
                // The groups name nodes of the function.
                if name != "_class" {
                    copy = copy.attr(name, value.clone());
                }
            }
            if !node.device().is_empty() {
                copy = copy.device(node.device());
            }
            for control in body.graph.control_inputs(id) {
                if let Some(&control) = nodes.get(&control) {
                    copy = copy.after(control);
                }
            }
            let copy = copy.finish()?;
            nodes.insert(id, copy);
            outputs.extend((0..node.num_outputs() as u32).map(|slot| (id.output(slot), copy.output(slot))));
        }
        let mut results = Vec::with_capacity(body.retvals.len());
        for &retval in &body.retvals {
            match body.graph.input(retval, 0).and_then(|source| outputs.get(&source)) {
                Some(&result) => results.push(result),
                None => bail!(Internal, "a result comes from nowhere"),
            }
        }
        Ok(results)
    }
}
