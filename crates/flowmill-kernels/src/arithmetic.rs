//! Sums and zeros of whole tensors of any type, variants included. Containers such as TensorArrays use them to add up gradients.

use crate::update::{Update, update_blocks};
use flowmill_tensor::{Result, Tensor, TensorArithmetic, bail};

/// The arithmetic of tensors in the host's memory.
pub struct HostArithmetic;

impl TensorArithmetic for HostArithmetic {
    fn dense_zeros_like(&self, tensor: &Tensor) -> Result<Tensor> {
        tensor.allocator().zeros(tensor.dtype(), tensor.shape().clone())
    }

    fn add_to_dense(&self, sum: &mut Tensor, value: &Tensor) -> Result<()> {
        if !Update::Add.supports(sum.dtype()) {
            bail!(InvalidArgument, "tensor_array::AddToTensor type not supported: {}", sum.dtype().cpp_name());
        }
        let n = sum.num_elements();
        update_blocks(Update::Add, sum, &[0], n, value)
    }
}

/// Adds `value` to `sum`, which has the same type and shape; in place if nothing else refers to its memory.
///
/// # Errors
/// Returns `InvalidArgument` for a type without a sum; any error of a variant's own addition.
pub fn add_to(sum: &mut Tensor, value: &Tensor) -> Result<()> {
    let arithmetic: &dyn TensorArithmetic = &HostArithmetic;
    arithmetic.add_to(sum, value)
}

/// Returns zeros of the type and shape of `tensor`; each variant supplies its own zero.
///
/// # Errors
/// Returns `InvalidArgument` for a type without a zero.
pub fn zeros_like(tensor: &Tensor) -> Result<Tensor> {
    let arithmetic: &dyn TensorArithmetic = &HostArithmetic;
    arithmetic.zeros_like(tensor)
}
