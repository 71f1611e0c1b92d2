//! Sizes of `SparseTensorDenseMatMul`, the product of a sparse matrix and a dense one.

use flowmill_runtime::KernelContext;
use flowmill_tensor::{Result, bail};

/// The sizes of a product, whose operands may be adjoint: `outer × inner` by `inner × b_outer`.
#[derive(Clone, Copy, Debug)]
pub struct SparseProduct {
    /// The rows of the sparse matrix as it is.
    pub rows: usize,
    /// The columns of the sparse matrix as it is.
    pub columns: usize,
    /// The entries of the sparse matrix.
    pub count: usize,
    /// The rows of the dense matrix as it is.
    pub b_rows: usize,
    /// The columns of the dense matrix as it is.
    pub b_columns: usize,
    /// The rows of the result.
    pub outer: usize,
    /// The length of the sums.
    pub inner: usize,
    /// The columns of the result.
    pub b_outer: usize,
}

impl SparseProduct {
    /// Returns the sizes for the inputs of a call: the indices, values and shape of the sparse matrix, and the dense one.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for inputs of other ranks, and for sizes that do not fit together.
    pub fn new(ctx: &KernelContext<'_>, adjoint_a: bool, adjoint_b: bool) -> Result<SparseProduct> {
        let (indices, values, shape, b) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?, ctx.input(3)?);
        let &[b_rows, b_columns] = b.shape().dims() else { bail!(InvalidArgument, "Tensor 'b' is not a matrix") };
        if shape.rank() != 1 {
            bail!(InvalidArgument, "Tensor 'a_shape' is not a vector");
        }
        let sizes = shape.to_i64_vec()?;
        let &[rows, columns] = &sizes[..] else { bail!(InvalidArgument, "Tensor 'a_shape' must have 2 elements") };
        if values.rank() != 1 {
            bail!(InvalidArgument, "Tensor 'a_values' is not a vector");
        }
        let &[count, width] = indices.shape().dims() else { bail!(InvalidArgument, "Tensor 'a_indices' is not a matrix") };
        if count != values.num_elements() {
            bail!(InvalidArgument, "Number of rows of a_indices does not match number of entries in a_values");
        }
        if width != 2 {
            bail!(InvalidArgument, "Number of columns of a_indices does not match number of entries in a_shape");
        }
        let (Ok(rows), Ok(columns)) = (usize::try_from(rows), usize::try_from(columns)) else {
            bail!(InvalidArgument, "Expected non-negative sizes in a_shape, got {sizes:?}");
        };
        let (outer, inner) = if adjoint_a { (columns, rows) } else { (rows, columns) };
        let (b_inner, b_outer) = if adjoint_b { (b_columns, b_rows) } else { (b_rows, b_columns) };
        if inner != b_inner {
            bail!(
                InvalidArgument,
                "Cannot multiply A and B because inner dimension does not match: {inner} vs. {b_inner}.  Did you forget a transpose?  Dimensions of A: [{outer}, {inner}).  Dimensions of B: {}",
                b.shape()
            );
        }
        Ok(SparseProduct { rows, columns, count, b_rows, b_columns, outer, inner, b_outer })
    }
}
