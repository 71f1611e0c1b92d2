//! The matrices and shapes of an attention.

use flowmill_tensor::{Result, Shape, Tensor, bail};
use smallvec::SmallVec;

/// A tensor of matrices, one for each index of the leading dimensions.
#[derive(Clone, Debug)]
pub struct Matrices {
    /// The leading dimensions.
    pub leading: SmallVec<[usize; 4]>,
    /// The distances of two matrices in each leading dimension.
    pub strides: SmallVec<[usize; 4]>,
    /// The rows of a matrix.
    pub rows: usize,
    /// The columns of a matrix.
    pub columns: usize,
    /// The distance of two rows.
    pub ld: usize,
}

impl Matrices {
    /// Returns the matrices of a tensor of this shape. If they are `interleaved`, rows come before the last leading dimension.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for too few dimensions.
    pub fn new(shape: &Shape, interleaved: bool) -> Result<Matrices> {
        let rank = shape.rank();
        if rank < if interleaved { 3 } else { 2 } {
            bail!(InvalidArgument, "attention needs matrices, and not the shape {shape}");
        }
        let rows_at = if interleaved { rank - 3 } else { rank - 2 };
        let strides = shape.strides();
        let leading = || (0..rank - 1).filter(move |&axis| axis != rows_at);
        Ok(Matrices {
            leading: leading().map(|axis| shape[axis]).collect(),
            strides: leading().map(|axis| strides[axis]).collect(),
            rows: shape[rows_at],
            columns: shape[rank - 1],
            ld: strides[rows_at].max(shape[rank - 1]),
        })
    }

    /// Returns the offset of matrix `index`.
    pub fn offset(&self, mut index: usize) -> usize {
        let mut offset = 0;
        for (&size, &stride) in self.leading.iter().zip(&self.strides).rev() {
            offset += index % size * stride;
            index /= size;
        }
        offset
    }
}

/// The tensors of an attention: query, key and value with their matrices, and the shapes of the scores and of the result.
#[derive(Clone, Debug)]
pub struct AttentionShapes {
    /// The matrices of query, key and value.
    pub operands: [Matrices; 3],
    /// The number of keys.
    pub num_keys: usize,
    /// The shape of the scores.
    pub scores: Shape,
    /// The shape of the result.
    pub result: Shape,
}

impl AttentionShapes {
    /// Finds the shapes for query, key and value, and for arguments of functions of the scores. `interleaved` says for query, key, value and result whether
    /// rows come before the last leading dimension.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for tensors that do not fit together, and for an argument that does not broadcast to the scores.
    pub fn new(operands: [&Tensor; 3], args: &[&Tensor], interleaved: [bool; 4], key_is_transposed: bool) -> Result<AttentionShapes> {
        let [query, key, value] = operands;
        let of = |i: usize| Matrices::new(operands[i].shape(), interleaved[i]);
        let (q, k, v) = (of(0)?, of(1)?, of(2)?);
        let (num_keys, size) = if key_is_transposed { (k.columns, k.rows) } else { (k.rows, k.columns) };
        if q.leading != k.leading || q.leading != v.leading || q.columns != size || v.rows != num_keys {
            bail!(InvalidArgument, "Incompatible shapes of an attention: {}, {} and {}", query.shape(), key.shape(), value.shape());
        }
        let scores: Shape = q.leading.iter().copied().chain([q.rows, num_keys]).collect();
        scores.checked_num_elements()?;
        for arg in args {
            if Shape::broadcast(arg.shape(), &scores).is_none_or(|both| both != scores) {
                bail!(InvalidArgument, "Incompatible shapes: {} vs. {scores}", arg.shape());
            }
        }
        let mut result: Shape = q.leading.iter().copied().chain([q.rows, v.columns]).collect();
        let rank = result.rank();
        if interleaved[3] {
            if rank < 3 {
                bail!(InvalidArgument, "attention needs a dimension of heads, and not the shape {}", query.shape());
            }
            result.swap(rank - 2, rank - 3);
        }
        result.checked_num_elements()?;
        Ok(AttentionShapes { operands: [q, k, v], num_keys, scores, result })
    }
}
