//! Gradients of conditionals: conditionals on the same predicate or index whose branches are the backward parts.

use super::joint::{Joint, Needs};
use super::{CallGradient, define, func, is_stateful, run_attrs, shape_list, tensors_of, type_list, with_tensors};
use crate::builder::ScopedBuilder;
use crate::builder::gradients::{Grad, IndexedSlices};
use crate::{FunctionArg, OutputId, Role};
use flowmill_proto::attr_value::{ListValue, Value};
use flowmill_proto::{AttrValue, FunctionDef};
use flowmill_tensor::{DType, PartialShape, Result, Tensor, bail};
use rustc_hash::FxHashMap;

/// A further result of all branches, and argument of their backward parts. Branches share it for tensors of one type.
struct Slot {
    dtype: DType,
    shape: PartialShape,
    /// The tensor of each branch; a branch without one gives something of the type that nothing looks at.
    tensors: Vec<Option<OutputId>>,
}

/// A tensor around the conditional, and what each branch has in its place.
type Passed = (OutputId, Vec<Option<OutputId>>);

impl CallGradient {
    /// Extends the branches by what their gradients need, and adds those.
    pub(super) fn finish_branches(&mut self, b: &mut ScopedBuilder<'_>) -> Result<Vec<Option<Grad>>> {
        for i in 0..self.xs.len() {
            self.agree(i)?;
        }
        let results: Vec<Vec<OutputId>> = self.joints.iter().map(|j| j.grads.iter().flatten().flat_map(tensors_of).collect()).collect();
        let mut needs: Vec<Needs> = Vec::with_capacity(self.joints.len());
        for (joint, results) in self.joints.iter_mut().zip(&results) {
            let stops = joint.dys.clone();
            needs.push(joint.needs(results, &stops)?);
        }
        let (slots, passed) = self.assign(&needs);
        let first_slot = b.graph().node(self.node)?.num_outputs() as u32;
        if !slots.is_empty() {
            self.extend_branches(b, &slots)?;
        }
        let mut inputs: Vec<OutputId> = self.grads.iter().copied().flatten().collect();
        inputs.extend((0..slots.len() as u32).map(|i| self.node.output(first_slot + i)));
        inputs.extend(passed.iter().map(|(tensor, _)| *tensor));
        let mut defs = Vec::with_capacity(self.joints.len());
        for (i, needs) in needs.into_iter().enumerate() {
            let args = self.backward_args(b, i, &slots, &passed)?;
            defs.push(self.joints[i].backward(&args, &results[i], needs.replaced)?);
        }
        let mut tensors = match &results[0][..] {
            [] => Vec::new(),
            _ => self.add_backward_branches(b, &inputs, defs, &results)?,
        }
        .into_iter();
        let mut grads = vec![None; self.inputs.len()];
        for (grad, &x) in self.joints[0].grads.iter().zip(&self.xs) {
            grads[x] = match grad {
                Some(grad) => with_tensors(grad, &mut tensors),
                None => self.unreached(b, x)?,
            };
        }
        Ok(grads)
    }

    /// Makes each branch return its tensors of the slots, after its other results.
    fn extend_branches(&mut self, b: &mut ScopedBuilder<'_>, slots: &[Slot]) -> Result<()> {
        let mut functions = Vec::with_capacity(self.joints.len());
        for (i, joint) in self.joints.iter_mut().enumerate() {
            let more = slots.iter().map(|s| s.tensors[i].map_or_else(|| placeholder(joint, s.dtype), Ok)).collect::<Result<Vec<_>>>()?;
            functions.push(define(b, joint.forward(&[], &more)?)?);
        }
        let forward = b.graph().node(self.node)?;
        let mut attrs = forward.attrs().clone();
        let types = forward.output_types().iter().map(|t| t.dtype).chain(slots.iter().map(|s| s.dtype));
        attrs.set("Tout", type_list(types));
        let old: Vec<PartialShape> = (0..forward.num_outputs() as u32).map(|slot| b.shape(self.node.output(slot))).collect();
        let new: Vec<PartialShape> = slots.iter().map(|s| s.shape.clone()).collect();
        attrs.set("output_shapes", shape_list(old.iter().chain(&new)));
        for (name, value) in branch_attrs(forward.role(), functions) {
            attrs.set(name, value);
        }
        b.extend_call(self.node, None, attrs, &new)
    }

    /// Returns the arguments of branch `i`'s backward part.
    fn backward_args(&self, b: &ScopedBuilder<'_>, i: usize, slots: &[Slot], passed: &[Passed]) -> Result<Vec<FunctionArg>> {
        let joint = &self.joints[i];
        let mut args = joint.dys.iter().map(|&dy| joint.arg(dy)).collect::<Result<Vec<_>>>()?;
        for slot in slots {
            let unused = FunctionArg { tensor: None, dtype: slot.dtype, shape: PartialShape::unknown(), elements: Vec::new() };
            args.push(slot.tensors[i].map_or(Ok(unused), |t| joint.arg(t))?);
        }
        for (outside, inside) in passed {
            args.push(match inside[i] {
                Some(tensor) => joint.arg(tensor)?,
                None => FunctionArg { tensor: None, ..FunctionArg::new(b.graph(), b.state().shapes(), *outside)? },
            });
        }
        Ok(args)
    }

    /// Adds the conditional of the backward parts.
    fn add_backward_branches(
        &self,
        b: &mut ScopedBuilder<'_>,
        inputs: &[OutputId],
        defs: Vec<FunctionDef>,
        results: &[Vec<OutputId>],
    ) -> Result<Vec<OutputId>> {
        let has_state = defs.iter().any(is_stateful);
        let functions = defs.into_iter().map(|def| define(b, def)).collect::<Result<Vec<_>>>()?;
        let forward = b.graph().node(self.node)?;
        let role = forward.role();
        let op = match (role, has_state) {
            (Role::Case, true) => "Case",
            (Role::Case, false) => "StatelessCase",
            (_, true) => "If",
            (_, false) => "StatelessIf",
        };
        let attrs = run_attrs(forward.attrs());
        let Some(choice) = b.graph().input(self.node, 0) else { bail!(Internal, "a conditional without inputs") };
        let shapes: Vec<PartialShape> = (0..results[0].len()).map(|i| self.common_shape(results, i)).collect();
        let tin: Vec<DType> = inputs.iter().map(|&t| b.dtype(t)).collect();
        let tout = results[0].iter().map(|&r| self.joints[0].dtype(r));
        let mut node = b.op(op).input(choice).inputs(inputs).attr("output_shapes", shape_list(&shapes));
        node = node.attr("Tin", type_list(tin)).attr("Tout", type_list(tout));
        for (name, value) in branch_attrs(role, functions) {
            node = node.attr(name, value);
        }
        for (name, value) in attrs {
            node = node.attr(&name, value);
        }
        let node = node.finish()?;
        Ok((0..results[0].len() as u32).map(|slot| node.output(slot)).collect())
    }

    /// Makes all branches return the `i`th gradient in one form: none, slices of the same types, or tensors.
    fn agree(&mut self, i: usize) -> Result<()> {
        let grads: Vec<Option<Grad>> = self.joints.iter().map(|j| j.grads[i].clone()).collect();
        if grads.iter().all(Option::is_none) {
            return Ok(());
        }
        let types = |(joint, grad): (&Joint, &Option<Grad>)| match grad {
            Some(Grad::Slices(IndexedSlices { values, indices, dense_shape: Some(shape) })) => {
                Some([joint.dtype(*values), joint.dtype(*indices), joint.dtype(*shape)])
            }
            _ => None,
        };
        let kinds: Vec<Option<[DType; 3]>> = self.joints.iter().zip(&grads).map(types).collect();
        if kinds[0].is_some() && kinds.iter().all(|k| *k == kinds[0]) {
            return Ok(());
        }
        let dtype = self.joints.iter().zip(&grads).find_map(|(joint, grad)| grad.as_ref().map(|g| joint.dtype(tensors_of(g)[0])));
        for (joint, grad) in self.joints.iter_mut().zip(&grads) {
            joint.grads[i] = Some(joint.dense(grad.as_ref(), self.xs[i], dtype.unwrap_or(DType::F32))?.into());
        }
        Ok(())
    }

    /// Chooses the sources of the backward parts' arguments: further results of the branches, and tensors around the conditional.
    fn assign(&self, needs: &[Needs]) -> (Vec<Slot>, Vec<Passed>) {
        let num = self.joints.len();
        let mut slots: Vec<Slot> = Vec::new();
        let mut passed: Vec<Passed> = Vec::new();
        let mut places: FxHashMap<OutputId, usize> = FxHashMap::default();
        for (i, (joint, needs)) in self.joints.iter().zip(needs).enumerate() {
            let (known, more) = self.sources(i, &needs.tensors);
            for &tensor in &needs.tensors {
                if more.contains(&tensor) {
                    let (dtype, shape) = (joint.dtype(tensor), joint.shape(tensor));
                    match slots.iter_mut().find(|s| s.dtype == dtype && s.tensors[i].is_none()) {
                        Some(slot) => {
                            slot.shape = slot.shape.relax(&shape);
                            slot.tensors[i] = Some(tensor);
                        }
                        None => {
                            let mut tensors = vec![None; num];
                            tensors[i] = Some(tensor);
                            slots.push(Slot { dtype, shape, tensors });
                        }
                    }
                    continue;
                }
                let outside = known[&tensor];
                let place = *places.entry(outside).or_insert_with(|| {
                    passed.push((outside, vec![None; num]));
                    passed.len() - 1
                });
                passed[place].1[i] = Some(tensor);
            }
        }
        for slot in &mut slots {
            if slot.tensors.iter().any(Option::is_none) {
                slot.shape = PartialShape::unknown();
            }
        }
        (slots, passed)
    }

    /// Returns the static shape of a result that holds for every branch.
    fn common_shape(&self, results: &[Vec<OutputId>], i: usize) -> PartialShape {
        let mut shapes = self.joints.iter().zip(results).map(|(j, r)| j.shape(r[i]));
        let first = shapes.next().unwrap_or_default();
        shapes.fold(first, |all, shape| all.relax(&shape))
    }
}

/// Returns a conditional's attributes for its functions, by the number that chooses them.
fn branch_attrs(role: Role, functions: Vec<String>) -> Vec<(&'static str, AttrValue)> {
    let functions: Vec<_> = functions.into_iter().map(func).collect();
    if role == Role::Case {
        return vec![("branches", Value::List(Box::new(ListValue { func: functions, ..ListValue::default() })).into())];
    }
    ["else_branch", "then_branch"].into_iter().zip(functions).map(|(name, f)| (name, f.into())).collect()
}

/// Something of a type, as a result of a branch that has none there.
fn placeholder(joint: &mut Joint, dtype: DType) -> Result<OutputId> {
    joint.build(|b| match dtype {
        DType::Variant => {
            let (any, unlimited) = (b.scalar(-1i32)?, b.scalar(-1i32)?);
            let float = super::joint::type_attr(DType::F32);
            b.op("EmptyTensorList").inputs(&[any, unlimited]).attr("element_dtype", float).output()
        }
        DType::Resource => {
            let float = super::joint::type_attr(DType::F32);
            b.op("VarHandleOp").name("none").attr("dtype", float).attr("shape", PartialShape::scalar().to_proto()).output()
        }
        _ => b.constant("none", &Tensor::zeros(dtype, [])?),
    })
}
