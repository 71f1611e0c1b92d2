//! Puts the inputs of several requests into one tensor each, and takes the outputs apart again.

use flowmill::{Bytes, DType, Error, Result, Shape, Tensor};

/// Returns one tensor with the rows of `parts`, followed by as many copies of the first row as make `rows` in all. Dimensions other than the first
/// are padded with zeros, or empty strings, to the largest of the parts.
///
/// # Errors
/// `ResourceExhausted` past the memory limit; `Internal` for parts of different types or ranks, which the queue keeps apart.
pub(super) fn concatenate(parts: &[&Tensor], rows: usize) -> Result<Tensor> {
    let [first, rest @ ..] = parts else { return Err(Error::internal("a batch has no requests")) };
    let same_inner = rest.iter().all(|part| part.shape().dims()[1..] == first.shape().dims()[1..]);
    if rest.is_empty() && first.shape().dims()[0] == rows {
        return Ok((*first).clone());
    }
    if rest.iter().any(|part| part.dtype() != first.dtype() || part.rank() != first.rank()) {
        return Err(Error::internal("a batch has requests of different types"));
    }
    let mut dims = first.shape().dims().to_vec();
    dims[0] = rows;
    for part in rest {
        for (dim, &size) in dims[1..].iter_mut().zip(&part.shape().dims()[1..]) {
            *dim = (*dim).max(size);
        }
    }
    let shape = Shape::new(&dims);
    shape.checked_num_elements()?;
    let inner = dims[1..].iter().product::<usize>();
    if first.dtype() == DType::String {
        let mut values: Vec<Bytes> = Vec::with_capacity(rows.saturating_mul(inner));
        for part in parts {
            if same_inner {
                values.extend_from_slice(part.as_strings()?);
            } else {
                let at = values.len();
                values.resize(at + part.shape().dims()[0] * inner, Bytes::new());
                copy_blocks(part.as_strings()?, part.shape().dims(), &mut values[at..], &dims, |from, to| to.clone_from_slice(from));
            }
        }
        while values.len() < rows * inner {
            values.push(values[values.len() % inner.max(1)].clone());
        }
        return Tensor::from_strings(shape, values);
    }
    let size = first.dtype().size().ok_or_else(|| Error::unimplemented(format!("batches of tensors of type {}", first.dtype())))?;
    Tensor::filled_by(first.dtype(), shape, |bytes| {
        let mut at = 0;
        for part in parts {
            let len = part.shape().dims()[0] * inner * size;
            let to = &mut bytes[at..at + len];
            if same_inner {
                to.copy_from_slice(part.as_bytes()?);
            } else {
                to.fill(0);
                let (mut from_dims, mut to_dims) = (part.shape().dims().to_vec(), dims.clone());
                from_dims.push(size);
                to_dims.push(size);
                copy_blocks(part.as_bytes()?, &from_dims, to, &to_dims, |from, to| to.copy_from_slice(from));
            }
            at += len;
        }
        let row = inner * size;
        while at < bytes.len() {
            bytes.copy_within(..row, at);
            at += row;
        }
        Ok(())
    })
}

/// Copies an array of `from_dims` into the beginning of each dimension of one of `to_dims`, whose first dimension is not looked at.
fn copy_blocks<T>(from: &[T], from_dims: &[usize], to: &mut [T], to_dims: &[usize], copy: impl Fn(&[T], &mut [T]) + Copy) {
    let (Some((&rows, from_inner)), Some((_, to_inner))) = (from_dims.split_first(), to_dims.split_first()) else {
        return copy(from, to);
    };
    if from_inner == to_inner {
        return copy(from, &mut to[..from.len()]);
    }
    let (from_row, to_row) = (from_inner.iter().product::<usize>(), to_inner.iter().product::<usize>());
    for row in 0..rows {
        copy_blocks(&from[row * from_row..][..from_row], from_inner, &mut to[row * to_row..][..to_row], to_inner, copy);
    }
}

/// Returns `rows` rows of `batch` from row `start`; dense tensors share the batch's memory.
///
/// # Errors
/// `Internal` if the batch has fewer rows.
pub(super) fn slice_rows(batch: &Tensor, start: usize, rows: usize) -> Result<Tensor> {
    let dims = batch.shape().dims();
    let Some(&all) = dims.first().filter(|&&all| start + rows <= all) else {
        return Err(Error::internal(format!("rows {start} to {} of a tensor of shape {}", start + rows, batch.shape())));
    };
    if rows == all {
        return Ok(batch.clone());
    }
    let mut shape = dims.to_vec();
    shape[0] = rows;
    let inner = dims[1..].iter().product::<usize>();
    match batch.dtype() {
        DType::String => Tensor::from_strings(Shape::new(&shape), batch.as_strings()?[start * inner..(start + rows) * inner].to_vec()),
        _ => batch.view(start * inner, Shape::new(&shape)),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

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
        assert_eq!(slice_rows(&batch, 1, 2).unwrap(), b);
        assert!(slice_rows(&batch, 4, 2).is_err());
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
        assert_eq!(slice_rows(&batch, 1, 1).unwrap(), words(&["b", "c"]));
    }

    #[test]
    fn rows_without_elements_are_batched() {
        let empty = Tensor::zeros(DType::F32, [2, 0]).unwrap();
        assert_eq!(concatenate(&[&empty, &empty], 6).unwrap().shape().dims(), [6, 0]);
    }
}
