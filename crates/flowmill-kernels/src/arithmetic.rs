//! Sums and zeros of whole tensors of any type, variants included. Containers such as TensorArrays use them to add up gradients.

use crate::update::{Update, update_blocks};
use flowmill_tensor::{DType, Result, Tensor, Variant, bail};

/// Adds `value` to `sum`, which has the same type and shape; in place if nothing else refers to its memory.
///
/// # Errors
/// Returns `InvalidArgument` for a type without a sum; any error of a variant's own addition.
pub fn add_to(sum: &mut Tensor, value: &Tensor) -> Result<()> {
    if sum.dtype() == DType::Variant {
        let pairs = sum.as_variants()?.iter().zip(value.as_variants()?);
        let sums = pairs.map(|(a, b)| a.value().add(b)).collect::<Result<Vec<Variant>>>()?;
        *sum = Tensor::from_variants(sum.shape().clone(), sums)?;
        return Ok(());
    }
    if !Update::Add.supports(sum.dtype()) {
        bail!(InvalidArgument, "tensor_array::AddToTensor type not supported: {}", sum.dtype().cpp_name());
    }
    let n = sum.num_elements();
    update_blocks(Update::Add, sum, &[0], n, value)
}

/// Returns zeros of the type and shape of `tensor`; each variant supplies its own zero.
///
/// # Errors
/// Returns `InvalidArgument` for a type without a zero.
pub fn zeros_like(tensor: &Tensor) -> Result<Tensor> {
    if tensor.dtype() == DType::Variant {
        let zeros = tensor.as_variants()?.iter().map(|v| v.value().zeros_like()).collect::<Result<Vec<_>>>()?;
        return Tensor::from_variants(tensor.shape().clone(), zeros);
    }
    tensor.allocator().zeros(tensor.dtype(), tensor.shape().clone())
}
