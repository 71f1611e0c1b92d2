//! Gradients of the ops that move tensors into, out of and through conditionals and loops.

use super::{Backward, Grad, IndexedSlices};
use crate::builder::context::ContextKind;
use crate::builder::{ContextId, ScopedBuilder};
use crate::{OutputId, Role};
use flowmill_tensor::{DType, Result, Tensor, bail};

type Grads = Result<Vec<Option<Grad>>>;

/// Returns the gradients of a control-flow node's inputs.
pub(super) fn differentiate(b: &mut ScopedBuilder<'_>, op: &Backward) -> Grads {
    let node = b.graph.node(op.node)?;
    match node.role() {
        Role::Switch if !node.is_op("_SwitchN") => switch(b, op),
        Role::Merge => merge(b, op),
        Role::Enter => enter(b, op),
        Role::Exit => exit(b, op),
        Role::NextIteration => Ok(op.grads.clone()),
        Role::LoopCond => Ok(vec![None]),
        _ => bail!(NotFound, "No gradient defined for operation '{}' (op type: {}).", node.name(), node.op()),
    }
}

/// Returns the backward loop around the nodes that are being made, if there is one.
fn backward_loop(b: &ScopedBuilder<'_>) -> Option<ContextId> {
    let id = b.loop_of(b.scope.context())?;
    b.backward(id).map(|_| id)
}

/// In a loop, the gradient of `Switch` is a `Merge` of what comes from the loop's exit and, over a back edge, from its body. In a conditional it
/// is a `Merge` of what both branches give.
fn switch(b: &mut ScopedBuilder<'_>, op: &Backward) -> Grads {
    let dense =
        |b: &mut ScopedBuilder<'_>, slot: usize| -> Result<Option<OutputId>> { op.grads[slot].as_ref().map(|g| b.densify(g)).transpose() };
    let context = b.context_of(op.node).map(|id| (id, &b.context(id).kind));
    match context {
        Some((_, ContextKind::While(_))) => {
            let Some(id) = backward_loop(b) else { return Ok(vec![None, None]) };
            let merged = b.backward(id).and_then(|l| l.merges.get(&op.node).copied());
            match (merged, dense(b, 0)?) {
                (Some(merge), _) => {
                    // The second visit, from the body.
                    if let Some(grad) = dense(b, 1)? {
                        let next = b.call("NextIteration", &[grad])?;
                        b.connect_back(next, merge.node, 1)?;
                    }
                    Ok(vec![None, None])
                }
                (None, Some(grad)) => {
                    let merge = b.op("Merge").name("b_switch").inputs(&[grad, grad]).output()?;
                    if let Some(looped) = b.backward_mut(id) {
                        looped.merges.insert(op.node, merge);
                    }
                    Ok(vec![Some(merge.into()), None])
                }
                // The variable's last value does not matter.
                (None, None) => Ok(vec![None, None]),
            }
        }
        Some((id, ContextKind::Cond { branch, pred, .. })) => {
            let (branch, pred) = (*branch as usize, *pred);
            // Zeros for the branch not taken were made behind the right switch; without them there is nothing to merge.
            let other = match (dense(b, 1 - branch)?, dense(b, branch)?) {
                (Some(other), Some(own)) => [other, own],
                (None, Some(own)) if b.dtype(op.inputs[0]) == DType::Resource => {
                    let untaken = 1 - branch as u32;
                    let zeros = match backward_loop(b) {
                        Some(backward) if b.loop_of(Some(id)) == b.backward(backward).map(|l| l.forward) => {
                            let pred = b.history_of_pred(backward, pred)?;
                            let handle = b.handle_in_loop(backward, op.inputs[0])?;
                            let zeros = zeros_of_variable(b, handle, own)?;
                            b.switch_here(zeros, pred)?.output(untaken)
                        }
                        _ => zeros_of_variable(b, op.output(untaken), own)?,
                    };
                    [zeros, own]
                }
                _ => return Ok(vec![None, None]),
            };
            let mut both = other;
            if branch == 0 {
                both.reverse();
            }
            Ok(vec![Some(b.call("Merge", &both)?.into()), None])
        }
        None => {
            let given = [dense(b, 0)?, dense(b, 1)?];
            let Some(any) = given[0].or(given[1]) else { return Ok(vec![None, None]) };
            let mut both = [any; 2];
            for (slot, grad) in given.into_iter().enumerate() {
                both[slot] = match grad {
                    Some(grad) => b.switch(grad, op.inputs[1])?.output(slot as u32),
                    None if b.dtype(op.inputs[0]) == DType::Resource => zeros_of_variable(b, op.output(slot as u32), any)?,
                    None => op.dy(b, slot)?,
                };
            }
            Ok(vec![Some(b.call("Merge", &both)?.into()), None])
        }
    }
}

/// Zeros for a handle that has no gradient, of the type of one that has.
fn zeros_of_variable(b: &mut ScopedBuilder<'_>, handle: OutputId, like: OutputId) -> Result<OutputId> {
    let shape = b.call("VariableShape", &[handle])?;
    let zero = b.constant("Const", &Tensor::zeros(b.dtype(like), [])?)?;
    b.call("Fill", &[shape, zero])
}

/// The gradient of `Merge` goes back to the side that its value came from.
fn merge(b: &mut ScopedBuilder<'_>, op: &Backward) -> Grads {
    let grad = op.dy(b, 0)?;
    let Some(&first) = op.inputs.first() else { return Ok(Vec::new()) };
    let context = b.output_context(first.node);
    let pred = match context.map(|id| &b.context(id).kind) {
        Some(ContextKind::While(_)) => {
            let pivot = b.loop_of(b.scope.context()).and_then(|id| b.while_context(id)).and_then(|l| l.pivot);
            let Some(pivot) = pivot else { bail!(Internal, "the backward loop has no condition") };
            pivot
        }
        Some(ContextKind::Cond { pred, .. }) => {
            let pred = *pred;
            match backward_loop(b) {
                // The value that the predicate had in each of the loop's iterations.
                Some(id) if b.loop_of(context) == b.backward(id).map(|l| l.forward) => b.history_of_pred(id, pred)?,
                _ => pred,
            }
        }
        None => {
            let mut grads = Vec::with_capacity(op.inputs.len());
            for i in 0..op.inputs.len() {
                let index = b.scalar(i as i32)?;
                let is_source = b.call("Equal", &[op.output(1), index])?;
                grads.push(Some(b.switch(grad, is_source)?.output(1).into()));
            }
            return Ok(grads);
        }
    };
    let switch = b.switch(grad, pred)?;
    Ok(vec![Some(switch.output(0).into()), Some(switch.output(1).into())])
}

/// Returns the gradient of `Exit` enters the backward loop.
fn exit(b: &mut ScopedBuilder<'_>, op: &Backward) -> Grads {
    let forward = b.context_of(op.node);
    let Some(looped) = forward.and_then(|id| b.while_context(id)) else {
        bail!(InvalidArgument, "'{}' is in no loop that was built here: its gradient is not known", b.graph.node(op.node)?.name());
    };
    if looped.backward.is_some() {
        bail!(Unimplemented, "Second-order gradient for while loops not supported.");
    }
    if looped.is_constant {
        return Ok(vec![None]);
    }
    let Some(id) = b.backward_of(forward) else { return Ok(vec![None]) };
    let outside = b.scope.in_context(b.context(id).outer);
    let grad = b.within(outside, |b| op.dy(b, 0))?;
    b.context_mut(id).known.insert(grad);
    let enter = b.enter_named(id, grad, "b_exit")?;
    Ok(vec![Some(enter.into())])
}

/// Returns the gradient of a variable's `Enter` leaves the backward loop; that of an invariant is the sum over all iterations.
fn enter(b: &mut ScopedBuilder<'_>, op: &Backward) -> Grads {
    let Some(id) = backward_loop(b) else { return Ok(op.grads.clone()) };
    if !b.is_invariant(op.node) {
        let grad = op.dy(b, 0)?;
        let exit = b.call("Exit", &[grad])?;
        b.hand_out_of_loop(id, exit);
        return Ok(vec![Some(exit.into())]);
    }
    let sum = match &op.grads[0] {
        None => return Ok(vec![None]),
        Some(Grad::Dense(grad)) => b.accumulate(id, op.inputs[0], *grad)?.into(),
        Some(Grad::Slices(slices)) => Grad::Slices(b.accumulate_slices(id, op.inputs[0], slices)?),
    };
    Ok(vec![Some(sum)])
}

impl ScopedBuilder<'_> {
    /// Returns the sum over a backward loop's iterations of the gradient of `invariant`; a tensor outside of the loop.
    fn accumulate(&mut self, id: ContextId, invariant: OutputId, grad: OutputId) -> Result<OutputId> {
        let outside = self.scope.in_context(self.context(id).outer);
        let zeros = self.within(outside, |b| {
            let dtype = b.dtype(grad);
            match b.shape(grad).to_shape() {
                Some(shape) => b.constant("b_acc", &Tensor::zeros(dtype, shape)?),
                None => {
                    let shape = b.shape_in_outer_loop(id, invariant)?;
                    b.zeros_of_shape(shape, dtype)
                }
            }
        })?;
        self.accumulate_from(id, zeros, None, |b, sum| b.call("Add", &[sum, grad]))
    }

    /// Like `accumulate`, for slices: those of all iterations are concatenated.
    fn accumulate_slices(&mut self, id: ContextId, invariant: OutputId, slices: &IndexedSlices) -> Result<IndexedSlices> {
        let outside = self.scope.in_context(self.context(id).outer);
        let (values, indices) = (slices.values, slices.indices);
        let row = self.shape(values);
        let (no_values, no_indices) = self.within(outside.clone(), |b| {
            let dtype = b.dtype(values);
            let sizes = row.to_shape().map(|mut s| {
                if s.rank() > 0 {
                    s.remove(0);
                    s.insert(0, 0);
                }
                s
            });
            let no_values = match sizes {
                Some(shape) => b.constant("b_acc", &Tensor::zeros(dtype, shape)?)?,
                None => {
                    let shape = b.shape_in_outer_loop(id, invariant)?;
                    let (one, all, step) = (b.vector(&[1i32])?, b.vector(&[0i32])?, b.vector(&[1i32])?);
                    let rest = b.op("StridedSlice").inputs(&[shape, one, all, step]).attr("end_mask", 1i64).output()?;
                    let (none, axis) = (b.vector(&[0i32])?, b.scalar(0i32)?);
                    let sizes = b.call("ConcatV2", &[none, rest, axis])?;
                    b.zeros_of_shape(sizes, dtype)?
                }
            };
            let no_indices = b.constant("b_acc", &Tensor::zeros(b.dtype(indices), vec![0usize])?)?;
            Ok((no_values, no_indices))
        })?;
        let grown = |shape: &flowmill_tensor::PartialShape| match shape.dims() {
            Some([_, rest @ ..]) => {
                let mut dims = vec![-1];
                dims.extend_from_slice(rest);
                flowmill_tensor::PartialShape::new(&dims)
            }
            _ => flowmill_tensor::PartialShape::unknown(),
        };
        let append = |b: &mut ScopedBuilder<'_>, sum: OutputId, more: OutputId| {
            let axis = b.scalar(0i32)?;
            b.call("ConcatV2", &[sum, more, axis])
        };
        let values = self.accumulate_from(id, no_values, Some(grown(&row)), |b, sum| append(b, sum, values))?;
        let indices =
            self.accumulate_from(id, no_indices, Some(flowmill_tensor::PartialShape::new(&[-1])), |b, sum| append(b, sum, indices))?;
        let dense_shape = self.within(outside, |b| b.shape_in_outer_loop(id, invariant))?;
        Ok(IndexedSlices { values, indices, dense_shape: Some(dense_shape) })
    }

    /// Returns a variable of a backward loop that starts as `initial` and changes by `step` in each iteration; its last value, outside of the loop.
    fn accumulate_from(
        &mut self,
        id: ContextId,
        initial: OutputId,
        shape: Option<flowmill_tensor::PartialShape>,
        step: impl FnOnce(&mut Self, OutputId) -> Result<OutputId>,
    ) -> Result<OutputId> {
        let scope = self.scope.in_context(Some(id));
        self.within(scope, |b| {
            b.context_mut(id).known.insert(initial);
            let enter = b.enter_named(id, initial, "b_acc")?;
            if let Some(shape) = shape {
                b.state.shapes.set_shape(enter, shape);
            }
            let Some(pivot) = b.while_context(id).and_then(|l| l.pivot) else { bail!(Internal, "the backward loop has no condition") };
            let merge = b.op("Merge").name("b_acc").inputs(&[enter, enter]).output()?;
            let switch = b.switch(merge, pivot)?;
            let sum = step(b, switch.output(1))?;
            let next = b.call("NextIteration", &[sum])?;
            b.connect_back(next, merge.node, 1)?;
            let exit = b.op("Exit").name("b_acc").input(switch.output(0)).output()?;
            b.hand_out_of_loop(id, exit);
            Ok(exit)
        })
    }
}
