//! Zeros and ones in the shape of a tensor.

use crate::OutputId;
use crate::builder::context::{ContextKind, other};
use crate::builder::{ContextId, Scope, ScopedBuilder};
use flowmill_tensor::{DType, Result, Shape, Tensor, bail, bf16, f16};

/// Zeros up to this many elements are a constant if their shape is static; more are filled in when a step runs.
const MAX_CONSTANT_ELEMENTS: usize = 1000;

impl ScopedBuilder<'_> {
    /// Returns the shape of a tensor as a vector of `int32`: a constant if it is static.
    ///
    /// # Errors
    /// Any error of the op that is added.
    pub fn shape_of(&mut self, tensor: OutputId) -> Result<OutputId> {
        if let Some(dims) = self.shape(tensor).to_shape() {
            let dims: Option<Vec<i32>> = dims.iter().map(|&d| i32::try_from(d).ok()).collect();
            if let Some(dims) = dims {
                return self.constant("Shape", &Tensor::vector(&dims)?);
            }
        }
        self.dynamic_shape_of(tensor)
    }

    /// Returns the shape of a tensor, or of the variable that a handle refers to, as a vector of `int32`, found when a step runs.
    ///
    /// # Errors
    /// Any error of the op that is added.
    pub fn dynamic_shape_of(&mut self, tensor: OutputId) -> Result<OutputId> {
        let op = if self.dtype(tensor) == DType::Resource { "VariableShape" } else { "Shape" };
        self.call(op, &[tensor])
    }

    /// Returns a tensor of ones in the shape of another one.
    pub(super) fn ones_like(&mut self, tensor: OutputId, name: &str) -> Result<OutputId> {
        let dtype = self.dtype(tensor);
        let shape = self.shape_of(tensor)?;
        let one = match dtype {
            DType::F64 => Tensor::scalar(1.0f64),
            DType::F16 => Tensor::scalar(f16::from_f32(1.0)),
            DType::BF16 => Tensor::scalar(bf16::from_f32(1.0)),
            DType::I32 => Tensor::scalar(1i32),
            DType::I64 => Tensor::scalar(1i64),
            _ => Tensor::scalar(1.0f32),
        };
        let one = self.constant(&format!("{name}/Const"), &one)?;
        let one = self.cast(one, dtype)?;
        self.op("Fill").name(name).inputs(&[shape, one]).output()
    }

    /// Returns a tensor of zeros in the shape of another one.
    ///
    /// # Errors
    /// Any error of the ops that are added.
    pub fn zeros_like(&mut self, tensor: OutputId) -> Result<OutputId> {
        match self.constant_zeros(tensor)? {
            Some(zeros) => Ok(zeros),
            None => self.call("ZerosLike", &[tensor]),
        }
    }

    /// Zeros as a constant in the shape of a tensor, if that is static and small.
    pub(super) fn constant_zeros(&mut self, tensor: OutputId) -> Result<Option<OutputId>> {
        let dtype = self.dtype(tensor);
        let Some(dims) = self.shape(tensor).to_shape() else { return Ok(None) };
        if dims.num_elements() > MAX_CONSTANT_ELEMENTS || dtype.size().is_none() {
            return Ok(None);
        }
        self.constant("zeros", &Tensor::zeros(dtype, dims)?).map(Some)
    }

    /// Zeros of a shape that a tensor holds.
    pub(super) fn zeros_of_shape(&mut self, shape: OutputId, dtype: DType) -> Result<OutputId> {
        if dtype.size().is_none() {
            // Variants and resources have no zero of a shape: what they hold does.
            flowmill_tensor::bail!(Unimplemented, "zeros of {dtype}");
        }
        let zero = self.constant("Const", &Tensor::zeros(dtype, Shape::new(&[]))?)?;
        self.op("Fill").name("zeros").inputs(&[shape, zero]).output()
    }

    /// Zeros for the branch of a conditional that does not take a tensor; they live if that branch is taken.
    pub(super) fn zeros_for_other_branch(&mut self, cond: ContextId, output: OutputId) -> Result<OutputId> {
        let ContextKind::Cond { pred, branch, .. } = &self.context(cond).kind else { return self.zeros_like(output) };
        let (pred, untaken) = (*pred, other(*branch));
        let Some(data) = self.graph.input(output.node, 0) else { bail!(Internal, "a Switch without input") };
        let dtype = self.dtype(output);
        let live = self.switch_here(data, pred)?.output(untaken as u32);
        let pivot = self.call("Identity", &[live])?;
        let shape = self.dynamic_shape_of(live)?;
        let scope = self.scope.after(&[pivot.node]);
        self.within(scope, |b| b.zeros_of_shape(shape, dtype))
    }

    /// Zeros for a node's output in backward loop `id`. For a conditional's `Switch` they live if the other branch was taken.
    pub(super) fn zeros_in_loop(&mut self, id: ContextId, context: ContextId, output: OutputId, is_cond_switch: bool) -> Result<OutputId> {
        let guard = match &self.context(context).kind {
            ContextKind::Cond { pred, branch, .. } if is_cond_switch => Some((*pred, *branch)),
            _ => None,
        };
        let dtype = self.dtype(output);
        let inside = self.scope.in_context(Some(id));
        if let Some(shape) = self.shape(output).to_shape() {
            return self.within(inside, |b| {
                let zeros = b.constant("zeros", &Tensor::zeros(dtype, shape)?)?;
                let Some((pred, branch)) = guard else { return Ok(zeros) };
                let pred = b.history_of_pred(id, pred)?;
                Ok(b.switch_here(zeros, pred)?.output(other(branch) as u32))
            });
        }
        let shape = match guard {
            None => {
                let scope = Scope::root().named(self.scope.name()).in_context(Some(context));
                let shape = self.within(scope, |b| b.dynamic_shape_of(output))?;
                self.recall(id, shape)?
            }
            Some((pred, branch)) => {
                let scope = Scope::root().named(self.scope.name()).in_context(self.context(context).outer);
                let Some(data) = self.graph.input(output.node, 0) else { bail!(Internal, "a Switch without input") };
                let shape = self.within(scope, |b| {
                    let live = b.switch_here(data, pred)?.output(other(branch) as u32);
                    b.dynamic_shape_of(live)
                })?;
                self.state.context_of.insert(shape.node, context);
                self.history_of_pred(id, pred)?;
                let stack = self.push(id, shape, Some(context))?;
                self.pop(id, stack, shape, true)?
            }
        };
        self.within(inside, |b| b.zeros_of_shape(shape, dtype))
    }
}
