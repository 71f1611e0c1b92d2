//! Sums of gradients, and gradients in other forms.

use super::{Aggregation, Grad, IndexedSlices};
use crate::OutputId;
use crate::builder::ScopedBuilder;
use flowmill_tensor::{DType, PartialShape, Result};
use std::collections::BTreeMap;

impl ScopedBuilder<'_> {
    /// Returns the sum of the gradients that a tensor's consumers gave; `None` if there are none. Slices stay slices as long as all are.
    ///
    /// # Errors
    /// Any error of the ops that are added.
    pub fn sum_gradients(&mut self, grads: &[Grad], aggregation: Aggregation) -> Result<Option<Grad>> {
        if let [] | [_] = grads {
            return Ok(grads.first().cloned());
        }
        let slices: Option<Vec<&IndexedSlices>> = grads
            .iter()
            .map(|g| match g {
                Grad::Slices(slices) => Some(slices),
                Grad::Dense(_) => None,
            })
            .collect();
        if let Some(slices) = slices {
            return self.concat_slices(&slices).map(|s| Some(Grad::Slices(s)));
        }
        let mut dense = Vec::with_capacity(grads.len());
        for grad in grads {
            dense.push(self.densify(grad)?);
        }
        let sum = match aggregation {
            Aggregation::AddN => self.add_n(&dense)?,
            Aggregation::Pairwise => {
                let mut sum = dense[0];
                for &grad in &dense[1..] {
                    sum = self.call("AddN", &[sum, grad])?;
                }
                sum
            }
        };
        Ok(Some(Grad::Dense(sum)))
    }

    /// Returns the sum of tensors; those of one device are summed there.
    fn add_n(&mut self, tensors: &[OutputId]) -> Result<OutputId> {
        let mut by_device: BTreeMap<String, Vec<OutputId>> = BTreeMap::new();
        for &tensor in tensors {
            by_device.entry(self.graph.node(tensor.node)?.device().to_owned()).or_default().push(tensor);
        }
        if by_device.len() == 1 && self.scope.colocation().is_empty() {
            return self.call("AddN", tensors);
        }
        let mut sums = Vec::with_capacity(by_device.len());
        for group in by_device.into_values() {
            sums.push(match group[..] {
                [one] => one,
                _ => {
                    let scope = self.scope.colocated_with([group[0].node]);
                    self.within(scope, |b| b.call("AddN", &group))?
                }
            });
        }
        if let [sum] = sums[..] { Ok(sum) } else { self.call("AddN", &sums) }
    }

    fn concat_slices(&mut self, slices: &[&IndexedSlices]) -> Result<IndexedSlices> {
        let axis = self.scalar(0i32)?;
        let mut values: Vec<OutputId> = slices.iter().map(|s| s.values).collect();
        let mut indices: Vec<OutputId> = slices.iter().map(|s| s.indices).collect();
        if !indices.iter().all(|&i| self.dtype(i) == self.dtype(indices[0])) {
            for index in &mut indices {
                *index = self.cast(*index, DType::I64)?;
            }
        }
        values.push(axis);
        indices.push(axis);
        let values = self.call("ConcatV2", &values)?;
        let indices = self.call("ConcatV2", &indices)?;
        Ok(IndexedSlices { values, indices, dense_shape: slices.iter().find_map(|s| s.dense_shape) })
    }

    /// Returns a gradient as one tensor.
    ///
    /// # Errors
    /// `InvalidArgument` for slices of a tensor whose shape is not known, and what adding nodes gives.
    pub fn densify(&mut self, grad: &Grad) -> Result<OutputId> {
        match grad {
            Grad::Dense(tensor) => Ok(*tensor),
            Grad::Slices(IndexedSlices { values, indices, dense_shape }) => {
                let Some(shape) = dense_shape else {
                    flowmill_tensor::bail!(
                        InvalidArgument,
                        "Tensor conversion requested for IndexedSlices without dense_shape: '{}'",
                        self.graph().tensor_name(*values)
                    );
                };
                let zero = self.scalar(0i32)?;
                let axis = self.scalar(0i32)?;
                let rows = self.call("GatherV2", &[*shape, zero, axis])?;
                self.call("UnsortedSegmentSum", &[*values, *indices, rows])
            }
        }
    }

    /// Makes each gradient depend on all of them.
    pub(super) fn gate_gradients(&mut self, grads: Vec<Option<Grad>>) -> Result<Vec<Option<Grad>>> {
        let mut group = self.op("NoOp").name("group_deps");
        for grad in grads.iter().flatten() {
            group = match grad {
                Grad::Dense(tensor) => group.after(tensor.node),
                Grad::Slices(slices) => group.after(slices.values.node).after(slices.indices.node),
            };
        }
        let gate = group.finish()?;
        let mut behind = |tensor: OutputId| self.op("Identity").name("control_dependency").input(tensor).after(gate).output();
        grads
            .into_iter()
            .map(|grad| {
                Ok(match grad {
                    None => None,
                    Some(Grad::Dense(tensor)) => Some(Grad::Dense(behind(tensor)?)),
                    Some(Grad::Slices(s)) => Some(Grad::Slices(IndexedSlices { values: behind(s.values)?, ..s })),
                })
            })
            .collect()
    }

    /// Returns a tensor as another type; the tensor itself if it is of that type.
    ///
    /// # Errors
    /// Any error of the op that is added.
    pub fn cast(&mut self, tensor: OutputId, dtype: DType) -> Result<OutputId> {
        if self.dtype(tensor) == dtype {
            return Ok(tensor);
        }
        let to = flowmill_proto::AttrValue::from(flowmill_proto::attr_value::Value::Type(dtype.number()));
        self.op("Cast").input(tensor).attr("DstT", to).output()
    }

    /// Adds what a caller knows of a tensor's shape.
    ///
    /// # Errors
    /// `InvalidArgument` if it contradicts what is known.
    pub fn merge_shape(&mut self, tensor: OutputId, shape: &PartialShape) -> Result<()> {
        self.state.shapes.merge_shape(tensor, shape)
    }
}
