//! Sizes of cross-entropies of logits, for the kernels of all devices.

use flowmill_tensor::{Result, Shape, bail};

/// Returns the shape that logits and labels of `SoftmaxCrossEntropyWithLogits` are broadcast to, with its rows and columns.
///
/// # Errors
/// Returns `InvalidArgument` for shapes that cannot be broadcast, or not to two dimensions.
pub fn dense_sizes(logits: &Shape, labels: &Shape) -> Result<(Shape, [usize; 2])> {
    let Some(shape) = Shape::broadcast(logits, labels) else {
        bail!(InvalidArgument, "logits and labels must be broadcastable: logits_size={logits} labels_size={labels}");
    };
    let &[rows, columns] = shape.dims() else {
        bail!(InvalidArgument, "logits and labels must be either 2-dimensional, or broadcasted to be 2-dimensional");
    };
    Ok((shape, [rows, columns]))
}

/// Returns the numbers of rows and of classes of `SparseSoftmaxCrossEntropyWithLogits`.
///
/// # Errors
/// Returns `InvalidArgument` for logits that are no matrix, labels that are not one for each row, and rows without classes.
pub fn sparse_sizes(logits: &Shape, labels: &Shape) -> Result<[usize; 2]> {
    let &[rows, classes] = logits.dims() else { bail!(InvalidArgument, "logits must be 2-D, but got shape {logits}") };
    let &[count] = labels.dims() else { bail!(InvalidArgument, "labels must be 1-D, but got shape {labels}") };
    if count != rows {
        bail!(InvalidArgument, "logits and labels must have the same first dimension, got logits shape {logits} and labels shape {labels}");
    }
    if classes == 0 && rows > 0 {
        bail!(InvalidArgument, "Must have at least one class, but got logits shape {logits}");
    }
    Ok([rows, classes])
}
