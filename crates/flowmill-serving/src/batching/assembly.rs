//! Puts the inputs of several requests into one tensor each.

use flowmill::{DType, Error, Result, Shape, Tensor};
use flowmill_kernels::blocks::{concat_rows, overwrite_blocks, rows};
use std::borrow::Cow;
use std::iter::repeat_n;

/// Returns one tensor with the rows of `parts`, followed by as many copies of the first row as make `num_rows` in all. Dimensions other than the first
/// are padded with zeros, or empty strings, to the largest of the parts.
///
/// # Errors
/// `ResourceExhausted` past the memory limit; `InvalidArgument` for parts of different types or ranks, which the queue keeps apart.
pub(super) fn concatenate(parts: &[&Tensor], num_rows: usize) -> Result<Tensor> {
    let [first, rest @ ..] = parts else { return Err(Error::internal("a batch has no requests")) };
    let mut inner = row_dims(first).to_vec();
    for part in rest {
        for (dim, &size) in inner.iter_mut().zip(row_dims(part)) {
            *dim = (*dim).max(size);
        }
    }
    let found = parts.iter().filter_map(|part| part.shape().dims().first()).sum();
    let filling = num_rows.saturating_sub(found);
    let parts = parts.iter().map(|part| padded(part, &inner)).collect::<Result<Vec<_>>>()?;
    let first_row = parts.first().filter(|_| filling > 0).map(|part| rows(part, 0, 1)).transpose()?;
    concat_rows(parts.iter().map(Cow::as_ref).chain(first_row.iter().flat_map(|row| repeat_n(row, filling))))
}

/// Returns the dimensions of a row of `tensor`: those after the first. A scalar has none.
pub(super) fn row_dims(tensor: &Tensor) -> &[usize] {
    tensor.shape().dims().get(1..).unwrap_or_default()
}

/// Returns `part` with zeros, or empty strings, after the end of dimensions that are shorter than those of `inner`, which begin with the second.
fn padded<'a>(part: &'a Tensor, inner: &[usize]) -> Result<Cow<'a, Tensor>> {
    let dims = part.shape().dims();
    let [num_rows, old @ ..] = dims else { return Err(Error::internal("a part of a batch has no rows")) };
    if old == inner || old.len() != inner.len() {
        return Ok(Cow::Borrowed(part));
    }
    let mut shape = Shape::new(&[*num_rows]);
    inner.iter().for_each(|&dim| shape.push(dim));
    let mut out = match part.dtype() {
        DType::String => Tensor::from_strings(shape.clone(), vec![Default::default(); shape.checked_num_elements()?])?,
        dtype => Tensor::zeros(dtype, shape)?,
    };
    // Sizes beside a zero are bounded by nothing, and a start per row of such a tensor might not fit into memory.
    let Some((&run, outer)) = old.split_last().filter(|_| part.num_elements() > 0) else { return Ok(Cow::Owned(out)) };
    // The places at which the runs of the last dimension begin.
    let mut stride = inner.iter().product::<usize>();
    let mut starts: Vec<usize> = (0..*num_rows).map(|row| row * stride).collect();
    for (&dim, &padded_dim) in outer.iter().zip(inner) {
        stride /= padded_dim;
        starts = starts.iter().flat_map(|start| (0..dim).map(move |i| start + i * stride)).collect();
    }
    overwrite_blocks(&mut out, &starts, run, part)?;
    Ok(Cow::Owned(out))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use flowmill::Bytes;

    fn matrix(rows: usize, columns: usize, first: f32) -> Tensor {
        let values: Vec<f32> = (0..rows * columns).map(|i| first + i as f32).collect();
        Tensor::from_slice([rows, columns], &values).unwrap()
    }

    #[test]
    fn rows_follow_each_other_and_the_first_row_fills_up() {
        let (a, b) = (matrix(1, 2, 0.0), matrix(2, 2, 10.0));
        let batch = concatenate(&[&a, &b], 5).unwrap();
        assert_eq!(batch.shape().dims(), [5, 2]);
        assert_eq!(batch.as_slice::<f32>().unwrap(), [0., 1., 10., 11., 12., 13., 0., 1., 0., 1.]);
        assert_eq!(rows(&batch, 1, 2).unwrap(), b);
        assert!(rows(&batch, 4, 2).is_err());
    }

    #[test]
    fn shorter_inputs_are_padded_with_zeros() {
        let (a, b) = (matrix(1, 1, 7.0), matrix(2, 3, 10.0));
        let batch = concatenate(&[&a, &b], 3).unwrap();
        assert_eq!(batch.as_slice::<f32>().unwrap(), [7., 0., 0., 10., 11., 12., 13., 14., 15.]);
        let deep = |rows, dims: [usize; 2]| Tensor::from_slice([rows, dims[0], dims[1]], &vec![1i64; rows * dims[0] * dims[1]]).unwrap();
        let (a, b) = (deep(1, [1, 2]), deep(1, [2, 1]));
        let batch = concatenate(&[&a, &b], 2).unwrap();
        assert_eq!(batch.shape().dims(), [2, 2, 2]);
        assert_eq!(batch.as_slice::<i64>().unwrap(), [1, 1, 0, 0, 1, 0, 1, 0]);
    }

    #[test]
    fn strings_are_batched_like_numbers() {
        let words = |values: &[&str]| {
            Tensor::from_strings([1, values.len()], values.iter().map(|v| Bytes::copy_from_slice(v.as_bytes())).collect()).unwrap()
        };
        let batch = concatenate(&[&words(&["a"]), &words(&["b", "c"])], 4).unwrap();
        let found: Vec<&[u8]> = batch.as_strings().unwrap().iter().map(|b| b.as_ref()).collect();
        assert_eq!(found, [&b"a"[..], b"", b"b", b"c", b"a", b"", b"a", b""]);
        assert_eq!(rows(&batch, 1, 1).unwrap(), words(&["b", "c"]));
    }

    #[test]
    fn rows_without_elements_are_batched() {
        let empty = Tensor::zeros(DType::F32, [2, 0]).unwrap();
        assert_eq!(concatenate(&[&empty, &empty], 6).unwrap().shape().dims(), [6, 0]);
        let long = Tensor::zeros(DType::F32, [1, 1 << 40, 0, 1]).unwrap();
        let wide = Tensor::zeros(DType::F32, [1, 1, 0, 2]).unwrap();
        assert_eq!(concatenate(&[&long, &wide], 2).unwrap().shape().dims(), [2, 1 << 40, 0, 2]);
    }
}
