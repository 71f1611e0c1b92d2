//! Concatenation of tensors along their first dimension.

use crate::blocks::concat_blocks;
use flowmill_tensor::{Result, Shape, Tensor, bail};

/// Returns one tensor with the rows of all tensors, one after the other.
///
/// # Errors
/// Returns `InvalidArgument` if the tensors differ in rank or in a dimension other than the first.
pub(super) fn concat_rows<'a>(tensors: impl Iterator<Item = &'a Tensor>) -> Result<Tensor> {
    let tensors: Vec<&Tensor> = tensors.collect();
    let Some(first) = tensors.first() else { bail!(InvalidArgument, "Empty batch.") };
    let (mut num_rows, inner) = (0usize, first.shape().get(1..).unwrap_or(&[]));
    for (i, tensor) in tensors.iter().enumerate() {
        let shapes = || format!("shape[0] = {} vs. shape[{i}] = {}", first.shape(), tensor.shape());
        if tensor.rank() != first.rank() || tensor.rank() == 0 {
            bail!(InvalidArgument, "Ranks of all input tensors should match: {}", shapes());
        }
        if tensor.shape().get(1..) != Some(inner) {
            bail!(InvalidArgument, "Dimensions of inputs should match: {}", shapes());
        }
        num_rows = num_rows.saturating_add(tensor.shape().first().copied().unwrap_or(0));
    }
    if let [one] = tensors[..] {
        return Ok(one.clone());
    }
    let mut shape = Shape::new(&[num_rows]);
    inner.iter().for_each(|&dim| shape.push(dim));
    shape.checked_num_elements()?;
    concat_blocks(&first.allocator(), first.dtype(), shape, tensors.iter().map(|tensor| (*tensor, 0..tensor.num_elements())))
}
