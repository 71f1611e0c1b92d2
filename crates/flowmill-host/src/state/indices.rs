//! Conversion of index tensors to positions in a variable.

use flowmill_tensor::{Result, Shape, Tensor, bail, check_memory};

/// Returns the positions of the first elements of the rows that `indices` selects in a tensor of `rows` rows of `row` elements.
///
/// # Errors
/// Returns `InvalidArgument` for an index out of range.
pub(super) fn row_starts(indices: &Tensor, rows: usize, row: usize) -> Result<Vec<usize>> {
    batched_row_starts(indices, 1, rows, row)
}

/// Like [`row_starts`], for rows in `batches` groups. Each group has an equal share of the indices, which are relative to it.
///
/// # Errors
/// Returns `InvalidArgument` for an index out of range.
pub(super) fn batched_row_starts(indices: &Tensor, batches: usize, rows: usize, row: usize) -> Result<Vec<usize>> {
    let values = indices.to_i64_vec()?;
    let share = values.len() / batches.max(1);
    check_memory::<usize>(values.len())?;
    let mut starts = Vec::with_capacity(values.len());
    for (i, &index) in values.iter().enumerate() {
        match usize::try_from(index) {
            Ok(index) if index < rows => starts.push((i / share * rows + index) * row),
            _ => bail!(InvalidArgument, "indices{} = {index} is not in [0, {rows})", place(indices.shape(), i)),
        }
    }
    Ok(starts)
}

/// Returns the positions of the first elements of the slices that the rows of `indices` select in a tensor of shape `shape`: each row indexes the
/// outermost dimensions. `Err` holds the row that is out of range, in TensorFlow's format: `indices[1,0] = [2, 0]`.
pub(super) fn slice_starts(indices: &Tensor, shape: &Shape) -> Result<Result<Vec<usize>, String>> {
    let values = indices.to_i64_vec()?;
    let depth = indices.shape().last().copied().unwrap_or(0);
    let strides = shape.strides();
    let count = Shape::new(&indices.shape()[..indices.rank() - 1]).num_elements();
    check_memory::<usize>(count)?;
    let mut starts = Vec::with_capacity(count);
    for i in 0..count {
        let index = &values[i * depth..(i + 1) * depth];
        let mut start = 0;
        for ((&at, &size), &stride) in index.iter().zip(shape.iter()).zip(&strides) {
            match usize::try_from(at) {
                Ok(at) if at < size => start += at * stride,
                _ => {
                    let batch = Shape::new(&indices.shape()[..indices.rank() - 1]);
                    let index = index.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
                    return Ok(Err(format!("indices{} = [{index}]", place(&batch, i))));
                }
            }
        }
        starts.push(start);
    }
    Ok(Ok(starts))
}

/// Returns the index of element `i` of a tensor of this shape as text: `[1,0]`, or nothing for a scalar.
fn place(shape: &Shape, i: usize) -> String {
    if shape.rank() == 0 {
        return String::new();
    }
    let coordinates: Vec<String> =
        shape.iter().zip(shape.strides()).map(|(&size, stride)| (i / stride % size.max(1)).to_string()).collect();
    format!("[{}]", coordinates.join(","))
}
