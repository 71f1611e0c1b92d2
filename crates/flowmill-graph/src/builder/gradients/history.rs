//! The values of the forward loop's iterations that a backward loop needs, kept on stacks.

use crate::builder::context::{ContextKind, other};
use crate::builder::{ContextId, ScopedBuilder};
use crate::{NodeId, OutputId, Role};
use flowmill_proto::AttrValue;
use flowmill_proto::attr_value::Value;
use flowmill_tensor::{Result, Tensor, bail};

impl ScopedBuilder<'_> {
    /// Returns the value that a forward loop's tensor had in the iteration whose gradient is made: for code in backward loop `id`, the current
    /// context.
    pub(in crate::builder) fn recall_in(&mut self, id: ContextId, value: OutputId) -> Result<OutputId> {
        if let Some(&known) = self.backward(id).and_then(|l| l.history.get(&value)) {
            return Ok(known);
        }
        let (mut at, mut source) = (id, value);
        let real = loop {
            if let Some(enter) = self.invariant_behind(source) {
                // An invariant: the same in all iterations.
                let Some(outside) = self.graph.input(enter, 0) else { bail!(Internal, "an Enter without input") };
                source = outside;
                match self.backward(at).and_then(|l| l.outer) {
                    Some(outer) => at = outer,
                    None => break self.bring_into(id, source)?,
                }
            } else if let Some(constant) = self.literal(source) {
                let scope = self.scope.in_context(Some(id));
                break self.within(scope, |b| b.constant("Const", &constant))?;
            } else {
                let popped = self.recall(at, source)?;
                break if at == id { popped } else { self.bring_into(id, popped)? };
            }
        };
        if let Some(looped) = self.backward_mut(id) {
            looped.history.insert(value, real);
        }
        Ok(real)
    }

    /// Returns a variable's handle for code in backward loop `id`: what the forward loop has came from outside by `Enter`s and `Switch`es.
    pub(super) fn handle_in_loop(&mut self, id: ContextId, handle: OutputId) -> Result<OutputId> {
        let mut source = handle;
        while let Some(node) = self.graph.get(source.node)
            && (node.is_enter() || node.is_switch() || node.is_op("Identity"))
            && let Some(input) = self.graph.input(source.node, 0)
        {
            source = input;
        }
        if self.context_of(source.node).is_none() { self.bring_into(id, source) } else { self.recall_in(id, handle) }
    }

    /// Returns the value of a `Const` node.
    fn literal(&self, value: OutputId) -> Option<Tensor> {
        let node = self.graph.get(value.node)?;
        if !node.is_op("Const") {
            return None;
        }
        let proto: &flowmill_proto::TensorProto = node.attrs().get("value").ok()?;
        Tensor::from_proto(proto).ok()
    }

    /// Returns the `Enter` of a loop invariant that a tensor is, or is an identity of.
    fn invariant_behind(&self, value: OutputId) -> Option<NodeId> {
        let mut node = value.node;
        while self.graph.get(node).is_some_and(|n| n.traits().passes_on && n.role() == Role::Kernel)
            && let Some(producer) = self.graph.input_node(node, 0)
        {
            node = producer;
        }
        self.is_invariant(node).then_some(node)
    }

    /// Keeps a value of each forward iteration and returns it back in backward loop `id`.
    pub(super) fn recall(&mut self, id: ContextId, value: OutputId) -> Result<OutputId> {
        let stack = self.push(id, value, None)?;
        self.pop(id, stack, value, false)
    }

    /// Adds a stack to the forward loop and pushes a value in each iteration; returns the stack. `dead_in` is for a value that lives only if a
    /// conditional's branch is *not* taken.
    pub(super) fn push(&mut self, id: ContextId, value: OutputId, dead_in: Option<ContextId>) -> Result<OutputId> {
        let Some(looped) = self.backward(id) else { bail!(Internal, "no backward loop") };
        let (forward, index, root) = (looped.forward, looped.forward_index, looped.root);
        let base = self.scope.unconditional();
        let dtype = AttrValue::from(Value::Type(self.dtype(value).number()));
        let around = base.in_context(root);
        let stack = self.within(around, |b| {
            let scope = b.scope.also_colocated_with(value.node);
            b.within(scope, |b| {
                let unlimited = b.constant("Const", &Tensor::scalar(-1i32))?;
                b.op("StackV2").name("f_acc").input(unlimited).attr("elem_type", dtype).output()
            })
        })?;
        let entered = self.within(base.clone(), |b| b.bring_into(forward, stack))?;
        let at = dead_in.or_else(|| self.output_context(value.node)).unwrap_or(forward);
        let push_scope = match dead_in {
            Some(cond) => base.in_context(self.context(cond).outer),
            None => base.in_context(Some(at)),
        };
        let swap_memory = matches!(&self.context(forward).kind, ContextKind::While(looped) if looped.swap_memory);
        let push = self.within(push_scope, |b| b.op("StackPushV2").inputs(&[entered, value]).attr("swap_memory", swap_memory).finish())?;
        if let Some(cond) = dead_in {
            self.state.context_of.insert(push, cond);
        }
        if at == forward {
            self.graph.add_control_edge(push, index.node)?;
        } else {
            if !matches!(self.context(at).kind, ContextKind::Cond { .. }) {
                bail!(Internal, "'{}' is in another loop", self.graph.tensor_name(value));
            }
            let sync = self.forward_sync(id)?;
            self.graph.add_control_edge(push, sync)?;
        }
        // Not before the loop goes on.
        if let Some(add) = self.graph.input_node(index.node, 0) {
            self.graph.add_control_edge(add, push)?;
        }
        Ok(stack)
    }

    /// Pops what was pushed for `value`, guarded by the conditional that the push was in.
    pub(super) fn pop(&mut self, id: ContextId, stack: OutputId, value: OutputId, is_dead: bool) -> Result<OutputId> {
        let forward = self.backward(id).map(|l| l.forward);
        let mut context = self.context_of(value.node);
        let mut guard = None;
        while let Some(c) = context
            && Some(c) != forward
        {
            if let ContextKind::Cond { pred, branch, .. } = &self.context(c).kind {
                guard = Some((*pred, *branch));
                break;
            }
            context = self.context(c).outer;
        }
        let scope = self.scope.unconditional().in_context(Some(id));
        let dtype = AttrValue::from(Value::Type(self.dtype(value).number()));
        let popped = self.within(scope, |b| {
            let mut stack = stack;
            if let Some((pred, branch)) = guard {
                let pred = b.known_history(id, pred).unwrap_or(pred);
                let taken = if is_dead { other(branch) } else { branch };
                stack = b.switch(stack, pred)?.output(taken as u32);
            }
            b.op("StackPopV2").input(stack).attr("elem_type", dtype).output()
        })?;
        let shape = self.shape(value);
        self.merge_shape(popped, &shape)?;
        if self.while_context(id).is_some_and(|l| l.parallel_iterations > 1) {
            let sync = self.backward_sync(id)?;
            self.graph.add_control_edge(popped.node, sync)?;
        }
        Ok(popped)
    }

    /// Returns the value of a predicate in a backward loop or one around it, if that is known.
    fn known_history(&self, id: ContextId, pred: OutputId) -> Option<OutputId> {
        let mut at = Some(id);
        while let Some(id) = at {
            let looped = self.backward(id)?;
            if let Some(&known) = looped.history.get(&pred) {
                return Some(known);
            }
            at = looped.outer;
        }
        None
    }

    /// Returns the value of a conditional's predicate in the iteration whose gradient is made.
    pub(super) fn history_of_pred(&mut self, id: ContextId, pred: OutputId) -> Result<OutputId> {
        if let Some(&known) = self.backward(id).and_then(|l| l.history.get(&pred)) {
            return Ok(known);
        }
        let real = self.recall(id, pred)?;
        if let Some(looped) = self.backward_mut(id) {
            looped.history.insert(pred, real);
        }
        Ok(real)
    }

    /// Returns the shape of a tensor around backward loop `id`'s forward loop, for a node around loop `id`.
    pub(super) fn shape_in_outer_loop(&mut self, id: ContextId, tensor: OutputId) -> Result<OutputId> {
        let Some(looped) = self.backward(id) else { return self.dynamic_shape_of(tensor) };
        let (forward, outer) = (looped.forward, looped.outer);
        let around = self.scope.in_context(self.context(forward).outer);
        match outer {
            None => self.dynamic_shape_of(tensor),
            Some(outer) => {
                let shape = self.within(around, |b| b.dynamic_shape_of(tensor))?;
                self.recall(outer, shape)
            }
        }
    }

    /// Returns the value of a forward loop's tensor in the current iteration of its backward loop; `None` for other tensors.
    pub(in crate::builder) fn recall_if_forward(&mut self, value: OutputId) -> Result<Option<OutputId>> {
        let Some(id) = self.loop_of(self.scope.context()) else { return Ok(None) };
        let Some(forward) = self.backward(id).map(|l| l.forward) else { return Ok(None) };
        if self.loop_of(self.output_context(value.node)) != Some(forward) {
            return Ok(None);
        }
        self.recall_in(id, value).map(Some)
    }
}
